"""One list of all processes: `spate ps` on a hub, in local runs, and in masters."""
import json
import os
import signal
import subprocess
import sys
import time

from cluster import cluster_of
from harness import SPATE, Place, main, wait, want
from shares_test import with_accounts

# It forks, daemonises, changes its session, its name and its words, and has what terminals obey in them.
RUNAWAY = r"""
import ctypes, os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def fork(fn):
    if os.fork() == 0:
        fn()
        time.sleep(1000)
        os._exit(0)
def daemon():
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    os.chdir("/")
def renamed():
    ctypes.CDLL(None).prctl(15, b"other\x1b[2Jname", 0, 0, 0)
def executed():
    os.execv("/bin/sleep", ["evil\x1b]0;title\x07\nword", "1000"])
fork(lambda: None)
fork(os.setsid)
fork(daemon)
fork(renamed)
fork(executed)
open("forked", "w").close()
time.sleep(1000)
"""


def processes(place, *args, of="process", code=0):
    out, _ = place.run(*args, "--json", command="ps", code=code)
    found = [json.loads(line) for line in out.splitlines()]
    want(all(each["v"] >= 1 for each in found), out)
    return [each for each in found if each["type"] == of]


def pids_with(*texts):
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                there = file.read()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if all(text.encode() in there for text in texts):
            found.add(int(pid))
    return found


def same_words(place, job):
    """The processes of the job that ps shows, once they are those that have its mark in their environment."""
    found = []

    def settled():
        nonlocal found
        found = processes(place, job)
        marked = {pid for pid in pids_with(f"SPATE_JOB_ID={job}\0", f"MARK={place.dir}\0")}
        return marked and {each["pid"] for each in found} == marked
    wait(settled, f"ps shows all processes of job {job}")
    return found


