#!/usr/bin/env python3
"""The life of a node: started once, stopped by name, removed, and what it keeps of jobs."""
import json
import os
import signal
import socket
import sqlite3
import subprocess
import threading
import time

from cluster import cluster_of
from harness import DEADLINE, SPATE, Place, main, wait, want


def test_a_node_is_stopped(place: Place):
    cluster = cluster_of(place)
    _, err = cluster.spate("node stop", code=2)
    want("no node of yours runs on this machine" in err, err)
    first, second = cluster.node("n1"), cluster.node("n2")
    _, err = cluster.spate("node stop", code=2)
    want("n1, n2" in err, err)
    _, err = cluster.spate("node stop", "n3", code=2)
    want("'n3'" in err and "n1, n2" in err and "spate node remove n3" in err, err)
    out, _ = cluster.spate("node stop", "n2")
    want(out == "n2: stopped\n" and second.wait(0) == 0, out)
    # Its task runs elsewhere, and nothing of it is left here.
    job = cluster.submit("--", "echo $SPATE_NODE >> ran; test $(wc -l < ran) = 2 || sleep 600")
    wait(lambda: place.lines("ran") == ["n1"], "it runs")
    cluster.node("n2")
    out, _ = cluster.spate("node stop", "n1")
    want(out == "n1: stopped\n" and first.wait(0) == 0, out)
    cluster.spate("job wait", job)
    want(place.lines("ran") == ["n1", "n2"], place.read("ran"))
    out, _ = cluster.spate("node stop")
    want(out == "n2: stopped\n", out)


# Holds a lock like a node, and writes a process id into the file.
LOCK = """
import fcntl, struct, sys
with open(sys.argv[1], "w") as file:
    fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    file.write(f"pid {sys.argv[2]}\\n")
    file.flush()
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_node_is_stopped_by_its_own_lock_only(place: Place):
    """A process that only a file names is not ended."""
    victim = subprocess.Popen(["sleep", "600"])
    state = os.path.join(place.dir, "other")
    folder = os.path.join(state, "nodes", f"n1@{socket.gethostname()}")
    os.makedirs(os.path.join(folder, "shepherds"), 0o755)
    lock = os.path.join(folder, "shepherds", "lock")
    owner = subprocess.Popen(["python3", "-c", LOCK, lock, str(victim.pid)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    owner.stdout.readline()
    try:
        for name in ((), ("n1",)):
            _, err = place.run("--state", state, *name, command="node stop", code=3)
            want("does not hold that lock" in err, err)
        # Folders of other users, or to which they may write, are not trusted anywhere on the way.
        for path in (os.path.join(folder, "shepherds"), folder, os.path.join(state, "nodes"), state):
            os.chmod(path, 0o777)
            _, err = place.run("--state", state, "n1", command="node stop", code=3)
            want("may be changed" in err or "other users can change" in err, err)
            os.chmod(path, 0o755)
            if os.geteuid() == 0:
                os.chown(path, 65534, 65534)
                _, err = place.run("--state", state, "n1", command="node stop", code=3)
                want("belongs to nobody" in err, err)
                os.chown(path, 0, 0)
        want(victim.poll() is None, "a process that a file names was ended")
        _, err = place.run("--tmp", state, "n1", command="node stop", code=2)
        want("--tmp" in err, err)
    finally:
        for process in (owner, victim):
            process.kill()
            process.wait()


def test_quit_works_for_a_node_of_a_script(place: Place):
    """A script's `&` lets INT and QUIT be ignored."""
    cluster = cluster_of(place)
    node = cluster.node("n1", preexec_fn=lambda: signal.signal(signal.SIGQUIT, signal.SIG_IGN))
    job = cluster.submit("--", "echo begun >> ran; while ! test -e go; do sleep 0.02; done")
    wait(lambda: place.lines("ran") == ["begun"], "it runs")
    node.send_signal(signal.SIGQUIT)
    want(node.wait(DEADLINE) == 0, place.read("n1.log"))
    cluster.node("n1")
    place.write("go")
    cluster.spate("job wait", job)
    want(place.lines("ran") == ["begun"], "the next node took it over")


