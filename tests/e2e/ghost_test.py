#!/usr/bin/env python3
"""`spate ghost`: local processes that stand for running tasks, which signals reach through them."""
import ctypes
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time

from cluster import NOBODY, cluster_of
from harness import SPATE, Place, alive, main, states, wait, want

SLEEPER = "echo $$ > pid.$SPATE_TASK_INDEX; trap 'echo usr1 >> got.$SPATE_TASK_INDEX' USR1; " \
          "trap 'echo hup >> got.$SPATE_TASK_INDEX' HUP; trap 'echo int >> got.$SPATE_TASK_INDEX' INT; " \
          "trap 'echo term >> got.$SPATE_TASK_INDEX' TERM; while :; do sleep 0.05; done"


def task_pid(place, task=1):
    wait(lambda: place.read(f"pid.{task}").strip(), f"task {task} runs")
    return int(place.read(f"pid.{task}"))


def ghost(place, *args, **options):
    return subprocess.Popen([SPATE, "ghost", *args], cwd=place.dir, **({"env": place.env} | options),
                            start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=open(os.path.join(place.dir, "ghost.err"), "w"))


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().rstrip(b"\0").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []


def find(parent, title):
    """The ghost whose words begin so, once there is one."""
    found = []

    def there():
        found[:] = [pid for pid in children(parent.pid) if words_of(pid).startswith(title)]
        return found
    wait(there, f"a ghost {title}")
    return found[0]


def is_frozen(pid):
    """Whether the process, which sleeps and wakes 20 times a second, has not run for a while."""
    def switches():
        with open(f"/proc/{pid}/status") as file:
            return re.findall(r"ctxt_switches:\s*(\d+)", file.read())
    before = switches()
    time.sleep(0.6)
    return before == switches()


