#!/usr/bin/python3
"""qsub, qstat, qselect, qdel, qhold, qrls and qrerun, by the name that this file is called by; the queue is fake_queue.py's.

Made from OpenPBS 23.06: the options and checks of its commands, its messages, the exit codes that are left of its errors (15001
and so on, as much of them as a byte holds), how qstat folds lines, what pbs_mom gives to a batch job and how it starts and ends
it: a login shell with the script's path on its stdin; SIGTERM to all of the session, and SIGKILL to what is left of it when that
shell has gone, which hears SIGTERM as well. Its output is brought to its place at the end. Whatever else these commands can do is
refused with exit code 99, which is none of theirs.
"""
import getopt
import json
import os
import pwd
import re
import shutil
import socket
import sys
import time

import fake_queue
from fake_queue import ENDED, HELD, QUEUED, RUNNING, Failed, path, read, state, write

SERVER = "pbs1"
QUEUES = ("workq", "short", "long")
USER = pwd.getpwuid(os.geteuid()).pw_name
NAME_BYTES = 230
NOT_OF_THIS_FAKE = 99

# Errors of the server; their exit code is a byte.
BADATVAL, BADSTATE, UNKQUE, UNKRESC, HISTJOBID, UNKJOBID = 15014, 15016, 15018, 15035, 15139, 15001
INVALJOBRESC, INVALNODEPLACE, PLACENOSELECT, CANNOT_CONNECT = 15109, 15110, 15111, 111
REFUSALS = {"Unknown queue": UNKQUE, "Unauthorized Request": 15007, "would exceed": 15127, "Maximum number of jobs": 15046,
            "Job violates queue and/or server resource limits": 15036}

# Of a whole job, beside a select statement and in its place.
FREE_RESOURCES = ("walltime", "min_walltime", "max_walltime", "cput", "pcput", "software", "soft_walltime", "site")
HOST_RESOURCES = ("ncpus", "mem", "pmem", "vmem", "pvmem", "ngpus", "host", "arch", "vnode", "file", "nice", "ompthreads",
                  "naccelerators")
CHUNK_RESOURCES = HOST_RESOURCES + ("mpiprocs", "accelerator", "accelerator_model")

QSUB_USAGE = """usage: qsub [-a date_time] [-A account_string] [-c interval]
\t[-C directive_prefix] [-e path] [-f ] [-h ] [-I [-X]] [-j oe|eo] [-J X-Y[:Z]]
\t[-k keep] [-l resource_list] [-m mail_options] [-M user_list]
\t[-N jobname] [-o path] [-p priority] [-P project] [-q queue] [-r y|n]
\t[-R o|e|oe] [-S path] [-u user_list] [-W otherattributes=value...]
\t[-v variable_list] [-V ] [-z] [script | -- command [arg1 ...]]
       qsub --version"""


def code_of(error):
    return error & 255


def id_of(job):
    return f"{job}.{SERVER}"


