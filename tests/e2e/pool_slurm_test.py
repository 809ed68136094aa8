"""Pools in a Slurm of its own. Skipped where Slurm is not installed.

By hand, longer: pool_slurm_test.py test_kills_at_random_moments --tasks 5000 --rounds 10 [--seed N]
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pool_chaos
import pool_cluster
from harness import DEADLINE, Place, main, option, wait, want
from cluster import cluster_of, free_port
from pool_test import pools

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
SCRIPTS = os.path.abspath(os.path.join(SOURCE, "tests", "slurm"))
SBIN = ":/usr/sbin:/sbin"
TASKS = option("--tasks", 210)
ROUNDS = option("--rounds", 1)
SEED = option("--seed", 1)


class Slurm:
    def __init__(self, place: Place, nodes=4, cpus=2):
        self.place = place
        self.nodes = nodes
        self.dir = os.path.join(place.dir, "slurm")
        place.env = dict(place.env, PATH=place.env["PATH"] + SBIN, SLURM_CONF=os.path.join(self.dir, "slurm.conf"))
        up = self.call("bash", os.path.join(SCRIPTS, "up.sh"), self.dir, str(nodes), str(cpus), str(free_port() // 64 * 64))
        want(up.returncode == 0, up.stdout + up.stderr)
        place.on_remove = self.stop

    def follow(self, cluster):
        self.cluster = cluster
        self.place.on_remove = self.stop
        return cluster

    def call(self, *args):
        return subprocess.run(args, env=self.place.env, cwd=self.place.dir, timeout=DEADLINE, text=True, capture_output=True)

    def queue(self, *states):
        """Ids and names of its jobs."""
        states = [f"--states={','.join(states)}"] if states else []
        return [line.split() for line in self.call("squeue", "--noheader", "--format=%i %j", *states).stdout.splitlines()]

    def running(self):
        return [name for _, name in self.queue("RUNNING")]

    def waiting(self):
        return [name for _, name in self.queue("PENDING")]

    def ids(self):
        return [job for job, _ in self.queue("RUNNING")]

    def kill(self, daemon):
        """As if its machine had crashed; it comes again at once."""
        with open(os.path.join(self.dir, "run", f"{daemon}.pid")) as file:
            os.kill(int(file.read()), signal.SIGKILL)
        program = "slurmctld" if daemon == "ctld" else "slurmd"
        options = ["-i"] if daemon == "ctld" else ["-N", daemon]
        self.call(program, "-f", self.place.env["SLURM_CONF"], *options)

    def blows(self, chance):
        def scancel():
            if ids := self.ids():
                self.call("scancel", chance.choice(ids))

        def requeue():
            if ids := self.ids():
                self.call("scontrol", "requeue", chance.choice(ids))

        def slurmctld():
            self.kill("ctld")

        def slurmd():
            self.kill("n" + str(chance.randrange(self.nodes) + 1))

        return scancel, requeue, slurmctld, slurmd

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


def test_preempted_pilots(place: Place):
    """Their tasks run again at once elsewhere, and no try is used up."""
    slurm = Slurm(place, nodes=3)
    cluster = slurm.follow(cluster_of(place))
    cluster.spate("pool add", "slurm", "p", "--max-pilots", "3", "--idle-exit", "1s", "--submit-rate", "20", "--",
                  "-p", "main", "-t", "1h", "-c", "2")
    job = cluster.submit("--pool", "p", "--retries", "0", "--", "echo {} $SPATE_ATTEMPT $SLURM_JOB_ID >> ran; "
                         "while ! test -e go; do sleep 0.05; done; echo {} $SPATE_ATTEMPT >> done", ":::", *"abcdef")
    wait(lambda: len(place.lines("ran")) == 6, "all run")
    ids = slurm.ids()
    slurm.call("scancel", ids[0])
    slurm.call("scontrol", "requeue", ids[1])
    wait(lambda: {line.split()[2] for line in place.lines("ran") if line.split()[1] == "2"} - set(ids),
         "the tasks of the first run in a new pilot")
    wait(lambda: any("queued again" in line for line in cluster.spate("pool log", "p")[0].splitlines()),
         "the second one waits again")
    place.write("go")
    cluster.spate("job wait", job)
    want(sorted(line.split()[0] for line in place.lines("done")) == list("abcdef"), place.lines("done"))
    causes = [end["cause"] for line in cluster.spate("task info", f"{job}.1-6", "--json")[0].splitlines()
              for end in json.loads(line)["ends"]]
    want(sorted(set(causes)) == ["stopped", "success"] and causes.count("success") == 6, causes)
    wait(lambda: not slurm.queue(), "Slurm's queue is empty")


def test_a_pilot_whose_node_is_killed(place: Place):
    """Slurm knows at once that its batch job has ended."""
    slurm = Slurm(place, nodes=2)
    cluster = slurm.follow(cluster_of(place, "--listen", "127.0.0.1:0", *pool_cluster.PATIENT))
    pool_cluster.replaces_a_killed_node(
        place, cluster, lambda: pool_cluster.add(cluster, "slurm", "p", own=("-p", "main", "-c", "2")), slurm.queue)


def test_a_bad_node(place: Place):
    """Slurm gives a node that a failed pilot has freed to the next pilot, unless that excludes it."""
    slurm = Slurm(place, nodes=3)
    cluster = slurm.follow(cluster_of(place))
    pool_cluster.add(cluster, "slurm", "p", "--max-pilots", "3", "--cpus", "2", "--prologue",
                     f"echo $SLURMD_NODENAME >>{place.dir}/tried; test $SLURMD_NODENAME != n1 || exit 4",
                     own=("-p", "main", "-c", "2"))
    job = cluster.submit("--pool", "p", "--", pool_cluster.CAREFUL, ":::", *map(str, range(6)))
    wait(lambda: pools(cluster)[0]["avoids"] == ["n1"], "the node is named")
    wait(lambda: slurm.waiting(), "a pilot waits for another node")
    [words] = pool_cluster.words_of_ends(cluster, "ended")
    want("on host n1" in words and pools(cluster)[0]["state"] == "on", words)
    place.write("go")
    cluster.spate("job wait", job)
    pool_cluster.all_done(place, 6)
    want(place.lines("tried").count("n1") == 1, place.lines("tried"))
    wait(lambda: not slurm.queue(), "Slurm's queue is empty")


def test_nodes_that_are_all_bad(place: Place):
    """sbatch refuses a pilot that excludes the only node; then it may run there."""
    slurm = Slurm(place, nodes=1)
    pool_cluster.names_a_bad_host(place, slurm.follow(cluster_of(place)), "slurm", own=("-p", "main", "-c", "2"))


def test_a_hub_that_is_killed_between_submission_and_answer(place: Place):
    """Each pilot's batch job is found by its name, and used; none is asked for twice."""
    slurm = Slurm(place)
    cluster = slurm.follow(cluster_of(place, "--listen", f"127.0.0.1:{free_port()}"))
    place.write("slow-sbatch", "#!/bin/sh", f"sbatch \"$@\" >{place.dir}/answer.$$; echo >>{place.dir}/submitted",
                f"until [ -e {place.dir}/answers ]; do sleep 0.05; done", f"cat {place.dir}/answer.$$")
    os.chmod(os.path.join(place.dir, "slow-sbatch"), 0o755)
    pool_cluster.add(cluster, "slurm", "p", "--max-pilots", "4", "--spread", "--no-test", "--submit-command",
                     os.path.join(place.dir, "slow-sbatch"), own=("-p", "main", "-c", "2"))
    job = cluster.submit("--pool", "p", "--", pool_cluster.CAREFUL, ":::", *map(str, range(8)))
    wait(lambda: len(place.lines("submitted")) == 4, "four pilots were submitted, and no answer has come")
    cluster.kill_hub()
    place.write("answers")
    cluster.start_hub()
    wait(lambda: len(place.lines("began")) == 8, "all run, on four pilots")
    names = [name for _, name in slurm.queue()]
    want(len(names) == 4 and len(set(names)) == 4, names)
    want(all(re.fullmatch(r"spate-p-[0-9a-z]{6}-[1-4]", name) for name in names), names)
    place.write("go")
    cluster.spate("job wait", job)
    pool_cluster.all_done(place, 8)
    wait(lambda: not slurm.queue(), "Slurm's queue is empty")
    want(len(place.lines("submitted")) == 4, place.lines("submitted"))


