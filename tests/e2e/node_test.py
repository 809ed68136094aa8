#!/usr/bin/env python3
"""The life of a node: started once, stopped by name, removed, and what it keeps of jobs."""
import json
import os
import signal
import socket
import sqlite3
import threading
import time

from cluster import cluster_of
from harness import DEADLINE, Place, main, wait, want


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
                    want(b"\x10\x03\x18\x02" in data, data)
                    data = data.replace(b"\x10\x03\x18\x02", b"\x10\x01\x18\x01")
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
    want("node n1 was forgotten because it was disconnected for too long" in place.read("hub.log"), "no word of it")
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


if __name__ == "__main__":
    main(globals())
