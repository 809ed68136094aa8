#!/usr/bin/env python3
"""MPI programs in gangs of a hub, with each library that is here: started by a plain mpirun."""
import glob
import os
import re
import shutil
import signal
import subprocess

import mpi_place
from cluster import cluster_of
from harness import Place, alive, main, wait, want
from insider_test import as_nobody, needs_root
from processes import kill_all
from stop_test import stands_still, state

NODES = ("n1", "n2")
WHOLE = ("--nodes", "2", "--procs-per-node", "2", "--time", "5m")


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


def rank_of(pid):
    with open(f"/proc/{pid}/environ") as file:
        words = dict(word.split("=", 1) for word in file.read().split("\0") if "=" in word)
    return words.get("PMI_RANK") or words["PMIX_RANK"]


def has_pmix():
    return os.path.exists(os.path.join(os.environ["SPATE_BIN"], "spate-pmix"))


def servers(place):
    """Processes of spate-pmix whose job is in this place."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            if os.path.basename(os.readlink(path + "/exe")) == "spate-pmix" and os.readlink(path + "/cwd") == place.dir:
                found.append(path)
        except OSError:
            pass  # it has ended
    return found


def kill_one(place, hub, program, victim):
    """One that is killed ends the others, wherever they are."""
    for path in glob.glob(os.path.join(place.dir, "up.*")):
        os.remove(path)
    job = hub.submit(*WHOLE, "--", program, "up").split()[0]
    wait(lambda: len(glob.glob(os.path.join(place.dir, "up.*"))) == 4, "four processes are up")
    pids = {rank_of(pid): pid for pid in
            (int(path.rsplit(".", 1)[1]) for path in glob.glob(os.path.join(place.dir, "up.*")))}
    want(sorted(pids) == ["0", "1", "2", "3"], pids)
    os.kill(pids[victim], signal.SIGKILL)
    hub.spate("job wait", job, code=1)
    wait(lambda: not any(map(alive, pids.values())), "all have ended")
    return job


def test_without_a_launcher(place: Place):
    """Processes of MPICH that their nodes have started find each other; those of other libraries are refused."""
    hub = cluster(place)
    whole = WHOLE
    for library in mpi_place.libraries():
        program = mpi_place.build(place, library)
        if library != "mpich":
            continue
        out, err = place.run("--wait", *whole, "--", program, command="submit")
        want("is a program of MPICH" in err and "(--start mpi)" in err, err)
        job = out.split()[0]
        lines = hub.spate("job cat", job)[0].splitlines()
        want([line.split(" on ")[0] for line in lines] == [f"rank {rank} of 4" for rank in range(4)], lines)
        want(all(line.endswith("sum 6") for line in lines), lines)
        # Processes end at different moments; the first one's node may be done with it before others are.
        for _ in range(20):
            place.run("--wait", *whole, "--", program, command="submit")
        # Each with its own output, of any number on any nodes; it is one program only where nobody wants others.
        job = hub.submit("--wait", "--procs", "3", "--start", "mpi", "--", program).split()[0]
        want(hub.spate("job cat", job, "--rank", "2")[0].startswith("rank 2 of 3"), "its output is its own")
        job = hub.submit("--wait", "--procs", "3", "--start", "each", "--", program).split()[0]
        want(hub.spate("job cat", job)[0].count("rank 0 of 1") == 3, "three programs")
        # One that is killed ends the others, wherever they are, and whether it is the one that serves them.
        for victim in ("0", "3"):
            kill_one(place, hub, program, victim)
    # What is not MPI is nobody's business, and a run has no nodes.
    hub.submit("--wait", *whole, "--", "true")
    _, err = place.run("--procs", "2", "--start", "mpi", "--", "true", command="run", code=2)
    want("--start mpi is for the nodes of a hub" in err, err)


def test_open_mpi_without_a_launcher(place: Place):
    """Processes of Open MPI that their nodes have started find each other where spate-pmix is."""
    if "openmpi" not in mpi_place.libraries() or not has_pmix():
        return print("       (skipped: no Open MPI, or no spate-pmix, which needs libpmix-dev)")
    hub = cluster(place)
    program = mpi_place.build(place, "openmpi")
    for round in range(3):
        out, err = place.run("--wait", *WHOLE, "--", program, "rounds", command="submit")
        want("is a program of Open MPI" in err and "(--start pmix)" in err, err)
        job = out.split()[0]
        for rank in range(4):
            lines = hub.spate("job cat", job, "--rank", str(rank))[0].splitlines()
            node = NODES[rank // 2]
            want(lines == [f"rank {rank} of 4 on {node}: sum 6", "2 beside each other"], lines)
        want(hub.spate("job cat", job, "--stderr")[0] == "", hub.spate("job cat", job, "--stderr")[0])
    # Each process asks for the data of those that it needs, in the place of a fence with all data.
    hub.submit("--wait", *WHOLE, "--env", "OMPI_MCA_pmix_base_async_modex=1", "--env",
               "OMPI_MCA_pmix_base_collect_data=0", "--", program, "rounds")
    # Any number on any nodes, from a script, and where PMI would have been wrong.
    job = hub.submit("--wait", "--procs", "3", "--start", "pmix", "--", "sh", "-c", program).split()[0]
    want(hub.spate("job cat", job, "--rank", "2")[0].startswith("rank 2 of 3"), "its output is its own")
    job = hub.submit("--wait", "--procs", "3", "--start", "mpi", "--", program).split()[0]
    want(hub.spate("job cat", job, "--rank", "2")[0].startswith("rank 2 of 3"), "PMIx, not PMI")
    job = hub.submit("--wait", "--procs", "3", "--start", "each", "--", program).split()[0]
    want(hub.spate("job cat", job)[0].count("rank 0 of 1") == 3, "three programs")
    # What is not MPI works, and somebody who believes it to be MPI is told.
    alone = "no process of this gang has used PMIx"
    want(alone not in hub.spate("job cat", job, "--stderr")[0], "it was told to be apart")
    job = hub.submit("--wait", *WHOLE, "--start", "pmix", "--", "true").split()[0]
    want(alone in hub.spate("job cat", job, "--stderr")[0], hub.spate("job cat", job, "--stderr")[0])
    for victim in ("0", "1", "3"):
        job = kill_one(place, hub, program, victim)
        wait(lambda: not servers(place), "no server is left")
        want(f"rank {victim}" in hub.spate("task info", f"{job}.1")[0], "the verdict names it")
    for _ in range(3):
        job = hub.submit(*WHOLE, "--", program, "abort").split()[0]
        hub.spate("job wait", job, code=1)
        info = hub.spate("task info", f"{job}.1")[0]
        want("rank 1 on node n1 ended with exit code 7" in info, info)
        errors = hub.spate("job cat", job, "--rank", "1", "--stderr")[0]
        want("MPI_ABORT was invoked on rank 1" in errors, errors)
    # The server that ends, too.
    for path in glob.glob(os.path.join(place.dir, "up.*")):
        os.remove(path)
    job = hub.submit(*WHOLE, "--", program, "up").split()[0]
    wait(lambda: len(glob.glob(os.path.join(place.dir, "up.*"))) == 4, "four processes are up")
    want(len(servers(place)) == 2, servers(place))
    os.kill(int(os.path.basename(servers(place)[0])), signal.SIGKILL)
    hub.spate("job wait", job, code=1)
    want("spate-pmix has ended" in hub.spate("job cat", job, "--stderr")[0], "the reason is there")
    wait(lambda: not servers(place), "no server is left")
    job = hub.submit(*WHOLE, "--", program, "leave").split()[0]
    hub.spate("job wait", job, code=1)
    errors = hub.spate("job cat", job, "--stderr")[0]
    want("process 1 has ended without MPI_Finalize" in errors, errors)


SERVE = b"begin %s 0 0 0 5\nn1 1\n" % (b"a" * 64)
STRANGERS = """
import socket, sys
for _ in range(20):
    s = socket.socket()
    s.settimeout(20)
    s.connect(("127.0.0.1", int(sys.argv[1])))
    assert s.recv(1) == b""
