"""Others look at a run of pegasus-mpi-cluster, with the commands that look at any hub."""
import os
import re
import socket as sockets
import subprocess

from harness import DEADLINE, SPATE, Place, main, wait, want
from pmc_place import DIAMOND, WAIT, each, need_a_library
from stop_test import BUSY, pids, runs, stands_still, ticks


def told(place, command, *args, code=0):
    return "".join(place.run(*args, command=command, code=code))


def sockets_of(place):
    """Those that answer: a socket is there a moment before anybody listens."""
    found = re.findall(r"spate top --at (\S+)", told(place, "job list", "--local"))
    return [at for at in found if "cannot reach" not in told(place, "job list", "--at", at, code=None)]


def socket_of(place):
    found = []
    wait(lambda: found.extend(sockets_of(place)) or found, "job list shows the run")
    return found[0]


def test_a_run_is_asked_while_it_runs(place: Place):
    for pmc in each(place):
        place.write("wait.sh", WAIT)
        place.write("d.dag", "TASK A /bin/sh wait.sh go", "TASK B /bin/true", "TASK C /bin/false",
                    "TASK D /bin/true", *DIAMOND)
        run = pmc.start("d.dag")
        at = socket_of(place)
        wait(lambda: "wait.sh" in told(place, "job tasks", "--filter", "running", "--at", at), "A runs")
        top = told(place, "top", "--once", "--at", at)
        want(sockets.gethostname() in top and "d.dag" in top, top)
        info = told(place, "job info", "--at", at)
        want("d.dag" in info and "4: 1 running, 3 queued" in info, info)
        tasks = told(place, "job tasks", "1", "--at", at)
        want("/bin/sh wait.sh go" in tasks and "queued" in tasks, tasks)
        why = told(place, "task explain", "1.D", "--at", at)
        want("1.4: it waits for 2 of 2 parents: tasks B, C" in why, why)
        refused = told(place, "job cancel", "1", "--at", at, code=2)
        want("others may only" in refused, refused)
        place.write("go", "")
        run.communicate(timeout=DEADLINE)
        want(run.returncode != 0, "C has failed")  # and so has D
        want(pmc.rescue("d.dag") == ["A", "B"], pmc.rescue("d.dag"))
        want(not os.path.exists(os.path.dirname(at)), "the socket outlives its run")


def test_tasks_are_stopped_continued_and_killed(place: Place):
    place.write("busy.sh", "SPATE_TASK_INDEX=1; " + BUSY)
    place.write("d.dag", "TASK A /bin/bash busy.sh", "TASK B /bin/true", "EDGE A B")
    for pmc in each(place):
        run = pmc.start("d.dag")
        at = socket_of(place)
        some = pids(place)
        said = told(place, "job stop", "1", "--at", at)
        want("job 1 stopped" in said and "not frozen" not in said, said)
        want(stands_still(some), "its processes stand still")
        want("frozen" in told(place, "job info", "1", "--at", at), "and that is shown")
        told(place, "job cont", "1", "--at", at)
        runs(some)
        refused = told(place, "job hold", "1", "--at", at, code=2)
        want("others may only stop, continue, kill and signal its tasks" in refused, refused)
        told(place, "job kill", "1", "--at", at)
        run.communicate(timeout=DEADLINE)
        want(run.returncode != 0, "the workflow has not succeeded")
        want([ticks(pid) for pid in some] == [None, None], "nothing is left of the task")
        want(pmc.rescue("d.dag") == [], pmc.rescue("d.dag"))
        for name in "ab":
            os.remove(os.path.join(place.dir, f"{name}.1"))


def test_a_task_after_a_failure_is_explained(place: Place):
    place.write("wait.sh", WAIT)
    place.write("d.dag", "TASK A /bin/false", "TASK B /bin/true", "TASK C /bin/sh wait.sh go", "EDGE A B")
    for pmc in each(place):
        run = pmc.start("d.dag")
        at = socket_of(place)
        wait(lambda: "1 failed, 1 cancelled" in told(place, "job info", "--at", at), "A has failed")
        why = told(place, "task explain", "1.B", "--at", at)
        want("it waited for task 1 (A), which did not succeed" in why, why)
        place.write("go", "")
        run.communicate(timeout=DEADLINE)


def test_output_is_read_while_a_task_runs(place: Place):
    def until(name):
        return f"until test -e {name}; do sleep 0.01; done"

    place.write("a.sh", "echo one; echo two; echo bad >&2", until("first"), "echo three", until("go"))
    place.write("b.sh", "echo b", until("go"))
    place.write("d.dag", "TASK A /bin/sh a.sh", "TASK B /bin/true", "TASK C /bin/true", "EDGE A C",
                "TASK D /bin/sh b.sh", "EDGE B D")
    for pmc in each(place):
        run = pmc.start("d.dag")
        at = socket_of(place)
        wait(lambda: place.run("1.A", "--at", at, command="job tail", code=None) == ("one\ntwo\n", "bad\n"),
             "its output so far")
        want(place.run("1.1", "-n", "1", "--stream", "stdout", "--at", at, command="task tail") == ("two\n", ""), "1")
        wait(lambda: "it waits for 1 of 1 parent" in told(place, "job tail", "1.C", "--at", at), "of C")
        wait(lambda: "1 succeeded" in told(place, "job info", "--at", at), "B has ended")
        refused = told(place, "job tail", "1.B", "--at", at, code=3)
        want("keeps no history" in refused and "in the program's own files" in refused, refused)
        for words in (["1"], ["-f", "1"], []):
            refused = told(place, "job tail", *words, "--at", at, code=3)
            want("keeps no history" in refused and f"spate job tail --at {at} JOB.TASK" in refused, refused)
        tail = subprocess.Popen([SPATE, "job", "tail", "-f", "1.A", "--at", at], env=place.env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        read = [tail.stdout.readline() for _ in range(2)]
        place.write("first", "")
        want(read + [tail.stdout.readline()] == ["one\n", "two\n", "three\n"], read)
        place.write("go", "")
        out, err = tail.communicate(timeout=DEADLINE)
        want(tail.returncode != 0 and out == "" and
             ("writes task output to its own stdout" in err or "cannot be read here" in err),
             (tail.returncode, out, err))
        run.communicate(timeout=DEADLINE)
        want(run.returncode == 0, run.returncode)
        for name in ("first", "go"):
            os.remove(os.path.join(place.dir, name))


if __name__ == "__main__":
    need_a_library()
    main(globals())