def test_a_program_that_runs_away(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4")
    place.write("runaway.py", RUNAWAY)
    job = cluster.submit("--env", f"MARK={place.dir}", "--leftovers", "end", "--", sys.executable, "runaway.py")
    wait(lambda: os.path.exists(os.path.join(place.dir, "forked")), "it has forked")
    wait(lambda: len(processes(place, job)) >= 6, "all are there")
    wait(lambda: all(each["state"] == "sleeping" for each in processes(place, job)), "all of them sleep")
    found = same_words(place, job)
    want(len(found) == 6, found)
    for each in found:
        want(each["id"] == f"{job}.1@n1:{each['pid']}" and each["node"] == "n1" and each["task"] == 1, each)
        with open(f"/proc/{each['pid']}/stat", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        want(each["parent"] == int(fields[1]) and each["start"] == int(fields[19]), (each, fields))
        want(each["memory"] > 0 and each["threads"] == 1 and 0 < each["elapsed"] < 120, each)
        want(each["state"] == "sleeping" and each["cpu"] < 30 and each["rank"] is None, each)
    # Terminals obey nothing in it.
    out, _ = cluster.spate("ps", job)
    want("\x1b" not in out and "\x07" not in out and r"evil\x1b]0;title\x07\nword 1000" in out, out)
    want(len(out.splitlines()) == 8 and out.startswith("hub "), out)
    # The tree: the first process, and those below it that are still its children.
    tree, _ = cluster.spate("ps", job, "--tree")
    first = min(found, key=lambda each: each["start"])
    (line,) = (line for line in tree.splitlines() if line.startswith(first["id"]))
    want(" " + sys.executable in line, tree)
    want(sum("    " + sys.executable in line or "  evil" in line for line in tree.splitlines()) >= 3, tree)
    # One ends: it is no longer shown, and the others are.
    (evil,) = (each for each in found if "evil" in each["command"])
    os.kill(evil["pid"], signal.SIGKILL)
    wait(lambda: len(processes(place, job)) == 5, "it has ended")
    want(evil["pid"] not in {each["pid"] for each in processes(place, job)}, "and the others have not")
    cluster.spate("job cancel", job)
    wait(lambda: processes(place, job) == [], "nothing of it is left")


def test_two_jobs_of_a_user_on_a_node(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "4")
    text = "sleep 1000 & sleep 1000 & wait"
    jobs = [cluster.submit("--env", f"MARK={place.dir}", "--", text) for _ in range(2)]
    for job in jobs:
        wait(lambda: len(processes(place, job)) == 3, f"job {job} has a shell and two more")
    one, two = (same_words(place, job) for job in jobs)
    want({each["job"] for each in processes(place)} == {int(job) for job in jobs}, "both are mine")
    for each in one:
        owner, _ = cluster.spate("ps", "--pid", str(each["pid"]))
        want(owner == f"{jobs[0]}.1\n", owner)
    _, err = cluster.spate("ps", "--pid", str(os.getpid()), code=None)
    want("belongs to no running task of yours" in err, err)
    want("no process" in cluster.spate("ps", "--pid", "4194303", code=None)[1], "no such process")
    want("not the number of a process" in cluster.spate("ps", "--pid", "x", code=2)[1], "no number")
    cluster.spate("job cancel", jobs[0])
    wait(lambda: processes(place, jobs[0]) == [], "it is gone")
    after = same_words(place, jobs[1])
    want([each["pid"] for each in after] == [each["pid"] for each in two], after)
    # The node's next process shows the same, with the right times.
    node.send_signal(signal.SIGKILL)
    node.wait()
    wait(lambda: processes(place, jobs[1], of="process_node") != [], "the node is away")
    (away,) = processes(place, jobs[1], of="process_node")
    want(away["node"] == "n1" and "not connected" in away["why"], away)
    _, err = cluster.spate("ps", jobs[1])
    want("processes on node n1 are missing: the node n1 is not connected" in err, err)
    cluster.node("n1", "-j", "4")
    wait(lambda: processes(place, jobs[1]) != [], "they are there again")
    again = same_words(place, jobs[1])
    want([(each["pid"], each["start"], each["command"]) for each in again] ==
         [(each["pid"], each["start"], each["command"]) for each in two], again)
    want(all(now["elapsed"] > before["elapsed"] for now, before in zip(again, two)), again)
    cluster.spate("job cancel", jobs[1])


def test_jobs_of_others_are_not_shown(place: Place):
    inside = with_accounts(place)
    if inside is None:
        return print("       (skipped: no mount namespaces, or not root)")
    cluster = cluster_of(place)
    for folder in (place.dir, place.state, cluster.hub_dir):
        os.chmod(folder, 0o711)
    cluster.node("n1", "-j", "4", inside=inside)
    job = cluster.submit("--", "exec sleep 1000")
    wait(lambda: [each for each in processes(place, job) if each["command"] == "sleep 1000"], "it runs")
    (mine,) = (each for each in processes(place, job) if each["command"] == "sleep 1000")
    bob = cluster.access("--role", "client", "--user", "bob", name="bob.access")
    of_bob = cluster.submit("--access", bob, "--cwd", "/", "--", "exec sleep 1001")
    wait(lambda: [each for each in processes(place, "--access", bob) if "1001" in each["command"]], "bob's runs")
    seen = processes(place, "--access", bob)
    want({each["job"] for each in seen} == {int(of_bob)} and {each["user"] for each in seen} == {"bob"}, seen)
    want({each["job"] for each in processes(place)} == {int(job)}, "without --all an administrator sees their own")
    everybody = processes(place, "--all")
    want({each["job"] for each in everybody} == {int(job), int(of_bob)}, everybody)
    _, err = cluster.spate("ps", "--all", "--access", bob, code=None)
    want("only the hub's administrators" in err, err)
    out, err = cluster.spate("ps", job, "--access", bob, code=None)
    want(out == "" and "belongs to" in err, err)
    _, err = cluster.spate("ps", "--pid", str(mine["pid"]), "--access", bob, code=None)
    want("belongs to no running task of yours" in err, err)
    owner, _ = cluster.spate("ps", "--pid", str(mine["pid"]), "--all")
    want(owner == f"{job}.1\n", owner)
    for each in (job, of_bob):
        cluster.spate("job cancel", each)


def test_ranks_of_gangs_and_launchers(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    cluster.node("n2", "-j", "2")
    job = cluster.submit("--procs", "4", "--", "sleep 1000 & wait")
    wait(lambda: len(processes(place, job)) == 8, "four ranks, each with a child")
    found = processes(place, job)
    want(sorted(each["rank"] for each in found) == [0, 0, 1, 1, 2, 2, 3, 3], found)
    want(all(each["id"] == f"{job}.1.{each['rank']}@{each['node']}:{each['pid']}" for each in found), found)
    out, _ = cluster.spate("ps", job, "--ranks")
    rows = [line.split("\t") for line in out.splitlines()]
    want([row[:2] for row in rows] == [[f"{job}.1", str(rank)] for rank in range(4)], out)
    want({row[2] for row in rows} == {"n1", "n2"}, out)
    for _, rank, _, pid in rows:
        with open(f"/proc/{pid}/environ") as file:
            want(f"SPATE_RANK={rank}\0" in file.read(), rows)
        with open(f"/proc/{pid}/cmdline") as file:
            want("wait" in file.read(), "the first process of the rank")
    cluster.spate("job cancel", job)
    place.write("launcher", "#!/bin/sh", "for r in 0 1; do OMPI_COMM_WORLD_RANK=$r sh -c 'sleep 1000; :' & done", "wait")
    os.chmod(os.path.join(place.dir, "launcher"), 0o755)
    job = cluster.submit("--", "./launcher")
    wait(lambda: len([each for each in processes(place, job) if each["command"] == "sleep 1000"]) == 2, "both run")
    found = processes(place, job)
    want({each["rank"] for each in found if "sleep 1000" in each["command"]} == {0, 1}, found)
    want({each["rank"] for each in found if "launcher" in each["command"]} == {None}, found)
    want(len(cluster.spate("ps", job, "--ranks")[0].splitlines()) == 2, "each once")
    cluster.spate("job cancel", job)


def test_a_node_that_does_not_answer_is_named(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    hung = cluster.node("n2", "-j", "1")
    job = cluster.submit("--", "sleep {}", ":::", "1000", "1001")
    wait(lambda: len({each["node"] for each in processes(place, job)}) == 2, "both run")
    hung.send_signal(signal.SIGSTOP)
    try:
        before = time.monotonic()
        out, err = cluster.spate("ps", job)
        took = time.monotonic() - before
    finally:
        hung.send_signal(signal.SIGCONT)
    want(2 <= took < 10, took)
    want("processes on node n2 are missing: the node n2 does not answer" in err and "@n1:" in out, out + err)
    # What a shepherd runs is shown while the shepherd hangs.
    wait(lambda: len({each["node"] for each in processes(place, job)}) == 2, "it answers again")
    (first,) = (each for each in processes(place, job) if each["command"] == "sleep 1001")
    with open(f"/proc/{first['pid']}/stat") as file:
        shepherd = int(file.read().rsplit(")", 1)[1].split()[1])
    os.kill(shepherd, signal.SIGSTOP)
    try:
        want("sleep 1001" in cluster.spate("ps", job)[0], "below a hung shepherd")
    finally:
        os.kill(shepherd, signal.SIGCONT)
    cluster.spate("job cancel", job)


def test_watching(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--", "sleep 1000")
    wait(lambda: processes(place, job) != [], "it runs")
    (before,) = processes(place, job)
    watch = subprocess.Popen([SPATE, "ps", job, "--watch", "0.2s", "--json"], cwd=place.dir, env=place.env,
                             stdout=subprocess.PIPE)
    looks = [json.loads(watch.stdout.readline()) for _ in range(3)]
    watch.send_signal(signal.SIGINT)
    watch.wait()
    want(all(look["pid"] == before["pid"] for look in looks), looks)
    want(looks[0]["elapsed"] < looks[1]["elapsed"] < looks[2]["elapsed"], looks)
    cluster.spate("job cancel", job)


def test_orders_and_bad_words(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4")
    job = cluster.submit("--", "true", ":::", "1")
    cluster.spate("job wait", job)
    out, err = cluster.spate("ps", job)
    want(out == "" and "no process of these tasks runs" in err, out + err)
    out, err = cluster.spate("ps")
    want(out == "", out)
    for words, code, text in ((("--sort", "sice"), 2, "is not an order of processes"), (("--watch", "0.1s"), 2, "--watch"),
                              (("--watch", "x"), 2, "--watch"), (("99",), None, "no job 99"), (("1.x.y",), None, "")):
        _, err = cluster.spate("ps", *words, code=code)
        want(text in err, err)
    job = cluster.submit("--", "while :; do :; done & exec sleep 1000")
    wait(lambda: any(each["cpu"] > 0.1 for each in processes(place, job)), "one is busy")
    busy = processes(place, job, "--sort", "cpu")
    want(busy[0]["cpu"] > busy[1]["cpu"] and busy[0]["load"] > busy[1]["load"], busy)
    want(cluster.spate("ps", f"{job}.1", "--quiet")[0].splitlines() ==
         [each["id"] for each in processes(place, job)], "ids")
    cluster.spate("job cancel", job)


def test_local_runs(place: Place):
    runs = [subprocess.Popen([SPATE, "run", "-j", "2", "--", "sleep {}", ":::", "1000", "1001"], cwd=place.dir,
                             env=place.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    try:
        wait(lambda: len(processes(place)) == 4, "both runs, two tasks each")
        found = processes(place)
        want({(each["job"], each["task"]) for each in found} == {(1, 1), (1, 2), (2, 1), (2, 2)}, found)
        want({each["command"] for each in found} == {"sleep 1000", "sleep 1001"}, found)
        (one,) = processes(place, "2.1")
        want(one["job"] == 2 and one["command"] == "sleep 1000", one)
        want(place.run("--pid", str(one["pid"]), command="ps")[0] == "2.1\n", one)
    finally:
        for run in runs:
            run.send_signal(signal.SIGTERM)
            run.wait()
    want(processes(place) == [], "none run")
    _, err = place.run("1", command="ps", code=None)
    want("job 1 is not running" in err, err)


if __name__ == "__main__":
    main(globals())
