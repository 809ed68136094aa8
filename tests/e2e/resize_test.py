"""Requests of tasks that change: what the kernel says of their processes, and what others find free."""
import json
import os
import signal
import time

from cluster import cluster_of
from harness import Place, main, wait, want

# Takes so many megabytes, writes its pid into the file MB.TASK, and more when the file `more` is there.
EATER = """exec python3 -c '
import os, time
def eat(megabytes): return bytearray(os.urandom(1 << 20)) * megabytes
held = [eat({first})]
open("began.new", "w").write(str(os.getpid())); os.rename("began.new", "began")
while not os.path.exists("more"): time.sleep(0.02)
held.append(eat({then}))
open("has", "w").close()
while not os.path.exists("go"): time.sleep(0.02)
'"""
WAITS = "touch began.$SPATE_TASK_ID; until test -e go; do sleep 0.02; done"


def task(cluster, name):
    return json.loads(cluster.spate("task info", "--json", name)[0])


def exists(place, name):
    return lambda: os.path.exists(os.path.join(place.dir, name))


def changes(cluster, job):
    """What the hub's events tell of the job's changes."""
    events = [json.loads(line) for line in cluster.spate("events", "--json", "--since", "0")[0].splitlines()]
    return [event for event in events if event.get("to") and event["job"] == int(job)]


