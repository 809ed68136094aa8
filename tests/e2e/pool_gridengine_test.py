"""A pool in a Grid Engine of its own. Skipped where it is not installed."""
import os
import shutil
import subprocess
import sys

import pool_cluster
from harness import DEADLINE, Place, main, wait, want
from cluster import cluster_of, free_port
from pool_test import pools

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
SCRIPTS = os.path.abspath(os.path.join(SOURCE, "tests", "gridengine"))


class GridEngine:
    """One of the place, with one host. What has ended is listed no more (finished_jobs 0)."""

    def __init__(self, place: Place):
        self.place = place
        self.folder = os.path.join(place.dir, "ge")
        up = self.call("bash", os.path.join(SCRIPTS, "up.sh"), self.folder, "8", str(free_port()))
        place.on_remove = self.stop
        want(up.returncode == 0, up.stdout + up.stderr)
        with open(os.path.join(self.folder, "env")) as file:
            place.env = dict(place.env, **dict(word.split("=", 1) for word in file.read().split() if "=" in word))

    def follow(self, cluster):
        self.cluster = cluster
        self.place.on_remove = self.stop
        return cluster

    def call(self, *args):
        return subprocess.run(args, env=self.place.env, cwd=self.place.dir, timeout=DEADLINE, text=True, capture_output=True)

    def ids(self):
        return [line.split()[0] for line in self.call("qstat").stdout.splitlines()[2:]]

    def stop(self):
        try:
            if hasattr(self, "cluster"):
                self.cluster.stop()
        finally:
            self.call("bash", os.path.join(SCRIPTS, "down.sh"), self.folder)


def test_up_and_down(place: Place):
    grid = GridEngine(place)
    cluster = grid.follow(cluster_of(place))
    _, err = cluster.spate("pool add", "gridengine", "ge", "--", "-q", "no-such-queue", code=2)
    want("no-such-queue" in err, err)
    cluster.spate("pool add", "gridengine", "ge", "--max-pilots", "3", "--slots", "2", "--cpus", "2", "--idle-exit", "1s",
                  "--submit-rate", "20", "--", "-l", "h_rt=1h")
    cluster.submit("--wait", "--pool", "ge", "--", "echo $SPATE_NODE $JOB_ID >> who; sleep 0.1 # {}", ":::", *map(str, range(20)))
    want(len(place.lines("who")) == 20, place.lines("who"))
    wait(lambda: not grid.ids(), "the queue is empty")
    cluster.spate("pool remove", "ge", "--wait")
    want(not pools(cluster), "the pool is there")


def test_a_pilot_that_is_deleted(place: Place):
    """Its node takes leave, and qstat does not list it: it has ended, and the next one is requested at once."""
    grid = GridEngine(place)
    cluster = grid.follow(cluster_of(place))
    pool_cluster.add(cluster, "gridengine", "p", "--max-pilots", "1", "--slots", "2", "--cpus", "2")
    job = cluster.submit("--pool", "p", "--", pool_cluster.CAREFUL, ":::", "0", "1")
    wait(lambda: len(place.lines("began")) == 2, "both tasks run")
    grid.call("qdel", *grid.ids())
    wait(lambda: len(place.lines("began")) == 4, "both run again, in a new pilot")
    place.write("go")
    cluster.spate("job wait", job)
    pool_cluster.all_done(place, 2)
    words = pool_cluster.words_of_ends(cluster, "forgotten")
    want(words[:1] == ["its node has ended, and the batch system no longer lists it"], words)


def test_a_bad_host(place: Place):
    """There is no other one: qsub refuses a pilot that excludes it, and the next one may run there."""
    grid = GridEngine(place)
    pool_cluster.names_a_bad_host(place, grid.follow(cluster_of(place)), "gridengine", "--slots", "2", "--cpus", "2")


if __name__ == "__main__":
    if not (shutil.which("qsub") and os.path.exists("/usr/sbin/sge_qmaster") and shutil.which("bc")):
        print("skipped: Grid Engine is not installed (gridengine-master, gridengine-exec, gridengine-client, bc)")
        sys.exit(77)
    main({name: function for name, function in globals().items() if name.startswith("test_")})
