"""The guide's script for Slurm, in a Slurm of its own. Skipped where Slurm is not installed."""
import os
import re
import shutil
import subprocess
import sys

from harness import DEADLINE, SPATE, Place, main, wait, want
from cluster import cluster_of

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
SCRIPTS = os.path.join(SOURCE, "tests", "slurm")


def script_of_guide():
    with open(os.path.join(SOURCE, "docs", "user", "hub.md")) as guide:
        return re.search(r"```sh\n(#!/bin/sh\n#SBATCH.*?)```", guide.read(), re.S).group(1)


def test_nodes_of_an_allocation_run_tasks(place: Place):
    slurm = os.path.join(place.dir, "slurm")
    env = dict(place.env, PATH=os.path.dirname(SPATE) + ":" + place.env["PATH"] + ":/usr/sbin:/sbin",
               SLURM_CONF=os.path.join(slurm, "slurm.conf"))
    call = lambda *args, **options: subprocess.run(
        args, env=env, cwd=place.dir, timeout=DEADLINE, text=True, capture_output=True, **options)
    up = call("bash", os.path.join(SCRIPTS, "up.sh"), slurm, "2", "2")
    try:
        want(up.returncode == 0, up.stdout + up.stderr)
        cluster = cluster_of(place)
        # Root's tests: its nodes run root's tasks when they are told to.
        text = script_of_guide()
        if os.geteuid() == 0:
            text = text.replace("node start", "node start --allow-root")
        place.write("nodes.sh", text.rstrip("\n"))
        sent = call("sbatch", "nodes.sh")
        want(sent.returncode == 0, sent.stderr)
        job = cluster.submit("--wait", "--array", "1-40", "--", "echo $SPATE_NODE >> nodes; sleep 0.1 # {}")
        nodes = set(place.lines("nodes"))
        allocation = sent.stdout.split()[-1]
        want(nodes <= {f"slurm-{allocation}-0", f"slurm-{allocation}-1"} and nodes, nodes)
        call("scancel", allocation)
        wait(lambda: '"ready"' not in cluster.spate("node list", "--output", "json")[0],
             "the nodes have left with their allocation")
    finally:
        call("bash", os.path.join(SCRIPTS, "down.sh"), slurm)


if __name__ == "__main__":
    if not all(shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
               for name in ("sbatch", "slurmctld", "slurmd", "munged", "bc")):
        print("skipped: Slurm is not installed (slurm-wlm, munge, bc)")
        sys.exit(77)
    main({name: function for name, function in globals().items() if name.startswith("test_nodes")})