print("closed")
"""


def test_other_users_do_not_reach_the_server_of_pmix(place: Place):
    if needs_root("PMIx") or not has_pmix():
        return
    program = os.path.join(os.environ["SPATE_BIN"], "spate-pmix")
    server = subprocess.Popen([program], cwd=place.dir, env=dict(place.env, PMIX_SYSTEM_TMPDIR=place.dir),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        server.stdin.write(SERVE)
        server.stdin.flush()
        told = b""
        while b"ready 0\n" not in told:
            more = server.stdout.read1()
            want(more, told)
            told += more
        port = re.search(rb"tcp4://127\.0\.0\.1:(\d+)", told).group(1)
        done = subprocess.run(["python3", "-c", STRANGERS, port], preexec_fn=as_nobody, capture_output=True, text=True)
        want(done.stdout == "closed\n", done.stderr)
    finally:
        server.kill()
        server.communicate()


def test_open_mpi_is_refused_without_spate_pmix(place: Place):
    """The command with mpirun is printed, and the program that is missing."""
    if "openmpi" not in mpi_place.libraries():
        return print("       (skipped: no Open MPI)")
    # The same program in a folder of its own.
    folder = os.path.join(place.dir, "bin")
    os.mkdir(folder)
    shutil.copy(os.path.join(os.environ["SPATE_BIN"], "spate"), folder)
    program = mpi_place.build(place, "openmpi")
    place.env = mpi_place.environment(place.env)
    hub = cluster_of(place, program=os.path.join(folder, "spate"))
    hub.node("n1", "--cpus", "2", "-j", "2")
    want("PMIx" not in place.read("n1.log"), place.read("n1.log"))
    # One whose library is missing is as good as none, and the node's log names the reason.
    broken = os.path.join(folder, "spate-pmix")
    with open(broken, "w") as out:
        out.write("#!/bin/sh\necho libpmix.so.2: cannot open >&2; exit 127\n")
    os.chmod(broken, 0o755)
    hub.node("n2", "--cpus", "2", "-j", "2")
    want("spate-pmix does not run: libpmix.so.2: cannot open" in place.read("n2.log"), place.read("n2.log"))
    _, err = place.run(*WHOLE, "--", program, command="submit", code=2)
    want("is a program of Open MPI" in err and "--start first -- mpirun" in err, err)
    want("spate-pmix" in err, err)
    _, err = place.run(*WHOLE, "--start", "pmix", "--", program, command="submit", code=2)
    want("needs a node with the program spate-pmix; n1 does not have it" in err, err)


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
        hub.spate("job wait", job, code=1)  # another attempt may have begun


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


def test_a_gang_is_stopped_inside_a_collective(place: Place):
    hub = cluster(place)

    def rounds():
        return int(place.read("rounds").strip() or "0")

    def goes_on():
        before = rounds()
        wait(lambda: rounds() > before, "the ranks speak to each other")

    for library in mpi_place.libraries():
        for name in ("rounds", "finish", *(f"pid.{rank}" for rank in range(4))):
            if os.path.exists(os.path.join(place.dir, name)):
                os.remove(os.path.join(place.dir, name))
        program, launcher = mpi_place.build(place, library), mpi_place.LIBRARIES[library][1]
        job = hub.submit(*gang("--", launcher, program, "count"))
        wait(lambda: rounds() > 0, "it counts")
        ranks = [int(place.read(f"pid.{rank}")) for rank in range(4)]
        _, err = hub.spate("job stop", job)
        want("not frozen" not in err, err)
        want(stands_still(ranks), "all ranks, on both nodes")
        before = rounds()
        hub.kill_hub()
        hub.start_hub()
        second = [process for process in hub.processes if process.poll() is None and "n2" in process.args][-1]
        second.send_signal(signal.SIGQUIT)  # leaves its tasks to the next one
        second.wait()
        hub.node("n2", "--cpus", "2", "-j", "2", join=False)
        wait(lambda: state(hub, job) == "frozen", "the nodes have told the new hub, and the new process its hub")
        want(stands_still(ranks) and rounds() == before, "nobody has let a rank go")
        hub.spate("job cont", job)
        goes_on()
        place.write("finish", "")
        hub.spate("job wait", job)
        out, _ = hub.spate("job cat", job)
        want(out.count("has finished") == 4, out)


if __name__ == "__main__":
    if not mpi_place.libraries():
        print("no MPI library is installed: skipped")
        raise SystemExit(77)
    main(globals())
