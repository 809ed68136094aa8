"""Limits of tasks: too many processes, too much memory, more cpus than asked for; what goes along from the submitter."""
import json
import os
import signal
import subprocess
import time

from cluster import cluster_of
from harness import SPATE, Place, main, wait, want

# Starts 60 processes, one after another, notes the time before the 20th, which with the shell are 21, and waits for the
# file `done`. At most 60, so that a failing test harms nobody.
MANY = ("for i in {1..60}; do [ $i = 20 ] && echo $EPOCHREALTIME > over; sleep 1000.$SPATE_JOB_ID & echo $! >> pids; "
        "sleep 0.01; done; until [ -e done ]; do sleep 0.05; done; kill $(jobs -p); exit 0")
# Has 100 MB, and writes as long as it runs.
LARGE = ("python3 -c \"import os, time\nx = bytearray(100000000)\nwhile not os.path.exists('done'):\n"
         "  open('ticks', 'a').write('x'); time.sleep(0.05)\"")
# A tree of processes of which each starts two more. At 1,023 it ends by itself.
BOMB = ("cat > bomb.sh <<'X'\necho x >> births; [ $1 -gt 0 ] || exec sleep 1000\nsh ./bomb.sh $(($1 - 1)) & sh ./bomb.sh $(($1 - 1)) & wait\n"
        "X\nsh ./bomb.sh 9 & wait")


def info(cluster, job):
    return json.loads(cluster.spate("job info", "--json", job)[0])


def end_of(cluster, job):
    """The last attempt of the job's only task."""
    return json.loads(cluster.spate("job tasks", "--json", f"{job}.1")[0])


def sleepers(place, job):
    """Those of MANY that run."""
    found = []
    for pid in place.read("pids").split():
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                if f"1000.{job}" in file.read():
                    found.append(int(pid))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def size(place, name):
    try:
        return os.path.getsize(os.path.join(place.dir, name))
    except FileNotFoundError:
        return 0


def stands_still(place):
    before = size(place, "ticks"), place.read("pids")
    time.sleep(0.5)
    return before == (size(place, "ticks"), place.read("pids"))


def events(cluster, what):
    lines = [json.loads(line) for line in cluster.spate("events", "--json")[0].splitlines()]
    return [line for line in lines if line["type"] == what]


def test_too_many_processes(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "3")
    neighbour = cluster.submit("--array", "1-100", "--", "(exit 0) && sleep 0.02")
    job = cluster.submit("--max-processes", "20", "--", MANY)
    cluster.spate("job wait", job, code=1)
    end = end_of(cluster, job)
    want(end["cause"] == "excess" and "but asked for 20 processes" in end["note"], end)
    took = time.time() - float(place.read("over"))
    want(took < 2, f"it ends, and this is known, within two seconds: {took}")
    wait(lambda: not sleepers(place, job), "nothing is left of it")
    out, _ = cluster.spate("job info", job)
    want("20 processes (kill)" in out and "over its limits" in out, out)
    bomb = cluster.submit("--max-processes", "30", "--", BOMB)
    wait(lambda: size(place, "births") > 2 * 30, "it goes off")
    begun = time.time()
    cluster.spate("job wait", bomb, code=1)
    took = time.time() - begun
    end = end_of(cluster, bomb)
    want(end["cause"] == "excess" and took < 2, (took, end))
    print(f"       the bomb was known to have ended {took:.2f} s after it was over its limit, at {size(place, 'births') // 2} births")
    cluster.spate("job wait", neighbour)
    want(info(cluster, neighbour)["succeeded"] == 100, "no neighbour has failed")
    # It is a failure like others, with the retries that were asked for.
    again = cluster.submit("--max-processes", "20", "--retries", "1", "--retry-on", "excess", "--", MANY)
    cluster.spate("job wait", again, code=1)
    want(info(cluster, again)["attempts"] == 2, "tried twice")


def test_a_stop_survives_hub_and_node(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "2")
    job = cluster.submit("--max-processes", "20", "--on-excess", "processes=stop", "--",
                         "until [ -e go ]; do sleep 0.05; done; " + MANY)
    wait(lambda: info(cluster, job)["running"] == 1, "it runs")
    # The hub is away when it happens.
    cluster.kill_hub()
    place.write("go")
    wait(lambda: len(place.read("pids").split()) >= 19 and stands_still(place), "its node stops it by itself")
    want(len(sleepers(place, job)) < 60, "before it has them all")
    cluster.start_hub()
    wait(lambda: info(cluster, job)["stopped_tasks"] == 1, "the hub hears of it, and records the stop")
    want(stands_still(place), "and does not let it go")
    [stop] = events(cluster, "stopped")
    want(stop["task"] == 1 and stop["resource"] == "processes" and stop["limit"] == 20 and stop["action"] == "stop", stop)
    out, _ = cluster.spate("job info", job)
    want("processes, but asked for 20 processes (stopped)" in out, out)
    out, _ = cluster.spate("task explain", f"{job}.1")
    want("job cont" in out, out)
    os.kill(node.pid, signal.SIGKILL)
    node.wait()
    cluster.node("n1", "-j", "2")
    time.sleep(1)
    want(stands_still(place) and info(cluster, job)["stopped_tasks"] == 1, "nor does the node's next process")
    cluster.spate("job cont", f"{job}.1")
    wait(lambda: len(sleepers(place, job)) == 60, "who continues it accepts that")
    place.write("done")
    cluster.spate("job wait", job)
    want("and was stopped" in end_of(cluster, job)["note"], end_of(cluster, job))
    want(len(events(cluster, "stopped")) == 1, "it was not stopped again")


