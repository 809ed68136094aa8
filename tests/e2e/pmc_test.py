"""pegasus-mpi-cluster, as its users and Pegasus call it: both MPI libraries, whole runs."""
import os
import random
import re
import signal
import subprocess
import tempfile

from harness import DEADLINE, Place, alive, main, mounted, option, wait, want
from pmc_place import DIAMOND, each, may_be_several_hosts, need_a_library

LARGE = option("--large", 0)


def diamond(place, c="true", name="d.dag", options=None):
    options = options or {}
    place.write(name, *(f'TASK {t} {options.get(t, "")} /bin/sh -c "echo I am {t}; {c if t == "C" else "true"}"'
                        for t in "ABCD"), "", *DIAMOND)


def test_a_diamond_and_its_records(place: Place):
    diamond(place)
    for pmc in each(place):
        done = pmc.run("d.dag")
        names = [name for name, status in done.records() if status == 0]
        want(names[0] == "A" and names[3] == "D" and sorted(names) == list("ABCD"), done.out)
        summary = done.summary()
        want(summary["stat"] == "ok" and summary["tasks"] == summary["submitted"] == summary["succeeded"] == "4"
             and summary["failed"] == "0" and summary["slots"] == "2" and summary["cpus"] == str(os.cpu_count()), summary)
        # A task's output stands before its record.
        lines = done.out.splitlines()
        for at, line in enumerate(lines):
            if line.startswith("I am "):
                want(lines[at + 1].startswith(f"[cluster-task name={line[5:]}, "), lines)
        want(place.read("d.dag.rescue") == "".join(f"\nDONE {name}" for name in names), place.read("d.dag.rescue"))
        want("[info] Workflow succeeded" in done.err, done.err)
        wall = [line for line in done.err.splitlines() if "Wall time:" in line]
        want(float(wall[0].split()[3]) > 0, wall)
        # Nothing is left to do.
        done = pmc.run("d.dag")
        want(not done.records() and done.summary()["submitted"] == "0" and done.summary()["stat"] == "ok", done.out)


def test_any_number_of_ranks(place: Place):
    diamond(place)
    for pmc in each(place):
        for ranks in (2, 5, 9):
            pmc.clean()
            want(pmc.run("d.dag", ranks=ranks).summary()["slots"] == str(ranks - 1), ranks)
        done = pmc.run("d.dag", ranks=1, code=1)
        want("At least one worker process is required" in done.err, done.err)


def test_hosts_share_the_work_by_what_they_have(place: Place):
    if not may_be_several_hosts():
        return
    # Each of two waits for the other, and no host has memory for both; the third is for whoever comes first.
    place.write("m.dag", "TASK A -m 600 /bin/sh m.sh a b", "TASK B -m 600 /bin/sh m.sh b a", "TASK C -m 600 /bin/sh m.sh c",
                "TASK D -f OUT=all /bin/sh -c 'hostname >&$OUT'")
    place.write("m.sh", "touch $1", "until test -e ${2:-$1}; do sleep 0.01; done", "echo $1 at $(hostname)")
    place.write("host.sh", "#!/bin/sh", "hostname >> hosts")
    os.chmod(os.path.join(place.dir, "host.sh"), 0o755)
    for pmc in each(place):
        done = pmc.run("m.dag", "--host-memory", "1000", "--host-cpus", "4", "--host-script", "./host.sh",
                       ranks=5, hosts=(("ha", 3), ("hb", 2)))
        want(sorted(place.lines("hosts")) == ["ha", "hb"], place.lines("hosts"))
        where = dict(re.findall(r"^([abc]) at (h[ab])$", done.out, re.M))
        want(len(where) == 3 and where["a"] != where["b"] and place.lines("all")[0] in ("ha", "hb"), done.out)
        told = {task["name"]: task["hostname"] for task in done.tasks()}
        want({name: told[name.upper()] for name in "abc"} == where, done.out)
        want((done.summary()["slots"], done.summary()["cpus"]) == ("4", "8"), done.summary())


