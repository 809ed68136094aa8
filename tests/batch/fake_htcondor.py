#!/usr/bin/python3
"""condor_submit, condor_q, condor_history, condor_rm, condor_hold, condor_release and condor_vacate_job, by the name that this
file is called by; the queue is fake_queue.py's.

Made from HTCondor 25: the options of its commands and how they may be cut short, the language of submit descriptions and what it
refuses, the attributes that its own parser makes of one, expressions (as far as a pool has them), numbers of JobStatus, messages,
and what a starter gives to a job: a scratch folder with both ads, hardly any environment, the files that were asked for. SIGTERM
goes to the job's first process alone; when that has ended, or after the grace, all that it started is killed. What it wrote is
brought to its place at the end, unless folders are shared. With a file `filesystem` here, nodes share none. Whatever else these
commands can do is refused with exit code 99, which is none of theirs.
"""
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import time

import fake_queue
from fake_queue import CANCELLED, DONE, ENDED, FAILED, HELD, QUEUED, RUNNING, Failed, path, read, state, there, write

HOST = "ap1.example.org"
SLOT = "slot1_1@ep1.example.org"
USER = pwd.getpwuid(os.geteuid()).pw_name
NOT_OF_THIS_FAKE = 99


# ---- Expressions: those of ClassAds, of numbers, texts and attributes ------------------------------


class Bad(Exception):
    pass


class Undefined:
    def __repr__(self):
        return "undefined"


UNDEFINED = Undefined()
TOKEN = re.compile(r"\s*(?:(\d+\.\d*(?:[eE][+-]?\d+)?|\d+)|(\"(?:\\.|[^\"\\])*\")|((?:MY|TARGET)\.\w+|[A-Za-z_]\w*)"
                   r"|(=\?=|=!=|==|!=|<=|>=|&&|\|\||[-+*/%<>!?:(),{}\[\]]))", re.I)
LEVELS = (("||",), ("&&",), ("=?=", "=!=", "==", "!=", "is", "isnt"), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"))


def tokens(text):
    at, found = 0, []
    while at < len(text.rstrip()):
        match = TOKEN.match(text, at)
        if not match or (match[1] and re.match(r"\w", text[match.end():match.end() + 1])):
            raise Bad(text)
        found.append(match.groups())
        at = match.end()
    return found


def parsed(text):
    """A tree of an expression; raises Bad for what is none."""
    words = tokens(text)

    def peek():
        return (words[0][3] or (words[0][2] or "").lower()) if words else None

    def take(word):
        if peek() != word:
            raise Bad(text)
        words.pop(0)

    def whole():
        test = level(0)
        if peek() != "?":
            return test
        take("?")
        yes = whole()
        take(":")
        return ("?", test, yes, whole())

    def level(n):
        if n == len(LEVELS):
            return one()
        left = level(n + 1)
        while peek() in LEVELS[n]:
            operator = peek()
            words.pop(0)
            left = (operator, left, level(n + 1))
        return left

    def one():
        if peek() in ("!", "-", "+"):
            return ("not" if words.pop(0)[3] == "!" else "sign", one())
        if not words:
            raise Bad(text)
        number, quoted, name, mark = words.pop(0)
        if number:
            return ("value", float(number) if "." in number else int(number))
        if quoted:
            return ("value", unquoted(quoted))
        if mark == "(":
            inside = whole()
            take(")")
            return inside
        if mark == "{":
            return ("list", several("}"))
        if mark or name.lower() in ("is", "isnt"):
            raise Bad(text)
        if peek() == "(":
            take("(")
            return ("call", name.lower(), several(")"))
        constants = {"true": True, "false": False, "undefined": UNDEFINED}
        return ("value", constants[name.lower()]) if name.lower() in constants else ("name", name)

    def several(end):
        given = []
        while peek() != end:
            given += [whole()]
            if peek() != end:
                take(",")
        take(end)
        return given

    tree = whole()
    if words:
        raise Bad(text)
    return tree


def unquoted(text):
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text[1:-1])