class Pbs(fake_queue.System):
    kills_sessions = True
    lost = ("qsub: End of File", 1)

    def refusal(self, text):
        error = next((error for words, error in REFUSALS.items() if words in text), BADATVAL)
        return "qsub: " + text, code_of(error)

    def launch(self, job):
        options = json.loads(read(job, "options"))
        home = os.environ.get("HOME", "/")
        script, nodes = path(job, id_of(job) + ".SC"), path(job, "nodefile")
        write(read(job, "script"), script)
        os.chmod(script, 0o700)
        write(socket.gethostname() + "\n", nodes)
        os.makedirs(path(job, "tmp"), exist_ok=True)
        env = {"PATH": "/bin:/usr/bin", "HOME": home, "LOGNAME": USER, "USER": USER, "SHELL": "/bin/sh",
               "TMPDIR": path(job, "tmp"), "PBS_ENVIRONMENT": "PBS_BATCH", "PBS_JOBID": id_of(job),
               "PBS_JOBNAME": read(job, "name"), "PBS_JOBDIR": home,
               "PBS_JOBCOOKIE": "0" * 32, "PBS_NODENUM": "0", "PBS_TASKNUM": "1", "PBS_MOMPORT": "15003", "PBS_NODEFILE": nodes,
               "PBS_QUEUE": options["queue"], "NCPUS": fake_queue.cpus(), "OMP_NUM_THREADS": fake_queue.cpus(),
               **submitters(options["environment"]), **options["variables"]}
        shell = options.get("S", "/bin/sh").split(",")[0].split("@")[0]
        reader, writer = os.pipe()
        os.write(writer, (script + "\n").encode())
        os.close(writer)
        output = open(path(job, "spooled"), "wb")
        return {"args": ["-" + os.path.basename(shell)], "executable": shell, "stdin": reader, "stdout": output, "stderr": output,
                "env": env, "cwd": home}

    def has_ended(self, job, again):
        if not again:
            shutil.copyfile(path(job, "spooled"), read(job, "output"))

    def limit(self, job):
        return seconds_of(json.loads(read(job, "options"))["resources"].get("walltime", ""))

    def overdue(self, job):
        with open(path(job, "spooled"), "ab") as output:
            limit = self.limit(job)
            output.write(f"=>> PBS: job killed: walltime {limit + 1} exceeded limit {limit}\n".encode())
        self.stop(job, fake_queue.FAILED)


pbs = Pbs()


def submitters(environment):
    names = ("HOME", "LANG", "LOGNAME", "PATH", "MAIL", "SHELL", "TZ")
    found = {"PBS_O_" + name: environment[name] for name in names if name in environment}
    return found | {"PBS_O_WORKDIR": environment["PWD"], "PBS_O_SYSTEM": "Linux", "PBS_O_HOST": SERVER, "PBS_O_QUEUE": "workq"}


# ---- qsub ----------------------------------------------------------------------------------------


def bad_option(text):
    raise Failed(f"qsub: {text}\n{QSUB_USAGE}", 2)


def illegal(name):
    raise Failed(f"qsub: Illegal attribute or resource value {name}", code_of(BADATVAL))


def options_of(args, usage, letters, name):
    try:
        return getopt.gnu_getopt(args, letters)
    except getopt.GetoptError as error:
        what = "option requires an argument" if "requires" in error.msg else "invalid option"
        raise Failed(f"{name}: {what} -- '{error.opt}'\n{usage}", 2) from None


def seconds_of(text):
    """Of [[HH:]MM:]SS[.MS]."""
    if not re.fullmatch(r"(\d+:){0,2}\d+(\.\d+)?", text):
        return None
    seconds = 0
    for part in text.split(".")[0].split(":"):
        seconds = 60 * seconds + int(part)
    return seconds


def split_resources(text):
    """NAME[=VALUE],... where quotes keep commas."""
    found, rest = [], text
    while rest:
        match = re.match(r"\s*([^=,\s]+)\s*(?:=\s*((?:\"[^\"]*\"|'[^']*'|[^,\s\"'])*))?\s*(,|$)", rest)
        if not match or (match[3] and match.end() == len(rest)):
            bad_option("illegal -l value")
        found.append((match[1], match[2] or ""))
        rest = rest[match.end():]
    if not text:
        bad_option("illegal -l value")
    return found


