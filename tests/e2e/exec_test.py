#!/usr/bin/env python3
"""`spate exec`: a command inside a running task, beside the task's own."""
import fcntl
import hashlib
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading

from cluster import cluster_of
from harness import SPATE, Place, alive, main, wait, want


def started(place, name="up"):
    wait(lambda: place.read(name) != "", "the task runs")


def visit(place, *args, **options):
    """The command as a process, with pipes."""
    return subprocess.Popen([SPATE, "exec", *args], cwd=place.dir, env=place.env, start_new_session=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_a_command_runs_as_the_task_does(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    job = cluster.submit("--env", "COLOUR=green", "--cwd", place.dir, "--", "echo $$ > up; sleep 600")
    started(place)
    out, _ = cluster.spate("exec", f"{job}.1", "--", "sh", "-c", "echo $COLOUR $SPATE_TASK_ID; pwd; id -u")
    want(out.split() == ["green", f"{job}.1", os.path.realpath(place.dir), str(os.geteuid())], out)
    # Words are words, whatever is in them; the job alone means its only task.
    out, _ = cluster.spate("exec", job, "--", "printf", "%s|", "a b", "$HOME", "", "*")
    want(out == "a b|$HOME||*|", out)
    _, err = cluster.spate("exec", f"{job}.1", "--", "sh", "-c", "echo oops >&2; exit 7", code=7)
    want("oops" in err, err)
    cluster.spate("exec", f"{job}.1", "--", "sh", "-c", "kill -9 $$", code=137)
    _, err = cluster.spate("exec", f"{job}.1", "--", "no-such-program", code=255)
    want("no-such-program" in err, err)
    # None of that is the task's: it runs, and ends as it wants to.
    os.kill(int(place.read("up")), signal.SIGTERM)
    cluster.spate("job wait", job, code=1)
    out, _ = cluster.spate("task info", f"{job}.1")
    want("left running" not in out, out)


def test_what_cannot_be_entered_is_refused(place: Place):
    cluster = cluster_of(place)
    _, err = cluster.spate("exec", "1.1", "--", "true", code=2)
    job = cluster.submit("--", "touch up{}; sleep 600", ":::", "1", "2")
    _, err = cluster.spate("exec", f"{job}.1", "--", "true", code=3)
    want("does not run yet" in err, err)
    cluster.node("n1", "--slots", "2")
    wait(lambda: os.path.exists(os.path.join(place.dir, "up1")) and os.path.exists(os.path.join(place.dir, "up2")),
         "both run")
    _, err = cluster.spate("exec", job, "--", "true", code=2)
    want("2 tasks" in err and "--all" in err, err)
    _, err = cluster.spate("exec", f"{job}.1", code=2)
    want("behind --" in err, err)
    _, err = cluster.spate("exec", f"{job}.9", "--", "true", code=3)
    want("does not exist" in err, err)
    _, err = cluster.spate("exec", f"{job}.1", "--rank", "3", "--", "true", code=2)
    want("is not a gang" in err, err)
    cluster.spate("job cancel", job)
    cluster.spate("job wait", job, code=1)
    _, err = cluster.spate("exec", f"{job}.1", "--", "true", code=3)
    want("has ended" in err, err)


def test_all_tasks_of_a_job(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "--slots", "2")
    job = cluster.submit("--", "touch up{}; sleep 600", ":::", "1", "2")
    wait(lambda: os.path.exists(os.path.join(place.dir, "up1")) and os.path.exists(os.path.join(place.dir, "up2")), "both run")
    out, err = cluster.spate("exec", job, "--all", "--", "sh", "-c", "echo $SPATE_TASK_ID; printf end; echo no >&2")
    want(sorted(out.splitlines()) == [f"{job}.1: {job}.1", f"{job}.1: end", f"{job}.2: {job}.2", f"{job}.2: end"], out)
    want(sorted(err.splitlines()) == [f"{job}.1: no", f"{job}.2: no"], err)
    cluster.spate("exec", job, "--all", "--", "sh", "-c", "test $SPATE_TASK_ID != '" + job + ".2' || exit 5", code=5)


def test_streams_are_byte_for_byte_equal(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    job = cluster.submit("--", "touch up; sleep 600")
    wait(lambda: os.path.exists(os.path.join(place.dir, "up")), "it runs")
    data = os.urandom(1 << 20) * 100
    there = visit(place, f"{job}.1", "--", "cat")
    out, err = there.communicate(data, timeout=300)
    want(there.returncode == 0, err)
    want(hashlib.sha256(out).digest() == hashlib.sha256(data).digest(), len(out))


def test_the_ends_of_a_visit(place: Place):
    """A killed client ends what it ran; what ran there is gone; the task's end is told."""
    cluster = cluster_of(place)
    cluster.node("n1")
    job = cluster.submit("--", "touch up; while test ! -e end; do sleep 0.1; done")
    wait(lambda: os.path.exists(os.path.join(place.dir, "up")), "it runs")
    killed = visit(place, f"{job}.1", "--", "sh", "-c", "echo $$ > one; setsid sleep 600 & sleep 600")
    started(place, "one")
    killed.kill()
    killed.wait()
    first = int(place.read("one"))
    wait(lambda: not alive(first), "what the visit ran has ended")
    daemons = visit(place, f"{job}.1", "--", "sh", "-c", "setsid sleep 600 > /dev/null 2>&1 & echo $!")
    out, err = daemons.communicate(timeout=60)
    want(daemons.returncode == 0, err)
    wait(lambda: not alive(int(out)), "what it left has ended")
    last = visit(place, f"{job}.1", "--", "sh", "-c", "echo $$ > two; exec sleep 600")
    started(place, "two")
    open(os.path.join(place.dir, "end"), "w").close()
    _, err = last.communicate(timeout=60)
    want(last.returncode == 255 and b"the task has ended" in err, err)
    second = int(place.read("two"))
    wait(lambda: not alive(second), "nothing outlives the task")
    cluster.spate("job wait", job)


def test_the_way_is_good_once(place: Place):
    """Visits are sixteen at once; another account's server knows nothing of them."""
    cluster = cluster_of(place)
    cluster.node("n1")
    job = cluster.submit("--", "touch up; sleep 600")
    wait(lambda: os.path.exists(os.path.join(place.dir, "up")), "it runs")
    many = []
    for _ in range(16):
        many.append(visit(place, f"{job}.1", "--", "sh", "-c", "echo in; cat > /dev/null"))
        want(many[-1].stdout.readline() == b"in\n", many[-1].args)
    _, err = cluster.spate("exec", f"{job}.1", "--", "true", code=3)
    want("16 are in the task already" in err, err)
    for one in many:
        one.communicate(b"", timeout=60)
        want(one.returncode == 0, one.args)
    wait(lambda: visit(place, f"{job}.1", "--", "true").wait(60) == 0, "there is room again")


class Terminal:
    """A terminal with `spate exec` in it."""

    def __init__(self, place, *args):
        self.master, slave = pty.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
        self.process = subprocess.Popen([SPATE, "exec", *args], cwd=place.dir, env=dict(place.env, TERM="vt100"),
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
        wait(found, pattern)
        self.text = ""

    def end(self):
        code = self.process.wait(60)
        os.close(self.master)
        return code


def test_a_terminal_is_one_there(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    job = cluster.submit("--", "touch up; sleep 600")
    wait(lambda: os.path.exists(os.path.join(place.dir, "up")), "it runs")
    shell = Terminal(place, f"{job}.1", "--", "sh", "-c", "trap 'echo int' INT; trap 'stty size' WINCH; "
                     "tty > /dev/null && echo term $TERM; stty size; while :; do sleep 0.1; done")
    shell.sees(r"term vt100\r\n33 101")
    fcntl.ioctl(shell.master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    os.kill(shell.process.pid, signal.SIGWINCH)
    shell.sees("40 120")
    shell.type("\x03")
    shell.sees("int")
    want(alive(shell.process.pid), "Ctrl-C went there")
    before = termios.tcgetattr(shell.master)[3]
    shell.type("\r~.")
    shell.sees("left the task")
    want(shell.end() == 255, "as ssh")
    want(not before & termios.ECHO, "keys were not shown here")
    again = Terminal(place, f"{job}.1", "--", "sh", "-c", "read line; echo got $line")
    again.type("~~x\r")
    again.sees(r"got ~x")
    want(again.end() == 0, "its exit code")


ECHO = """
import socket, threading
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
open("port.new", "w").write(str(listener.getsockname()[1]))
import os
os.rename("port.new", "port")
def serve(peer):
    while data := peer.recv(65536):
        peer.sendall(data)
    peer.shutdown(socket.SHUT_WR)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],)).start()
"""


def echo_through(peer, data):
    """What comes back of the data, which is sent meanwhile."""
    sender = threading.Thread(target=lambda: (peer.sendall(data), peer.shutdown(socket.SHUT_WR)))
    sender.start()
    back = b"".join(iter(lambda: peer.recv(65536), b""))
    sender.join()
    return back


def forward(place, *args):
    """`spate exec -L`, and what it said of its first port."""
    there = visit(place, *args)
    line = there.stderr.readline().decode()
    found = re.search(r"forwarding (\S+) to port", line)
    want(found, line)
    return there, found[1]


def test_ports(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    place.write("echo.py", ECHO)
    job = cluster.submit("--", "exec python3 echo.py")
    started(place, "port")
    port = place.read("port")
    there, at = forward(place, f"{job}.1", "-L", f"0:{port}")
    want(at.startswith("127.0.0.1:"), at)
    number = int(at.split(":")[1])

    def connect():
        return socket.create_connection(("127.0.0.1", number))
    data = os.urandom(1 << 20) * 20
    with connect() as one, connect() as two:
        # One whose reader does not read holds up no other.
        one.setblocking(False)
        sent = 0
        try:
            while sent < len(data):
                sent += one.send(data[sent:sent + 65536])
        except BlockingIOError:
            pass
        want(echo_through(two, data) == data, "byte for byte equal")
        one.setblocking(True)
        rest = threading.Thread(target=lambda: (one.sendall(data[sent:]), one.shutdown(socket.SHUT_WR)))
        rest.start()
        want(b"".join(iter(lambda: one.recv(65536), b"")) == data, "and so is the other")
        rest.join()
    # Nobody listens there: the connection is closed, the visit goes on.
    closed, nowhere = forward(place, f"{job}.1", "-L", "0:1")
    with socket.create_connection(("127.0.0.1", int(nowhere.split(":")[1]))) as refused:
        want(refused.recv(1) == b"", "closed")
    closed.send_signal(signal.SIGINT)
    closed.wait(60)
    # A socket that only its user may open.
    by_path, path = forward(place, f"{job}.1", "-L", f"here.sock:{port}")
    want(path == "here.sock", path)
    path = os.path.join(place.dir, path)
    want(os.stat(path).st_mode & 0o777 == 0o600, oct(os.stat(path).st_mode))
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        want(echo_through(peer, b"through a path") == b"through a path", "it goes there")
    by_path.send_signal(signal.SIGINT)
    by_path.wait(60)
    want(not os.path.exists(path), "it is removed")
    # Ports end with the command, and with the task.
    with connect() as open_one:
        open_one.sendall(b"x")
        want(open_one.recv(1) == b"x", "it works")
        cluster.spate("job kill", job)
        want(there.wait(60) == 255, there.returncode)
        want(open_one.recv(1) == b"", "closed with the task")
    _, err = cluster.spate("exec", f"{job}.1", "-L", "no", "--", "true", code=2)
    want("PORT" in err, err)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        _, err = cluster.spate("exec", f"{job}.1", "-L", f"{taken.getsockname()[1]}:80", "--", "true", code=3)
        want(str(taken.getsockname()[1]) in err, err)


def test_a_visit_of_a_frozen_task(place: Place):
    """Begun before and after the stop: it runs on, and the task stands still."""
    cluster = cluster_of(place)
    cluster.node("n1")
    job = cluster.submit("--", "echo $$ > up; while :; do echo x >> ticks; sleep 0.05; done")
    started(place, "ticks")
    before = visit(place, f"{job}.1", "--", "cat")
    before.stdin.write(b"a")
    before.stdin.flush()
    want(before.stdout.read(1) == b"a", "it is there")
    cluster.spate("job stop", job)
    ticks = len(place.read("ticks"))
    before.stdin.write(b"b")
    before.stdin.flush()
    want(before.stdout.read(1) == b"b", "it runs on")
    out, _ = cluster.spate("exec", f"{job}.1", "--", "sh", "-c", "echo in")
    want(out == "in\n", out)
    after = visit(place, f"{job}.1", "--", "cat")
    after.stdin.write(b"c")
    after.stdin.flush()
    want(after.stdout.read(1) == b"c", "another one")
    want(len(place.read("ticks")) == ticks, "the task stands still")
    cluster.spate("job cont", job)
    wait(lambda: len(place.read("ticks")) > ticks, "it runs")
    for one, byte in ((before, b"d"), (after, b"e")):
        one.stdin.write(byte)
        one.stdin.flush()
        want(one.stdout.read(1) == byte, "visits go on")
        one.communicate(b"", timeout=60)
        want(one.returncode == 0, one.returncode)
    # A task that is killed while it is frozen takes its visitors along.
    last = visit(place, f"{job}.1", "--", "cat")
    last.stdin.write(b"f")
    last.stdin.flush()
    want(last.stdout.read(1) == b"f", "one more")
    cluster.spate("job stop", job)
    cluster.spate("job kill", job)
    want(last.wait(60) == 255, last.returncode)


def test_a_task_of_a_local_run(place: Place):
    run = subprocess.Popen([SPATE, "run", "--", "touch up; sleep 600"], cwd=place.dir, env=place.env,
                           start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
    wait(lambda: os.path.exists(os.path.join(place.dir, "up")), "it runs")
    out, _ = place.run("1.1", "--", "echo", "here", command="exec")
    want(out == "here\n", out)
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=60)


if __name__ == "__main__":
    main(globals())
