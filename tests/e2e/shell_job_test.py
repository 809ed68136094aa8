#!/usr/bin/env python3
"""`spate shell`: a job whose task is a terminal."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

from cluster import cluster_of
from harness import SPATE, Place, alive, main, wait, want


class Terminal:
    """A terminal with `spate shell` in it."""

    def __init__(self, place, *args, rows=33, columns=101, **env):
        self.master, slave = pty.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen([SPATE, "shell", *args], cwd=place.dir,
                                        env=dict(place.env, TERM="vt100", SHELL="/bin/sh", PS1="ready> ", **env),
                                        stdin=slave, stdout=slave, stderr=slave, preexec_fn=self.lead)
        os.close(slave)
        self.text = ""

    @staticmethod
    def lead():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def type(self, text):
        os.write(self.master, text.encode())

    def sees(self, pattern):
        def found():
            while select.select([self.master], [], [], 0)[0]:
                try:
                    self.text += os.read(self.master, 65536).decode(errors="replace")
                except OSError:
                    break
            return re.search(pattern, self.text)
        try:
            wait(found, pattern)
        except AssertionError:
            print(f"       saw: {self.text!r}")
            raise
        match = re.search(pattern, self.text)
        self.text = self.text[match.end():]
        return match

    def end(self):
        code = self.process.wait(60)
        os.close(self.master)
        return code


def resized(shell):
    """Whether the shell's terminal has the new size by now."""
    shell.type("stty size\r")
    return shell.sees(r"\n(\d+ \d+)\r")[1] == "40 120"


def state(cluster, job):
    return json.loads(cluster.spate("job info", job, "--json")[0])["state"]


def job_of(shell):
    return shell.sees(r"job (\d+)\r\n")[1]