def test_memory_grows(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--memory", "2G")
    job = cluster.submit("--memory", "100M", "--", EATER.format(first=30, then=150))
    wait(exists(place, "began"), "it runs")
    _, err = cluster.spate("job set", "--memory", "600M", f"{job}.1")
    want("1 running task changed" in err, err)
    info = task(cluster, f"{job}.1")
    want(info["needs"]["memory"] == 600 << 20, info["needs"])
    want(info["change"]["stage"] == "resized" and info["change"]["from"]["memory"] == 100 << 20, info["change"])
    place.write("more", "")
    wait(exists(place, "has"), "it has more than it was to have at first")
    time.sleep(0.8)  # it is looked at several times meanwhile
    want(task(cluster, f"{job}.1")["state"] == "running", "and lives")
    told = [(event["type"], event["by"] != "", event["from"]["memory"], event["to"]["memory"], event["task"])
            for event in changes(cluster, job)]
    want(told == [("ordered", True, 100 << 20, 600 << 20, 1), ("resized", True, 100 << 20, 600 << 20, 1)], told)
    # Below what it uses: refused with that figure, and nothing has changed.
    _, err = cluster.spate("job set", "--memory", "50M", f"{job}.1", code=3)
    want("it uses 1" in err and "of memory, more than 50" in err, err)
    want(task(cluster, f"{job}.1")["needs"]["memory"] == 600 << 20, "as before")
    place.write("go", "")
    cluster.spate("job wait", job)
    # Another one, whose request stays, ends of it.
    for name in ("began", "has", "more", "go"):
        os.remove(os.path.join(place.dir, name))
    place.write("more", "")
    other = cluster.submit("--memory", "100M", "--", EATER.format(first=30, then=150))
    cluster.spate("job wait", other, code=1)
    out, _ = cluster.spate("task info", "--json", f"{other}.1")
    want('"cause":"memory"' in out, out)


def test_what_shrinks_lets_others_start(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "4", "--memory", "1G")
    first = cluster.submit("--memory", "900M", "--cpus", "3", "--", WAITS)
    wait(exists(place, f"began.{first}.1"), "it runs")
    second = cluster.submit("--memory", "500M", "--cpus", "2", "--", WAITS)
    time.sleep(0.5)
    want(not exists(place, f"began.{second}.1")(), "there is no room")
    cluster.spate("job set", "--memory", "300M", f"{first}.1")
    time.sleep(0.5)
    want(not exists(place, f"began.{second}.1")(), "nor are there cpus")
    cluster.spate("job set", "--cpus", "2", first)
    wait(exists(place, f"began.{second}.1"), "now there are")
    # Growing needs what is free: 224M and no cpu.
    _, err = cluster.spate("job set", "--memory", "600M", f"{first}.1", code=3)
    want("it would need 300 MB more memory, and 224 MB is free" in err, err)
    _, err = cluster.spate("job set", "--cpus", "3", f"{first}.1", code=3)
    want("it would need 1 more cpus, and 0 are free" in err, err)
    _, err = cluster.spate("job set", "--cpus", "9", f"{first}.1", code=2)
    want("node n1 has 4 cpus" in err, err)
    info = task(cluster, f"{first}.1")
    want(info["needs"]["memory"] == 300 << 20 and info["needs"]["cpus"] == 2, info["needs"])
    _, err = cluster.spate("job info", first)
    place.write("go", "")
    cluster.spate("job wait", first, second)
    _, err = cluster.spate("job set", "--memory", "1G", f"{first}.1", code=2)
    want("has ended" in err, err)


def test_bad_changes(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "4")
    job = cluster.submit("--cpus", "1", "--", WAITS)
    wait(exists(place, f"began.{job}.1"), "it runs")
    for words, text in ((("--cpus", "x"), "cpus"), (("--memory", "0"), "memory"), (("--time-limit", "200%"), "time"),
                        (("--weight", "3"), "whole jobs")):
        _, err = cluster.spate("job set", *words, f"{job}.1", code=2)
        want(text in err, err)
    _, err = cluster.spate("job set", "--cpus", "2", f"{job}.7", code=2)
    want("has no task 7" in err, err)
    gang = cluster.submit("--procs", "2", "--", WAITS)
    wait(exists(place, f"began.{gang}.1"), "the gang runs")
    _, err = cluster.spate("job set", "--cpus", "2", f"{gang}.1", code=2)
    want("parallel task" in err, err)
    want(not changes(cluster, job) and not changes(cluster, gang), "nothing has changed")
    place.write("go", "")
    cluster.spate("job wait", job, gang)


def test_a_limit_of_time(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    longer = cluster.submit("--time-limit", "3s", "--", WAITS)
    wait(exists(place, f"began.{longer}.1"), "it runs")
    cluster.spate("job set", "--time-limit", "1h", f"{longer}.1")
    began = time.monotonic()
    shorter = cluster.submit("--time-limit", "1h", "--retry", "1", "--", WAITS)
    wait(exists(place, f"began.{shorter}.1"), "so does the other one")
    os.remove(os.path.join(place.dir, f"began.{shorter}.1"))
    cluster.spate("job set", "--time-limit", "1s", f"{shorter}.1")
    # Its retry, too: each attempt has the limit.
    cluster.spate("job wait", shorter, code=1)
    out, _ = cluster.spate("task info", "--json", f"{shorter}.1")
    want(out.count('"cause":"time"') >= 2, out)
    time.sleep(max(0, 3.5 - (time.monotonic() - began)))
    want(task(cluster, f"{longer}.1")["state"] == "running", "the longer limit counts")
    # Waiting tasks of a whole job, and those that are added.
    waits = cluster.submit("--open", "--cpus", "500", "--", "sleep 60 # {}", ":::", "1", "2")
    _, err = cluster.spate("job set", "--time-limit", "1s", "--cpus", "1", waits)
    want("2 waiting tasks changed" in err, err)
    cluster.spate("job close", waits)
    cluster.spate("job wait", waits, code=1)
    place.write("go", "")
    cluster.spate("job wait", longer)


def affinity(pid):
    return os.sched_getaffinity(pid)


def test_bound_cpus_follow(place: Place):
    units = sorted(os.sched_getaffinity(0))
    if len(units) < 2:
        return print("       (skipped: one cpu)")
    units = units[:2]
    cluster = cluster_of(place)
    cluster.node("n1", "--bind", "core", "-j", "4", "--cpus", "4", preexec_fn=lambda: os.sched_setaffinity(0, units))
    job = cluster.submit("--cpus", "1", "--",
                         "echo $SPATE_CPUS > cpus; (echo $BASHPID > inner; until test -e go; do sleep 0.02; done) & "
                         "echo $$ > pid; wait; echo $SPATE_CPUS > after")
    wait(lambda: place.read("inner").strip() and place.read("pid").strip(), "it runs")
    some = [int(place.read(name)) for name in ("inner", "pid")]
    for pid in some:
        os.sched_setaffinity(pid, units[:1])
    cluster.spate("job set", "--cpus", "2", f"{job}.1")
    want(all(affinity(pid) == set(units) for pid in some), [affinity(pid) for pid in some])
    # They are its own: who comes floats, as there are no others.
    for pid in some:
        os.sched_setaffinity(pid, units[:1])
    cluster.spate("job set", "--cpus", "1", f"{job}.1")
    want(all(affinity(pid) == set(units) for pid in some), [affinity(pid) for pid in some])
    place.write("go", "")
    cluster.spate("job wait", job)
    want(place.read("cpus") == place.read("after") == "1\n", "what it was told stays")


def test_restarts_between_order_and_answer(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "2", "--memory", "2G")
    job = cluster.submit("--memory", "100M", "--retry", "1", "--", EATER.format(first=30, then=150))
    wait(exists(place, "began"), "it runs")
    os.kill(node.pid, signal.SIGSTOP)
    _, err = cluster.spate("job set", "--memory", "500M", f"{job}.1", code=3)
    want("1 running task not changed yet: no answer from n1" in err, err)
    want(task(cluster, f"{job}.1")["change"]["stage"] == "ordered", "it waits for the node")
    _, err = cluster.spate("job set", "--memory", "600M", f"{job}.1", code=2)
    want("has not confirmed an earlier change" in err, err)
    # The hub is killed, and knows it again; so does the node's next process, once it is told.
    cluster.kill_hub()
    cluster.start_hub()
    os.kill(node.pid, signal.SIGKILL)
    node.wait()
    want(task(cluster, f"{job}.1")["change"]["stage"] == "ordered", "still")
    os.remove(os.path.join(place.dir, "n1.log"))
    node = cluster.node("n1", "-j", "2", "--memory", "2G")
    want("took over 1 task" in place.read("n1.log"), place.read("n1.log"))
    wait(lambda: task(cluster, f"{job}.1")["change"]["stage"] == "resized", "the node is told again")
    # What it has now outlives another process of the node.
    os.kill(node.pid, signal.SIGKILL)
    node.wait()
    os.remove(os.path.join(place.dir, "n1.log"))
    cluster.node("n1", "-j", "2", "--memory", "2G")
    place.write("more", "")
    wait(exists(place, "has"), "it has more than it was to have at first")
    time.sleep(0.8)
    want(task(cluster, f"{job}.1")["state"] == "running", "and lives")
    # What is free counts it: 1548M.
    _, err = cluster.spate("job set", "--memory", "3G", f"{job}.1", code=2)
    want("node n1 has 2.0 GB of memory" in err, err)
    # Its retry begins with the new request.
    os.remove(os.path.join(place.dir, "has"))
    os.kill(int(place.read("began")), signal.SIGKILL)
    wait(exists(place, "has"), "the next attempt has that much, too")
    place.write("go", "")
    cluster.spate("job wait", job)
    want(len(task(cluster, f"{job}.1")["ends"]) == 2, "it was the second one")


if __name__ == "__main__":
    main(globals())
