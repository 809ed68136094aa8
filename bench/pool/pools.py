"""A pool in a private Slurm, beside what Slurm itself does with as many short tasks: an array of jobs, and srun in an allocation.

All in one run, on this machine: 8 nodes of 4 slots, whose tasks sleep. What counts is the part of the slots' time that tasks have
between the first pilot's (or job's) start and the last task's end. Slurm's own ways get fewer tasks, as each costs it far more.
"""
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time

from measures import Hub, await_that, middle

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NODES, SLOTS = 8, 4
SECONDS = 0.5  # of a task
TASKS, FEWER = 4000, 320
FIRSTS = 5


class Slurm:
    """Of its own; `with` ends it."""

    def __init__(self, place):
        self.dir = place.path("slurm")
        self.env = dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin:/sbin", SLURM_CONF=f"{self.dir}/slurm.conf")

    def script(self, name, *words):
        return self.call("bash", f"{SOURCE}/tests/slurm/{name}.sh", self.dir, *map(str, words))

    def call(self, *words):
        done = subprocess.run(words, env=self.env, cwd=os.path.dirname(self.dir), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"bench: {' '.join(words)[:200]}: {done.stderr}")
        return done.stdout

    def __enter__(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1] // 64 * 64 % 20000 + 30000
        self.script("up", NODES, SLOTS, port)
        return self

    def __exit__(self, *_):
        self.script("down")

    def is_empty(self):
        return not self.call("squeue", "--noheader")


def times(path):
    with open(path) as file:
        return [float(line) for line in file]


def share(tasks, begun, ended):
    return tasks * SECONDS / (NODES * SLOTS) / (ended - begun)


def first_of_slurm(slurm, place):
    """From a submit to the job's first command, where nothing else runs."""
    path = place.path("started")
    with open(path, "w"):
        pass
    begun = time.time()
    slurm.call("sbatch", "--output=/dev/null", f"--wrap=date +%s.%N >> {path}")
    await_that("the job has started", lambda: times(path))
    await_that("Slurm's queue is empty", slurm.is_empty)
    return times(path)[0] - begun


def by_array(slurm, place):
    path = place.path("array")
    script = place.write_list("array.sh", ["#!/bin/sh", f"date +%s.%N >> {path}", f"sleep {SECONDS}", f"date +%s.%N >> {path}"])
    slurm.call("sbatch", "--output=/dev/null", f"--array=1-{FEWER}", "-n", "1", script)
    await_that("the array has ended", slurm.is_empty, 900, 0.1)
    found = times(path)
    if len(found) != 2 * FEWER:
        sys.exit(f"bench: the array ran {len(found) / 2} of {FEWER} tasks")
    return share(FEWER, min(found), max(found))


def by_srun(slurm, place):
    path = place.path("srun")
    slurm.call("salloc", "-Q", "-N", str(NODES), "-n", str(NODES * SLOTS), "sh", "-c",
               f"date +%s.%N >> {path}; seq {FEWER} | xargs -P {NODES * SLOTS} -I {{}} srun -Q -N 1 -n 1 --exact "
               f"sh -c 'sleep {SECONDS}; date +%s.%N >> {path}'")
    found = times(path)
    if len(found) != FEWER + 1:
        sys.exit(f"bench: srun ran {len(found) - 1} of {FEWER} tasks")
    return share(FEWER, min(found), max(found))


class Pool:
    """A hub and its pool."""

    def __init__(self, place, slurm):
        self.hub = Hub(place)
        self.hub.env |= {"SLURM_CONF": slurm.env["SLURM_CONF"], "PATH": slurm.env["PATH"]}
        self.slurm = slurm

    def __enter__(self):
        self.hub.start()
        self.pilots = self.hub.path("pilots")
        self.hub.spate("pool", "add", "slurm", "p", "--max-pilots", str(NODES), "--idle-exit", "1s", "--submit-rate", "20",
                       "--prologue", f"date +%s.%N >> {self.pilots}", "--", "-p", "main", "-t", "1h", "-c", str(SLOTS))
        return self

    def __exit__(self, *_):
        self.hub.spate("pool", "remove", "p", "--wait")
        self.hub.__exit__()

    def await_rest(self):
        await_that("no pilot is left", self.slurm.is_empty)
        if os.path.exists(self.pilots):
            os.remove(self.pilots)

    def all_tasks(self):
        self.await_rest()
        self.hub.spate("submit", "--wait", "--pool", "p", "--array", f"1-{TASKS}", "--", f": {{}}; exec sleep {SECONDS}")
        ended = time.time()
        self.hub.check_ends(TASKS)
        return share(TASKS, min(times(self.pilots)), ended)

    def first(self):
        """From a submit until the first task runs, where there is no pilot; and of that from the pilot's start on."""
        self.await_rest()
        path = self.hub.path("first")
        with open(path, "w"):
            pass
        begun = time.time()
        self.hub.spate("submit", "--pool", "p", "--", f"date +%s.%N >> {path}")
        await_that("the first task runs", lambda: times(path))
        return times(path)[0] - begun, times(path)[0] - times(self.pilots)[0]


def bench_pool(place, _):
    """Medians, ratios to what the slots could do."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    if not all(shutil.which(name, path=path) for name in ("slurmctld", "slurmd", "munged", "bc")):
        print("\npools: skipped, as Slurm is not installed (slurm-wlm, munge, bc)")
        return
    with Slurm(place) as slurm:
        started = [first_of_slurm(slurm, place) for _ in range(FIRSTS)]
        with Pool(place, slurm) as pool:
            ours = pool.all_tasks()
            firsts = [pool.first() for _ in range(FIRSTS)]
        array, srun = by_array(slurm, place), by_srun(slurm, place)
    print(f"\npools, {SECONDS} s of sleep on {NODES} nodes of {SLOTS} slots of a private Slurm: the part of the slots' time that tasks had")
    print(f"  a pool, {TASKS:,} tasks        {ours:.3f}")
    print(f"  a job array, {FEWER:,} tasks     {array:.3f}")
    print(f"  srun in an allocation, {FEWER:,}  {srun:.3f}")
    print(f"  from submit to the first task: {middle([a for a, _ in firsts], '{:.2f} s')}; Slurm alone: {middle(started, '{:.2f} s')}")
    print(f"  of that from the pilot's start: {middle([b for _, b in firsts], '{:.2f} s')}; "
          f"over Slurm's own start: {statistics.median(a for a, _ in firsts) - statistics.median(started):.2f} s")
