#!/usr/bin/env python3
"""MPI programs in gangs of a hub, with each library that is here: started by a plain mpirun."""
import glob
import os
import signal

import mpi_place
from cluster import cluster_of
from harness import Place, alive, main, wait, want
from processes import kill_all

NODES = ("n1", "n2")


def cluster(place, *options, nodes=NODES):
    """Nodes with two processors each."""
    place.env = mpi_place.environment(place.env)
    made = cluster_of(place, *options)
    for node in nodes:
        made.node(node, "--cpus", "2", "-j", "2")
    return made


def gang(*words):
    return ("--nodes", "2", "--procs-per-node", "2", "--start", "first", "--time", "5m", *words)


def test_a_plain_mpirun(place: Place):
    hub = cluster(place)
    for library in mpi_place.libraries():
        program, launcher = mpi_place.build(place, library), mpi_place.LIBRARIES[library][1]
        job = hub.submit(*gang("--wait", "--", launcher, program))
        out, _ = hub.spate("job cat", job)
        want(sorted(out.splitlines()) == mpi_place.lines_of(NODES, 2), out)
        # With a number of processes of its own.
        job = hub.submit(*gang("--wait", "--", launcher, "-n", "3", program))
        want(len(hub.spate("job cat", job)[0].splitlines()) == 3, "three processes")


def running(place):
    """Processes of the program, by node."""
    found = {node: [] for node in NODES}
    for path in glob.glob(os.path.join(place.dir, "up.*")):
        _, node, pid = os.path.basename(path).split(".")
        found[node].append(int(pid))
    return found


def begin(place, hub, library):
    """A gang whose four processes are up: (job, their pids by node)."""
    for path in glob.glob(os.path.join(place.dir, "up.*")):
        os.remove(path)
    program, launcher = mpi_place.build(place, library), mpi_place.LIBRARIES[library][1]
    job = hub.submit(*gang("--", launcher, program, "up"))
    wait(lambda: all(len(pids) == 2 for pids in running(place).values()), "four processes are up")
    return job, running(place)


def all_gone(pids):
    wait(lambda: not any(alive(pid) for each in pids.values() for pid in each), "all have ended")


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def shepherd_of(pid):
    """Of a process of a task; what runs below a node's process is a shepherd."""
    while pid > 1:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"__shepherd" in file.read():
                return pid
        pid = parent_of(pid)
    raise AssertionError("no shepherd")


def test_a_killed_process_ends_the_gang(place: Place):
    hub = cluster(place)
    for library in mpi_place.libraries():
        job, pids = begin(place, hub, library)
        os.kill(pids["n2"][0], signal.SIGKILL)
        hub.spate("job wait", job, code=1)
        all_gone(pids)


def test_a_killed_shepherd_ends_its_part_of_the_gang(place: Place):
    hub = cluster(place)
    for library in mpi_place.libraries():
        job, pids = begin(place, hub, library)
        os.kill(shepherd_of(pids["n2"][0]), signal.SIGKILL)
        all_gone(pids)
        hub.spate("job cancel", job)


def test_a_machine_that_dies_is_no_failure(place: Place):
    """mpirun on the other one ends with an error long before the hub knows; no try is used."""
    hub = cluster(place, "--listen", "127.0.0.1:0", "--suspect-after", "1s", "--lost-after", "4s")
    for library in mpi_place.libraries():
        job, pids = begin(place, hub, library)
        second = hub.processes[-1]
        second.send_signal(signal.SIGSTOP)
        kill_all("SPATE_NODE=n2", f"SPATE_JOB_ID={job}")
        os.killpg(second.pid, signal.SIGKILL)
        second.wait()
        wait(lambda: "lost with its node, repeated (does not count as a try)" in hub.spate("task info", f"{job}.1")[0],
             "its attempt is lost")
        for path in glob.glob(os.path.join(place.dir, "up.*")):
            os.remove(path)
        hub.node("n2", "--cpus", "2", "-j", "2")
        wait(lambda: all(len(each) == 2 for each in running(place).values()), "it runs again")
        hub.spate("job cancel", job)
        all_gone(running(place))


def test_a_cancelled_gang_leaves_nothing(place: Place):
    hub = cluster(place)
    for library in mpi_place.libraries():
        job, pids = begin(place, hub, library)
        hub.spate("job cancel", job)
        all_gone(pids)


def test_a_node_that_is_replaced_leaves_the_program_alone(place: Place):
    hub = cluster(place)
    library = mpi_place.libraries()[0]
    job, pids = begin(place, hub, library)
    second = hub.processes[2]
    second.send_signal(signal.SIGQUIT)  # leaves its tasks to the next one
    second.wait()
    hub.node("n2", "--cpus", "2", "-j", "2")
    want(all(alive(pid) for each in pids.values() for pid in each), "it runs on")
    hub.spate("job cancel", job)
    all_gone(pids)


if __name__ == "__main__":
    if not mpi_place.libraries():
        print("no MPI library is installed: skipped")
        raise SystemExit(77)
    main(globals())