def status_of_end(pid, act):
    """The status with which a process ends that `act` lets end, as a debugger sees it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    seize, cont = 0x4206, 7
    want(libc.ptrace(seize, pid, None, None) == 0, os.strerror(ctypes.get_errno()))
    act()
    while True:
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            return status
        signo = os.WSTOPSIG(status)
        event = status >> 16
        libc.ptrace(cont, pid, None, ctypes.c_void_p(0 if event else signo))


def test_signals_go_through(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "2")
    job = cluster.submit("--", SLEEPER + " # {}", ":::", "1", "2")
    first, second = task_pid(place, 1), task_pid(place, 2)
    ghosts = ghost(place, job)
    one, two = find(ghosts, f"{job}.1@n1 echo"), find(ghosts, f"{job}.2@n1 echo")
    with open(f"/proc/{one}/comm") as file:
        want(file.read().startswith(f"{job}.1@n1 "), "top shows it")
    os.kill(one, signal.SIGUSR1)
    wait(lambda: place.read("got.1") == "usr1\n", "the task got it")
    os.kill(one, signal.SIGHUP)
    wait(lambda: place.read("got.1") == "usr1\nhup\n", "the user's own HUP, too")
    want(place.read("got.2") == "", "the other got nothing")
    # STOP, which no process can catch.
    os.kill(two, signal.SIGSTOP)
    wait(lambda: '"state":"freezing"' in cluster.spate("task info", f"{job}.2", "--json")[0]
         or is_frozen(second), "the task stands still")
    wait(lambda: is_frozen(second), "the task stands still")
    want(not is_frozen(first), "the other does not")
    want(states(two) == "T", "nor does its ghost run")
    os.kill(two, signal.SIGCONT)
    wait(lambda: not is_frozen(second), "it runs again")
    wait(lambda: states(two) == "S", "and its ghost")
    want(place.read("got.2") == "", "it has noticed nothing")
    # The other way round.
    cluster.spate("job stop", job)
    wait(lambda: states(one) == "T" and states(two) == "T", "ghosts stand still with their tasks")
    want(is_frozen(first), "they do")
    # A part of a stopped job does not continue alone: it stays as it is, and the user hears why.
    os.kill(one, signal.SIGCONT)
    wait(lambda: "continue only with it" in place.read("ghost.err"), "the reason")
    wait(lambda: states(one) == "T", "it stands still again")
    want(is_frozen(first), "as its task does")
    cluster.spate("job cont", job)
    wait(lambda: states(one) == "S" and states(two) == "S", "both run again")
    want(not is_frozen(first), "as their tasks do")
    # KILL.
    os.kill(two, signal.SIGKILL)
    wait(lambda: not alive(second), "the task was killed")
    want(alive(first), "the other was not")
    # Its parent is killed: no task notices.
    ghosts.kill()
    ghosts.wait()
    wait(lambda: not alive(one), "no ghost outlives it")
    time.sleep(1)  # longer than a signal waits before it is forwarded
    want(alive(first) and place.read("got.1") == "usr1\nhup\n", place.read("got.1"))


def test_many_signals_are_few_questions(place: Place):
    """Signals of one moment go together; all of the user's processes killed at once leave tasks alone."""
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "30", "--cpus", "30")
    job = cluster.submit("--", SLEEPER + " # {}", ":::", *[str(i) for i in range(30)])
    tasks = [task_pid(place, task) for task in range(1, 31)]
    ghosts = ghost(place, job, "--most", "25")
    wait(lambda: len(children(ghosts.pid)) == 25, "as many as wanted")
    find(ghosts, f"{job}.25@n1")
    for pid in children(ghosts.pid):
        os.kill(pid, signal.SIGUSR1)
    wait(lambda: sum(place.read(f"got.{task}") == "usr1\n" for task in range(1, 31)) == 25, "each got it once")
    # One that ends makes room for another.
    os.kill(tasks[0], signal.SIGKILL)
    wait(lambda: any(words_of(pid).startswith((f"{job}.26@", f"{job}.27@", f"{job}.28@", f"{job}.29@", f"{job}.30@"))
                     for pid in children(ghosts.pid)), "a further ghost")
    for pid in [*children(ghosts.pid), ghosts.pid]:
        os.kill(pid, signal.SIGTERM)
    ghosts.wait(60)
    time.sleep(1)
    want(all(alive(pid) for pid in tasks[1:]), "no task has noticed")
    want(all("term" not in place.read(f"got.{task}") for task in range(1, 31)), "none")


def test_ends_are_those_of_the_tasks(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "3")
    for command, is_end in (("exit 7", lambda status: os.waitstatus_to_exitcode(status) == 7),
                            ("exit 0", lambda status: status == 0),
                            ("kill -SEGV $$", lambda status: os.WTERMSIG(status) == signal.SIGSEGV)):
        name = f"go{len(os.listdir(place.dir))}"
        job = cluster.submit("--", f"until test -e {name}; do sleep 0.05; done; {command}")
        ghosts = ghost(place, job)
        one = find(ghosts, f"{job}.1@n1 until")
        status = status_of_end(one, lambda n=name: place.write(n, "now"))
        want(is_end(status), f"{command}: {status}")
        want(ghosts.wait(60) == (0 if status == 0 else 1), ghosts.returncode)
    _, err = cluster.spate("ghost", job, code=3)
    want("has ended" in err, err)
    cluster.spate("ghost", "999", code=2)
    cluster.spate("ghost", job, "--most", "0", code=2)


def in_terminal(place, words):
    """A shell with job control in a terminal of its own; its first process and the terminal's other side."""
    master, slave = pty.openpty()

    def lead():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    shell = subprocess.Popen(words, cwd=place.dir, env=dict(place.env, PS1="> "), stdin=slave, stdout=slave,
                             stderr=slave, preexec_fn=lead)
    os.close(slave)
    return shell, master


