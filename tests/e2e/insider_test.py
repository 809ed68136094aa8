"""Insiders: a local user, and whoever may run a node, who send any message that they want. What they send costs
themselves, and nobody else loses a task, an output or much time. (hostile_test.py has the strangers.)"""
import json
import os
import re
import shutil
import socket
import sqlite3
import struct
import subprocess
import threading
import time

from cluster import NOBODY, cluster_of
from harness import DEADLINE, SPATE, Place, main, wait, want
from peer import (ANSWER, ANSWERED, CANCEL, CHANGE_JOBS, DESCRIBE_JOBS, EXPLAIN, FORGET, REQUEST, WELCOME, Hub, Node, Peer, ask,
                  frame, greeting, local, message, packed, ranges, raw, read_ends, request, rows, submit, submit_end, texts,
                  zigzag)

LARGEST = 16 << 20
ALL_TASKS = 100_000_000


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def turns(hub, count):
    """The seconds of a processor that so many messages of a node cost, each with a turn of its own."""
    node = Node(hub, b"n1")
    node.ask()
    before = cpu_seconds(hub.cluster.hub.pid)
    for number in range(count):
        node.to_hub(3, {1: 1, 2: 1, 3: packed(0, 1), 4: number + 1})
        node.ask()
    return cpu_seconds(hub.cluster.hub.pid) - before


def folder_size(path):
    return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))


def as_nobody():
    """For preexec_fn."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def needs_root(name):
    if os.geteuid() == 0:
        return False
    print(f"       (skipped: {name}: only root can be two users)")
    return True


def access_to(cluster, path, folder):
    """An access file of the other user, for the UNIX socket."""
    cluster.access("--role", "client", "--user", "nobody", name="made.access")
    text = cluster.place.read("made.access")
    name = os.path.join(folder, "access")
    with open(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(re.sub(r"(?m)^hub = .*$", f"hub = unix:{path}", text))
    if os.geteuid() == 0:
        os.chown(name, NOBODY, NOBODY)
    return name


class TwoUsers(Hub):
    """A hub of this user whose socket others reach."""

    def __init__(self, place):
        self.socket = os.path.join(place.dir, "door", "socket")
        os.mkdir(os.path.dirname(self.socket), 0o755)
        os.chmod(place.dir, 0o1777)
        self.program = os.path.join(place.dir, "spate")  # where the other user may read it
        shutil.copy(SPATE, self.program)
        self.cluster = cluster_of(place, "--listen", "127.0.0.1:0", "--listen", f"unix:{self.socket}")
        os.chmod(self.socket, 0o666)
        home = os.path.join(place.dir, "home")
        os.mkdir(home)
        os.chown(home, NOBODY, NOBODY)
        self.home, self.place = home, place
        self.env = dict(place.env, HOME=home, SPATE_STATE=home, SPATE_HUB=access_to(self.cluster, self.socket, home))

    def nobody(self, *args, **options):
        """`spate ARGS` as the other user."""
        return subprocess.Popen([self.program, *args], cwd=self.home, env=self.env, preexec_fn=as_nobody,
                                stdin=subprocess.DEVNULL, **options)

    def insider(self, code):
        """A Python program of the other user, with `hub` as in this file."""
        text = f"""
