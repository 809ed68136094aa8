"""Pools in a Slurm of its own. Skipped where Slurm is not installed."""
import os
import shutil
import subprocess
import sys

from harness import DEADLINE, Place, main, wait, want
from cluster import cluster_of, free_port
from pool_test import pools

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
SCRIPTS = os.path.abspath(os.path.join(SOURCE, "tests", "slurm"))
SBIN = ":/usr/sbin:/sbin"


class Slurm:
    def __init__(self, place: Place, nodes=4, cpus=2):
        self.place = place
        self.dir = os.path.join(place.dir, "slurm")
        place.env = dict(place.env, PATH=place.env["PATH"] + SBIN, SLURM_CONF=os.path.join(self.dir, "slurm.conf"))
        up = self.call("bash", os.path.join(SCRIPTS, "up.sh"), self.dir, str(nodes), str(cpus), str(free_port() // 64 * 64 % 20000 + 30000))
        want(up.returncode == 0, up.stdout + up.stderr)
        place.on_remove = self.stop

    def follow(self, cluster):
        self.cluster = cluster
        self.place.on_remove = self.stop
        return cluster

    def call(self, *args):
        return subprocess.run(args, env=self.place.env, cwd=self.place.dir, timeout=DEADLINE, text=True, capture_output=True)

    def queue(self):
        return self.call("squeue", "--noheader", "--format=%i %T %j").stdout.splitlines()

    def stop(self):
        try:
            if hasattr(self, "cluster"):
                self.cluster.stop()
        finally:
            self.call("bash", os.path.join(SCRIPTS, "down.sh"), self.dir)


def test_up_and_down(place: Place):
    slurm = Slurm(place)
    cluster = slurm.follow(cluster_of(place))
    cluster.spate("pool add", "slurm", "main", "--max-pilots", "4", "--idle-exit", "1s", "--submit-rate", "20", "--",
                  "-p", "main", "-t", "1h", "-c", "2")
    cluster.submit("--wait", "--pool", "main", "--", "echo $SPATE_NODE >> who; sleep 0.2 # {}", ":::", *map(str, range(40)))
    want(len(place.lines("who")) == 40, place.lines("who"))
    wait(lambda: not slurm.queue(), "Slurm's queue is empty")
    cluster.spate("pool remove", "main", "--wait")
    want(not pools(cluster), "the pool is there")


def test_options_are_tried_by_slurm_itself(place: Place):
    slurm = Slurm(place, nodes=1)
    cluster = slurm.follow(cluster_of(place))
    _, err = cluster.spate("pool add", "slurm", "p", "--", "-p", "no-such-partition", code=2)
    want("invalid partition" in err.lower(), err)
    out, _ = cluster.spate("pool add", "slurm", "p", "--dry-run", "--", "-p", "main", "-t", "10m")
    want("sbatch" in out and "Test: passed" in out and not pools(cluster), out)


if __name__ == "__main__":
    if not all(shutil.which(name, path=os.environ["PATH"] + SBIN)
               for name in ("sbatch", "slurmctld", "slurmd", "munged", "bc")):
        print("skipped: Slurm is not installed (slurm-wlm, munge, bc)")
        sys.exit(77)
    main({name: function for name, function in globals().items() if name.startswith("test_")})