class Screen:
    def __init__(self, master):
        self.master = master
        self.text = ""

    def sees(self, pattern):
        def found():
            while select.select([self.master], [], [], 0)[0]:
                try:
                    self.text += os.read(self.master, 65536).decode(errors="replace")
                except OSError:
                    break
            return re.search(pattern, self.text)
        wait(found, f"{pattern} in {self.text!r}")
        self.text = ""

    def type(self, text):
        os.write(self.master, text.encode())


def test_a_terminal(place: Place):
    """Ctrl-Z, fg, Ctrl-C, and a terminal that goes."""
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "2")
    job = cluster.submit("--", SLEEPER + " # {}", ":::", "1", "2")
    first, second = task_pid(place, 1), task_pid(place, 2)
    shell, master = in_terminal(place, ["bash", "--norc", "-i"])
    screen = Screen(master)
    screen.sees("> ")
    screen.type(f"{SPATE} ghost {job}\n")
    screen.sees("2 ghosts")
    screen.type("\x1a")
    screen.sees("Stopped")
    wait(lambda: is_frozen(first) and is_frozen(second), "Ctrl-Z stops the tasks")
    screen.type("fg\n")
    wait(lambda: not is_frozen(first) and not is_frozen(second), "fg continues them")
    screen.type("\x03")
    screen.sees("send INT to 2 tasks")
    screen.type("n\n")
    screen.sees("no signal was sent")
    screen.type("\x03")
    screen.sees("send INT to 2 tasks")
    screen.type("y\n")
    wait(lambda: place.read("got.1") == "int\n" and place.read("got.2") == "int\n", "both got it")
    # The shell and its terminal go, as when a window is closed.
    ghosts = children(shell.pid)[0]
    some = children(ghosts)
    want(len(some) == 2, some)
    os.close(master)
    wait(lambda: not alive(ghosts), "spate ghost has ended with its terminal")
    wait(lambda: not any(alive(pid) for pid in some), "and so have the ghosts")
    shell.wait(60)
    time.sleep(1)
    want(alive(first) and alive(second), "no task has ended")
    want(place.read("got.1") == "int\n" and place.read("got.2") == "int\n", "none has noticed")
    want(not is_frozen(first), "nor stands one still")


def test_a_session_that_ends_with_stopped_ghosts(place: Place):
    """The kernel sends HUP and CONT to what a session leaves stopped: nobody's order."""
    cluster = cluster_of(place)
    cluster.node("n1")
    job = cluster.submit("--", SLEEPER)
    first = task_pid(place)
    shell, master = in_terminal(place, ["bash", "--norc", "-i"])
    screen = Screen(master)
    screen.sees("> ")
    screen.type(f"{SPATE} ghost {job}\n")
    screen.sees("1 ghost")
    ghosts = children(shell.pid)[0]
    one = children(ghosts)[0]
    os.kill(one, signal.SIGSTOP)
    wait(lambda: is_frozen(first), "the task stands still")
    os.kill(shell.pid, signal.SIGKILL)
    os.close(master)
    shell.wait()
    wait(lambda: not alive(ghosts) and not alive(one), "all has gone")
    time.sleep(1)
    want(alive(first) and is_frozen(first), "the task is as its user left it")
    cluster.spate("job cont", f"{job}.1")
    wait(lambda: not is_frozen(first), "it runs")
    want(place.read("got.1") == "", "and has noticed nothing")


def test_ranks(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "2")
    job = cluster.submit("--nodes", "1", "--procs", "2", "--", "echo $$ > pid.$SPATE_RANK; trap 'echo usr1 >> got.$SPATE_RANK' USR1; "
                         "while :; do sleep 0.05; done")
    ranks = [task_pid(place, rank) for rank in (0, 1)]
    ghosts = ghost(place, job)
    one = find(ghosts, f"{job}.1.1@n1 echo")
    find(ghosts, f"{job}.1.0@n1 echo")
    os.kill(one, signal.SIGUSR1)
    wait(lambda: place.read("got.1") == "usr1\n", "the rank got it")
    want(place.read("got.0") == "", "the other did not")
    os.kill(one, signal.SIGSTOP)
    wait(lambda: states(ranks[1]) == "T", "the rank stands still")
    want(states(ranks[0]) != "T", "the other does not")
    time.sleep(1)
    want(states(one) == "T", "and stays so")
    os.kill(one, signal.SIGCONT)
    wait(lambda: states(ranks[1]) != "T", "it runs again")
    cluster.spate("job kill", job)
    want(ghosts.wait(60) == 1, ghosts.returncode)