import os, sys, time
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from insider_test import *
class hub: socket = {self.socket!r}
{code}
"""
        done = subprocess.Popen(["python3", "-c", text], cwd=self.home, env=self.env, preexec_fn=as_nobody,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.cluster.processes.append(done)
        return done


# ---- What a node says ------------------------------------------------------------------------------

def test_a_node_that_lies_changes_nothing_of_others(place: Place):
    hub = Hub(place)
    hub.cluster.node("n1", "-j", "4")
    liar = Node(hub, b"n2")
    done = threading.Event()

    def lie():
        while not done.is_set():
            liar.ends(1, list(range(200)), b"forged\n")
            time.sleep(0.002)

    lies = threading.Thread(target=lie, daemon=True)
    lies.start()
    try:
        hub.cluster.submit("--wait", "--on", "n1", "--", "echo true {}", ":::", *map(str, range(200)))
    finally:
        done.set()
        lies.join()
    out, _ = hub.cluster.spate("job cat", "1")
    want(sorted(out.split("\n")) == sorted(["", *(f"true {n}" for n in range(200))]), out[:500])
    hub.check()


def test_output_of_tasks_that_a_node_does_not_have_takes_no_disk(place: Place):
    hub = Hub(place)
    hub.cluster.submit("--", "true", ":::", "a", "b")
    spool = os.path.join(hub.cluster.hub_dir, "spool")
    node = Node(hub, b"n1")
    for offset in range(64):
        node.piece(1, 0, b"x" * (1 << 20), offset << 20)
    node.hello()  # it is behind them
    wait(lambda: hub.status()["nodes"] == 1, "all is heard")
    want(folder_size(spool) == 0, os.listdir(spool))
    hub.check()


def test_ranges_cost_what_is_there(place: Place):
    hub = Hub(place)
    place.write("long.lst", *["true"] * 200_000)
    hub.cluster.submit("long.lst")
    node = Node(hub, b"n1")
    for _ in range(200):
        node.hello((1, 1, 0, ALL_TASKS), (1, 2, 0, ALL_TASKS))
        node.to_hub(3, {1: 1, 2: 1, 3: packed(0, ALL_TASKS), 4: 1})
    hub.check()
    # Selectors: whatever is typed again and again is looked at once.
    asking = local(hub)
    jobs = ranges(1, 4_000_000, 3000)
    tasks = message({1: 1}) + ranges(2, 1_000_001, 5000)
    for _ in range(3):
        asking.send(ask(DESCRIBE_JOBS, {1: jobs}), ask(CHANGE_JOBS, {1: jobs}),
                    ask(CANCEL, {1: b"", 2: tasks}), ask(EXPLAIN, {1: tasks}))
    hub.check()
    want(hub.status()["queued"] < 200_000, "nothing was cancelled")


def test_needs_are_counted_before_they_are_made(place: Place):
    hub = Hub(place)
    empty = b"\x12\x00" * (4 << 20)  # SubmitEnd.requests
    end = frame(REQUEST, message({4: message({1: 1}) + empty}))
    reason = local(hub).send(submit(b"needy"), rows(b"true"), end).refusal()
    want("requests has too many kinds" in reason, reason)
    hub.check()
    place.write("needy.lst", *[f"true {{use ram {n + 1}M}}" for n in range(10_001)])
    for how in ("run", "submit"):
        _, err = place.run("needy.lst", command=how, code=2)
        want("needy.lst:10001: more than 10,000 different needs" in err, err)


def test_questions_of_other_versions_are_refused(place: Place):
    hub = Hub(place)
    reason = local(hub).send(request(1, {1: texts(b"job", b"cancel", b"1")})).refusal()  # as older programs did
    want("use the hub's version" in reason, reason)
    got = local(hub).send(ask(4000, {})).frame()
    want(b"this hub is older than" in got[1], got)
    want("internal error" not in place.read("hub.log"), place.read("hub.log"))


def test_a_breach_at_the_end_of_an_upload_leaves_nothing(place: Place):
    hub = Hub(place)
    place.write("one.lst", "true")
    job = hub.cluster.submit("--open", "one.lst")
    grow = request(2, {1: b"more", 2: message({2: b"/tmp", 7: 1}), 13: int(job)})
    for head in (submit(b"new"), grow):
        reason = local(hub).send(head, rows(b"true"), submit_end(2)).refusal()
        want("another number of rows" in reason, reason)
    # Nobody adds tasks to the job any more, and of the other upload no row is left.
    place.run(job, "one.lst", command="job add")
    journal = sqlite3.connect(f"file:{hub.cluster.hub_dir}/hub.db?mode=ro", uri=True)
    others = "SELECT count(*) FROM rows WHERE id >> 32 <> ?"
    wait(lambda: journal.execute(others, (int(job),)).fetchone() == (0,), "no row of the other upload is left")


def test_jobs_that_have_ended_cost_little_to_name(place: Place):
    hub, ended = Hub(place), 5000
    peer = local(hub)
    for number in range(ended):
        peer.send(submit(b"%d" % number), rows(b"true"), submit_end(1))
    for number in range(ended):
        peer.frame()
    place.run("all", command="job cancel")
    before = cpu_seconds(hub.cluster.hub.pid)
    for question in ask(CHANGE_JOBS, {1: ranges(1, ended)}), ask(FORGET, {2: zigzag(0), 3: 1}):
        for _ in range(10):
            peer.send(question)
        for _ in range(10):
            while (got := peer.frame())[1][:1] == ANSWER:
                pass
            want(got[1][:1] == ANSWERED, got)
    took = cpu_seconds(hub.cluster.hub.pid) - before
    want(took < 1, f"20 commands about {ended} jobs took {took:.1f} s")


def test_jobs_with_long_texts_cost_little_to_name(place: Place):
    hub, jobs = Hub(place), 5
    peer = local(hub)
    words = texts(*[b"w" * 200] * 60_000)
    for number in range(jobs):
        head = request(2, {1: b"long %d" % number, 2: message({2: b"/tmp", 3: 0}), 4: words, 5: words[:0],
                           6: b"n" * 2_000_000})
        peer.send(head, rows(b"true"), submit_end(1))
        peer.frame()
    place.run("all", command="job cancel")
    before = cpu_seconds(hub.cluster.hub.pid)
    for _ in range(20):
        for question in ask(CHANGE_JOBS, {1: ranges(1, jobs)}), ask(FORGET, {1: ranges(1, jobs), 3: 1}):
            peer.send(question)
            while (got := peer.frame())[1][:1] == ANSWER:
                pass
            want(got[1][:1] == ANSWERED, got)
    took = cpu_seconds(hub.cluster.hub.pid) - before
    want(took < 1, f"40 commands about {jobs} jobs took {took:.1f} s")
    # The kept part of the texts is shown, with a mark that it is cut.
    out, _ = hub.cluster.spate("job info 1")
    want("(truncated: the hub keeps 64 KB" in out, out[-300:])
    job = json.loads(hub.cluster.spate("job list", "--output", "json")[0].splitlines()[0])
    want(job["cut"] and 60_000 < len("".join(job["argv"])) <= 65_539 and len(job["name"]) == 1024, job["name"])
    size = os.path.getsize(os.path.join(hub.cluster.hub_dir, "hub.db"))
    want(size < 12_000_000, f"the journal has {size >> 20} MB")
    # These jobs run like any others.
    hub.cluster.node("n1")
    hub.cluster.spate("job retry", "1")
    hub.cluster.spate("job wait", "1")


def test_needs_that_wait_are_looked_at_once_in_a_turn(place: Place):
    hub = Hub(place)
    place.write("needy.lst", *[f"true {{use ram {n + 1}M}}" for n in range(10_000)])
    hub.cluster.submit("needy.lst")
    took = turns(hub, 50)
    want(took < 4, f"50 turns took {took:.1f} s")


def test_jobs_that_wait_are_looked_at_once_in_a_turn(place: Place):
    hub = Hub(place)
    peers = [local(hub) for _ in range(20)]
    for job in range(150):
        for number, peer in enumerate(peers):
            peer.send(submit(b"%d %d" % (job, number)), rows(b"true"), submit_end(1))
        for peer in peers:
            peer.frame()
    took = turns(hub, 20)
    want(took < 1, f"20 turns took {took:.1f} s")


# ---- What one takes from all -----------------------------------------------------------------------

def test_frames_that_never_end(place: Place):
    hub = Hub(place)
    head = struct.pack("<IB", LARGEST, REQUEST)

    def begin(peer):
        try:
            peer.send(head, b"x" * (LARGEST - 100))
        except OSError:
            pass  # it is not read any more

    peers = [local(hub) for _ in range(40)]
    for peer in peers:
        threading.Thread(target=begin, args=(peer,), daemon=True).start()
    wait(lambda: hub.status()["clients"] > 40, "all are there")
    for _ in range(5):
        hub.check()
        time.sleep(0.1)  # so that more could have come; what counts is the memory
    for peer in peers:
        peer.connection.close()
    # Whoever has a long frame to say gets its turn.
    reason = local(hub).send(submit(b"long"), rows(b"x" * ((16 << 20) - 64))).refusal()
    want("rows" in reason, reason)


def test_followers_of_a_job_take_no_reader_from_others(place: Place):
    hub = Hub(place)
    hub.cluster.node("n1", "-j", "2")
    hub.cluster.submit("--", "while ! test -e go; do sleep 0.05; done; echo {}", ":::", "a", "b")
    followers = [local(hub).send(read_ends(1)) for _ in range(40)]
    hub.cluster.spate("job list")  # answered by a reader, too
    children = f"/proc/{hub.cluster.hub.pid}/task/{hub.cluster.hub.pid}/children"
    wait(lambda: open(children).read() == "", "nobody reads where there is nothing to read")
    place.write("go")
    for peer in followers:
        ends = 0
        while ends < 2:
            got = peer.frame()
            want(got, "a follower was cut off")
            ends += got[1].count(b"a\n") + got[1].count(b"b\n")
    hub.check()


def test_one_user_leaves_places_for_others(place: Place):
    if needs_root("places"):
        return
    hub = TwoUsers(place)
    crowd = hub.insider("""