def test_a_node_without_a_hub_says_so_once(place: Place):
    """And not at each of its calls."""
    cluster = cluster_of(place)
    cluster.kill_hub()
    hub = os.path.join(place.state, "hub", "socket")
    if os.path.exists(hub):
        os.remove(hub)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(hub)
        listener.listen()
        listener.settimeout(DEADLINE)
        node = cluster.node("n1", join=False)
        for _ in range(4):
            listener.accept()[0].close()
        want(place.read("n1.log").count("no hub yet") == 1, place.read("n1.log"))
    os.remove(hub)
    cluster.start_hub()
    wait(lambda: "joined the hub" in place.read("n1.log"), "it joins")
    want(node.poll() is None, "it goes on")


class OfAnotherRelease:
    """Between a node and its hub: makes the node's greetings those of protocol 1 while `old`."""

    def __init__(self, place, hub):
        self.hub, self.old, self.open = hub, False, []
        self.state = os.path.join(place.dir, "elsewhere")
        os.makedirs(os.path.join(self.state, "hub"), mode=0o700)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(self.state, "hub", "socket"))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            node, _ = self.listener.accept()
            hub = socket.socket(socket.AF_UNIX)
            try:
                hub.connect(self.hub)
            except OSError:
                node.close()
                continue
            self.open += [node, hub]
            for source, sink in ((node, hub), (hub, node)):
                threading.Thread(target=self.carry, args=(source, sink, source is node), daemon=True).start()

    def carry(self, source, sink, greets):
        try:
            while data := source.recv(1 << 16):
                if greets and self.old:  # `protocol` and `oldest_protocol` (docs/formats/wire.md)
                    want(b"\x10\x03\x18\x03" in data, data)
                    data = data.replace(b"\x10\x03\x18\x03", b"\x10\x01\x18\x01")
                greets = False
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def test_a_node_of_another_protocol_keeps_its_tasks(place: Place):
    cluster = cluster_of(place, "--lost-after", "3s", "--suspect-after", "2s")
    release = OfAnotherRelease(place, os.path.join(place.state, "hub", "socket"))
    node = cluster.node("n1", env=dict(place.env, SPATE_STATE=release.state))
    job = cluster.submit("--", "echo begun >> ran; while ! test -e go; do sleep 0.02; done")
    wait(lambda: place.lines("ran") == ["begun"], "it runs")
    release.old = True
    cluster.kill_hub()
    cluster.start_hub()
    wait(lambda: "refused: spate" in cluster.spate("node list")[0], "the node is named")
    want("speaks protocol 1" in cluster.spate("node list")[0], cluster.spate("node list")[0])
    # Three times as long as a node may be away.
    begun = time.monotonic()
    wait(lambda: time.monotonic() - begun > 9, "it is refused for longer than a node may be away")
    want(json.loads(cluster.spate("job info", job, "--json")[0].splitlines()[0])["running"] == 1, "it is not given up")
    # And both jobs, the one that runs there and a new one, say what they wait for.
    for which, why in ((job, "it is running on n1, which the hub refuses"),
                       (cluster.submit("--", "true"), "no node is connected: n1 (refused: the hub does not support its spate version")):
        out, _ = cluster.spate("task explain", f"{which}.1")
        want(why in out and "start one" not in out, out)
        want(why in json.loads(cluster.spate("job info", which, "--json")[0].splitlines()[0])["waits"], why)
    release.old = False
    wait(lambda: "ready" in cluster.spate("node list")[0], "it is let in")
    place.write("go")
    cluster.spate("job wait", job)
    want(place.lines("ran") == ["begun"] and node.poll() is None, place.read("ran"))


def test_the_log_of_a_daemon_has_a_bound(place: Place):
    start = ("--daemon", "--allow-root", "--listen", "none")
    place.run(*start, command="hub start")
    place.run(command="hub stop")
    log = os.path.join(place.state, "hub", "log")
    with open(log, "a", encoding="utf-8") as file:
        for _ in range(17):
            file.write("x" * (1 << 20) + "\n")
    wait(lambda: not os.path.exists(os.path.join(place.state, "hub", "socket")), "it has ended")
    place.run(*start, command="hub start")
    place.run(command="hub stop")
    wait(lambda: "the hub stops" in place.read("state/hub/log"), "it goes on in a new file")
    want(os.path.getsize(log) < 1 << 20 and os.path.getsize(log + ".1") > 17 << 20, os.listdir(place.state + "/hub"))