def unparsed(value):
    """As the classad library writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}.get(c, c) for c in value) + '"'
    return str(value)


def evaluated(tree, ad):
    kind = tree[0]
    if kind == "value":
        return tree[1]
    if kind == "name":
        if tree[1].upper().startswith("TARGET."):
            return UNDEFINED
        value = ad.get(tree[1].lower().removeprefix("my."), UNDEFINED)
        return evaluated(value, ad) if isinstance(value, tuple) else value
    if kind == "?":
        test = evaluated(tree[1], ad)
        return UNDEFINED if test is UNDEFINED else evaluated(tree[2 if test else 3], ad)
    if kind == "call":
        return called(tree[1], [evaluated(each, ad) for each in tree[2]])
    if kind == "not":
        value = evaluated(tree[1], ad)
        return UNDEFINED if value is UNDEFINED else not value
    if kind == "sign":
        return -evaluated(tree[1], ad)
    left, right = evaluated(tree[1], ad), evaluated(tree[2], ad)
    if kind in ("=?=", "is"):
        return left == right and type(left) is type(right)
    if kind in ("=!=", "isnt"):
        return not (left == right and type(left) is type(right))
    if kind == "&&":
        return False if False in (left, right) else UNDEFINED if UNDEFINED in (left, right) else bool(left and right)
    if kind == "||":
        return True if True in (left, right) else UNDEFINED if UNDEFINED in (left, right) else bool(left or right)
    if left is UNDEFINED or right is UNDEFINED:
        return UNDEFINED
    if isinstance(left, str) and isinstance(right, str) and kind in ("==", "!="):
        left, right = left.lower(), right.lower()
    return {"==": lambda: left == right, "!=": lambda: left != right, "<": lambda: left < right, "<=": lambda: left <= right,
            ">": lambda: left > right, ">=": lambda: left >= right, "+": lambda: left + right, "-": lambda: left - right,
            "*": lambda: left * right, "/": lambda: left // right, "%": lambda: left % right}[kind]()


def called(name, given):
    if name == "time":
        return int(time.time())
    if name == "isundefined":
        return given[0] is UNDEFINED
    if name == "ifthenelse":
        return given[1] if given[0] is True else given[2]
    if UNDEFINED in given:
        return UNDEFINED
    if name == "regexp":
        return re.search(given[0], given[1]) is not None
    raise Failed(f"fake htcondor: no function {name}", NOT_OF_THIS_FAKE)


# ---- The system ----------------------------------------------------------------------------------


def ad_of(job):
    """Its attributes, by their small names; trees where they are expressions."""
    ad = {name.lower(): value for name, value in json.loads(read(job, "ad")).items()}
    ad = {name: as_value(value) for name, value in ad.items()}
    status = {QUEUED: 1, RUNNING: 2, HELD: 5, ENDED: 4}[state(job)]
    if state(job) == RUNNING and read(job, "then") == CANCELLED or read(job, "end") == CANCELLED:
        status = 3
    ad |= {"clusterid": int(job), "procid": 0, "jobstatus": status, "enteredcurrentstatus": int(read(job, "since", default="0")),
           "numjobstarts": int(read(job, "starts", default="0")), "owner": USER, "qdate": int(read(job, "submitted"))}
    if status == 5:
        ad["holdreason"] = read(job, "reason")
    if read(job, "code") and status == 4:
        ad["exitcode"] = int(read(job, "code"))
    return ad


def as_value(text):
    tree = parsed(text)
    return tree[1] if tree[0] == "value" else tree


def is_queued(job):
    """Ended jobs stay as long as they ask for it; removed ones may ask, too."""
    if not fake_queue.is_known(job):
        return False
    ad = ad_of(job)
    return state(job) != ENDED or evaluated(ad.get("leavejobinqueue", ("value", False)) or ("value", False), ad) is True


class HtCondor(fake_queue.System):
    lost = ("\nERROR: Failed to commit job submission into the queue.\nERROR: SCHEDD:2:timed out", 1)

    def refusal(self, text):
        return f"\nERROR: Failed to create cluster\n{text}", 1

    def transfers(self, job):
        should = ad_of(job).get("shouldtransferfiles", "IF_NEEDED")
        return should == "YES" or (should == "IF_NEEDED" and there("filesystem"))

    def launch(self, job):
        ad = ad_of(job)
        scratch = path(job, f"dir_{read(job, 'starts')}")
        os.makedirs(scratch)
        executable, cwd, output, error = ad["cmd"], ad["iwd"], ad["out"], ad["err"]
        if self.transfers(job):
            wanted = [ad["cmd"]] if ad.get("transferexecutable", True) else []
            wanted += [os.path.join(cwd, name.strip()) for name in ad.get("transferinput", "").split(",") if name.strip()]
            for file in wanted:
                try:
                    shutil.copy(file, os.path.join(scratch, os.path.basename(file)))
                except OSError as failure:
                    raise Failed(f"Transfer input files failure at access point {HOST} while sending files to {SLOT}. Details: "
                                 f"reading from file {file}: (errno {failure.errno}) {failure.strerror}") from None
            if wanted and wanted[0] == ad["cmd"]:
                executable = os.path.join(scratch, "condor_exec.exe")
                os.rename(os.path.join(scratch, os.path.basename(ad["cmd"])), executable)
            cwd, output, error = scratch, os.path.join(scratch, "_condor_stdout"), os.path.join(scratch, "_condor_stderr")
            if ad["out"] == ad["err"]:
                error = output
            with open(os.path.join(scratch, ".brought"), "w") as file:
                file.write("\n".join(os.listdir(scratch)))
        if not os.access(executable, os.X_OK):
            raise Failed(f"Error from {SLOT}: Failed to execute '{executable}': (errno=2: 'No such file or directory')")
        self.ads(job, ad, scratch)
        try:
            out = open(output, "wb")
        except OSError as failure:
            raise Failed(f"Error from {SLOT}: Failed to open '{output}' as standard output: {failure.strerror} "
                         f"(errno {failure.errno})") from None
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOMAXPROCS", "OMP_THREAD_LIMIT")
        env = {"_CONDOR_SCRATCH_DIR": scratch, "_CONDOR_SLOT": "slot1_1", "_CONDOR_JOB_AD": os.path.join(scratch, ".job.ad"),
               "_CONDOR_MACHINE_AD": os.path.join(scratch, ".machine.ad"), "_CONDOR_JOB_IWD": cwd, "_CONDOR_JOB_PIDS": "",
               "_CONDOR_CHIRP_CONFIG": os.path.join(scratch, ".chirp.config"), "_CONDOR_BIN": "/usr/bin",
               "BATCH_SYSTEM": "HTCondor", "TMPDIR": scratch, "TEMP": scratch, "TMP": scratch, "HOME": read(job, "home"),
               **{name: fake_queue.cpus() for name in names}}
        env |= dict(word.split("=", 1) for word in words_of(ad.get("environment", "")))
        return {"args": [executable, *words_of(ad.get("arguments", ""))], "stdin": subprocess.DEVNULL, "stdout": out,
                "stderr": out if error == output else open(error, "wb"), "env": env, "cwd": cwd}

    def ads(self, job, ad, scratch):
        texts = json.loads(read(job, "ad")) | {"ClusterId": job, "ProcId": "0", "JobStatus": "2", "Owner": unparsed(USER)}
        machine = {"Machine": '"ep1.example.org"', "Name": unparsed(SLOT), "Cpus": fake_queue.cpus(), "TotalCpus": "64.0",
                   "Memory": "2048", "Disk": "10000000", "State": '"Claimed"', "Requirements": "START"}
        for name, rows in ((".job.ad", texts), (".machine.ad", machine)):
            with open(os.path.join(scratch, name), "w") as file:
                file.writelines(f"{name} = {text}\n" for name, text in sorted(rows.items()))

    def has_ended(self, job, again):
        """Output comes back at the end, and so does what the job has made, unless it says what shall."""
        ad, scratch = ad_of(job), path(job, f"dir_{read(job, 'starts')}")
        if self.transfers(job) and not again:
            shutil.copyfile(os.path.join(scratch, "_condor_stdout"), ad["out"])
            with open(os.path.join(scratch, ".brought")) as file:
                brought = file.read().split("\n")
            wanted = ad.get("transferoutput")
            for name in os.listdir(scratch) if wanted is None else wanted.split(","):
                file = os.path.join(scratch, name.strip())
                if os.path.isfile(file) and name not in brought and not name.startswith((".", "_condor_", "condor_exec")):
                    shutil.copy(file, ad["iwd"])
        shutil.rmtree(scratch, ignore_errors=True)

    def limit(self, job):
        ad = ad_of(job)
        return evaluated(parsed(json.loads(read(job, "ad")).get("AllowedJobDuration", "undefined")), ad) or None \
            if "allowedjobduration" in ad else None

    def matches(self, job):
        """One of 64 cpus and 256 GB. What is no number never matches, and nobody says so."""
        for name, most in (("RequestCpus", 64), ("RequestMemory", 262144)):
            wanted = evaluated(parsed(json.loads(read(job, "ad")).get(name, "1")), ad_of(job))
            if not isinstance(wanted, (int, float)) or wanted > most:
                return False
        return True

    def overdue(self, job):
        limit = self.limit(job)
        self.stop(job, HELD, f"The job exceeded allowed job duration of {limit // 3600}:{limit // 60 % 60:02d}:{limit % 60:02d}")

    def asked(self, first):
        return [first]


htcondor = HtCondor()


def words_of(text):
    """Arguments and environment in their new form: blanks between words, single quotes keep them, two of these are one."""
    words, word, quoted, k = [], None, False, 0
    while k < len(text):
        c = text[k]
        if c == "'" and quoted and text[k + 1:k + 2] == "'":
            word += "'"
            k += 1
        elif c == "'":
            quoted, word = not quoted, word or ""
        elif c in " \t" and not quoted:
            words += [word] if word is not None else []
            word = None
        else:
            word = (word or "") + c
        k += 1
    if quoted:
        raise Bad(text)
    return words + ([word] if word is not None else [])


# ---- condor_submit -------------------------------------------------------------------------------


TEXT, PATHS, EXPRESSION, SIZE, BOOLEAN = "text", "paths", "expression", "size", "boolean"
KEYWORDS = {  # what a line of the description becomes
    "executable": ("Cmd", PATHS), "output": ("Out", PATHS), "stdout": ("Out", PATHS), "error": ("Err", PATHS),
    "stderr": ("Err", PATHS), "input": ("In", PATHS), "log": ("UserLog", PATHS), "initialdir": ("Iwd", PATHS),
    "batch_name": ("JobBatchName", TEXT), "transfer_input_files": ("TransferInput", TEXT),
    "transfer_output_files": ("TransferOutput", TEXT), "transfer_executable": ("TransferExecutable", BOOLEAN),
    "leave_in_queue": ("LeaveJobInQueue", EXPRESSION), "allowed_job_duration": ("AllowedJobDuration", EXPRESSION),
    "allowed_execute_duration": ("AllowedExecuteDuration", EXPRESSION), "request_cpus": ("RequestCpus", EXPRESSION),
    "request_gpus": ("RequestGPUs", EXPRESSION), "request_memory": ("RequestMemory", SIZE), "request_disk": ("RequestDisk", SIZE),
    "requirements": ("Requirements", EXPRESSION), "rank": ("Rank", EXPRESSION), "priority": ("JobPrio", EXPRESSION),
    "accounting_group": ("AcctGroup", TEXT), "accounting_group_user": ("AcctGroupUser", TEXT),
    "concurrency_limits": ("ConcurrencyLimits", TEXT), "max_retries": ("MaxRetries", EXPRESSION),
    "arguments": ("Arguments", TEXT), "environment": ("Environment", TEXT), "getenv": ("GetEnv", TEXT),
    "job_max_vacate_time": ("JobMaxVacateTime", EXPRESSION), "periodic_remove": ("PeriodicRemove", EXPRESSION),
    "periodic_hold": ("PeriodicHold", EXPRESSION), "hold": ("Hold", BOOLEAN), "on_exit_remove": ("OnExitRemove", EXPRESSION),
    "on_exit_hold": ("OnExitHold", EXPRESSION), "nice_user": ("NiceUser", BOOLEAN),
}
CHOICES = {
    "universe": (("vanilla", "docker", "container", "local", "scheduler", "grid", "java", "parallel", "vm"),
                 "I don't know about the '{}' universe."),
    "should_transfer_files": (("yes", "no", "if_needed"), "invalid value ({}) for ShouldTransferFiles. Please either specify "
                              "YES, NO, or IF_NEEDED and try again."),
    "when_to_transfer_output": (("on_exit", "on_exit_or_evict", "on_success"), "invalid value ({}) for "
                                "WhenToTransferOutput. Please either specify ON_EXIT, or ON_EXIT_OR_EVICT and try again."),
    "notification": (("never", "always", "complete", "error"), "Notification must be 'Never', 'Always', 'Complete', or 'Error'"),
}
SUBMIT_OPTIONS = (("terse", 3, 0), ("name", 1, 1), ("pool", 2, 1), ("append", 1, 1), ("disable", 1, 0), ("unused", 1, 0),
                  ("dry-run", 3, 1))
SUBMIT_OTHERS = (("verbose", 1), ("debug", 2), ("spool", 1), ("file", 2), ("digest", 6), ("factory", 2), ("generator", 1),
                 ("address", 2), ("remote", 1), ("batch-name", 1), ("batch-id", 1), ("queue", 1), ("maxjobs", 3),
                 ("single-cluster", 3), ("dump", 2), ("help", 1), ("capabilities", 3), ("interactive", 1),
                 ("allow-crlf-script", 8))


def is_short_for(word, option, least):
    return len(word) > least and ("-" + option).startswith(word.replace("--", "-", 1).lower())


def not_a_submit(text, line=None):
    where = "" if line is None else f"\n\nERROR: Failed to parse command file (line {line})."
    raise Failed(f"\nERROR: {text}{where}")


def statements(text):
    """(number, line) of a description, without comments, with lines joined."""
    joined, number = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip() if not joined else joined + line.strip()
        joined = ""
        if line.endswith("\\"):
            joined = line[:-1]
        elif line and not line.startswith("#"):
            yield number, line


def expanded(value, macros, number, depth=0):
    def replace(match):
        name = match[1].split(":")[0].lower()
        if name == "dollar":
            return "\0"
        if match[0].startswith("$ENV"):
            return os.environ.get(match[1], "")
        if depth > 20:
            not_a_submit(f"macro {match[1]} refers to itself", number)
        return expanded(macros.get(name, match[1].split(":", 1)[1] if ":" in match[1] else ""), macros, number, depth + 1)
    return re.sub(r"(?<!\$)\$(?:ENV)?\(([\w.:]+)\)", replace, value)


def description(text, more):
    """The macros of a submit description, and how many jobs it queues. It ends with its queue statement."""
    macros, count = {}, None
    lines = list(statements(text))
    for number, line in lines:
        queue = re.match(r"queue\b(?!\s*=)\s*(.*)", line, re.I)
        if queue:
            for extra in more:
                take_line(extra, macros, number)
            if not re.fullmatch(r"\d*", queue[1].strip()):
                not_a_submit("Invalid Queue count expression" if not re.search(r"\b(in|from|matching)\b", queue[1]) else
                             "fake condor_submit: one job at a time", number)
            return macros, int(queue[1].strip() or "1")
        take_line(line, macros, number)
    raise Failed('\nERROR: "(stdin)" doesn\'t contain any "queue" commands -- no jobs queued')


def take_line(line, macros, number):
    match = re.match(r"(\+?)([\w.]+)\s*=\s*(.*)", line)
    if not match or re.match(r"\d", match[2]):
        not_a_submit(f"Illegal line: {line}" if "=" in line else f"Parse error, expected '=': {line}", number)
    macros[("my." if match[1] else "") + match[2].lower()] = match[3].strip()
    if match[1] or match[2].lower().startswith("my."):
        macros["\0" + match[2].lower().removeprefix("my.")] = match[2].removeprefix("MY.").removeprefix("my.")


def expression(name, text):
    try:
        parsed(text)
    except Bad:
        not_a_submit(f"Parse error in expression: \n\t{name} = {text}\n\t{' ' * len(name)}   ^^^")
    return text


def job_ad(macros, warnings):
    """Its ad: texts of expressions, by the names of attributes."""
    ad = {"JobUniverse": "5", "MyType": '"Job"', "Iwd": unparsed(os.getcwd()), "In": '"/dev/null"', "Out": '"/dev/null"',
          "Err": '"/dev/null"', "RequestCpus": "1", "ShouldTransferFiles": '"IF_NEEDED"', "LeaveJobInQueue": "false",
          "Requirements": "true"}
    for name, text in macros.items():
        if name.startswith("\0"):
            continue
        value = expanded(text, macros, 0).replace("\0", "$")
        if name.startswith("my."):
            attribute = macros["\0" + name[3:]]
            ad[attribute] = expression(attribute, value)
        elif name in CHOICES:
            allowed, complaint = CHOICES[name]
            if value.lower() not in allowed:
                not_a_submit(complaint.format(value))
            if name == "universe" and value.lower() != "vanilla":
                raise Failed(f"fake condor_submit: no {value} universe", NOT_OF_THIS_FAKE)
            ad |= {"ShouldTransferFiles": unparsed(value.upper())} if name == "should_transfer_files" else {}
        elif name not in KEYWORDS:
            warnings.append(f"WARNING: the line '{name} = {text}' was unused by condor_submit. Is it a typo?")
        else:
            attribute, kind = KEYWORDS[name]
            ad[attribute] = attribute_of(attribute, kind, value)
    if "executable" not in macros:
        not_a_submit("No 'executable' parameter was provided")
    # As condor_submit 25 looks for it, whatever -disable and -dry-run say.
    if ad.get("TransferExecutable", "true") == "true":
        executable = json.loads(ad["Cmd"])
        if not os.path.exists(executable):
            raise Failed(f"\nERROR: Executable file {executable} does not exist")
        if os.path.getsize(executable) == 0:
            raise Failed(f"\nERROR: Executable file {executable} has zero length")
    if not os.path.isdir(json.loads(ad["Iwd"])):
        not_a_submit(f"No such directory: {json.loads(ad['Iwd'])}")
    if json.loads(ad["ShouldTransferFiles"]) == "NO" and "TransferInput" in ad:
        not_a_submit("you specified files you want HTCondor to transfer via \"transfer_input_files\",\nbut you disabled "
                     "should_transfer_files.")
    return ad


def attribute_of(attribute, kind, value):
    if kind == EXPRESSION:
        return expression(attribute, value)
    if kind == SIZE:
        sized = re.fullmatch(r"(\d+)\s*([KMGT]?)B?", value, re.I)
        own = "M" if attribute == "RequestMemory" else "K"
        steps = " KMGT".index((sized[2] or own).upper()) - " KMGT".index(own) if sized else 0
        return str(int(int(sized[1]) * 1024.0 ** steps)) if sized else expression(attribute, value)
    if kind == BOOLEAN:
        if value.lower() not in ("true", "false", "yes", "no", "t", "f"):
            not_a_submit(f"{attribute}={value} is invalid, must eval to a boolean.")
        return "true" if value.lower()[0] in "ty" else "false"
    if kind == PATHS:
        return unparsed(os.path.join(os.getcwd(), value))
    if attribute in ("Arguments", "Environment"):
        if value[:1] != '"' or value[-1:] != '"':
            if attribute == "Environment" or '"' in value:
                not_a_submit(f"failed to parse {attribute.lower()}: Expecting double-quoted input string (V2 format).")
            return unparsed(value)
        value = value[1:-1].replace('""', '"')
        try:
            words_of(value)
        except Bad:
            not_a_submit(f"failed to parse {attribute.lower()}: Unbalanced quote starting here: {value}")
    if attribute == "TransferOutput" and value == '""':
        value = ""
    return unparsed(",".join(part.strip() for part in value.split(",")) if attribute == "TransferInput" else value)


def condor_submit(args):
    terse, dry, more, file, words = False, False, [], None, list(args)
    macros = {}
    while words:
        word = words.pop(0)
        if word == "-" or not word.startswith("-"):
            if "=" in word:
                take_line(word, macros, 0)
            else:
                file = word
            continue
        option = next((o for o in SUBMIT_OPTIONS if is_short_for(word, o[0], o[1])), None)
        if option is None:
            if any(is_short_for(word, name, least) for name, least in SUBMIT_OTHERS):
                raise Failed(f"fake condor_submit: no {word}", NOT_OF_THIS_FAKE)
            raise Failed("Usage: condor_submit [options] [<attrib>=<value>] [- | <submit-file>]\n    [options] are\n"
                         "\t-terse  \t\tDisplay terse output, jobid ranges only\n"
                         "\t-verbose\t\tDisplay verbose output, jobid and full job ClassAd")
        if option[2] and not words:
            raise Failed(f"condor_submit: -{option[0]} requires another argument")
        value = words.pop(0) if option[2] else None
        terse, dry = terse or option[0] == "terse", dry or option[0] == "dry-run"
        more += [value] if option[0] == "append" else []
        if option[0] == "name" and value != HOST:
            raise Failed(f"\nERROR: Can't find address of schedd {value}")
    if file in (None, "-"):
        text = sys.stdin.read()
    else:
        try:
            with open(file) as opened:
                text = opened.read()
        except OSError as error:
            raise Failed(f"\nERROR: Failed to open command file ({file}) ({error.strerror})") from None

    def submit():
        given, count = description(text, more)
        warnings = []
        ad = job_ad(macros | given, warnings)
        if count != 1:
            raise Failed("fake condor_submit: one job at a time", NOT_OF_THIS_FAKE)
        sys.stderr.write("".join(warning + "\n" for warning in warnings))  # of a dry run, too
        if dry:
            return "1.0 - 1.0\n" if terse else "1 job(s) dry-run to cluster 1.\n"
        job = htcondor.add(name=json.loads(ad.get("SpatePilot", ad.get("JobBatchName", '""'))), ad=json.dumps(ad),
                           home=os.environ.get("HOME", "/"), output=json.loads(ad["Out"]))
        if ad.get("Hold") == "true":
            htcondor.change(job, HELD, "submitted on hold at user's request")
        return f"{job}.0 - {job}.0\n" if terse else f"Submitting job(s).\n1 job(s) submitted to cluster {job}.\n"
    return submit


# ---- condor_q and condor_history -----------------------------------------------------------------


def query(name, known):
    def words(args):
        constraint, columns, form, ids, rest = None, [], None, [], list(args)
        while rest:
            word = rest.pop(0)
            autoformat = re.fullmatch(r"-(?:af|autof\w*|format_auto)(?::([,ntglhVrjo]*))?", word)
            if autoformat:
                form, columns = autoformat[1] or "", []
                while rest and not rest[0].startswith("-"):
                    columns.append(rest.pop(0))
                if not columns:
                    raise Failed(f"Error: Argument {word} requires at least one attribute parameter")
            elif is_short_for(word, "constraint", 1):
                if not rest:
                    raise Failed(f"Error: Argument {word} requires a constraint parameter")
                constraint = rest.pop(0)
                try:
                    constraint = parsed(constraint)
                except Bad:
                    raise Failed(f"Error: could not parse constraint {constraint}") from None
            elif word == "-json":
                form = "json"
            elif is_short_for(word, "allusers", 3) or word == "-nobatch":
                pass
            elif is_short_for(word, "name", 1) or is_short_for(word, "pool", 1):
                if not rest:
                    raise Failed(f"Error: Argument {word} requires a name parameter")
                if rest.pop(0) != HOST:
                    raise Failed("Error: unknown host")
            elif re.fullmatch(r"\d+(\.\d+)?", word):
                ids.append(word)
            else:
                raise Failed(f"Error: unrecognized argument {word}\n"
                             f"Usage: {name} [general-opts] [restriction-list] [output-opts]")
        if form is None:
            raise Failed(f"fake {name}: only -autoformat and -json", NOT_OF_THIS_FAKE)

        def look():
            ads = []
            for job in filter(known, fake_queue.jobs()):
                ad = ad_of(job)
                fits = not ids or job in ids or f"{job}.0" in ids
                if fits and (constraint is None or evaluated(constraint, ad) is True):
                    ads.append((job, ad))
            if form == "json":
                return json.dumps([as_json(job, ad) for job, ad in ads], indent=2) + "\n" if ads else ""
            return "".join(row(ad, columns, form) for _, ad in ads)
        return look
    return words


def as_json(job, ad):
    names = {name.lower(): name for name in json.loads(read(job, "ad"))}
    return {names.get(name, name): "/Expr(…)/" if isinstance(value, tuple) else value for name, value in ad.items()}


def row(ad, columns, form):
    between = "\t" if "t" in form else " "
    after = "," if "," in form else ""
    values = []
    for column in columns:
        value = evaluated(parsed(column), ad)
        values.append(unparsed(value) if "V" in form or not isinstance(value, str) else value)
    return (after + between).join(values) + after + "\n"


# ---- Changing ------------------------------------------------------------------------------------


def on_jobs(name, act):
    """A command of ids: what went well on stdout, the rest on stderr, and exit code 1 when there is such."""
    def words(args):
        ids, reason, fast, rest = [], f"via {name} (by user {USER})", False, list(args)
        while rest:
            word = rest.pop(0)
            if re.fullmatch(r"\d+(\.\d+)?", word):
                ids.append(word)
            elif is_short_for(word, "reason", 1):
                reason = rest.pop(0) + f" (by user {USER})"
            elif name == "condor_vacate_job" and is_short_for(word, "fast", 1):
                fast = True
            elif word.startswith("-"):
                raise Failed(f"Unrecognized option: {word}\nUsage: {name} [options] [constraints]")
            else:
                raise Failed(f"fake {name}: only ids", NOT_OF_THIS_FAKE)
        if not ids:
            raise Failed(f"You did not specify any jobs\nUsage: {name} [options] [constraints]")

        def change():
            good, bad = "", ""
            for word in ids:
                job, _, process = word.partition(".")
                if not is_queued(job) or process not in ("", "0"):
                    bad += f"Job {word} not found\n"
                    continue
                try:
                    good += act(job, word, reason, fast) + "\n"
                except Failed as error:
                    bad += error.text + "\n"
            if bad:
                raise Failed(bad, 1, out=good)
            return good
        return change
    return words


def remove(job, word, reason, fast):
    if ad_of(job)["jobstatus"] == 3:
        raise Failed(f"Job {word} already marked for removal")
    if state(job) == ENDED:  # it leaves the queue
        write(CANCELLED, job, "end")
    htcondor.cancel(job)
    return f"Job {word} marked for removal"


def hold(job, word, reason, fast):
    if state(job) == HELD:
        raise Failed(f"Job {word} already held")
    if state(job) == RUNNING:
        htcondor.stop(job, HELD, reason)
    else:
        htcondor.change(job, HELD, reason)
    return f"Job {word} held"


def release(job, word, reason, fast):
    if state(job) != HELD:
        raise Failed(f"Job {word} not held to be released")
    htcondor.change(job, QUEUED)
    return f"Job {word} released"


def vacate(job, word, reason, fast):
    if state(job) != RUNNING:
        raise Failed(f"Job {word} not running to be vacated")
    htcondor.stop(job, QUEUED, hard=fast)
    return f"Job {word} {'fast-' if fast else ''}vacated"


COMMANDS = {
    "condor_submit": condor_submit,
    "condor_q": query("condor_q", is_queued),
    "condor_history": query("condor_history", lambda job: state(job) == ENDED and not is_queued(job)),
    "condor_rm": on_jobs("condor_rm", remove),
    "condor_hold": on_jobs("condor_hold", hold),
    "condor_release": on_jobs("condor_release", release),
    "condor_vacate_job": on_jobs("condor_vacate_job", vacate),
}


def down(name):
    if name == "condor_submit":
        return "\nERROR: Failed to connect to local queue manager\nCEDAR:6001:Failed to connect to <127.0.0.1:9618>", 1
    if name == "condor_q":
        return f"\n-- Failed to fetch ads from: <127.0.0.1:9618> : {HOST}\nCEDAR:6001:Failed to connect to <127.0.0.1:9618>", 1
    return "CEDAR:6001:Failed to connect to <127.0.0.1:9618>", 1


if __name__ == "__main__":
    fake_queue.run(htcondor, COMMANDS, {"condor_submit"}, down)
