"""Looking at a hub: top, report, metrics."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import urllib.error
import urllib.request

from cluster import cluster_of
from harness import DEADLINE, SPATE, Place, main, wait, want
from stop_test import BUSY, pids, runs, stands_still, ticks


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def metrics(url):
    with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
        want(answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), "its type")
        text = answer.read().decode()
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")), text


def test_metrics_are_for_monitors(place: Place):
    cluster = cluster_of(place, "--listen", "none", "--metrics", "0")
    status, _ = cluster.spate("hub status")
    url = re.search(r"http://127\.0\.0\.1:\d+/metrics", status).group()
    wait(lambda: float(metrics(url)[0]["spate_journal_bytes"]) > 0, "there is a journal")
    before, _ = metrics(url)
    want(before['spate_nodes{state="ready"}'] == "0", before)
    cluster.node("n1", "-j", "2", "--metrics", "0")
    of_node = re.search(r"metrics are at (http://127\.0\.0\.1:\d+/metrics)", place.read("n1.log")).group(1)
    cluster.submit("--wait", "--", "echo secret; exit {}", ":::", "0", "0", "1", code=1)
    held = cluster.submit("--", "while ! test -e go; do sleep 0.05; done")
    wait(lambda: metrics(url)[0]['spate_tasks{state="running"}'] == "1", "one runs")
    now, text = metrics(url)
    want(now['spate_ends_total{verdict="succeeded"}'] == "2", text)
    want(now['spate_ends_total{verdict="failed"}'] == "1", text)
    want(now['spate_nodes{state="ready"}'] == "1" and now["spate_jobs"] == "1", text)
    want("secret" not in text and "n1" not in text, text)
    # The hub counts a task before its node has started it.
    wait(lambda: metrics(of_node)[0]['spate_node_tasks{state="running"}'] == "1", "the node runs it")
    told, text = metrics(of_node)
    want(told["spate_node_connected"] == "1" and told["spate_node_slots"] == "2", text)
    want("secret" not in text, text)
    place.write("go")
    cluster.spate("job wait", held)
    try:
        urllib.request.urlopen(url.removesuffix("metrics"), timeout=DEADLINE)
        want(False, "there is more than /metrics")
    except urllib.error.HTTPError as error:
        want(error.code == 404, error)
    host, port = re.search(r"//(.*):(\d+)/", url).groups()
    with socket.create_connection((host, int(port)), timeout=DEADLINE) as peer:
        peer.sendall(b"\x16\x03\x01\r\n\r\n")
        want(peer.recv(100).startswith(b"HTTP/1.1 400 "), "nonsense is refused")


def test_a_port_that_is_taken_is_told(place: Place):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        _, err = place.run("--allow-root", "--listen", "none", "--metrics", port,
                           command="hub start", code=3)
    want("--metrics" in err and port in err, err)


def test_a_report_tells_what_was_used(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    cluster.submit("--wait", "--name", "mixed", "--retries", "1", "--", "exit {}", ":::", "0", "1",
                   code=1)
    cluster.submit("--wait", "--", "true")
    first, second, total = lines(cluster.spate("report", "--output", "json")[0])
    want((first["job"], first["name"], first["tasks"], first["ends"], first["failed"]) ==
         (1, "mixed", 2, 3, 1), first)
    want(first["failed_share"] == 0.5 and first["suggested_memory"] >= first["peak_memory"], first)
    want(second["job"] == 2 and total["job"] is None and total["ends"] == 4, total)
    want("mixed" in cluster.spate("report", "--since", "1h")[0], "the table")
    other = cluster.access("--role", "client", "--user", "bob", name="bob.access")
    (alone,) = lines(cluster.spate("report", "--output", "json", "--access", other)[0])
    want(alone["job"] is None and alone["tasks"] == 3, alone)
    place.run("--", "true")
    (_, of_runs) = lines(cluster.spate("report", "--local", "--output", "json")[0])
    want(of_runs["ends"] == 1, of_runs)


class Terminal:
    """`spate top`, or another command, on a terminal, and the screen that it has drawn."""

    def __init__(self, place, rows=24, columns=100, words=("top",)):
        self.master, slave = pty.openpty()
        self.slave = os.ttyname(slave)
        self.before = termios.tcgetattr(slave)
        self.screen, self.seen = [], ""
        self.resize(rows, columns)
        env = dict(place.env, TERM="xterm", NO_COLOR="1")
        self.process = subprocess.Popen([SPATE, *words], cwd=place.dir, env=env, stdin=slave,
                                        stdout=slave, stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.held = slave

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys)

    def read(self):
        """The newest screen that is whole, line by line."""
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536).decode()
        frames = [frame.split("\r\n") for frame in self.seen.split("\x1b[H")]
        whole = [frame for frame in frames if len(frame) == self.rows]
        if whole:
            self.screen = [self.shown(line) for line in whole[-1]]
        return self.screen

    def shown(self, line):
        """What the line leaves on the terminal, which stays on the last column behind a full line."""
        text = ""
        for piece in re.split("(\x1b\\[[JK])", line.rstrip("\r")):
            text = text[:self.columns - 1] if piece.startswith("\x1b") else text + piece
        return text

    def wait(self, condition, what):
        wait(lambda: condition(self.read()) or self.process.poll() is not None, what)
        want(self.process.poll() is None, f"top has ended: {self.seen}")

    def ended(self, code):
        want(self.process.wait(DEADLINE) == code, self.process.returncode)
        # The system passes on what was written a moment after its writer has ended.
        wait(lambda: self.read() is None or self.seen.endswith("\x1b[?1049l"), "the screen comes back")
        want(termios.tcgetattr(self.held) == self.before, "the modes come back")
        os.close(self.held)
        os.close(self.master)


def has(text):
    return lambda screen: any(text in line for line in screen)


def test_top_steers(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--", "trap 'echo heard >> heard' USR1; " + BUSY)
    some = pids(place)
    top = Terminal(place)
    top.wait(has("tasks 1 running"), "the job runs")
    top.press(b"s")
    top.wait(has("stop which job, or task JOB.TASK? _"), "it asks which")
    top.press(b"9\x7f" + job.encode())
    top.wait(has(f"JOB.TASK? {job}_"), "what is typed is shown")
    top.press(b"\r")
    top.wait(has(f"job {job} stopped"), "and is done")
    want(stands_still(some), "the processes stand still")
    top.wait(has("frozen"), "which is shown")
    top.press(b"c" + job.encode() + b".1\r")
    top.wait(has("is stopped as a whole"), "an order that is refused says why")
    top.press(b"c" + job.encode() + b"\r")
    top.wait(has(f"job {job} continued"), "it is continued")
    runs(some)
    top.press(b"gNOPE 1\r")
    top.wait(has("'NOPE' is not a signal"), "a wrong name")
    top.press(b"gUSR1 " + job.encode() + b"\r")
    top.wait(has("1 process got it"), "a signal")
    top.press(b"k\x1b")
    top.wait(has("q quit"), "Esc cancels")
    want(all(ticks(pid) is not None for pid in some), "nothing is killed")
    top.press(b"k" + job.encode() + b".1\r")
    wait(lambda: [ticks(pid) for pid in some] == [None, None], "it is killed")
    top.press(b"q")


def test_top_draws_what_happens(place: Place):
    cluster = cluster_of(place)
    top = Terminal(place)
    top.wait(has("nodes 0 connected"), "the first look")
    cluster.node("n1", "-j", "2")
    job = cluster.submit("--name", "fold", "--max-running", "1", "--",
                         "while ! test -e go{}; do sleep 0.02; done", ":::", "1", "2")
    top.wait(has("nodes 1 connected, 0 away   tasks 1 running, 1 queued   jobs 1"), "the job runs")
    want(has("[..........]   0%")(top.screen) and has("fold")(top.screen), top.screen)
    place.write("go1")
    top.wait(has("[#####.....]  50%"), "the bar grows")
    top.press(b"n")
    top.wait(lambda screen: not has("fold")(screen) and has("n1")(screen), "nodes alone")
    top.press(b"n")
    top.wait(has("fold"), "both again")
    top.resize(8, 40)
    top.wait(lambda screen: len(screen) == 8 and has("q quit")(screen), "8 rows")
    top.resize(24, 100)
    cluster.kill_hub()
    top.wait(has("the hub is unreachable: "), "it says so")
    want(has("fold")(top.screen), "what was known stays")
    cluster.start_hub()
    top.wait(lambda screen: has("life 2")(screen) and not has("the hub is unreachable")(screen), "it is back")
    place.write("go2")
    cluster.spate("job wait", job)
    top.wait(lambda screen: not has("fold")(screen), "the job is over")
    top.press(b"q")
    top.ended(0)


def test_a_table_as_wide_as_the_terminal_is_whole(place: Place):
    cluster = cluster_of(place)
    cluster.submit("--name", "n" * 80, "--", "true")
    top = Terminal(place, columns=90)
    top.wait(has("nnn..."), "a job whose name is cut")
    titles = next(line for line in top.screen if "RUNNING" in line)
    want(len(titles) == 90 and titles.endswith("ETA"), top.screen)
    top.press(b"q")
    top.ended(0)


def test_messages_are_broken_between_words(place: Place):
    words = ("run", "--memory", "400", "--", "true")
    _, plain = place.run(*words[1:], code=2)
    want(plain.count("\n") == 1 and len(plain) > 100, plain)
    screen = Terminal(place, columns=40, words=words)
    want(screen.process.wait(DEADLINE) == 2, screen.process.returncode)
    wait(lambda: screen.read() is None or screen.seen.endswith("\n") and " ".join(screen.seen.splitlines()) + "\n" == plain,
         f"the message: {plain}")
    lines_seen = screen.seen.splitlines()
    want(len(lines_seen) > 3 and all(len(line) <= 40 for line in lines_seen), lines_seen)


def test_top_gives_the_terminal_back(place: Place):
    cluster_of(place)
    for end, code in ((lambda top: top.press(b"\x03"), 0),
                      (lambda top: top.process.send_signal(signal.SIGTERM), 143),
                      (lambda top: top.process.send_signal(signal.SIGINT), 130)):
        top = Terminal(place)
        top.wait(has("hub of spate"), "the first look")
        end(top)
        top.ended(code)


def test_a_report_is_watched(place: Place):
    _, err = place.run("--live", "--local", command="report", code=2)
    want("--live draws on a terminal" in err, err)
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    for where, add in ((("--hub",), lambda name: cluster.submit("--wait", "--name", name, "--", "true")),
                       (("--local",), lambda name: place.run("--name", name, "--", "true"))):
        add("first")
        report = Terminal(place, words=("report", "--live", *where))
        report.wait(lambda _: "first" in report.seen, "the first look")
        want("second" not in report.seen, report.seen)
        add("second")
        report.wait(lambda _: "second" in report.seen, "the report grows")
        report.press(b"\x03")
        report.ended(130)


def test_top_without_a_terminal_looks_once(place: Place):
    place.run(command="top", code=3)
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "3")
    job = cluster.submit("--name", "fold", "--", "while ! test -e go; do sleep 0.05; done")
    other = cluster.access("--role", "client", "--user", "bob", name="bob.access")
    wait(lambda: lines(cluster.spate("top", "--output", "json")[0])[0]["running"] == 1, "it runs")
    hub, node, one = lines(cluster.spate("top", "--output", "json")[0])
    want((hub["type"], hub["v"], hub["life"], hub["nodes"]) == ("hub", 2, 1, 1), hub)
    want((node["node"], node["state"], node["slots"]) == ("n1", "ready", 3), node)
    want((one["job"], one["name"], one["running"]) == (int(job), "fold", 1), one)
    hidden = lines(cluster.spate("top", "--output", "json", "--access", other)[0])[2]
    want(hidden["name"] is None and hidden["running"] == 1, hidden)
    text, _ = cluster.spate("top")
    want("fold" in text and "n1" in text and "\x1b" not in text, text)
    place.write("go")
    cluster.spate("job wait", job)


if __name__ == "__main__":
    main(globals())