def test_a_signal_comes_before_the_end_of_a_node(place: Place):
    cluster = cluster_of(place)
    place.write("save", "trap 'echo saved >> ran; exit 0' USR1", "echo begun >> ran",
                "while :; do sleep 0.01; done")
    job = cluster.submit("--time-limit", "1h", "--signal", "USR1@54s", "--", "exec sh save")
    late = cluster.submit("--time-limit", "1h", "--signal", "USR1@10m", "--", "sleep 0.2")
    cluster.node("n1", "-j", "2", "--cpus", "2", "--lifetime", "60s")
    cluster.spate("job wait", late)
    want(place.lines("ran") == ["begun"], place.read("ran"))
    cluster.spate("job wait", job)
    want(place.lines("ran") == ["begun", "saved"], place.read("ran"))


def test_a_reason_is_kept_whole(place: Place):
    """Or refused."""
    cluster = cluster_of(place)
    cluster.node("n1")
    _, err = cluster.spate("node drain", "n1", "--reason", "x" * 1025, code=2)
    want("--reason has 1025 bytes; write 1024 at most" in err and "drained" not in cluster.spate("node list")[0], err)
    cluster.spate("node drain", "n1", "--reason", "x" * 1024)
    want("x" * 1024 in cluster.spate("node list", "--json")[0], "it is whole")


def test_a_node_that_runs_is_not_started_again(place: Place):
    cluster = cluster_of(place)
    first = cluster.node("n1")
    _, err = cluster.spate("node start", "--name", "n1", "--allow-root", code=3)
    want(f"node n1 already runs here; to stop it: spate node stop --state {place.state} n1;" in err, err)
    want(str(first.pid) in err and "--name" in err, err)


def test_a_removed_node_ends(place: Place):
    cluster = cluster_of(place)
    first = cluster.node("n1")
    job = cluster.submit("--", "touch began; sleep 600")
    wait(lambda: os.path.exists(os.path.join(place.dir, "began")), "it runs")
    cluster.spate("node remove", "n1")
    wait(lambda: first.poll() is not None, "the node ends")
    want(first.returncode == 0 and "it was removed from the hub" in place.read("n1.log"), place.read("n1.log"))
    again = cluster.node("n1", join=False)
    wait(lambda: again.poll() is not None, "it ends again")
    want(f"spate node resume --state {place.state} n1" in place.read("n1.log"), place.read("n1.log"))
    cluster.spate("job cancel", job)
    cluster.spate("node resume", "n1")
    cluster.node("n1")
    cluster.submit("--wait", "--", "true")