def test_a_start_that_fails_on_one_host_alone_is_no_failure(place: Place):
    if not may_be_several_hosts():
        return
    # Host ha does not have the tasks' program. They take so long that it is given some.
    os.mkdir(os.path.join(place.dir, "tools"))
    place.write("tools/work.sh", "#!/bin/sh", "sleep 0.4; echo I am $PMC_TASK")
    place.write("hide.sh", "#!/bin/sh", 'test "$(hostname)" = ha && exec unshare --mount sh hidden.sh "$@"', 'exec "$@"')
    place.write("hidden.sh", "mount -t tmpfs none tools", 'exec "$@"')
    # The first task gives the other host's ranks time to join: nothing can run elsewhere before.
    place.write("h.dag", "TASK F /bin/sleep 1", *(f"TASK T{i} tools/work.sh\nEDGE F T{i}" for i in range(6)))
    for name in ("tools/work.sh", "hide.sh"):
        os.chmod(os.path.join(place.dir, name), 0o755)
    for pmc in each(place):
        os.makedirs(os.path.join(place.dir, "tools"), exist_ok=True)
        place.write("tools/work.sh", "#!/bin/sh", "sleep 0.4; echo I am $PMC_TASK")
        os.chmod(os.path.join(place.dir, "tools/work.sh"), 0o755)
        place.write("all.sh", "#!/bin/sh", f'exec ./hide.sh {pmc.program} "$@"')
        os.chmod(os.path.join(place.dir, "all.sh"), 0o755)
        pmc.program = os.path.join(place.dir, "all.sh")
        done = pmc.run("h.dag", "--jobstate-log", ranks=4, hosts=(("hb", 2), ("ha", 2)))
        want(sorted(done.records()) == [("F", 0), *((f"T{i}", 0) for i in range(6))], (done.out, done.err))
        summary = done.summary()
        want((summary["submitted"], summary["succeeded"], summary["failed"]) == ("7", "7", "0"), (summary, done.err))
        want("[warn] Task T" in done.err and "[error]" not in done.err, done.err)
        steps = [tuple(line.split()[1:3]) for line in place.lines("jobstate.log")[1:-1]]
        for i in range(6):
            want([step for name, step in steps if name == f"T{i}"] ==
                 ["SUBMIT", "EXECUTE", "JOB_TERMINATED", "JOB_SUCCESS"], place.lines("jobstate.log"))


def test_failures_tries_and_descendants(place: Place):
    diamond(place, c="exit 3", options={"C": "-t 3"})
    for pmc in each(place):
        done = pmc.run("d.dag", code=1)
        want(done.err.count("Task C failed with exitcode 768") == 3, done.err)
        want([s for n, s in done.records() if n == "C"] == [768] * 3, done.out)
        want("D" not in dict(done.records()) and "[error] Workflow failed" in done.err, done.out)
        want(done.summary()["stat"] == "failed" and done.summary()["failed"] == "3", done.out)
        want(sorted(pmc.rescue("d.dag")) == ["A", "B"], pmc.rescue("d.dag"))
        place.write("k.sh", "kill -9 $$")
        place.write("k.dag", "TASK K /bin/sh k.sh", "TASK X nosuch", "TASK T -t 0 /bin/false")
        done = pmc.run("-t", "2", "k.dag", code=1)
        want(sorted(done.records()) == [("K", 9), ("K", 9), ("T", 256), ("X", 256), ("X", 256)], done.out)
        want("nosuch" in done.err, done.err)


def test_a_rescue_file_in_all_its_states(place: Place):
    diamond(place)
    for pmc in each(place):
        place.write("d.dag.rescue", "", "DONE A", "# a remark", "  DONE B  ", "DONE A")
        done = pmc.run("d.dag")
        want([name for name, _ in done.records()] == ["C", "D"], done.out)
        want(sorted(pmc.rescue("d.dag")) == list("ABCD"), "each once")
        # Done, but its parent is not.
        place.write("d.dag.rescue", "DONE D", "DONE A")
        want(sorted(name for name, _ in pmc.run("d.dag").records()) == ["B", "C", "D"], "D again")
        with open(os.path.join(place.dir, "d.dag.rescue"), "w") as file:
            file.write("\nDONE A\nDON")
        done = pmc.run("d.dag")
        want("[warn]" in done.err and "torn" in done.err and done.summary()["submitted"] == "3", done.err)
        for text, told in (("DONE X\nDONE A\n", "Unknown task X in rescue file"), ("DONE\n\n", "Invalid DONE record"),
                           ("FOO A\n\n", "Invalid rescue record")):
            place.write("d.dag.rescue", text)
            done = pmc.run("d.dag", code=1)
            want(told in done.err and not done.records(), (text, done.err))
        place.write("d.dag.rescue", "DONE A", "DONE B")
        want(pmc.run("-s", "d.dag").summary()["submitted"] == "4", "begun anew")
        want(place.lines("d.dag.rescue.old") == ["DONE A", "DONE B"], place.lines("d.dag.rescue.old"))
        place.write("other", "DONE A")
        want(pmc.run("-r", "other", "d.dag").summary()["submitted"] == "3", "another file")