def one():
    peer = Peer(socket.socket(socket.AF_UNIX))
    peer.connection.connect(hub.socket)
    return peer.send(greeting()).frame()
peers, told = [], None
while not told:
    peer = Peer(socket.socket(socket.AF_UNIX))
    peer.connection.connect(hub.socket)
    got = peer.send(greeting()).frame()
    peers.append(peer)
    if got is None or got[0] != WELCOME:
        told = got
print(len(peers), told, flush=True)
sys.stdin.read()
""")
    line = crowd.stdout.readline()
    want("a quarter of all" in line, line + crowd.stderr.read() if not line else line)
    hub.cluster.spate("job list")
    log = place.read("hub.log")
    want(log.count("a quarter of all") == 1, "logged each time")
    crowd.communicate()


def test_names_of_nodes_belong_to_their_first_user(place: Place):
    if needs_root("names"):
        return
    hub = TwoUsers(place)
    squatter = hub.insider("""
peer = Peer(socket.socket(socket.AF_UNIX))
peer.connection.connect(hub.socket)
body = {1: b"evil", 2: 3, 3: 3, 4: 1, 8: b"n2", 9: os.urandom(16)}
got = peer.send(frame(1, message(body))).frame()
print(got, flush=True)
""")
    hub.cluster.node("n1")
    out, err = squatter.communicate()
    want(out, err)
    late = hub.cluster.node("n2", join=False)
    wait(lambda: "belongs to a node of" in place.read("n2.log"), "the name is taken")
    late.terminate()
    late.wait(DEADLINE)
    hub.cluster.spate("node remove", "n2")
    hub.cluster.spate("node resume", "n2")
    hub.cluster.node("n2")


# ---- Folders, sockets and files --------------------------------------------------------------------

def test_a_daemon_relies_on_its_own_folders_only(place: Place):
    if needs_root("folders"):
        return
    cluster = cluster_of(place)
    os.chmod(place.dir, 0o755)
    evil = os.path.join(place.dir, "evil")
    os.mkdir(evil)
    os.chown(evil, NOBODY, NOBODY)
    for made in ("nodes", "hub"):
        os.mkdir(os.path.join(evil, made))
    for command_of in (["node", "start", "--state", evil], ["hub", "start", "--listen", "none", "--state", evil]):
        done = subprocess.run([SPATE, *command_of, "--allow-root"], cwd=place.dir, env=place.env,
                              capture_output=True, text=True, timeout=60)
        want(done.returncode == 3 and "belongs to nobody" in done.stderr and "--state" in done.stderr, done)
    shared = os.path.join(place.dir, "shared")
    os.mkdir(shared)
    os.chmod(shared, 0o777)
    done = subprocess.run([SPATE, "node", "start", "--allow-root", "--state", os.path.join(shared, "mine")],
                          cwd=place.dir, env=place.env, capture_output=True, text=True, timeout=60)
    want(done.returncode == 3 and "may be changed by others" in done.stderr, done)
    # Files of tasks, too, would be replaced there while root makes them; in a sticky folder nobody can.
    for tmp in (evil, shared):
        done = subprocess.run([SPATE, "node", "start", "--allow-root", "--tmp", tmp], cwd=place.dir, env=place.env,
                              capture_output=True, text=True, timeout=60)
        want(done.returncode == 3 and "--tmp DIR" in done.stderr, done)
        want("spate-" not in "".join(os.listdir(tmp)), os.listdir(tmp))
    os.chmod(shared, 0o1777)
    cluster.node("n1", "--tmp", shared)
    cluster.submit("--wait", "--get", "out.{}", "--", "echo {} > out.{}", ":::", "a")
    want(place.read("out.a") == "a\n", place.read("out.a"))


def test_secrets_of_a_hub_are_its_own(place: Place):
    cluster = cluster_of(place)
    names = [name for name in os.listdir(cluster.hub_dir) if os.path.isfile(os.path.join(cluster.hub_dir, name))]
    want("hub.db" in names, names)
    for name in names:
        mode = os.stat(os.path.join(cluster.hub_dir, name)).st_mode & 0o777
        want(mode & 0o077 == 0, f"{name}: {mode:o}")
    cluster.kill_hub()
    os.chmod(cluster.hub_dir, 0o755)
    _, err = cluster.spate("hub start", "--allow-root", "--listen", "none", code=3)
    want("chmod go-rw" in err, err)
    os.chmod(cluster.hub_dir, 0o711)  # through it, to its socket
    cluster.start_hub()


def test_a_false_hub_is_not_believed(place: Place):
    if needs_root("false hub"):
        return
    os.chmod(place.dir, 0o1777)
    folder = os.path.join(place.dir, "hub")
    os.mkdir(folder)
    os.chown(folder, NOBODY, NOBODY)
    path = os.path.join(folder, "socket")
    listener = subprocess.Popen(
        ["python3", "-c", f"import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind({path!r}); s.listen(); "
                          "print(1, flush=True); c, _ = s.accept(); print(c.recv(100), flush=True)"],
        preexec_fn=as_nobody, stdout=subprocess.PIPE, text=True)
    listener.stdout.readline()
    os.chmod(path, 0o666)
    access = access_to(cluster_of(place, "--listen", "127.0.0.1:0"), path, place.dir)
    os.chown(access, 0, 0)
    done = subprocess.run([SPATE, "job", "list", "--access", access], cwd=place.dir, env=place.env,
                          capture_output=True, text=True, timeout=60)
    want(done.returncode == 3 and "false hub" in done.stderr, done)
    heard, _ = listener.communicate()
    want(heard.strip() in ("", "b''"), f"it was told something: {heard}")


def test_files_come_home_over_no_links_of_others(place: Place):
    if needs_root("links"):
        return
    cluster = cluster_of(place)
    cluster.node("n1")
    cluster.submit("--wait", "--get", "a/b/out", "--", "mkdir -p a/b; echo home > a/b/out", code=0)
    want(place.read("a/b/out") == "home\n", "it comes home")
    secret = os.path.join(place.dir, "secret")
    os.mkdir(secret)
    for owner, code in ((NOBODY, 3), (0, 0)):
        there = os.path.join(place.dir, f"there-{owner}")
        os.mkdir(there)
        os.symlink(secret, os.path.join(there, "a"))
        os.chown(os.path.join(there, "a"), owner, owner, follow_symlinks=False)
        _, err = cluster.spate("job get", "1", there, code=code)
        want(code == 0 or "is a link of nobody" in err, err)
        want(os.path.exists(os.path.join(secret, "b")) == (code == 0), "where it led")


def test_access_that_expires_ends_what_is_open(place: Place):
    cluster = cluster_of(place)
    access = cluster.access("--role", "node", "--expires", "5s", name="short.access")
    cluster.node("n1", "--access", access)
    wait(lambda: "this access has expired" in place.read("n1.log"), "the node is told")


def test_which_tasks_of_others_succeed_is_their_secret(place: Place):
    if needs_root("after each"):
        return
    hub = TwoUsers(place)
    hub.cluster.node("n1")
    job = hub.cluster.submit("--wait", "--", "test {} = a", ":::", "a", "b", code=1).split()[0]
    for after, code in ((f"each:{job}", 3), (f"any:{job}", 0)):
        asked = hub.nobody("submit", "--after", after, "--", "true {}", ":::", "a", "b", stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
        out, err = asked.communicate(timeout=60)
        want(asked.returncode == code, f"{after}: {asked.returncode} {out} {err}")
        want(code == 0 or "belongs to" in err, err)


if __name__ == "__main__":
    main(globals())