def test_a_node_measures_when_it_is_asked(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1")
    before = time.time()
    out, _ = cluster.spate("node query", "n1", "--json")
    now = json.loads(out)
    want(now["type"] == "node_measures" and now["node"] == "n1", now)
    want(before - 1 < now["measured"] < time.time() + 1, now)
    want(now["free_memory"] > 0 and now["load"] >= 0 and now["processes"] > 2, now)
    folders = {disk["folder"]: disk for disk in now["disks"]}
    want(any(place.dir in folder for folder in folders), now)
    for folder, disk in folders.items():
        space = os.statvfs(folder)
        want(disk["size"] == space.f_blocks * space.f_frsize and 0 < disk["free"] <= disk["size"], disk)
    page, _ = cluster.spate("node query", "n1")
    want(page.startswith("Node n1, measured 20") and "\n  pressure   cpu " in page and "\n  disk       /" in page, page)
    # Anybody may ask; what is no node is named, and one that is away does not answer.
    bob = cluster.access("--role", "client", "--user", "bob", name="bob.access")
    cluster.spate("node query", "n1", "--access", bob)
    out, err = cluster.spate("node query", "n1", "n2", code=None)
    want("the hub knows no node 'n2'" in err and out.startswith("Node n1, measured 20"), out + err)
    node.kill()
    node.wait()
    wait(lambda: "the node n1 is not connected" in cluster.spate("node query", "n1", code=None)[1], "it is away")


def test_a_node_that_has_left_is_forgotten(place: Place):
    cluster = cluster_of(place, "--listen", "127.0.0.1:0", "--lost-after", "15s", "--forget-nodes", "1s")
    for name in ("n1", "n2", "n3"):
        cluster.node(name)
    cluster.submit("--wait", "--on", "n1", "--", "true")
    cluster.spate("node drain", "n2")

    def names():
        return {json.loads(line)["node"] for line in
                cluster.spate("node list", "--output", "json")[0].splitlines()}
    want(names() == {"n1", "n2", "n3"}, names())
    cluster.spate("node stop", "n1")
    cluster.spate("node stop", "n2")
    # n2 stays: somebody said something about it.
    wait(lambda: names() == {"n2", "n3"}, "n1 is forgotten")
    wait(lambda: "node n1 was forgotten because it was disconnected for too long" in place.read("hub.log"), "the log tells of it")
    cluster.kill_hub()
    cluster.start_hub()
    wait(lambda: names() == {"n2", "n3"}, "n1 stays forgotten, or is again")
    # It may come back, as the same one; a new one gets a number of its own.
    cluster.node("n4")
    cluster.node("n1")
    wait(lambda: names() == {"n1", "n2", "n3", "n4"}, "both are there")
    cluster.submit("--wait", "--on", "n1", "--", "true")
    cluster.kill_hub()
    with sqlite3.connect(os.path.join(cluster.hub_dir, "hub.db")) as db:
        rows = db.execute("SELECT id, name, removed FROM node ORDER BY id").fetchall()
    want(rows == [(1, "n1", 0), (2, "n2", 0), (3, "n3", 0), (4, "n4", 0)], rows)


def test_a_missing_folder_and_too_much_memory_are_told_where_stderr_goes(place: Place):
    place.run("--memory", "60M", "--stderr", "err", "--",
              "x=$(head -c 150000000 /dev/zero | tr '\\0' x); sleep 60", code=1)
    want("spate: MemoryError: over the limit of 60" in place.read("err"), place.read("err"))


WHERE = "sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status; echo [$SPATE_CPU_LIST] $SPATE_CPUS"


def cpus_of(text):
    """Of a list as the kernel writes it: 0-2,5."""
    parts = [part.split("-") for part in text.split(",")]
    return {cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)}


def where(cluster, job):
    """What the task of a job of WHERE may run on, and is told."""
    allowed, told = cluster.spate("job cat", job)[0].splitlines()
    return cpus_of(allowed), told


def test_tasks_of_several_cpus_are_bound(place: Place):
    units = sorted(os.sched_getaffinity(0))
    if len(units) < 2:
        print("       (skipped: one cpu)")
        return
    units = units[:2]
    inside = {"preexec_fn": lambda: os.sched_setaffinity(0, units)}
    cluster = cluster_of(place)
    _, err = cluster.spate("node start", "--bind", "socket", code=2)
    want("'socket' is not one of: core numa none" in err, err)
    both = f"[{units[0]},{units[1]}] 2"
    for how, name in (("core", "n1"), ("numa", "n2"), ("none", "n3")):
        node = cluster.node(name, "--bind", how, "-j", "4", "--cpus", "4", **inside)
        one = cluster.submit("--wait", "--cpus", "1", "--", WHERE)
        want(where(cluster, one) == (set(units), "[] 1"), where(cluster, one))
        two = cluster.submit("--wait", "--cpus", "2", "--", WHERE)
        want(where(cluster, two) == (set(units), "[] 2" if how == "none" else both), where(cluster, two))
        cluster.spate("node stop", name)
        want(node.wait(20) == 0, place.read(f"{name}.log"))