def test_a_shell_is_a_job(place: Place):
    cluster = cluster_of(place)
    shell = Terminal(place, "--cpus", "1")
    job = job_of(shell)
    shell.sees("waiting: ")
    cluster.node("n1")
    shell.sees("ready> ")
    want(state(cluster, job) == "running", state(cluster, job))
    shell.type("echo $TERM $SPATE_TASK_ID $((6 * 7)); stty size; pwd\r")
    shell.sees(rf"\nvt100 {job}\.1 42\r\n33 101\r\n{os.path.realpath(place.dir)}\r\n")
    # It is a process of the task.
    shell.type("echo pid $$.\r")
    pid = int(shell.sees(r"\npid (\d+)\.")[1])
    out, _ = cluster.spate("ps", job)
    want(f"{job}.1@n1:{pid} " in out, out)
    fcntl.ioctl(shell.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    os.kill(shell.process.pid, signal.SIGWINCH)
    wait(lambda: os.kill(shell.process.pid, signal.SIGWINCH) is None and resized(shell), "the terminal has the new size")
    shell.type("trap 'echo got int' INT; echo now; sleep 600\r")
    shell.sees(r"now\r\n")
    shell.type("\x03")
    shell.sees("got int")
    shell.type("sleep 600 & echo left $!.\r")
    left = int(shell.sees(r"\nleft (\d+)\.")[1])
    shell.type("exit 7\r")
    want(shell.end() == 7, "its exit code")
    cluster.spate("job wait", job, code=None)
    out, _ = cluster.spate("task info", f"{job}.1")
    want("7" in out, out)
    wait(lambda: not alive(left), "nothing is left")


def test_it_ends_with_its_connection(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    shell = Terminal(place)
    job = job_of(shell)
    shell.sees("ready> ")
    shell.type("echo pid $$.\r")
    pid = int(shell.sees(r"\npid (\d+)\.")[1])
    shell.process.kill()
    shell.end()
    wait(lambda: not alive(pid), "the shell has ended")
    wait(lambda: state(cluster, job) not in ("running", "waiting"), "and so has its job")
    shell = Terminal(place)
    job = job_of(shell)
    shell.sees("ready> ")
    shell.type("\r~.")
    want(shell.end() == 255, "as ssh")
    wait(lambda: state(cluster, job) not in ("running", "waiting"), "it has ended, too")
    # One that nobody is there for: Ctrl-C while it waits.
    cluster.spate("node drain", "n1")
    shell = Terminal(place)
    job = job_of(shell)
    shell.sees("waiting: ")
    shell.type("\x03")
    shell.sees(f"job {job} was cancelled")
    want(shell.end() == 130, "interrupted")
    cluster.spate("job wait", job, code=None)


def test_keep_and_attach(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    shell = Terminal(place, "--keep")
    job = job_of(shell)
    shell.sees("ready> ")
    shell.type("KEPT=here; echo pid $$.\r")
    pid = int(shell.sees(r"\npid (\d+)\.")[1])
    shell.process.kill()
    shell.end()
    again = Terminal(place, "--attach", job, rows=25, columns=90)
    again.sees("ready> ")
    again.type("echo $KEPT $$; stty size\r")
    again.sees(rf"\nhere {pid}\r\n25 90\r")
    # The newest has it.
    third = Terminal(place, "--attach", job)
    again.sees("opened elsewhere")
    want(again.end() == 255, "the other one is out")
    third.type("echo third $KEPT\r")
    third.sees(r"\nthird here\r")
    third.type("\r~.")
    third.sees(f"--attach {job}")
    want(third.end() == 255, "left")
    want(alive(pid), "it goes on")
    last = Terminal(place, "--attach", job)
    last.type("exit 0\r")
    want(last.end() == 0, "its own end")
    cluster.spate("job wait", job)
    gone = Terminal(place, "--attach", job)
    gone.sees("has ended")
    want(gone.end() == 3, "there is nothing to return to")


def test_like_a_failed_task(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "--cpus", "4", "--label", "fast")
    cluster.node("n2", "--cpus", "4")
    os.mkdir(os.path.join(place.dir, "there"))
    job = cluster.submit("--cpus", "2", "--label", "fast", "--env", "COLOUR=dark green", "--env", "PS1=there# ", "--env", "SHELL=/bin/sh", "--cwd",
                         os.path.join(place.dir, "there"), "--", "exit 1")
    cluster.spate("job wait", job, code=1)
    shell = Terminal(place, "--like", f"{job}.1", COLOUR="red")
    number = job_of(shell)
    shell.sees("there# ")  # the prompt of the task's environment
    shell.type("echo $COLOUR, $SPATE_CPUS, $SPATE_NODE; pwd\r")
    shell.sees(rf"dark green, \S+, n1\r\n{os.path.realpath(place.dir)}/there\r")
    details = json.loads(cluster.spate("task info", f"{number}.1", "--json")[0])
    want(details.get("cpus") == 2 or '"cpus":2' in json.dumps(details).replace(" ", ""), details)
    shell.type("exit\r")
    want(shell.end() == 0, "it ends")


def test_what_is_refused(place: Place):
    cluster = cluster_of(place)
    _, err = cluster.spate("shell", code=2)
    want("needs a terminal" in err, err)
    cluster.spate("shell", "word", code=2)
    for args, words in ((["--procs", "2"], "one process"), (["--like", "12"], "name one task"),
                        (["--attach", "all"], "name one job"), (["--like", "77.1"], "no job")):
        shell = Terminal(place, *args)
        shell.sees(words)
        want(shell.end() in (2, 3), args)
    if os.geteuid() != 0:
        return
    # Another account sees neither the environment of a task nor its shell.
    cluster.node("n1")
    job = cluster.submit("--env", "TOKEN=geheim", "--", "exit 1")
    cluster.spate("job wait", job, code=1)
    theirs = cluster.access("--role", "admin", "--user", "nobody", name="nobody.access")
    shell = Terminal(place, "--access", theirs, "--like", f"{job}.1")
    shell.sees("not even an administrator")
    want(shell.end() == 3, "refused")


if __name__ == "__main__":
    main(globals())