def check_resources(resources):
    """What the server says of them."""
    for name, value in resources.items():
        known = name in FREE_RESOURCES + HOST_RESOURCES + ("select", "place", "nodes", "nodect")
        if not known:
            raise Failed(f"qsub: Unknown resource Resource_List.{name}", code_of(UNKRESC))
        times = name in ("walltime", "cput", "pcput", "min_walltime", "max_walltime", "soft_walltime")
        sizes = name in ("mem", "pmem", "vmem", "pvmem", "file")
        if (times and seconds_of(value) is None) or (sizes and not re.fullmatch(r"\d+([kmgtp]?[bw])?", value, re.I)) or (
                name in ("ncpus", "ngpus", "ompthreads") and not re.fullmatch(r"\d+", value)):
            illegal("Resource_List." + name)
    for chunk in resources["select"].split("+") if "select" in resources else []:
        count, *parts = chunk.split(":")
        if not count.isdigit():
            parts.insert(0, count)
        for part in parts:
            name, equals, value = part.partition("=")
            if not equals or not value:
                illegal("Resource_List.select")
            if name not in CHUNK_RESOURCES:
                raise Failed(f"qsub: Unknown resource {name}", code_of(UNKRESC))
    for word in resources["place"].split(":") if "place" in resources else []:
        if not re.fullmatch(r"free|pack|scatter|vscatter|excl|shared|exclhost|group=\w+", word):
            illegal("Resource_List.place")
    if ("select" in resources or "place" in resources) and "nodes" in resources:
        raise Failed("qsub: Cannot be used with select or place: nodes", code_of(INVALNODEPLACE))
    if "place" in resources and "select" not in resources:
        raise Failed("qsub: place specification cannot be used without select", code_of(PLACENOSELECT))
    for name in HOST_RESOURCES:
        if "select" in resources and name in resources:
            raise Failed(f'qsub: "-lresource=" cannot be used with "select" or "place", resource is: {name}',
                         code_of(INVALJOBRESC))


def check_value(letter, value):
    wrong = {
        "N": len(value) > NAME_BYTES or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+_-]*", value),
        "j": value not in ("oe", "eo", "n"),
        "r": value not in ("y", "n"),
        "k": not re.fullmatch(r"n|[oed]+", value),
        "p": not re.fullmatch(r"[+-]?\d+", value) or abs(int(value)) > 1023,
        "m": not re.fullmatch(r"n|[abej]+", value),
        "S": not all(shell.startswith("/") for shell in value.split(",")),
        "W": not re.match(r"\w+\s*=", value),
    }
    if wrong.get(letter, False):
        bad_option(f"illegal -{letter} value")


LETTERS = "a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:q:r:R:S:u:v:VW:XzP:"


def take(options, found, weak=False):
    """The last one of a letter counts; those of a script count where the command line has none."""
    before = dict(options)
    for flag, value in found:
        letter = flag[1:]
        if letter in "IXJRu" or (letter == "W" and re.match(r"block\s*=\s*true|interactive", value)):
            raise Failed(f"fake qsub: no {flag} {value}", NOT_OF_THIS_FAKE)
        check_value(letter, value)
        if letter == "l":
            for name, text in split_resources(value):
                if not (weak and name in before["resources"]):
                    options["resources"] = options["resources"] | {name: text}
        elif not (weak and letter in before):
            options[letter] = value


def directives(script, prefix):
    """Options of the script, up to its first command; an empty prefix: none."""
    for line in script.splitlines():
        line = line.strip()
        if prefix and line.startswith(prefix):
            found, rest = options_of(line[len(prefix):].split(), QSUB_USAGE, LETTERS, "qsub")
            if rest:
                raise Failed(f"qsub: directive error: {' '.join(line[len(prefix):].split())} ", 1)
            yield from found
        elif line and not line.startswith(("#", ":")):
            return