def test_what_is_adopted_keeps_its_cpus(place: Place):
    units = sorted(os.sched_getaffinity(0))[:2]
    if len(units) < 2:
        print("       (skipped: one cpu)")
        return
    options = ("--bind", "core", "-j", "4", "--cpus", "4")
    inside = {"preexec_fn": lambda: os.sched_setaffinity(0, units)}
    cluster = cluster_of(place)
    node = cluster.node("n1", *options, **inside)
    long = cluster.submit("--cpus", "2", "--", f"touch began; until test -e go; do sleep 0.02; done; {WHERE}")
    wait(lambda: os.path.exists(os.path.join(place.dir, "began")), "it runs")
    node.kill()
    node.wait()
    os.remove(os.path.join(place.dir, "n1.log"))
    cluster.node("n1", *options, **inside)
    want("took over 1 task" in place.read("n1.log"), place.read("n1.log"))
    # Its cpus are not given away, and are free after it.
    beside = cluster.submit("--wait", "--cpus", "2", "--", WHERE)
    want(where(cluster, beside) == (set(units), "[] 2"), where(cluster, beside))
    place.write("go", "")
    cluster.spate("job wait", long)
    both = (set(units), f"[{units[0]},{units[1]}] 2")
    want(where(cluster, long) == both, where(cluster, long))
    after = cluster.submit("--wait", "--cpus", "2", "--", WHERE)
    want(where(cluster, after) == both, where(cluster, after))


def test_a_node_binds_within_what_it_was_given(place: Place):
    cpu = max(os.sched_getaffinity(0))
    cluster = cluster_of(place)
    node = cluster.node("n1", "--bind", "core", "--cpus", "2", preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    # More cpus are offered than it has: the task runs on those that there are.
    for cpus in ("1", "2"):
        job = cluster.submit("--wait", "--cpus", cpus, "--", WHERE)
        want(where(cluster, job) == ({cpu}, f"[] {cpus}"), where(cluster, job))
    cluster.spate("node stop", "n1")
    want(node.wait(20) == 0, place.read("n1.log"))
    cluster.node("n2", "--bind", "core", preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    offered, _ = cluster.spate("node info", "n2")
    want(" 1 cpu" in offered, offered)


def test_a_host_with_an_odd_name_needs_another_for_its_node(place: Place):
    if subprocess.run(["unshare", "--uts", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return print("       (skipped: no host name of one's own here)")

    def there(*words):
        return subprocess.run(["unshare", "--uts", "sh", "-c", 'printf a/b >/proc/sys/kernel/hostname && exec "$@"', "sh", SPATE, *words],
                              cwd=place.dir, env=place.env, capture_output=True, text=True, timeout=DEADLINE)
    cluster_of(place)
    node = there("node", "start")
    want(node.returncode == 2 and "'a/b' is not a valid node name" in node.stderr, node)
    want("name the node with --name" in node.stderr, node)
    run = there("run", "--", "echo fine")
    want(run.returncode == 0 and run.stdout == "fine\n", run)


def test_a_node_is_found_after_its_machine_has_changed_its_name(place: Place):
    if subprocess.run(["unshare", "--uts", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return print("       (skipped: no host name of one's own here)")

    def called(name):
        return ["unshare", "--uts", "sh", "-c", f'printf {name} >/proc/sys/kernel/hostname && exec "$@"', "sh"]

    def there(*words, code=0):
        done = subprocess.run([*called("beta"), SPATE, *words], cwd=place.dir, env=place.env, capture_output=True,
                              text=True, timeout=DEADLINE)
        want(done.returncode == code, done)
        return done.stdout + done.stderr
    cluster = cluster_of(place)
    for name in ("alpha", "n1"):
        node = cluster.node(name, inside=called("alpha"))
        # It would offer the machine a second time.
        told = there("node", "start", "--allow-root", *(["--name", "n1"] if name == "n1" else []), code=3)
        want(f"the node {name} already runs on this machine, since before the machine's name changed from alpha to beta" in told, told)
        want(told.endswith(f"; to stop it: spate node stop --state {place.state} {name}\n"), told)
        want(there("node", "stop", name) == f"{name}: stopped\n" and node.wait(DEADLINE) == 0, "it is found")


if __name__ == "__main__":
    main(globals())
