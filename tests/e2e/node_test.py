#!/usr/bin/env python3
"""The life of a node: started once, stopped by name, removed, and what it keeps of jobs."""
import json
import os
import sqlite3

from cluster import cluster_of
from harness import Place, main, wait, want


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


def test_a_node_that_runs_is_not_started_again(place: Place):
    cluster = cluster_of(place)
    first = cluster.node("n1")
    _, err = cluster.spate("node start", "--name", "n1", "--allow-root", code=3)
    want("the node n1 runs here already; spate node stop n1 ends it" in err, err)
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
    want("spate node resume n1" in place.read("n1.log"), place.read("n1.log"))
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
    want("node n1 has been away for long and is forgotten" in place.read("hub.log"), "no word of it")
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


if __name__ == "__main__":
    main(globals())
