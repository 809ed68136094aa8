"""One command line of options that are tried together, and what has come of it."""
import itertools
import json
import os
import re
import subprocess
import time

from harness import SPATE, wait, want
from option_rows import HERE, TASK, WORKER, number_of_job

# By which other names messages know them.
ALIASES = {"--follow-until": "--follow", "--jobs": "--max-running", "--shuf": "--order", "--quiet": "--output",
           "--json": "--output"}
TIME = 20  # seconds; only a hang takes so long


class Trial:
    """Brings together what rows want of the input and of the tasks."""

    def __init__(self, place, way, rows, number, limit):
        self.place, self.way, self.rows = place, way, rows
        self.dir = os.path.join(place.dir, f"t{number}")
        # What rows say of the input, of the tasks' work, and of the output.
        self.dag = self.file = self.json = self.file_wanted = self.array = self.follow = self.until = False
        self.columns = self.quotes = self.header = self.max_args = self.fill = self.trim = self.replace = False
        self.braces = self.shell = self.resident = self.resume = self.dry = self.open = self.notify = False
        self.gpus = self.lic = self.start_node = self.stops = self.private = self.append = self.results = False
        self.stderr = self.unkept = self.state = False
        self.leftovers = self.source = self.end = self.record = self.tail = self.cwd = self.stdout = self.retry_on = ""
        self.limit, self.took, self.typed = limit, 0, ""
        self.form, self.processes, self.tries, self.slots = "human", 1, 1, None
        self.work, self.failing, self.wants = [], [], []
        for row in rows:
            row.setup(self)
        self.options = [word for row in rows for word in row.words]
        self.given = {row.option for row in rows}
        self.bring_together()
        self.atoms = ["1", "2", "3", "4"] if self.array else ["a", "b", "c", "d"]
        self.copies = 1 if self.start_node else self.processes

    def bring_together(self):
        for words, setup in self.wants:
            also = {"-j": {"--jobs", "--max-running"}, "--pipe": {"--pipe", "--pipepart"},
                    "--nodes": {"--nodes", "--procs"}}
            if not also.get(words[0], {words[0]}) & self.given:
                self.options += words
                self.given.add({"-j": "--jobs"}.get(words[0], words[0]))
                if setup:
                    setup(self)
        if self.append and not (self.stdout or self.stderr or self.results):
            self.options += ["--stdout", "app"]
            self.stdout = "app"
        if self.file_wanted and not (self.json or self.source or self.array) and self.way != "list" and not self.file:
            self.options += ["-a", "vals"]
            self.file = True
        if self.leftovers == "fail":
            self.failing.append((0, 99, "left"))
        if self.resident:
            self.tail = ""  # a filter would print after the answer
        if self.resident or self.tail:  # the first process, which gets the signal, is another one
            self.work = [word for word in self.work if not word.startswith("usr1")]
        if self.way in HERE and self.gpus:
            self.options += ["--offer", "gpus=2"]
        if self.way in HERE and self.lic and "--offer" not in self.given:
            self.options += ["--offer", "lic=2"]
        known = {"LIMIT": self.limit, "KEY": os.path.basename(self.dir), "NOTIFY": f"touch {self.dir}/notified",
                 "STATE": "st" if self.way in HERE else self.place.state}
        self.options = [known.get(word, word) for word in self.options]

    @property
    def sink(self):
        """Where the output of tasks is."""
        if self.dry:
            return "nowhere"
        if self.unkept and not self.stdout and self.way not in HERE:
            return "nowhere"
        if self.stdout or self.results:
            return "file"
        if self.way == "submit":
            return "history"
        return "json" if self.form == "json" else "screen"

    def texts(self):
        """Of values, without a header."""
        rows = [[atom] for atom in self.atoms]
        if self.columns:
            rows = [rows[0] + rows[1], rows[2] + rows[3]]
        if self.quotes:
            rows = [[f'"{row[0]}"', *row[1:]] for row in rows]
        texts = [",".join(row) for row in rows]
        return [f" {text} " for text in texts] if self.trim else texts

    def first_texts(self):
        """Of the run that --resume resumes; none: there is no such run."""
        cannot = self.source or self.fill or self.dry or self.resident or self.array or self.follow
        return [] if cannot or self.way not in HERE else self.texts()[:2 if self.max_args else 1]

    def expected(self):
        """How often each value is given to a task."""
        sources = sum(self.options.count(word) for word in ("-a", "--json-lines"))
        if self.source == "parts":
            return sorted(self.atoms * sources)  # each file is split
        if self.way == "list" and self.resident:
            sources += 1
        elif self.way == "list" or self.source or not sources:
            sources = 1
        tasks = itertools.product(self.atoms, repeat=sources)
        return sorted(atom for task in tasks for atom in task)

    def placeholders(self):
        if self.source or self.resident:
            return []
        if self.fill or self.options.count("--json-lines") > 1:
            return [",,"] if self.replace else ["{}"]
        if self.json and not self.max_args:
            return ["{k}", "{2}"] if self.file else ["{k}"]
        if self.columns and self.max_args:
            return ["{1}", "{2}", "{3}", "{4}"]
        if self.columns and self.header and not self.array:
            return ["{h}", "{i}"]
        if self.columns or self.max_args:
            return ["{1}", "{2}"]
        if self.header and not self.array:
            return ["{h}"]
        return [",,"] if self.replace else ["{}"]

    def literals(self, mistyped):
        return [*(["lit={}"] if self.replace else []), *([mistyped] if self.braces else []),
                *(["lit=bash$BASH_VERSION"] if self.shell else [])]

    def work_words(self):
        return [re.sub(r"@(\d)", lambda at: self.atoms[int(at.group(1))], word) for word in dict.fromkeys(self.work)]

    def command(self):
        program = os.path.join(self.dir, "worker" if self.resident else "task")
        number = [] if self.resident else ["n={#}"]
        words = [program, *self.placeholders(), *number, *self.work_words(), *self.literals("lit={nmae}")]
        if self.tail:
            return [" ".join(words) + self.tail]
        return ["exec " + " ".join(words)] if self.shell else words

    def lines(self, texts):
        """Of a job list or graph."""
        program = os.path.join(self.dir, "task")
        for number, text in enumerate(texts, 1):
            words = [program, text.strip(), f"n={number}", *self.work_words()]
            literals = self.literals("lit={chek}" if self.dag else "'lit={chek in exists f}'")
            if self.resident:
                yield text
            elif self.dag:
                yield " ".join([f"TASK t{number}", *words, *literals])
            else:
                # What needs a shell runs in its place, so that it gets signals.
                yield " ".join([*(["exec"] if literals and not self.tail else []), *words, *literals]) + self.tail
        if self.until:
            yield "END"
            yield f"{program} z n=99"

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w") as out:
            out.write(text)

    def make(self):
        os.makedirs(os.path.join(self.dir, "sub"))
        for name, text in (("task", TASK), ("worker", WORKER)):
            path = os.path.join(self.place.dir, name)
            if not os.path.exists(path):
                self.place.write(name, text.rstrip("\n"))
                os.chmod(path, 0o755)
            os.symlink(path, os.path.join(self.dir, name))
        for folder in ("", "sub/"):
            self.write(folder + "in.txt", "input\n")
            for name in ("app", "out.1", "err.1"):
                if self.append:
                    self.write(folder + name, "before\n")
        self.write("slots", "1\n")
        self.write("prof", "--env PROFILE=read\n")

    def argv(self, texts):
        """Writes the input, too; returns words and what is on standard input."""
        header = (["h,i"] if self.columns else ["h"]) if self.header else []
        record, end = self.record or "%s\n", self.end or "\n"
        blocks = "".join([*(["h\n"] if header else []), *(record % atom for atom in self.atoms)])
        self.write("vals", "".join(text + end for text in header + texts))
        self.write("parts", blocks)
        self.write("vals.json", "".join(json.dumps({"k": text}) + "\n" for text in texts))
        command = ["submit"] if self.way == "submit" else ["run", "--hub"] if self.way == "hub" else ["run"]
        waits = self.given & {"--wait", "--progress", "--open"} or self.way != "submit"
        words = [*command, *([] if waits else ["--wait"]), *self.options]
        if self.way == "list":
            # Of a process that has all tasks, the lines are values.
            lines = "".join(line + "\n" for line in [*(header if self.resident else []), *self.lines(texts)])
            self.write("l.lst", lines)
            names = ["-"] if self.follow else ["l.lst"]
            behind = ["--", *self.command()] if self.resident else []
            return [*words, *names, *behind], lines if self.follow else None
        values = [":::", *header, *texts]
        given = self.file or self.json or self.array or self.source
        return [*words, "--", *self.command(), *([] if given else values)], blocks if self.source == "pipe" else None

    def call(self, argv, stdin=None):
        return subprocess.run([SPATE, *argv], cwd=self.dir, env=self.place.env, text=True, errors="replace",
                              capture_output=True, timeout=TIME,
                              **({"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}))

    def run(self):
        self.make()
        before = []
        if self.resume and self.first_texts():
            argv, stdin = self.argv(self.first_texts())
            self.call([word for word in argv if word != "--resume"], stdin)
            before = self.records()
            for name in ("ran", "log"):
                if os.path.exists(os.path.join(self.dir, name)):
                    os.remove(os.path.join(self.dir, name))
        argv, stdin = self.argv(self.texts())
        self.typed = " ".join(argv)
        with open("/proc/uptime") as file:
            self.begun = float(file.read().split()[0])
        begun = time.monotonic()
        done = self.call(argv, stdin)
        self.took = time.monotonic() - begun
        code = done.returncode
        if self.open and code == 0 and not self.dry:
            job = number_of_job(done.stdout)
            self.call(["job", "close", job])
            if self.stops:
                wait(lambda: '"held":"none"' not in self.call(["job", "info", "--json", job]).stdout, "the job is held")
                code = 1
            else:
                code = self.call(["job", "wait", job]).returncode
            self.call(["job", "get", job])
        return Outcome(self, done, code, before, self.records())

    def records(self):
        try:
            with open(os.path.join(self.dir, "ran"), errors="replace") as file:
                return [dict(field.split("=", 1) for field in line.rstrip("\n").split("|")) for line in file]
        except FileNotFoundError:
            return []


class Outcome:
    def __init__(self, trial, done, code, before, now):
        self.trial, self.code = trial, code
        self.out, self.err = done.stdout, done.stderr
        self.now, self.records = now, before + now

    # What effects ask for.

    def read(self, name):
        try:
            with open(os.path.join(self.trial.dir, name), errors="replace") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return ""

    def folder(self, name):
        return os.path.join(self.trial.cwd, name)

    def atoms_of(self, record):
        return re.findall(r"\b[a-g0-9]\b", record["in"] if self.trial.source else record["values"])

    def line(self, record, kind="out"):
        return f"{kind}:{record['n']}:{record['attempt']}:{record['rank']}:"

    def tasks(self):
        """Records of each task, by its number."""
        tasks = {}
        for record in self.records:
            tasks.setdefault(record["n"], []).append(record)
        return tasks

    def last_records(self, all_runs=False):
        """Of this run's tasks, of their last tries."""
        now = {record["n"] for record in (self.records if all_runs else self.now)}
        for number, records in self.tasks().items():
            last = max(records, key=lambda record: int(record["attempt"]))["attempt"]
            yield from (record for record in records if record["attempt"] == last and number in now)

    def values_of(self, number):
        return [atom for record in self.tasks().get(str(number), [])[:1] for atom in self.atoms_of(record)]

    def rule(self, records):
        """How often a task runs at least and at most, and whether it fails for good."""
        trial = self.trial
        atoms = {atom for record in records for atom in self.atoms_of(record)}
        mine = [(times, kind) for at, times, kind in trial.failing if trial.atoms[at] in atoms]
        least, most, fails = 1, 1, False
        for times, kind in mine:
            tries = 1 if trial.retry_on == "exit" and kind != "exit" else trial.tries
            most = max(most, min(times + 1, tries))
            fails = fails or times >= tries
        if len({kind for _, kind in mine}) == 1 and trial.copies == 1:
            least = most
        return least, most, fails

    def succeeded(self, record):
        return not self.rule([record])[2]

    def printed(self):
        """Numbers of the tasks whose output is shown, and the tags before it."""
        if self.trial.form == "json":
            for event in map(json.loads, self.out.splitlines()):
                if event["type"] == "end" and event.get("verdict") != "retry":
                    yield event["task"], event.get("tag", "")
            return
        for line in self.out.splitlines():
            found = re.match(r"(?:(.*)\t)?out:(\d+):", line)
            if found:
                yield int(found.group(2)), found.group(1) or ""

    def says(self, text):
        want(self.trial.form == "quiet" or text in self.err or '"slow"' in self.out, f"not said: {text}: {self.err}")

    def ask(self, *words):
        trial = self.trial
        at = ["--state", "st"] if trial.state and trial.way in HERE else []
        job = number_of_job(self.out) if trial.way == "submit" else "last"
        return trial.call([*words, job, *at]).stdout

    def job_info(self):
        return json.loads(self.ask("job", "info", "--json").splitlines()[0])

    def task_has(self, field):
        rows = [json.loads(line) for line in self.ask("job", "tasks", "--json").splitlines()]
        want(all(row[field] is not None for row in rows if row["state"] == "succeeded"), f"{field}: {rows}")

    def kept_nothing(self):
        want("out:" not in self.ask("job", "cat"), "output was kept")

    def again(self):
        argv, stdin = self.trial.argv(self.trial.texts())
        done = self.trial.call(argv, stdin)
        want(len(self.trial.records()) == len(self.now), "a task ran again")
        return done

    def wait_for(self, name):
        wait(lambda: os.path.exists(os.path.join(self.trial.dir, name)), f"{name} is made", TIME)

    # What is demanded of all.

    def refused(self):
        """True: with a message that names one of the options, and nothing was done."""
        if self.code != 2:
            return False
        want(not self.now, f"refused after tasks ran: {self.err}")
        names = self.trial.given | {word for word in self.trial.options if word.startswith("-")}
        names |= {ALIASES[name] for name in names & set(ALIASES)}
        names.add("there is no command for the values")
        want(any(name in self.err for name in names), f"the refusal names no option: {self.err}")
        return True

    def check(self):
        trial = self.trial
        if trial.dry:
            want(self.code == 0, f"exit code {self.code}: {self.err}")
            for row in trial.rows:
                if row.option == "--dry-run":
                    row.effect(self)
            return
        self.check_runs()
        self.check_output()
        for row in trial.rows:
            try:
                row.effect(self)
            except AssertionError as error:
                raise AssertionError(f"{row}: {error}") from error

    def check_runs(self):
        trial, tasks = self.trial, self.tasks()
        seen = sorted(atom for records in tasks.values() for atom in self.atoms_of(records[0]))
        if not trial.stops:
            want(seen == trial.expected(), f"values that ran: {seen}, not {trial.expected()}; {self.err}")
        want(len(seen) <= len(trial.expected()), f"values that ran: {seen}")
        bad = False
        for number, records in tasks.items():
            least, most, fails = self.rule(records)
            bad = bad or fails
            runs = len(records)
            want(runs <= most * trial.copies, f"task {number} ran {runs} times")
            # A process of a gang that fails may end the others before they begin.
            least *= 1 if fails else trial.copies
            want(trial.stops or runs >= least, f"task {number} ran only {runs} times")
        want((self.code != 0) == bad, f"exit code {self.code}: {self.err}")

    def check_output(self):
        trial, seen = self.trial, ""
        if trial.sink == "file":
            names = [os.path.join(folder, name) for folder, _, names in os.walk(trial.dir)
                     for name in names if name.startswith(("app", "out.", "stdout", "res.csv"))]
            seen = "".join(map(self.read, names))
        elif trial.sink == "history":
            seen = self.ask("job", "cat")
        elif trial.sink != "nowhere":
            seen = self.out
        for record in self.last_records() if trial.sink != "nowhere" and not trial.stops else []:
            if trial.copies > 1 and not self.succeeded(record):
                continue  # a process that was ended for another one
            count = seen.count(self.line(record))
            want(count == 1, f"the output of {record} is there {count} times ({trial.sink}): {seen}")