def qsub(args):
    found, rest = options_of(args, QSUB_USAGE, LETTERS, "qsub")
    options = {"resources": {}, "variables": {}, "environment": dict(os.environ, PWD=os.getcwd())}
    take(options, found)
    if len(rest) > 1:
        raise Failed(QSUB_USAGE, 2)
    if rest and rest[0] != "-":
        try:
            with open(rest[0]) as file:
                script = file.read()
        except OSError as error:
            raise Failed(f"qsub: script file:: {error.strerror}", 1) from None
    else:
        script = sys.stdin.read()
    take(options, directives(script, options.get("C", "#PBS")), weak=True)
    if "\r\n" in script:
        raise Failed("qsub:  script is written in DOS/Windows text format", 1)
    for item in filter(None, options.get("v", "").split(",")):
        name, equals, value = item.partition("=")
        if not equals and name not in os.environ:
            raise Failed("qsub: cannot send environment with the job", 1)
        options["variables"][name] = value if equals else os.environ[name]
    if "V" in options:
        options["variables"] = {k: v for k, v in os.environ.items() if not k.startswith("PBS_")} | options["variables"]
    options["queue"] = options.get("q", "") or "workq"

    def submit():
        queue, _, server = options["queue"].partition("@")
        if server not in ("", SERVER) or queue not in QUEUES:
            raise Failed("qsub: Unknown queue", code_of(UNKQUE))
        check_resources(options["resources"])
        name = options.get("N", os.path.basename(rest[0]) if rest else "STDIN")
        output = options.get("o", "").split(":")[-1]
        base = options["environment"]["PWD"]
        job = pbs.add(script=script, name=name, options=json.dumps(options), args=" ".join(args), output="")
        write(os.path.join(base, output) if output else os.path.join(base, f"{name}.o{job}"), job, "output")
        if "h" in options:
            pbs.change(job, HELD)
        return "" if "z" in options else id_of(job) + "\n"
    return submit


# ---- qstat ---------------------------------------------------------------------------------------


LINE = 79


def folded(name, value):
    """One attribute, as qstat prints it: lines are broken behind commas, and within what has none and is too long."""
    text, at, first = f"    {name} = ", len(name) + 7, True
    parts = [part for part in value.split(",") if part]
    for k, part in enumerate(parts):
        part = "".join(c if c.isprintable() or c == "\t" else "^" + chr(ord(c) ^ 64) for c in part)
        if len(part) + at < LINE:
            text += part
            at += len(part)
        else:
            if not first:
                text += "\n\t"
                at = 9
            for c in part:
                text += c
                at += 1
                if at > LINE:
                    text += "\n\t"
                    at = 8
        if k + 1 < len(parts):
            text += ","
            first = False
    return text + "\n"


def letter_of(job):
    if state(job) == RUNNING and read(job, "then") and not is_alive(read(job, "pid")):
        return "E"
    return {QUEUED: "Q", HELD: "H", RUNNING: "R", ENDED: "F"}[state(job)]


def is_alive(pid):
    return pid.isdigit() and os.path.exists("/proc/" + pid)


def clock(text):
    return time.asctime(time.localtime(int(text or "0")))


def attributes(job):
    options = json.loads(read(job, "options"))
    letter = letter_of(job)
    resources = {"ncpus": "1", "nodect": "1", "place": "pack", "select": "1:ncpus=1"} | options["resources"]
    if seconds_of(resources.get("walltime", "")):
        seconds = seconds_of(resources["walltime"])
        resources["walltime"] = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    output, submitted = f"{SERVER}:{read(job, 'output')}", clock(read(job, "submitted"))
    rows = [("Job_Name", read(job, "name")), ("Job_Owner", f"{USER}@{SERVER}"), ("job_state", letter),
            ("queue", options["queue"]), ("server", SERVER), ("Checkpoint", "u"), ("ctime", submitted), ("Error_Path", output)]
    if letter in "RE":
        rows += [("exec_host", "n1/0"), ("exec_vnode", "(n1:ncpus=1)")]
    rows += [("Hold_Types", "u" if letter == "H" else "n"), ("Join_Path", options.get("j", "n")), ("Keep_Files", "n"),
             ("Mail_Points", "a"), ("mtime", clock(read(job, "since"))), ("Output_Path", output), ("Priority", "0"),
             ("qtime", submitted), ("Rerunable", "True")]
    rows += [(f"Resource_List.{name}", value) for name, value in sorted(resources.items())]
    if letter in "REF":
        rows += [("stime", clock(read(job, "since"))), ("session_id", read(job, "pid", default="0"))]
    rows += [("Shell_Path_List", options["S"])] if "S" in options else []
    rows += [("substate", {"Q": "10", "H": "20", "R": "42", "E": "51", "F": "92"}[letter])]
    variables = submitters(options["environment"]) | options["variables"]
    rows += [("Variable_List", ",".join(f"{k}={v}" for k, v in variables.items()))]
    when = time.strftime("%a %b %d at %H:%M", time.localtime(int(read(job, "since", default="0"))))
    ran = f"Job run at {when} on (n1:ncpus=1)"
    comments = {"Q": "Not Running: Insufficient amount of resource: ncpus (R: 1 A: 0 T: 4)", "R": ran, "E": ran,
                "F": ran + " and finished"}
    comment = read(job, "reason") or comments.get(letter, "")
    rows += [("comment", comment)] if comment else []
    rows += [("etime", clock(read(job, "submitted"))), ("run_count", read(job, "starts"))]
    rows += [("Exit_status", exit_status(job))] if letter == "F" else []
    return rows + [("Submit_arguments", read(job, "args")), ("project", "_pbs_project_default"), ("Submit_Host", SERVER)]