def test_what_was_cut_off_has_not_ended(place: Place):
    """By hand, more often: pool_slurm_test.py test_what_was_cut_off_has_not_ended --rounds 20"""
    slurm = Slurm(place, nodes=1)

    def cancel():
        slurm.call("scancel", *slurm.ids())
        wait(lambda: not slurm.queue("RUNNING", "COMPLETING"), "the pilot has ended")

    pool_cluster.believes_no_cut_off(place, slurm.follow(cluster_of(place)), "slurm", max(ROUNDS, 2), cancel,
                                     own=("-p", "main", "-t", "1h", "-c", "2"))


def test_kills_at_random_moments(place: Place):
    slurm = Slurm(place)
    cluster = slurm.follow(cluster_of(place, *pool_chaos.hub_options(free_port())))
    # More than there are nodes: Slurm keeps those that were queued again for two minutes.
    cluster.spate("pool add", "slurm", "p", "--max-pilots", "8", "--idle-exit", "1s", "--submit-rate", "20", "--",
                  "-p", "main", "-t", "1h", "-c", "2")
    pool_chaos.kill_rounds(place, cluster, "p", slurm, TASKS, ROUNDS, SEED)


if __name__ == "__main__":
    if not all(shutil.which(name, path=os.environ["PATH"] + SBIN)
               for name in ("sbatch", "slurmctld", "slurmd", "munged", "bc")):
        print("skipped: Slurm is not installed (slurm-wlm, munge, bc)")
        sys.exit(77)
    main({name: function for name, function in globals().items() if name.startswith("test_")})