def test_memory(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    killed = cluster.submit("--memory", "40M", "--", LARGE)
    cluster.spate("job wait", killed, code=1)
    want(end_of(cluster, killed)["cause"] == "memory", end_of(cluster, killed))
    for action in ("warn", "stop"):
        for name in ("done", "ticks"):
            if os.path.exists(os.path.join(place.dir, name)):
                os.remove(os.path.join(place.dir, name))
        job = cluster.submit("--memory", "40M", "--on-excess", f"memory={action}", "--", LARGE)
        wait(lambda: info(cluster, job)["excesses"], "it is told")
        excess = info(cluster, job)["excesses"][0]["excess"]
        want(excess["what"] == "memory" and excess["done"] == action and excess["used"] > excess["limit"], excess)
        if action == "stop":
            wait(lambda: info(cluster, job)["stopped_tasks"] == 1, "it is stopped")
            want(stands_still(place), "so it writes nothing")
            cluster.spate("job cont", f"{job}.1")
        else:
            [event] = events(cluster, "exceeded")
            want(event["resource"] == "memory" and event["job"] == int(job), event)
            text, _ = cluster.spate("events")
            want(f"task {job}.1 exceeded its request: used " in text, text)
        before = size(place, "ticks")
        wait(lambda: size(place, "ticks") > before + 5, "it continues")
        place.write("done")
        cluster.spate("job wait", job)
        want("but asked for 40 MB of memory" in end_of(cluster, job)["note"], end_of(cluster, job))


def test_cpus(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "3", "--cpus", "3")
    busy = "(while :; do :; done) & p=$!; sleep 11; kill $p; exit 0"
    job = cluster.submit("--cpus", "0.01", "--", busy)
    killed = cluster.submit("--cpus", "0.01", "--on-excess", "cpu=kill", "--", busy)
    capped = cluster.submit("--cpus", "0.01", "--on-excess", "stop", "--", busy)
    wait(lambda: info(cluster, capped)["running"] == 1, "it runs")
    out, _ = cluster.spate("job info", capped)
    want("0.01 cpus (no more than that)" in out, out)
    enforced = {each["what"]: each["by"] for each in info(cluster, capped)["running_tasks"][0]["limits"]}
    want(enforced["cpus"] == enforced["cpu share"], enforced)
    want(enforced["cpus"] == "cgroup" or "cpus by nothing (no cpu controller)" in out, out)
    cluster.spate("job wait", job)
    cluster.spate("job wait", killed, code=1)
    cluster.spate("job wait", capped)
    want(end_of(cluster, killed)["cause"] == "excess" and "but asked for 0.01 cpus" in end_of(cluster, killed)["note"],
         end_of(cluster, killed))
    want("but asked for 0.01 cpus" in end_of(cluster, job)["note"], end_of(cluster, job))
    want([event["job"] for event in events(cluster, "exceeded")] == [int(job)], "a warning is an event")
    want(end_of(cluster, capped)["note"] == "", end_of(cluster, capped))


def test_soft_limits_go_along(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    tell = "ulimit -S -s; ulimit -S -n; ulimit -S -c; nice"

    def as_shell(*words, limits="ulimit -S -s 4096; ulimit -S -n 333; ulimit -S -c 0"):
        line = limits + '; exec nice -n 3 "$0" "$@"'
        out = subprocess.run(["bash", "-c", line, SPATE, "submit", *words, "--", tell], check=True,
                             capture_output=True, text=True, cwd=place.dir, env=place.env).stdout
        cluster.spate("job wait", out.strip())
        return cluster.spate("job cat", out.strip())[0].split(), end_of(cluster, out.strip())
    lines, _ = as_shell()
    want(lines == ["4096", "333", "0", "3"], lines)
    lines, _ = as_shell("--nice", "4")
    want(lines[3] == "7", lines)
    own, end = as_shell("--no-ulimits")
    want(own[0] != "4096" and own[1] != "333" and own[3] == "0" and end["note"] == "", own)
    lines, _ = as_shell("--max-open-files", "64", "--max-core", "1M")
    want(lines[:3] == ["4096", "64", "1024"], lines)
    # A node with lower limits.
    cluster.node("n2", "-j", "1", inside=["bash", "-c", 'ulimit -n 400; exec "$0" "$@"'])
    lines, end = as_shell("--on", "n2", limits="ulimit -S -n 500")
    want(lines[1] == "400", lines)
    want("has at most 400 open files (this node's hard limit), not 500" in end["note"], end)


def test_runs_on_this_machine(place: Place):
    _, err = place.run("--max-processes", "20", "--", MANY, code=1)
    want("over its limits" in err and "but asked for 20 processes" in err, err)
    place.write("done")
    _, err = place.run("--max-processes", "20", "--on-excess", "warn", "--", MANY)
    want("task 1 had " in err and "but asked for 20 processes" in err, err)
    # A stop is one of the run's job, which continues from another terminal.
    os.remove(os.path.join(place.dir, "done"))
    run = place.start("--max-processes", "20", "--on-excess", "stop", "--", MANY, stderr=subprocess.PIPE)
    wait(lambda: len(place.read("pids").split()) >= 19 and stands_still(place), "it is stopped")
    place.run("last.1", command="job cont")
    place.write("done")
    _, err = run.communicate(timeout=30)
    want(run.returncode == 0 and b"to continue: spate job cont" in err, err)
    _, err = place.run("--no-ulimits", "--", "true", code=2)
    want("--no-ulimits: only jobs of a hub have it" in err, err)
    for words, why in ((["--on-excess", "pause"], "write warn, stop or kill"),
                       (["--on-excess", "disk=stop"], "write cpu, memory or processes"),
                       (["--max-open-files", "2"], "at least 8"),
                       (["--max-processes", "-1"], "--max-processes")):
        _, err = place.run(*words, "--", "true", code=2)
        want(why in err, err)


if __name__ == "__main__":
    main(globals())