def test_bad_graphs_end_before_anything_starts(place: Place):
    for pmc in each(place):
        for text, told in (("TASK A touch ran\nTASK A true\n", "ABORT: Duplicate task: A\nb.dag:2"),
                           ("TASK A touch ran\nEDGE A B\n", "ABORT: No such task: B\nb.dag:2"),
                           ("TASK A touch ran\nEDGE A A\n", "circle: A -> A\nb.dag:2"),
                           ("TASK A -m 5\n", "ABORT: Invalid TASK record: TASK A -m 5\nb.dag:1"),
                           ("task A touch ran\n", "ABORT: Invalid DAG record: task A touch ran\nb.dag:1"),
                           ("TASK A -c 100000 touch ran\n", "FATAL ERROR: No host is capable of running task A")):
            with open(os.path.join(place.dir, "b.dag"), "w") as file:
                file.write(text)
            done = pmc.run("b.dag", code=1, ranks=2)
            want(told in done.err, (text, done.err))
        want("Unable to open DAG file: none.dag" in pmc.run("none.dag", code=1, ranks=2).err, "")
        place.write("ok.dag", "TASK A touch ran")
        done = pmc.run("ok.dag", "-o", "no/such/file", code=1, ranks=2)
        want("no/such" in done.err and not os.path.exists(os.path.join(place.dir, "ran")), done.err)
        place.write("empty.dag", "# nothing")
        want(pmc.run("empty.dag", ranks=2).summary()["stat"] == "ok", "an empty graph is a success")


def test_usage_needs_no_launcher(place: Place):
    for pmc in each(place):
        done = pmc.run("--help", alone=True)
        want("--host-script" in done.err and not done.out, done.err)
        want("--host-script" in pmc.run(alone=True, code=1).err, "no arguments")
        place.write("d.dag", "TASK A true")
        for words, told in ((["--treis", "d.dag"], "Unrecognized argument: --treis"),
                            (["d.dag", "e.dag"], "Invalid argument"), (["-t", "0", "d.dag"], "-t"),
                            (["--set-affinity", "--host-cpus", "2", "d.dag"], "affinity")):
            done = pmc.run(*words, code=1, ranks=2)
            want(done.err.count(told) >= 1 and not done.records(), (words, done.err))


def test_output_goes_where_it_is_asked_to(place: Place):
    place.write("o.dag", *(f'TASK T{i} /bin/sh -c "echo out {i}; echo err {i} >&2"' for i in range(20)))
    for pmc in each(place):
        done = pmc.run("o.dag", "-o", "o.out", "-e", "o.err")
        want(sorted(line for line in place.lines("o.out") if line.startswith("out")) ==
             sorted(f"out {i}" for i in range(20)), place.read("o.out"))
        want(sorted(place.lines("o.err")) == sorted(f"err {i}" for i in range(20)), place.read("o.err"))
        want("cluster-summary" in done.out and "cluster-task" not in done.out, done.out)
        want(not [name for name in os.listdir(place.dir) if ".out." in name], os.listdir(place.dir))
        pmc.clean()
        pmc.run("o.dag", "--per-task-stdio")
        want(place.lines("T7.out.000")[0] == "out 7" and "cluster-task" in place.lines("T7.out.000")[1], "own files")
        want(place.lines("T7.err.000") == ["err 7"], place.lines("T7.err.000"))
    # More than a message takes.
    place.write("l.dag", "TASK L /bin/sh l.sh")
    place.write("l.sh", "head -c 3000000 /dev/zero | tr '\\0' x; echo")
    for pmc in each(place):
        want("x" * 3000000 in pmc.run("l.dag", ranks=2).out, "long output")