def test_other_accounts(place: Place):
    """Neither the jobs of others, nor the ghosts of others: and what root sends a ghost is not its user's order."""
    if os.geteuid() != 0:
        return print("       (skipped: not root)")
    cluster = cluster_of(place)
    os.chmod(place.dir, 0o1777)
    for folder in (place.state, cluster.hub_dir):
        os.chmod(folder, 0o711)
    theirs = cluster.access("--role", "client", "--user", "nobody", name="nobody.access")
    os.chown(theirs, NOBODY, NOBODY)
    cluster.node("n1", "--slots", "2")
    job = cluster.submit("--", SLEEPER)
    first = task_pid(place)
    env = dict(place.env, SPATE_STATE="/nonexistent", HOME="/nonexistent")
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "env": env}
    other = ghost(place, job, "--access", theirs, **who)
    want(other.wait(60) == 3, other.returncode)
    want(place.read("ghost.err") != "", "and says why")
    mine = ghost(place, job)
    one = find(mine, f"{job}.1@n1")
    done = subprocess.run(["kill", "-TERM", str(one)], user=NOBODY, group=NOBODY, extra_groups=[],
                          capture_output=True, check=False)
    want(done.returncode != 0, "the kernel refuses it")
    time.sleep(0.5)
    want(alive(one) and alive(first) and place.read("got.1") == "", "nothing happened")
    mine.kill()
    mine.wait()
    # A ghost of nobody's job, to which root sends a signal.
    cluster.spate("job cancel", job)
    done = subprocess.run([SPATE, "submit", "--access", theirs, "--cwd", "/", "--", "sleep 600"], cwd="/", check=False,
                          capture_output=True, **who)
    want(done.returncode == 0, done.stderr)
    job = done.stdout.decode().strip()
    wait(lambda: '"state":"running"' in cluster.spate("job info", job, "--json")[0]
         or "no node" in cluster.spate("task explain", f"{job}.1")[0], "it runs, or no node is theirs")
    if '"state":"running"' not in cluster.spate("job info", job, "--json")[0]:
        return print("       (skipped: no node runs nobody's tasks)")
    theirs_ghosts = ghost(place, job, "--access", theirs, **who)
    one = find(theirs_ghosts, f"{job}.1@n1")
    os.kill(one, signal.SIGTERM)
    time.sleep(0.5)
    want(alive(one), "it stays")
    want('"state":"running"' in cluster.spate("job info", job, "--json")[0], "and so does the task")
    subprocess.run(["kill", "-TERM", str(one)], user=NOBODY, group=NOBODY, extra_groups=[], check=True)
    want(theirs_ghosts.wait(60) == 1, "its own user's signal ends the task")


def test_a_local_run(place: Place):
    run = subprocess.Popen([SPATE, "run", "--", SLEEPER], cwd=place.dir, env=place.env, start_new_session=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    first = task_pid(place)
    ghosts = ghost(place, "1")
    one = find(ghosts, "1.1@")
    os.kill(one, signal.SIGUSR1)
    wait(lambda: place.read("got.1") == "usr1\n", "the task got it")
    os.kill(one, signal.SIGSTOP)
    wait(lambda: is_frozen(first), "the task stands still")
    os.kill(one, signal.SIGCONT)
    wait(lambda: not is_frozen(first), "it runs again")
    os.kill(one, signal.SIGKILL)
    run.communicate(timeout=60)
    want(ghosts.wait(60) == 1, ghosts.returncode)


if __name__ == "__main__":
    main(globals())
