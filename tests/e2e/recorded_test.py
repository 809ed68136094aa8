"""Recorded command lines of `run`, `submit` and `job retry|wait`: screen, exit code, and what the journal has of the job.

Each file recorded/*.txt is a table of cases; `python3 recorded_test.py --rewrite` runs the commands and records what they
do now (then read the diff). A case is a paragraph:

    # a comment, which comes first
    + jobs.lst: echo a          a line of a file
    < text                      a line of standard input of the next command
    @ FILE INT                  sends INT to the next command once FILE exists (also: TERM, HUP);
    @ 2:TEXT touch FILE         makes FILE once standard error has TEXT; several are carried out one after the other
    $ run jobs.lst              a command line, without `spate`
    = 0                         its exit code, and then its screen and its job:
    1 a                         a line of standard output; "1~ a" where the lines of the output come in any order
    2 spate: ...                a line of standard error
    j 1 succeeded 1/1 0         a task of the newest job: its number, state, tries and attempts, exit code or signal

Numbers of jobs count from 1 in each case, also on a hub, which the cases of hub.txt share.
"""
import contextlib
import glob
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from cluster import cluster_of
from harness import DEADLINE, SPATE, main, wait, want

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")
REWRITE = "--rewrite" in sys.argv
sys.argv = [word for word in sys.argv if word != "--rewrite"]

# What differs from one time to the next.
CHANGES = [
    (r"in \d[\d.,a-z]* ?s( \(\S+ tasks/s\))?, \S+ s CPU(, peak [\d.]+ \w+)?", "in T"),
    (r"\b\d+\.\d\d+ s\b", "T"), (r"\(\d+ KB\)", "(SIZE)"), (r"like job (\d+): .*", r"like job \1: OPTIONS"),
    (r"there are \d.* \(see", "there are JOBS (see"), (r"pool-runs/[0-9a-f]{16}", "pool-runs/HASH"),
    (r'"(start|wall|user|system|took|tasks_per_second|time|cpu|peak_memory|position|pid|created|started|ended|bytes|median_wall|'
     r'total_wall|total_user|total_system|first_start|last_end|held_since)":[\d.e-]+', r'"\1":0'),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "DATE"), (r"process \d+", "process PID"),
    (r"offers [\d.]+( [KMGTP]?B)?", "offers N"), (r"(peak|median) [\d.]+ \w+", r"\1 N"),
]


def steps_of(paragraph):
    """The commands of a case, each as its lines, the last of which is the command itself."""
    steps, lines = [], []
    for line in paragraph:
        if line[0] in "#=12j":
            continue
        lines.append(line)
        if line[0] == "$":
            steps.append(lines)
            lines = []
    want(not lines, f"a case ends without a command: {paragraph}")
    return steps