def small_for_rank_0(place, pmc, folder):
    """The program, whose first process has a folder for temporary files of its own."""
    place.write("small.sh", "#!/bin/sh", f'test "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 0 && export TMPDIR={folder}',
                f'exec {pmc.program} "$@"')
    pmc.program = os.path.join(place.dir, "small.sh")
    os.chmod(pmc.program, 0o755)


def spools(place):
    return [name for name in os.listdir(place.dir) if ".spool." in name]


def test_long_output_waits_where_there_is_room(place: Place):
    """Next to the DAG file, as in the original, if that has more of it than TMPDIR."""
    small = tempfile.mkdtemp(prefix="spate-small-")
    if not mounted(small, "size=4m"):
        return
    place.write("l.dag", "TASK A /bin/sh l.sh 30000000", "TASK F -f D=out/f /bin/sh f.sh 30000000")
    place.write("l.sh", "head -c $1 /dev/zero | tr '\\0' x; echo")
    place.write("f.sh", "head -c $1 /dev/zero >&$D")
    try:
        for pmc in each(place):
            program = pmc.program
            for of_all in (False, True):
                if not of_all:
                    small_for_rank_0(place, pmc, small)
                # As a killed run leaves it.
                os.mkdir(os.path.join(place.dir, "l.dag.spool.abcdef"))
                env = {"TMPDIR": small, "OMPI_MCA_orte_tmpdir_base": "/tmp"} if of_all else {}
                done = pmc.run("-s", "-o", "l.out", "l.dag", ranks=2, env=env)
                pmc.program = program
                want("x" * 30000000 in place.read("l.out"), (of_all, done.err))
                want(len(place.read("out/f")) == 30000000, (of_all, done.err))
                want(not [name for name in os.listdir(small) if "spate" in name] and not spools(place), "nothing is left there")
                os.unlink(os.path.join(place.dir, "out/f"))
            os.mkdir(os.path.join(place.dir, "l.dag.spool.abcdef"))
            place.write("l.dag.rescue", "DONE A", "DONE F")
            pmc.run("-n", "l.dag", ranks=2)
            want(spools(place), "without the lock it may be another run's")
    finally:
        subprocess.run(["umount", "-l", small], check=False)
        os.rmdir(small)


class SmallDisks:
    """A folder of 4 MB for temporary files, and a DAG file in a folder where nothing can be written."""

    def __init__(self, *dag):
        self.small, self.dags = (tempfile.mkdtemp(prefix="spate-small-") for _ in range(2))
        self.is_there = mounted(self.small, "size=4m") and mounted(self.dags, "size=1m")
        self.dag = os.path.join(self.dags, "l.dag")
        if self.is_there:
            with open(self.dag, "w") as file:
                file.writelines(line + "\n" for line in dag)
            subprocess.run(["mount", "-o", "remount,ro", self.dags], check=True)
        self.words = ["--no-resource-log", "-r", "l.rescue", self.dag]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for folder in (self.small, self.dags):
            subprocess.run(["umount", "-l", folder], check=False, stderr=subprocess.DEVNULL)
            os.rmdir(folder)


def test_what_the_first_process_cannot_keep_fails_its_task(place: Place):
    """And costs no host: all else goes on, and a restart with room runs that task alone."""
    place.write("l.sh", "head -c $1 /dev/zero | tr '\\0' x; echo")
    place.write("f.sh", "head -c $1 /dev/zero >&$D")
    with SmallDisks("TASK A /bin/sh l.sh 30000000", "TASK F -f D=out/f /bin/sh f.sh 30000000", "TASK B /bin/sh l.sh 1000000",
                    "EDGE A B", "TASK C /bin/sh l.sh 1000000") as disks:
        if not disks.is_there:
            return
        for pmc in each(place):
            program = pmc.program
            small_for_rank_0(place, pmc, disks.small)
            done = pmc.run(*disks.words, ranks=2, code=1)
            want(sorted(done.records()) == [("A", 256), ("C", 0), ("F", 256)], (done.out[-500:], done.err))
            for task, stream in (("A", "stdout"), ("F", "files")):
                want(re.search(rf"Task {task}: {stream} is not whole: .*{re.escape(disks.small)}", done.err), done.err)
            want("lost" not in done.err and done.summary()["failed"] == "2", done.err)
            want(not os.listdir(disks.small), "nothing is left there")
            pmc.program = program
            done = pmc.run(*disks.words, ranks=2)
            want(sorted(done.records()) == [("A", 0), ("B", 0), ("F", 0)], done.records())
            want("x" * 30000000 in done.out and len(place.read("out/f")) == 30000000, "all of it")