def exit_status(job):
    code = int(read(job, "code", default="0"))
    return str(256 - code if code < 0 else code)


def job_of(word, name):
    """The number of an id; the server's name may be left out."""
    match = re.fullmatch(r"(\d+)(\[\d*\])?(\.[\w.-]+)?", word)
    if not match:
        raise Failed(f"{name}: illegally formed job identifier: {word}", 1)
    return match[1] if not match[2] and match[3] in (None, "." + SERVER) else "0"


QSTAT_USAGE = """usage:
qstat [-f] [-J] [-p] [-t] [-x] [-E] [-F format] [-D delim] [ job_identifier... | destination... ]
qstat [-a|-i|-r|-H|-T] [-J] [-t] [-u user] [-n] [-s] [-G|-M] [-1] [-w]
\t[ job_identifier... | destination... ]
qstat -Q [-f] [-F format] [-D delim] [ destination... ]
qstat -q [-G|-M] [ destination... ]
qstat -B [-f] [-F format] [-D delim] [ server_name... ]
qstat --version"""


def qstat(args):
    found, ids = options_of(args, QSTAT_USAGE, "aBD:EF:fGHiJMnpQqrstTu:wx1", "qstat")
    flags = {flag[1:]: value for flag, value in found}
    if set(flags) - set("fFxw"):
        raise Failed(f"fake qstat: no {found}", NOT_OF_THIS_FAKE)
    if "F" in flags and flags["F"].lower() not in ("json", "dsv"):
        raise Failed(QSTAT_USAGE, 2)

    def look():
        chosen, errors, code = [], "", 0
        for word in ids or map(id_of, fake_queue.jobs()):
            try:
                job = job_of(word, "qstat")
            except Failed as error:
                errors, code = errors + error.text + "\n", 1
                continue
            if not fake_queue.is_known(job):
                errors, code = errors + f"qstat: Unknown Job Id {word}\n", code_of(UNKJOBID)
            elif state(job) != ENDED or "x" in flags:
                chosen.append(job)
            elif ids:
                errors += f"qstat: {word} Job has finished, use -x or -H to obtain historical job information\n"
                code = code_of(HISTJOBID)
        text = listed(chosen, flags)
        if errors:
            raise Failed(errors, code, out=text)
        return text
    return look


def listed(chosen, flags):
    if flags.get("F", "").lower() == "json":
        entries = {id_of(job): dict(attributes(job)) for job in chosen}
        head = {"timestamp": int(time.time()), "pbs_version": "23.06.06", "pbs_server": SERVER}
        return json.dumps(head | {"Jobs": entries}, indent=4) + "\n"
    text = ""
    if "f" in flags:
        for job in chosen:
            text += f"Job Id: {id_of(job)}\n"
            for name, value in attributes(job):
                text += f"    {name} = {value}\n" if "w" in flags else folded(name, value)
            text += "\n"
        return text
    if chosen:
        text = f"{'Job id':16} {'Name':16} {'User':16} {'Time Use':>8} S Queue\n"
        text += f"{'-' * 16} {'-' * 16} {'-' * 16} {'-' * 8} - -----\n"
    for job in chosen:
        text += f"{id_of(job):16.16} {read(job, 'name'):16.16} {USER:16.16} {'00:00:00':>8} {letter_of(job)} workq\n"
    return text


