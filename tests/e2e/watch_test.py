"""A run that is watched, waited for, held and ended from another terminal."""
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import fcntl
import termios
import time

from harness import DEADLINE, Place, SPATE, main, states, stop, wait, want

# A task that says that it runs, and ends when it may.
TASK = "echo {} >> ran; while [ ! -e go{} ] && [ ! -e go ]; do sleep 0.02; done"


def started(place, *options, values=("1", "2", "3")):
    """A run of one task at once, of which the first runs."""
    run = place.start("-j1", *options, "--", TASK, ":::", *values)
    wait(lambda: place.lines("ran"), "the first task runs")
    return run


def ask(place, *args, code=0, cwd=None):
    done = subprocess.run([SPATE, "job", *args], cwd=cwd or place.dir, env=place.env,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE)
    err = done.stderr.decode()
    want(code is None or done.returncode == code, f"job {args}: exit code {done.returncode}: {err}")
    return err


def waiter(place, *args):
    return subprocess.Popen([SPATE, "job", *args], cwd=place.dir, env=place.env,
                            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_waiting_for_a_run(place: Place):
    run = started(place)
    # From anywhere; by number and as the last one.
    os.mkdir(os.path.join(place.dir, "sub"))
    waits = [subprocess.Popen([SPATE, "job", verb, name], cwd=os.path.join(place.dir, "sub"),
                              env=place.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
             for verb, name in (("wait", "last"), ("progress", "1"), ("wait", "1"))]
    place.write("go")
    told = [one.communicate(timeout=DEADLINE)[1].decode() for one in waits]
    want([one.returncode for one in waits] == [0, 0, 0], str(told))
    want(told[0] == "" and told[1] == "spate: job 1: 3 of 3 tasks succeeded\n", str(told))
    run.communicate(timeout=DEADLINE)
    want(run.returncode == 0, run.returncode)
    ask(place, "wait", "last")  # it has ended
    place.run("--", "false", code=1)
    want("1 failed" in ask(place, "wait", code=1), "what failed is told")
    ask(place, "wait", "1", "2", code=1)
    want("no job 7" in ask(place, "wait", "7", code=2), "no such job")


def test_a_run_is_held_and_released(place: Place):
    run = started(place)
    want("job 1 held" in ask(place, "hold", "last"), "held")
    place.write("go1")  # the first one ends, nothing follows, and the run waits
    wait(lambda: json.loads(place.run("--output", "json", "1", command="job info")[0])["succeeded"]
         == 1, "the first task ends")
    want(run.poll() is None and place.lines("ran") == ["1"], place.read("ran"))
    want("job 1 held" in ask(place, "hold", "1"), "twice")
    why = json.loads(place.run("1.3", "--output", "json", command="task explain")[0])
    want("held from another terminal" in why["text"], why)
    want("job 1 released" in ask(place, "release", "1"), "released")
    place.write("go")
    _, err = run.communicate(timeout=DEADLINE)
    want(run.returncode == 0 and b"held from another terminal" in err, err)
    want(place.lines("ran") == ["1", "2", "3"], place.read("ran"))
    want("is not running" in ask(place, "release", "1", code=3), "an ended run")


def test_ctrl_c_ends_a_run_that_is_held(place: Place):
    run = started(place)
    ask(place, "hold", "last")
    place.write("go1")
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=DEADLINE)
    want(run.returncode == 130 and b"--resume" in err, err)
    place.write("go")
    place.run("--resume")  # who goes on need not release it
    want(place.lines("ran") == ["1", "2", "3"], place.read("ran"))


def test_a_run_is_cancelled(place: Place):
    run = started(place)
    wait_for = waiter(place, "wait", "last")
    want("1 task of job 1 cancelled" in ask(place, "cancel", "1.3"), "one task")
    want("no selected task" in ask(place, "cancel", "last.3"), "it is cancelled already")
    want("job 1 cancelled" in ask(place, "cancel", "last"), "cancelled")
    _, err = run.communicate(timeout=DEADLINE)
    want(run.returncode == 1 and b"3 cancelled" in err, (run.returncode, err))
    want(place.lines("ran") == ["1"], place.read("ran"))
    _, err = wait_for.communicate(timeout=DEADLINE)
    want(wait_for.returncode == 1 and b"3 cancelled" in err, err)
    ask(place, "wait", "1", code=1)
    out, _ = place.run("1", command="job info")
    want("3 cancelled" in out and "state      cancelled" in out, out)
    out, _ = place.run("1", command="job list")
    want(" cancelled " in out and " 0/3 " in out, out)
    out, _ = place.run("1.3", command="task explain")
    want("a user cancelled it" in out, out)
    # The same command takes up what was cancelled.
    place.write("go")
    place.run("--resume", "--", TASK, ":::", "1", "2", "3")
    want(place.lines("ran") == ["1", "1", "2", "3"], place.read("ran"))
    ask(place, "wait", "1")


def test_a_run_answers_as_a_hub_does(place: Place):
    run = started(place)
    folder = os.path.join(place.state, "jobs", "1")
    as_hub = os.path.join(place.dir, "as-hub")  # a state folder whose hub is the run
    os.mkdir(as_hub)
    os.symlink(folder, os.path.join(as_hub, "hub"))

    def hub(*words, code=0):
        noun = words[0] not in ("submit", "top")
        options = ["--state", as_hub] if not noun or words[0] != "job" else ["--hub", "--state", as_hub]
        size = 2 if noun else 1
        done = subprocess.run([SPATE, *words[:size], *options, *words[size:]], cwd=place.dir,
                              env=place.env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=DEADLINE)
        text = (done.stdout + done.stderr).decode()
        want(done.returncode == code, f"{words}: exit code {done.returncode}: {text}")
        return text

    job = json.loads(hub("job", "info", "1", "--json"))
    want(job["job"] == 1 and job["state"] == "running" and job["total"] == 3, job)
    tasks = [json.loads(line) for line in hub("job", "tasks", "1", "--json").splitlines()]
    want([task["task"] for task in tasks] == [1, 2, 3], tasks)
    nodes = [json.loads(line) for line in hub("node", "list", "--json").splitlines()]
    want([node["state"] for node in nodes] == ["ready"], nodes)
    want("jobs 1" in hub("top", "--once") and "1 " in hub("job", "list"), "what there is")
    # Nobody else's business, and what comes later.
    want("only a hub has that" in hub("node", "drain", "all", code=2), "no nodes to change")
    want("is running" in hub("job", "forget", "1", code=3), "not while it runs")
    want("accepts no other jobs" in hub("submit", "--", "true", code=2), "no other jobs")
    want("closes the job" in hub("job", "close", "1", code=2), "its own list")
    at = subprocess.run([SPATE, "top", "--once", "--json", "--at", os.path.join(folder, "socket")],
                        cwd=place.dir, env=place.env, capture_output=True, timeout=DEADLINE)
    want(at.returncode == 0 and json.loads(at.stdout.splitlines()[-1])["job"] == 1, at)
    want("job 1 is not held" in hub("job", "release", "1", code=3), "the same orders")
    want("job 1 held" in hub("job", "hold", "1"), "the same orders")
    want("job 1 released" in hub("job", "release", "1"), "the same orders")
    want("job 1 cancelled" in hub("job", "cancel", "1"), "the same orders")
    _, err = run.communicate(timeout=DEADLINE)
    want(run.returncode == 1 and b"cancelled from another terminal" in err, (run.returncode, err))
    want(not os.path.exists(os.path.join(folder, "socket")), "nobody listens there")


def test_a_run_that_ends_takes_no_orders(place: Place):
    """After Ctrl-C it starts nothing more, whatever others wish."""
    run = started(place)
    run.send_signal(signal.SIGINT)
    wait(lambda: "starts no more tasks" in ask(place, "release", "1", code=None),
         "it has heard the signal")
    want("starts no more tasks" in ask(place, "hold", "1", code=None), "nor is it held")
    place.write("go")
    run.communicate(timeout=DEADLINE)
    want(run.returncode == 130 and place.lines("ran") == ["1"], (run.returncode, place.read("ran")))


def test_a_killed_run_is_not_waited_for(place: Place):
    run = started(place)
    wait_for = waiter(place, "wait", "last")
    run.kill()
    run.communicate()
    _, err = wait_for.communicate(timeout=DEADLINE)
    want(wait_for.returncode == 1 and b"was interrupted" in err and b"3 not done" in err, err)
    want("was interrupted" in ask(place, "wait", code=1), "again")
    for verb in ("hold", "release", "cancel"):
        want("is not running" in ask(place, verb, "last", code=3), verb)
    want("no job is running" in ask(place, "cancel", "all"), "all of none")
    place.write("go")
    place.run("--resume")  # what the killed one left does no harm


def test_a_run_that_does_not_answer(place: Place):
    run = started(place)
    stop(run)
    err = ask(place, "hold", "last", code=3)
    want(f"process {run.pid}, which does not answer" in err, err)
    run.send_signal(signal.SIGCONT)
    want("is not held" in ask(place, "release", "1", code=3), "it has not got the order")
    place.write("go")
    run.communicate(timeout=DEADLINE)
    want(run.returncode == 0, run.returncode)


def test_long_paths(place: Place):
    place.env["SPATE_STATE"] = os.path.join(place.dir, "d" * 100, "e" * 100)
    run = started(place)
    ask(place, "cancel", "last")
    run.communicate(timeout=DEADLINE)
    want(run.returncode == 1, run.returncode)


def test_who_is_another_user_may_not(place: Place):
    if os.geteuid() != 0:
        return
    run = started(place)
    os.chmod(place.dir, 0o755)
    done = subprocess.run([SPATE, "job", "cancel", "last"], cwd=place.dir, env=place.env,
                          user=65534, group=65534, extra_groups=[], capture_output=True)
    want(done.returncode == 3 and b"ermission" in done.stderr, done.stderr)
    want(run.poll() is None, "the run goes on")
    place.write("go")
    run.communicate(timeout=DEADLINE)
    want(run.returncode == 0, run.returncode)


class Screen:
    """What a terminal of 80 columns and 24 rows shows."""

    def __init__(self):
        self.lines, self.row, self.column = [""], 0, 0
        self.rest = ""

    def feed(self, data):
        text = self.rest + data.decode(errors="replace")
        at = 0
        self.rest = ""
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                match = re.compile(r"\x1b\[(\d*)([A-Za-z])").match(text, at)
                if not match:
                    self.rest = text[at:]
                    break
                number, what = int(match.group(1) or 1), match.group(2)
                if what == "K":
                    self.lines[self.row] = self.lines[self.row][:self.column]
                elif what == "A":
                    self.row -= number
                elif what == "C":
                    self.column += number
                at = match.end()
                continue
            if c == "\r":
                self.column = 0
            elif c == "\n":
                self.row += 1
                if self.row == len(self.lines):
                    self.lines.append("")
            else:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[:self.column] + c + line[self.column + 1:]
                self.column += 1
            at += 1


def on_terminal(place, *args, env=None):
    """Starts `spate run` with a terminal for its outputs; gives it and the other end."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = place.env | {"TERM": "xterm"} | (env or {})

    def lead():
        os.setsid()
        fcntl.ioctl(1, termios.TIOCSCTTY, 0)
    run = subprocess.Popen([SPATE, "run", *args], cwd=place.dir, env=environment, preexec_fn=lead,
                           stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
    os.close(slave)
    return run, master


def test_the_bar_stays_while_output_flows(place: Place):
    # About 65 tasks a second.
    place.write("jobs.lst", *(f"sleep 0.1; echo line {i}; echo err {i} >&2" for i in range(300)))
    run, master = on_terminal(place, "-j7", "--cpus", "0", "jobs.lst")
    screen, begun, pictures, seen = Screen(), time.monotonic(), [], 0
    while True:
        ready, _, _ = select.select([master], [], [], 0.002)
        if ready:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            screen.feed(data)
            continue
        # The run waits, and the terminal has all that it has written: a picture.
        waits = run.poll() is None and set(states(run.pid)) == {"S"} and not select.select([master], [], [], 0)[0]
        if waits and time.monotonic() - begun > 1 and seen < 200:
            seen += 1
            pictures.append(screen.lines[-1])
    run.wait()
    os.close(master)
    # The last picture may be one of the end.
    bars = [line for line in pictures[:-1] if "%" in line and "/300" in line]
    print(f"       ({len(bars)} of {len(pictures) - 1} pictures show the bar)")
    want(len(pictures) > 30 and len(bars) >= len(pictures) - 1, str(set(pictures) - set(bars)))
    text = "\n".join(screen.lines)
    want(all(f"line {i}\nerr {i}" in text for i in range(300)), "every line is there")


def run_on_terminal(place, *args, env=None):
    run, master = on_terminal(place, *args, env=env)
    text = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        text += data
    run.wait()
    os.close(master)
    return text.decode(errors="replace")


def test_failures_are_red_on_a_terminal(place: Place):
    place.write("jobs.lst", "# comment", "true", "exit 3")
    red = "\x1b[31mexit code 3\x1b[0m"
    want(red in run_on_terminal(place, "jobs.lst"), "red")
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        text = run_on_terminal(place, "jobs.lst", env=env)
        want("exit code 3" in text and "\x1b[31m" not in text, text)


if __name__ == "__main__":
    main(globals())