def test_what_a_host_cannot_keep_fails_its_task(place: Place):
    place.write("l.sh", "head -c $1 /dev/zero | tr '\\0' x; echo")
    with SmallDisks("TASK A /bin/sh l.sh 30000000", "TASK C /bin/sh l.sh 10000") as disks:
        if not disks.is_there:
            return
        for pmc in each(place):
            done = pmc.run(*disks.words, ranks=2, code=1, env={"TMPDIR": disks.small, "OMPI_MCA_orte_tmpdir_base": "/tmp"})
            want(sorted(done.records()) == [("A", 256), ("C", 0)], (done.out[-500:], done.err))
            want(re.search(r"Task A: a part of the output is lost: cannot write .*No space left", done.err), done.err)


def test_a_line_that_no_host_takes_is_refused(place: Place):
    words = " ".join(["x" * 1000] * 4200)
    place.write("l.dag", "TASK B /usr/bin/touch began", f"TASK A /bin/true {words}")
    for pmc in each(place):
        done = pmc.run("l.dag", ranks=2, code=1)
        told = done.err + done.out
        want("Task A: its line is 4,2" in told and "l.dag:2" in told, told)
        want(not os.path.exists(os.path.join(place.dir, "began")), "something began")


def test_arguments_are_limited_by_the_system(place: Place):
    """Its limits are one argument's and those of all with the environment; they fail the task alone."""
    most = os.sysconf("SC_ARG_MAX") - 200_000 - sum(len(name) + len(value) + 10 for name, value in os.environ.items())
    words = " ".join(["x" * 1000] * (min(most, 3_900_000) // 1009))
    place.write("l.dag", f"TASK A /bin/true {'y' * 140000}", f"TASK B /bin/true {'y' * 131071}",
                f"TASK C /bin/true {words}", "TASK D true", "EDGE A D")
    for pmc in each(place):
        done = pmc.run("l.dag", ranks=2, code=1)
        want(sorted(done.records()) == [("A", 256), ("B", 0), ("C", 0)], (done.out[-500:], done.err[-500:]))
        want("its arguments and environment are longer than the system allows" in done.err, done.err[-500:])
        want(pmc.rescue("l.dag") == ["B", "C"] or pmc.rescue("l.dag") == ["C", "B"], pmc.rescue("l.dag"))


def test_more_than_a_gigabyte_by_hand(place: Place):
    """pmc_test.py test_more_than_a_gigabyte_by_hand --large 1: some 8 GB of disk."""
    if not LARGE:
        print("       (skipped: by hand, with --large 1)")
        return
    size = (1 << 30) + 4096
    place.write("l.dag", "TASK A /bin/sh l.sh", "TASK F -f D=out/f /bin/sh f.sh")
    place.write("l.sh", f"head -c {size} /dev/zero | tr '\\0' x; echo")
    place.write("f.sh", f"head -c {size} /dev/zero | tr '\\0' y >&$D")
    for pmc in each(place):
        done = pmc.run("-o", "l.out", "l.dag", ranks=2, deadline=600)
        want(os.path.getsize(os.path.join(place.dir, "l.out")) > size, "all of stdout")
        want(os.path.getsize(os.path.join(place.dir, "out/f")) == size, "all that was forwarded")
        want(done.summary()["failed"] == "0", done.err)
        pmc.clean()


def test_memory_and_cpus_are_the_hosts(place: Place):
    work = "echo $PMC_TASK in >> log; n=0; while test $n -lt 300; do n=$((n+1)); done; echo $PMC_TASK out >> log"
    place.write("w.sh", work)
    for option, limit in (("-m 600", ["--host-memory", "1000"]), ("-c 2", ["--host-cpus", "3"])):
        place.write("m.dag", *(f"TASK T{i} {option} /bin/sh w.sh" for i in range(10)))
        for pmc in each(place):
            pmc.run("m.dag", *limit, ranks=4)
            log = place.lines("log")
            want(len(log) == 20 and all(a.split()[0] == b.split()[0] for a, b in zip(log[::2], log[1::2])), log)


def test_tasks_see_what_they_are(place: Place):
    place.write("e.dag", "TASK A -c 2 -m 100 /usr/bin/env")
    for pmc in each(place):
        lines = pmc.run("e.dag", "--host-cpus", "4", ranks=2).out.splitlines()
        for variable in ("PMC_TASK=A", "PMC_MEMORY=100", "PMC_CPUS=2", "PMC_RANK=1", "PMC_HOST_RANK=0",
                         "PMC_AFFINITY=0,1"):
            want(variable in lines, (variable, lines))
        ours = ("OMPI_ALLOW", "OMPI_MCA_rmaps_base_oversubscribe")
        want(not [line for line in lines if line.startswith(("OMPI_", "PMI_", "PMIX_")) and not line.startswith(ours)],
             lines)


def test_limits_are_strict_where_asked(place: Place):
    place.write("s.dag", 'TASK A -m 5000 /bin/sh -c "ulimit -v; ulimit -d; ulimit -s"')
    for pmc in each(place):
        done = pmc.run("s.dag", "--strict-limits", "--host-memory", "200000", ranks=2)
        want(done.out.splitlines()[:3] == ["5120000"] * 3, done.out)


def test_priorities_and_first_come_first_served(place: Place):
    order = [("A", 1), ("B", 3), ("C", 2), *((f"D{i}", 2) for i in range(8))]
    place.write("p.dag", *(f"TASK {name} -p {priority} /bin/true" for name, priority in order))
    for pmc in each(place):
        err = pmc.run("-v", "-v", "p.dag", ranks=2).err
        want(re.findall(r"\[trace\] Scheduling task (\w+)", err) == ["B", "C", *(f"D{i}" for i in range(8)), "A"], err)


def test_no_more_failures_than_allowed(place: Place):
    place.write("f.dag", *(f"TASK F{i} /bin/false" for i in range(6)))
    for pmc in each(place):
        done = pmc.run("-m", "2", "f.dag", ranks=2, code=1)
        want(len(done.records()) == 2 and "max failures" in done.err.lower(), done.err)


def test_the_wall_time(place: Place):
    place.write("w.dag", "TASK A true", 'TASK B /bin/sh -c "echo $$ > pid; exec sleep 1000"', "TASK C true",
                "EDGE A B", "EDGE B C")
    for pmc in each(place):
        done = pmc.run("--max-wall-time", "0.05", "w.dag", code=1)
        want("Aborting workflow" in done.err and done.summary()["stat"] == "failed", done.err)
        want(pmc.rescue("w.dag") == ["A"], pmc.rescue("w.dag"))
        if place.lines("pid"):
            wait(lambda: not alive(int(place.read("pid"))), "the task is ended")


def test_one_run_of_a_graph_at_a_time(place: Place):
    place.write("l.dag", 'TASK A /bin/sh -c "echo > begun; until test -e go; do sleep 0.01; done"')
    for pmc in each(place):
        os.chmod(os.path.join(place.dir, "l.dag"), 0o444)
        first = pmc.start("l.dag", ranks=2)
        wait(lambda: os.path.exists(os.path.join(place.dir, "begun")), "it runs")
        done = pmc.run("l.dag", ranks=2, code=1)
        want("DAG file is already locked by another process: l.dag" in done.err, done.err)
        place.write("go")
        first.communicate(timeout=DEADLINE)
        want(first.returncode == 0, first.returncode)


def test_host_scripts(place: Place):
    diamond(place)
    for pmc in each(place):
        for name, text in (("good", "echo set up; sleep 1000 & echo $! > child"), ("bad", "exit 3")):
            place.write(name, "#!/bin/sh", text)
            os.chmod(os.path.join(place.dir, name), 0o755)
        done = pmc.run("-v", "--host-script", "./good", "d.dag")
        want("Launching host script ./good" in done.err and "Host script exited with status 0" in done.err, done.err)
        want("set up" in done.err and done.summary()["stat"] == "ok", done.err)
        want(not alive(int(place.read("child"))), "what it left is ended")
        os.unlink(os.path.join(place.dir, "d.dag.rescue"))
        done = pmc.run("--host-script", "./bad", "d.dag", code=1)
        want("Host script failed" in done.err and not done.records(), done.err)


def test_what_a_task_leaves_running_is_ended(place: Place):
    """A worker waits for the task's command alone, which has succeeded; the original also lets the rest run."""
    for pmc in each(place):
        place.write("l.dag", f"TASK L /bin/sh {place.dir}/leave")
        place.write("leave", f"sleep 1000 & echo $! > {place.dir}/pid")
        done = pmc.run("l.dag", ranks=2)
        want(dict(done.records()) == {"L": 0}, done.out)
        want(not alive(int(place.read("pid"))), "what it left is ended")


def test_logs_for_pegasus(place: Place):
    diamond(place, c="exit 1")
    for pmc in each(place):
        pmc.run("--monitord-hack", "--jobstate-log", "-t", "2", "d.dag", code=1)
        jobstate = place.lines("jobstate.log")
        want("*** PMC_STARTED ***" in jobstate[0] and "*** PMC_FINISHED 1 ***" in jobstate[-1], jobstate)
        words = [(line.split()[1], line.split()[2]) for line in jobstate[1:-1]]
        want(words.count(("C", "SUBMIT")) == words.count(("C", "JOB_FAILURE")) == 2, jobstate)
        want(words.count(("A", "EXECUTE")) == words.count(("A", "JOB_SUCCESS")) == 1, jobstate)
        dagman = place.read("d.dag.dagman.out")
        want("Node A job proc" in dagman and "EXITING WITH STATUS 1" in dagman, dagman)
        # One line at the start, one for each start and each end of the five tries.
        want(len(place.lines("d.dag.resource")) == 1 + 2 * 5 - 2, place.lines("d.dag.resource"))


def test_term_ends_it_in_order_and_the_next_run_goes_on(place: Place):
    place.write("t.dag", "TASK A true", 'TASK B /bin/sh -c "echo > begun; until test -e go; do sleep 0.01; done"',
                "TASK C true", "EDGE A B", "EDGE B C")
    for pmc in each(place):
        first = pmc.start("t.dag", "-o", "t.out")
        wait(lambda: os.path.exists(os.path.join(place.dir, "begun")), "it runs")
        os.kill(pmc.ranks()[0], signal.SIGTERM)
        out, err = first.communicate(timeout=DEADLINE)
        want(first.returncode != 0 and 'stat="failed"' in out and "Aborting workflow" in err, (out, err))
        place.write("go")
        done = pmc.run("t.dag", "-o", "t.out")
        want(done.summary()["submitted"] == "2", done.out)
        names = re.findall(r"name=(\w+)", place.read("t.out"))
        want(names == ["A", "B", "C"], place.read("t.out"))


def test_killed_at_any_moment_nothing_is_lost_and_nothing_done_runs_again(place: Place):
    rng = random.Random(11)
    tasks = [f'TASK T{i} /bin/sh -c "echo {i} >> ran"' for i in range(150)]
    edges = [f"EDGE T{rng.randrange(max(0, i - 20), i)} T{i}" for i in range(1, 150)]
    place.write("k.dag", *tasks, *edges)
    for pmc in each(place):
        before = []
        for _ in range(5):
            enough = len(before) + rng.randrange(1, 40)
            run = pmc.start("k.dag", "-o", "k.out")
            wait(lambda: len(pmc.rescue("k.dag")) > enough or run.poll() is not None, "it goes on")
            pmc.kill_all(run)
            done = pmc.rescue("k.dag")
            want(done[:len(before)] == before, "what was done stays done")
            before = done
        ran = place.lines("ran")
        pmc.run("k.dag", "-o", "k.out")
        again = place.lines("ran")[len(ran):]
        want(not set(again) & {name[1:] for name in before}, "what was done has not run again")
        done = pmc.rescue("k.dag")
        want(sorted(done) == sorted(f"T{i}" for i in range(150)), "each once")
        for i, edge in enumerate(edges, 1):
            parent, child = edge.split()[1:]
            want(done.index(parent) < done.index(child), edge)


if __name__ == "__main__":
    need_a_library()
    main(globals())
