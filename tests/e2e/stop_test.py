"""Jobs and tasks that are stopped, continued, killed and signalled: what /proc says of their processes."""
import json
import os
import signal
import subprocess
import time

from cluster import cluster_of
from harness import SPATE, Place, main, wait, want

# Two processes that use a processor each; their pids are in the files a and b.
BUSY = "echo $$ > a.$SPATE_TASK_INDEX; (echo $BASHPID > b.$SPATE_TASK_INDEX; while :; do :; done) & while :; do :; done"


def pids(place, task=1):
    """Of the task's processes, once both are there."""
    def both():
        return all(place.read(f"{name}.{task}").strip() for name in "ab")
    wait(both, f"task {task} runs")
    return [int(place.read(f"{name}.{task}")) for name in "ab"]


def ticks(pid):
    """Processor time of the process so far; None: it is not there."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[11]) + int(fields[12])


def stands_still(some):
    """Whether none of the processes uses its processor for a while. They would have a hundred chances."""
    before = [ticks(pid) for pid in some]
    time.sleep(0.4)
    return None not in before and before == [ticks(pid) for pid in some]


def runs(some):
    before = [ticks(pid) for pid in some]
    wait(lambda: all(ticks(pid) is not None and ticks(pid) > past for pid, past in zip(some, before)), "they run")


def state(cluster, job):
    out, _ = cluster.spate("job info", "--json", job)
    return json.loads(out)["state"]


def test_stop_and_continue(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "2")
    job = cluster.submit("--cpus", "0.5", "--", BUSY)
    some = pids(place)
    runs(some)
    _, err = cluster.spate("job stop", job)
    want(f"job {job} stopped" in err and "not frozen" not in err, err)
    want(stands_still(some), "the command has waited until they stand still")
    want(state(cluster, job) == "frozen", state(cluster, job))
    out, _ = cluster.spate("job list", "--filter", "frozen", "--json")
    want(f'"job":{job},' in out, out)
    out, err = cluster.spate("task explain", f"{job}.1")
    want("was stopped" in out + err and "job cont" in out + err, out + err)
    # A hub that is killed knows it again, and so does a node.
    cluster.kill_hub()
    cluster.start_hub()
    wait(lambda: state(cluster, job) == "frozen", "the node has told it again")
    want(stands_still(some), "nobody let them go")
    os.kill(node.pid, signal.SIGKILL)
    node.wait()
    want(stands_still(some), "they outlive their node's process as they are")
    cluster.node("n1", "-j", "2")
    wait(lambda: state(cluster, job) == "frozen", "the next process has told it")
    want(stands_still(some), "nor has it let them go")
    cluster.spate("job cont", job)
    runs(some)
    want(state(cluster, job) == "running", state(cluster, job))
    cluster.spate("job cont", job, code=2)
    # A node that was away when they were continued lets them go when it is back.
    cluster.spate("job stop", job)
    want(stands_still(some), "once more")
    cluster.spate("job kill", job)
    wait(lambda: [ticks(pid) for pid in some] == [None, None], "a frozen task can be killed")


def test_what_waits_is_not_started(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--retry", "1", "--", ": {}; " + BUSY, ":::", "1", "2")
    some = pids(place)
    cluster.spate("job stop", job)
    want(stands_still(some), "it is frozen")
    for pid in some:
        os.kill(pid, signal.SIGKILL)
    wait(lambda: ticks(some[0]) is None, "the kernel ends what is frozen")
    out = {}

    def ended():
        out.update(json.loads(cluster.spate("job info", "--json", job)[0]))
        return out["queued"] == 2
    wait(ended, "its retry waits, and the other task")
    time.sleep(0.5)
    want(not os.path.exists(os.path.join(place.dir, "a.2")), "the other one has not started")
    other = cluster.submit("--", "true")
    cluster.spate("job wait", other)  # another job may use the slot
    os.remove(os.path.join(place.dir, "a.1"))
    cluster.spate("job cont", job)
    wait(lambda: os.path.exists(os.path.join(place.dir, "a.1")) or os.path.exists(os.path.join(place.dir, "a.2")),
         "then one does")
    cluster.spate("job kill", job)
    cluster.spate("job wait", job, code=1)
    out, _ = cluster.spate("job info", "--json", job)
    want(json.loads(out)["cancelled"] == 2, out)


def test_a_lost_node(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--", BUSY)
    some = pids(place)
    cluster.spate("job stop", job)
    want(stands_still(some), "it is frozen")
    cluster.node("n2", "-j", "1")
    os.remove(os.path.join(place.dir, "a.1"))
    cluster.spate("node remove", "n1")
    wait(lambda: ticks(some[0]) is None, "it ends with its node")
    time.sleep(0.5)
    want(not os.path.exists(os.path.join(place.dir, "a.1")), "its next attempt waits")
    cluster.spate("job cont", job)
    wait(lambda: os.path.exists(os.path.join(place.dir, "a.1")), "until it is continued")
    cluster.spate("job kill", job)


def test_single_tasks(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    job = cluster.submit("--cpus", "0.2", "--", ": {}; " + BUSY, ":::", "1", "2")
    first, second = pids(place, 1), pids(place, 2)
    cluster.spate("job stop", f"{job}.1")
    want(stands_still(first), "the one that was named")
    runs(second)
    cluster.spate("job stop", job)
    want(stands_still(second), "and all")
    _, err = cluster.spate("job cont", f"{job}.1", code=2)
    want("stopped as a whole" in err, err)
    cluster.spate("job cont", job)
    runs(first)
    runs(second)
    cluster.spate("job kill", job)


def test_stopped_time_is_not_the_tasks(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--time-limit", "3s", "--", "echo $$ > a.1; sleep 2")
    wait(lambda: place.read("a.1").strip(), "it runs")
    cluster.spate("job stop", job)
    time.sleep(4)
    cluster.spate("job cont", job)
    cluster.spate("job wait", job)  # it succeeds


def test_ctrl_z_of_a_run(place: Place):
    run = subprocess.Popen([SPATE, "run", "-q", "--time-limit", "3s", "--", "sleep 2; echo done > end"], cwd=place.dir,
                           env=place.env, stdin=subprocess.DEVNULL, start_new_session=True)
    time.sleep(0.5)
    run.send_signal(signal.SIGTSTP)
    time.sleep(4)
    run.send_signal(signal.SIGCONT)
    want(run.wait(20) == 0 and place.read("end") == "done\n", "its time limit stood still, too")


def test_kill(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    deaf = "trap '' TERM; " + BUSY
    job = cluster.submit("--retry", "3", "--kill-grace", "1h", "--", ": {}; " + deaf, ":::", "1", "2")
    some = pids(place)
    cluster.spate("job cancel", f"{job}.1")
    time.sleep(0.3)
    want(ticks(some[0]) is not None, "it ignores what is polite")
    cluster.spate("job kill", job)
    wait(lambda: [ticks(pid) for pid in some] == [None, None], "nobody ignores that")
    cluster.spate("job wait", job, code=1)
    counts = json.loads(cluster.spate("job info", "--json", job)[0])
    want(counts["cancelled"] == 2 and counts["failed"] == 0, counts)
    want(not os.path.exists(os.path.join(place.dir, "a.2")), "what waited has not started")


def test_signals(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--retry", "1", "--", "trap 'echo first >> heard' USR1; "
                         "bash -c \"trap 'echo second >> heard' USR1; echo \\$\\$ > b.1; while :; do sleep 0.05; done\" & "
                         "echo $$ >> a.1; while :; do sleep 0.05; done")
    wait(lambda: place.read("b.1").strip(), "both processes are there")
    time.sleep(0.2)
    cluster.spate("job signal", "USR1", job)
    wait(lambda: place.read("heard") == "first\n", "the first process of the command hears it")
    pid = place.read("b.1").strip()
    cluster.spate("job signal", "SIGUSR1", f"{job}.1@n1:{pid}")
    wait(lambda: place.read("heard") == "first\nsecond\n", "and the one that is named")
    cluster.spate("job signal", "--all", "USR1", f"{job}.1")
    wait(lambda: len(place.read("heard").split()) == 4, "or all")
    _, err = cluster.spate("job signal", "USR1", f"{job}.1@n1:{os.getpid()}", code=None)
    want("is not one of this task" in err, err)
    _, err = cluster.spate("job signal", "NOPE", job, code=2)
    want("not a signal" in err, err)
    cluster.spate("job signal", "KILL", job)
    wait(lambda: len(place.read("a.1").split()) == 2, "an end by a signal is a failure, which is tried again")
    cluster.spate("job kill", job)


def test_bad_input(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    done = cluster.submit("--wait", "--", "true")
    for verb in ("stop", "cont", "kill"):
        _, err = cluster.spate(f"job {verb}", done, code=2)
        want("has ended" in err, err)
        _, err = cluster.spate(f"job {verb}", f"{done}.1", code=2)
        want(f"task {done}.1 has ended" in err or "has ended" in err, err)
        _, err = cluster.spate(f"job {verb}", "99", code=None)
        want("no job 99" in err, err)
    _, err = cluster.spate("job signal", "INT", done, code=2)
    want("has ended" in err, err)


def test_a_local_run(place: Place):
    run = subprocess.Popen([SPATE, "run", "-q", "-j", "1", "--", BUSY], cwd=place.dir, env=place.env,
                           stdin=subprocess.DEVNULL, start_new_session=True)
    some = pids(place)
    place.run("1", command="job stop")
    want(stands_still(some), "a run obeys like a hub")
    place.run("1", command="job cont")
    runs(some)
    place.run("1", command="job kill")
    wait(lambda: [ticks(pid) for pid in some] == [None, None], "and kills")
    run.wait(20)


def test_a_run_that_is_resumed_stays_stopped(place: Place):
    args = ("-j", "1", "--", ": {}; " + BUSY, ":::", "1", "2")
    run = subprocess.Popen([SPATE, "run", "-q", *args], cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL,
                           start_new_session=True)
    some = pids(place)
    place.run("1", command="job stop")
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    wait(lambda: [ticks(pid) for pid in some] == [None, None], "its tasks end with it")
    os.remove(os.path.join(place.dir, "a.1"))
    with open(os.path.join(place.dir, "log"), "w") as log:
        run = subprocess.Popen([SPATE, "run", "-q", "--resume", *args], cwd=place.dir, env=place.env,
                               stdin=subprocess.DEVNULL, stderr=log, start_new_session=True)
    wait(lambda: "spate job cont 1" in place.read("log"), "it says why nothing starts")
    want("job 1 was stopped by " in place.read("log"), place.read("log"))
    time.sleep(0.5)
    started = lambda: any(os.path.exists(os.path.join(place.dir, f"a.{task}")) for task in (1, 2))
    want(not started(), "and starts nothing")
    place.run("1", command="job cont")
    wait(started, "until it is continued")
    place.run("1", command="job kill")
    want(run.wait(20) == 1, "its tasks were cancelled")


def test_a_signal_to_many_tasks_of_a_node(place: Place):
    """A node takes 64 questions at once; each of 200 tasks gets its signal all the same."""
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "200")
    job = cluster.submit("--cpus", "0", "--array", "1-200", "--", "sleep 600")
    wait(lambda: json.loads(cluster.spate("job info", job, "--json")[0])["running"] == 200, "all run")
    _, err = cluster.spate("job signal", "TERM", job)
    want("200 processes got it" in err and "try again" not in err, err)
    cluster.spate("job wait", job, code=1)


if __name__ == "__main__":
    main(globals())