def qselect(args):
    usage = "usage: qselect [-a [op]date_time] [-A account_string] [-c [op]interval]"
    found, rest = options_of(args, usage, "a:A:c:h:HJl:N:p:q:r:s:t:Tu:xP:", "qselect")
    if rest:
        raise Failed(usage, 2)
    flags = {flag[1:]: value for flag, value in found}
    if set(flags) - set("uNxs"):
        raise Failed(f"fake qselect: no {found}", NOT_OF_THIS_FAKE)

    def select():
        users = [user.split("@")[0] for user in flags.get("u", USER).split(",")]
        text = ""
        for job in filter(fake_queue.is_known, fake_queue.jobs()):
            fits = USER in users and flags.get("N", read(job, "name")) == read(job, "name")
            if fits and letter_of(job) in flags.get("s", "QHRETSUBW" + ("F" if "x" in flags else "")):
                text += id_of(job) + "\n"
        return text
    return select


# ---- Changing ------------------------------------------------------------------------------------


def on_ids(name, usage, act, letters=""):
    """A command of ids; each failure is told, and the last one's code counts."""
    def words(args):
        found, ids = options_of(args, usage, letters, name)
        if not ids:
            raise Failed(usage, 2)

        def change():
            errors, code = "", 0
            for word in ids:
                try:
                    job = job_of(word, name)
                    if not fake_queue.is_known(job):
                        raise Failed(f"{name}: Unknown Job Id {word}", code_of(UNKJOBID))
                    if state(job) == ENDED:
                        raise Failed(f"{name}: Job has finished {word}", code_of(HISTJOBID))
                    act(job, word, found)
                except Failed as error:
                    errors, code = errors + error.text + "\n", error.code
            if errors:
                raise Failed(errors, code)
        return change
    return words


def rerun(job, word, found):
    if state(job) != RUNNING:
        raise Failed(f"qrerun: Request invalid for state of job {word}", code_of(BADSTATE))
    pbs.stop(job, QUEUED, hard=True)


def hold(job, word, found):
    if state(job) == RUNNING:
        raise Failed(f"qhold: Request invalid for state of job {word}", code_of(BADSTATE))
    pbs.change(job, HELD)


def release(job, word, found):
    if state(job) == HELD:
        pbs.change(job, QUEUED)


COMMANDS = {
    "qsub": qsub,
    "qstat": qstat,
    "qselect": qselect,
    "qdel": on_ids("qdel", "usage:\n\tqdel [-W force|suppress_email=X] [-x] job_identifier...\n\tqdel --version",
                   lambda job, word, found: pbs.cancel(job), "W:x"),
    "qrerun": on_ids("qrerun", "usage: qrerun [-W force] job_identifier...\n       qrerun --version", rerun, "W:"),
    "qhold": on_ids("qhold", "usage: qhold [-h hold_list] job_identifier...\n       qhold --version", hold, "h:"),
    "qrls": on_ids("qrls", "usage: qrls [-h hold_list] job_identifier...\n       qrls --version", release, "h:"),
}


def down(name):
    if name == "qdel":
        return f"Connection refused\nCouldn't connect to cluster: {SERVER}", CANNOT_CONNECT
    return f"Connection refused\n{name}: cannot connect to server {SERVER} (errno={CANNOT_CONNECT})", CANNOT_CONNECT


if __name__ == "__main__":
    fake_queue.run(pbs, COMMANDS, {"qsub"}, down)