class Recorder:
    """Runs the cases of a table in a place; those of a hub share its state."""

    def __init__(self, place, on_hub):
        self.place, self.on_hub = place, on_hub
        self.base = 0  # the newest job before the case
        self.folder, self.env = "", {}

    def text(self, text):
        for path, name in ((self.folder, "DIR"), (self.place.state, "STATE"), (self.place.dir, "PLACE"),
                           (socket.gethostname(), "HOST")):
            text = text.replace(path, name)
        for pattern, put in CHANGES:
            text = re.sub(pattern, put, text)
        if self.base:
            text = re.sub(r'(\bjobs? |"job":|job \w+ |any:|^)(\d+)\b', self.counted, text, flags=re.MULTILINE)
        return text

    def counted(self, found):
        number = int(found[2])
        return found[1] + (str(number - self.base) if self.base < number < self.base + 100 else found[2])

    def asked(self, *words):
        done = subprocess.run([SPATE, *words, "--json"], env=self.env, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=DEADLINE)
        return [json.loads(line) for line in done.stdout.decode().splitlines()]

    def newest(self):
        return max((job.get("job", 0) for job in self.asked("job", "list", "all")), default=0)

    def tasks(self, job):
        for task in self.asked("job", "tasks", str(job)):
            how = task.get("status")
            if task.get("cause") == "signal":
                how = f"signal {how}"
            yield f"j {task['task']} {task['state']} {task['tries']}/{task['attempts']} {'-' if how is None else how}"

    def act(self, process, events, err):
        """Waits for what is to come, and does what it asks for."""
        for when, what in events:
            def happened(when=when):
                return when[2:] in "".join(err) if when.startswith("2:") else os.path.exists(os.path.join(self.folder, when))
            wait(lambda: happened() or process.poll() is not None, f"{when}, for {what}")
            if what.startswith("touch "):
                open(os.path.join(self.folder, what[6:]), "w").close()
            elif process.poll() is None:
                process.send_signal(getattr(signal, "SIG" + what))

    def execute(self, step):
        """Returns the exit code, and the lines of both streams."""
        given, events = [], []
        for line in step[:-1]:
            mark, rest = line[0], line[2:]
            if mark == "+":
                name, text = rest.split(": ", 1)
                with open(os.path.join(self.folder, name), "a", encoding="utf-8") as file:
                    file.write(text + "\n")
            elif mark == "<":
                given.append(rest + "\n")
            else:
                when, touch, name = rest.partition(" touch ")
                events.append((when, "touch " + name) if touch else tuple(rest.rsplit(" ", 1)))
        words = shlex.split(step[-1][2:])
        process = subprocess.Popen([SPATE, *words], cwd=self.folder, env=self.env, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   stdin=subprocess.PIPE if given else subprocess.DEVNULL)
        out, err = [], []
        readers = [threading.Thread(target=lambda pipe=pipe, to=to: [to.append(line.decode(errors="replace")) for line in pipe],
                                    daemon=True)
                   for pipe, to in ((process.stdout, out), (process.stderr, err))]
        for reader in readers:
            reader.start()
        with contextlib.suppress(BrokenPipeError):
            if given:
                process.stdin.write("".join(given).encode())
                process.stdin.close()
        try:
            self.act(process, events, err)
            process.wait(DEADLINE)
        except BaseException:
            process.kill()
            raise
        for reader in readers:
            reader.join()
        return process.returncode, self.text("".join(out)).splitlines(), self.text("".join(err)).splitlines()

    def record(self, paragraph):
        """The paragraph as it is now."""
        self.folder = tempfile.mkdtemp(prefix="case-", dir=self.place.dir)
        self.env = dict(self.place.env)
        if self.on_hub:
            self.base = self.newest()
        else:
            self.env["SPATE_STATE"] = os.path.join(self.folder, "state")
        told = [line for line in paragraph if line[0] == "#"]
        in_any_order = any(line.startswith("1~") for line in paragraph)
        for step in steps_of(paragraph):
            code, out, err = self.execute(step)
            told += [*step, f"= {code}"]
            told += [f"1~ {line}" for line in sorted(out)] if in_any_order else [f"1 {line}" for line in out]
            told += [f"2 {line}" for line in err]
            is_over = not self.on_hub or {"run", "--wait", "--progress", "wait"} & set(shlex.split(step[-1]))
            if is_over and (newest := self.newest()) > self.base:
                told += self.tasks(newest)
        shutil.rmtree(self.folder, ignore_errors=True)
        return [line.rstrip() for line in told]


def repeat(place, name, on_hub=False):
    path = os.path.join(TABLES, name)
    with open(path, encoding="utf-8") as file:
        paragraphs = [part.splitlines() for part in file.read().strip().split("\n\n")]
    recorder, new, wrong = Recorder(place, on_hub), [], []
    for paragraph in paragraphs:
        is_case = any(line.startswith("$") for line in paragraph)
        now = recorder.record(paragraph) if is_case else paragraph
        new.append("\n".join(now))
        if now != [line.rstrip() for line in paragraph]:
            wrong.append("\n".join(["-- recorded:", *paragraph, "-- now:", *now]))
    if REWRITE:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n\n".join(new) + "\n")
        return
    want(not wrong, f"{len(wrong)} of {len(paragraphs)} cases of {name} differ:\n" + "\n\n".join(wrong))


def test_runs_are_as_recorded(place):
    repeat(place, "run.txt")


def test_signals_are_as_recorded(place):
    repeat(place, "signals.txt")


def test_pool_runs_are_as_recorded(place):
    repeat(place, "pool.txt")


def test_hub_jobs_are_as_recorded(place):
    cluster = cluster_of(place)
    cluster.node("n1", "--cpus", "1")
    repeat(place, "hub.txt", on_hub=True)


if __name__ == "__main__":
    main(globals())
