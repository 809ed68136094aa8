"""Everything that a hub's job may wait for: each screen shows the true reason, what to type, and tells it once."""
import json
import os
import re
import signal

from cluster import cluster_of
from harness import Place, main, stop, wait, want
from waiting_test import OnTerminal, Waiting

BUSY = "until test -e go; do sleep 0.05; done"


def hub_of(place):
    """Two nodes of one slot: `n1` is about to be busy, `n2` is drained. Returns the cluster and the jobs by name."""
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1", "--cpus", "1")
    cluster.node("n2", "-j", "1", "--cpus", "1", "--label", "two")
    cluster.spate("node drain", "n2", "--reason", "new disk")
    jobs = {"open": cluster.submit("--open", "--", "true"),
            "retry": cluster.submit("--retries", "1", "--retry-delay", "1h", "--", "false")}
    wait(lambda: json.loads(cluster.spate("job info", jobs["open"], "--json")[0])["succeeded"] == 1, "its task has ended")
    wait(lambda: "before its next try" in cluster.spate("task explain", jobs["retry"] + ".1")[0], "it has failed once")
    jobs["busy"] = cluster.submit("--", BUSY)
    wait(lambda: json.loads(cluster.spate("node info", "n1", "--json")[0])["tasks"] == 1, "it runs")
    jobs["held"] = cluster.submit("--", "true")
    cluster.spate("job hold", jobs["held"])
    jobs["large"] = cluster.submit("--cpus", "64", "--", "true")
    for before in ("busy", "held", "open", "large"):
        jobs[f"after {before}"] = cluster.submit("--after", jobs[before], "--", "true")
    jobs["after both"] = cluster.submit("--after", jobs["after large"], "--", "true")
    jobs["drained"] = cluster.submit("--label", "two", "--", "true")
    jobs["turn"] = cluster.submit("--", "true")
    return cluster, jobs


# What is waited for, and what to type; {} are numbers of jobs by name.
TABLE = {
    "held": (r"job {held} is held", "spate job release {held}"),
    "open": (r"job {open} is open: its tasks have ended", "spate job close {open}"),
    "retry": (r"it waits \S+ before its next try", "spate job cancel {retry}"),
    "large": (r"no node fits: it needs 64 cpus, n\d offers 1", "spate job cancel {large}"),
    "after busy": (r"it waits for job {busy} to succeed", "spate job cancel {after busy}"),
    "after held": (r"it waits for job {held}, and job {held} is held", "spate job release {held}"),
    "after open": (r"it waits for job {open}, and job {open} is open", "spate job close {open}"),
    "after large": (r"it waits for job {large}, which cannot continue: no node fits", "spate job cancel {after large}"),
    "after both": (r"it waits for job {after large}, which cannot continue: it waits for job {large}",
                   "spate job cancel {after both}"),
    "drained": (r"the only nodes that can run it accept no tasks: n2 \(drained: new disk\)", "spate node resume n2"),
    "turn": (r"other tasks are ahead of it", "spate job cancel {turn}"),
}


def told_everywhere(cluster, job, why, waiting, bar):
    """As page, in JSON, by the one who waits and on the bar, which has room for its beginning."""
    def says():
        return re.search(why, cluster.place.read(waiting.log))

    wait(lambda: says() or waiting.process.poll() is not None, why)
    want(says(), cluster.place.read(waiting.log))
    info = json.loads(cluster.spate("job info", job, "--json")[0])
    want(info["state"] == "held" or re.search(why, info["waits"]), info)
    page, _ = cluster.spate("job info", job)
    want(info["state"] == "held" or re.search(rf"waits +{why}", page), page)
    bar.shows(r"waiting: (held|" + re.split("[,;:]", why)[0] + ")")
    want("ETA" not in bar.seen, bar.seen)


def test_every_wait_is_told(place: Place):
    cluster, jobs = hub_of(place)
    waiting = {name: Waiting(place, "job", "wait", jobs[name], log=f"wait-{name}") for name in TABLE}
    bars = {name: OnTerminal(place, "job", "progress", jobs[name], log=f"bar-{name}") for name in TABLE}
    for name, (why, command) in TABLE.items():
        why, command = why.format_map(jobs), command.format_map(jobs)
        told_everywhere(cluster, jobs[name], why, waiting[name], bars[name])
        want(command in place.read(f"wait-{name}"), place.read(f"wait-{name}"))
        out, _ = cluster.spate("task explain", f"{jobs[name]}.1")
        want(name == "open" or re.search(why, out), out)
    for name in TABLE:  # all this time nothing has changed
        said = place.read(f"wait-{name}")
        want(len(re.findall(r"^spate: job", said, re.M)) == 1, said)
    # A limit of the user goes before the turn, and is told once more.
    cluster.spate("hub user", "root", "--max-running", "1")
    waiting["turn"].says("user root has reached the limit of 1 task at once")
    cluster.spate("job cancel", *(jobs[name] for name in TABLE))
    for name in TABLE:
        waiting[name].process.wait(60)
        bars[name].process.wait(60)
    place.write("go")


# What a node waits for that was given a task: what keeps it busy, the options of the task, how many of its tasks
# wait, and the reason. A hub with one node gives it a task ahead of time.
ON_NODE = {
    "a resource": (["--resource", "licence=1"], ["--resource", "licence=1"],
                   "but it needs 1 of 'licence', and 0 of it is free there"),
    "memory": (["--memory", "800M"], ["--memory", "800M"], r"but it needs 800 MB of 'memory', and \S+ MB of it is free there"),
    "cpus": (["--cpus", "2"], ["--cpus", "2"], "but it needs 2 of 'cpus', and 0 of it is free there"),
    "free memory": (None, ["--min-free-memory", "100T"],
                    r"which starts no tasks at the moment: \S+ \S+ of memory is free, less than --min-free-memory"),
    "load": (None, ["--max-load", "0.0001"],
             r"which starts no tasks at the moment: the load is \S+, above --max-load"),
    "delay": (None, ["--delay", "1h"], r"which starts a task of its job every 1h00m \(--delay\)"),
}


def running(cluster, job):
    return json.loads(cluster.spate("job info", job, "--json")[0])["running"]


def counted(cluster, job):
    """How many tasks of the job run and wait, as everything says that counts them."""
    info = json.loads(cluster.spate("job info", job, "--json")[0])
    listed = json.loads(cluster.spate("job list", job, "--json")[0])
    tasks = [json.loads(line)["state"] for line in cluster.spate("job tasks", job, "--json")[0].splitlines()]
    counts = info["running"], info["queued"]
    want(counts == (listed["running"], listed["queued"]), (info, listed))
    want(info["state"] == listed["state"], (info, listed))
    want(counts == (tasks.count("running"), tasks.count("queued")), (info, tasks))
    return counts


def everywhere(cluster, running, queued):
    """The hub and its node count the same tasks."""
    hub = json.loads(cluster.spate("hub status", "--json")[0])
    want((hub["running"], hub["queued"]) == (running, queued), hub)
    node = json.loads(cluster.spate("node list", "--json")[0])
    want((node["tasks"], node["next"]) == (running, queued), node)
    user = json.loads(cluster.spate("hub user", "--json")[0].splitlines()[0])
    want((user["running"], user["queued"]) == (running, queued), user)
    top, _ = cluster.spate("top", "--once")
    want(re.search(rf"tasks {running} running, {queued} queued", top), top)


def test_what_its_node_waits_for_is_told(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "2", "--memory", "1G", "--resource", "licence=1")
    for name, (busy, options, why) in ON_NODE.items():
        before = cluster.submit(*busy, "--", BUSY) if busy else None
        if before:
            wait(lambda job=before: running(cluster, job) == 1, f"{name}: it is busy")
        job = cluster.submit(*options, "--", "true", "{}", ":::", *("12" if name == "delay" else "1"))
        waiting = Waiting(place, "job", "wait", job, log=f"on-node-{name}")
        bar = OnTerminal(place, "job", "progress", job, log=f"on-node-bar-{name}")
        told_everywhere(cluster, job, f"it is next on node n1, {why}", waiting, bar)
        want(counted(cluster, job) == (0, 1), name)
        everywhere(cluster, 1 if before else 0, 1)
        last = f"{job}.{2 if name == 'delay' else 1}"
        out, _ = cluster.spate("task explain", last)
        want(re.search(f"{last}: it is next on node n1, {why}", out), out)
        want("next" in cluster.spate("job tasks", job)[0], "its list")
        cluster.spate("job cancel", *filter(None, (before, job)))
        waiting.process.wait(60)
        bar.process.wait(60)
        want(name == "delay" or "running" not in bar.seen, bar.seen)
        wait(lambda: json.loads(cluster.spate("node list", "--json")[0])["next"] == 0, "it was taken back")


def test_the_first_in_line_does_not_run(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    first = cluster.submit("--leftovers", "wait=600s", "--",
                           f"({BUSY}) & until test -e end; do sleep 0.05; done")
    wait(lambda: running(cluster, first) == 1, "it runs")
    second = cluster.submit("--", "true")
    waits = Waiting(place, "job", "wait", second)
    waits.says(f"job {second} waits: it is next on node n1, which starts it when task {first}.1 ends")
    bar = OnTerminal(place, "job", "progress", second, log="bar")
    bar.shows("waiting: it is next on node n1")
    want("running" not in bar.seen, bar.seen)
    want(counted(cluster, second) == (0, 1), "it waits")
    everywhere(cluster, 1, 1)
    info = cluster.spate("job info", second)[0]
    want("queued: none of its tasks has been started yet" in info and "1: 1 queued" in info, info)
    want(f"{second}.1: it is next on node n1, which starts it when task {first}.1 ends"
         in cluster.spate("task explain", f"{second}.1")[0], "why")
    place.write("end")
    waits.says(f"where the command of task {first}.1 has ended but left running: ")
    place.write("go")
    waits.ended(0)
    bar.ended(0)


def test_a_start_is_one_fact(place: Place):
    """Whoever has read that a task runs reads it everywhere from then on."""
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    job = cluster.submit("--", f"{BUSY} # {{}}", ":::", "1", "2")

    def tasks():
        return [json.loads(line)["state"] for line in cluster.spate("job tasks", job, "--json")[0].splitlines()]

    seen = 0
    while seen < 2:
        seen = tasks().count("running")
        info = json.loads(cluster.spate("job info", job, "--json")[0])
        want(info["running"] >= seen, (seen, info))
        want(info["state"] == "running" or seen == 0, info)
    top, _ = cluster.spate("job top", job, "--once")
    want("running: 0 of 2 done, 2 running" in top, top)
    want(counted(cluster, job) == (2, 0), "they run")
    everywhere(cluster, 2, 0)
    for task in 1, 2:
        want("it has been running on node n1" in cluster.spate("task explain", f"{job}.{task}")[0], task)
    place.write("go")
    cluster.spate("job wait", job)


def test_waits_behind_gangs_and_own_limits(place: Place):
    """The gang's wait, a job that may not pass it, and one that runs as many of its tasks as it may."""
    cluster = cluster_of(place)
    for name in ("n1", "n2"):
        cluster.node(name, "-j", "2", "--cpus", "2")
    jobs = {"own": cluster.submit("--array", "1-3", "--max-running", "1", "--time", "1h", "--", BUSY + " # {}")}
    wait(lambda: json.loads(cluster.spate("job info", jobs["own"], "--json")[0])["running"] == 1, "it runs")
    jobs["gang"] = cluster.submit("--nodes", "2", "--cpus", "2", "--time", "1m", "--", "true")
    jobs["behind"] = cluster.submit("--time", "2h", "--", "true")
    table = {"own": "the job has reached its limit of 1 task at once",
             "gang": r"it is the first waiting gang; it starts within (59m\d+s|1h00m\S*) on n1, n2",
             "behind": rf"n1, n2 are kept for task {jobs['gang']}.1, a gang of user"}
    for name, why in table.items():
        out, _ = cluster.spate("task explain", jobs[name] + (".2" if name == "own" else ".1"))
        want(re.search(why, out), out)
        if name == "own":  # `job wait` prints no reason while tasks of the job run
            want(why in json.loads(cluster.spate("job info", jobs[name], "--json")[0])["waits"], name)
            continue
        waiting = Waiting(place, "job", "wait", jobs[name], log=f"wait-{name}")
        bar = OnTerminal(place, "job", "progress", jobs[name], log=f"bar-{name}")
        told_everywhere(cluster, jobs[name], why, waiting, bar)
    place.write("go")
    cluster.spate("job wait", *jobs.values())


def test_a_wait_with_a_limit(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--", BUSY)
    _, err = cluster.spate("job wait", job, "--timeout", "1s", code=124)
    want(f"spate: job {job} continues; to wait again: spate job wait {job}" in err, err)
    place.write("go")
    cluster.spate("job wait", job, "--timeout", "1h")
    _, err = cluster.spate("job wait", job, "--timeout", "soon", code=2)
    want("--timeout: 'soon'" in err, err)
    run = Waiting(place, "run", "--", "until test -e on; do sleep 0.05; done", log="run")
    wait(lambda: "running" in cluster.spate("job list", "--local")[0], "it runs")
    cluster.spate("job wait", "--local", "last", "--timeout", "1s", code=124)
    place.write("on")
    run.ended(0)


def test_tasks_of_a_silent_node_do_not_start_next(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "1")
    job = cluster.submit("--", BUSY)
    waits = Waiting(place, "job", "wait", job)
    wait(lambda: "running on node n1" in cluster.spate("task explain", f"{job}.1")[0], "it runs")
    stop(node)
    try:
        waits.says("it is running on n1, which does not respond")
        out, _ = cluster.spate("task explain", f"{job}.1")
        want("it is running on n1, which does not respond; if it stays silent for" in out, out)
        want("more, its tasks restart elsewhere" in out, out)
    finally:
        node.send_signal(signal.SIGCONT)
    place.write("go")
    waits.ended(0)


def test_nodes_on_their_way_back(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "1")
    stop(node)
    try:
        cluster.kill_hub()
        cluster.start_hub()
        waits = Waiting(place, "submit", "--wait", "--", "true")
        waits.says("no node is connected: n1 (away for ")
        waits.says("; a running node reconnects automatically; to start another: spate node start")
    finally:
        node.send_signal(signal.SIGCONT)
    waits.ended(0)


# Of nodes that are gone: what is waited for while n1 is lost and n2 drained, and how the job asks for nodes.
MISSING = {
    "own": (r"the only nodes that can run it accept no tasks: n1 \(away for ", ("--on", "n1")),
    "gang": (r"no set of nodes has room for it: it is a gang .* n2 holds 1; not available: n1 \(away for [^)]+\), n2 "
             r"\(drained: new disk\); to resume n2: spate node resume n2", ("--nodes", "2")),
    "large": (r"no node fits: it needs 4 cpus, n2 offers 1; not available: n1 \(away for [^)]+\), n2 \(drained: new disk\)",
              ("--cpus", "4")),
}


def test_nodes_that_are_lost_or_drained_are_named(place: Place):
    cluster = cluster_of(place, "--listen", "127.0.0.1:0", "--suspect-after", "1s", "--lost-after", "2s")
    node = cluster.node("n1", "-j", "1", "--cpus", "1")
    other = cluster.node("n2", "-j", "1", "--cpus", "1")
    cluster.spate("node drain", "n2", "--reason", "new disk")
    jobs = {name: cluster.submit(*words, "--", "true") for name, (_, words) in MISSING.items() if name != "own"}
    # One of its two nodes is there.
    out, _ = cluster.spate("task explain", f"{jobs['gang']}.1")
    want("1 is there; not available: n2 (drained: new disk); to resume n2: spate node resume n2" in out, out)

    def lose(which, name):
        which.kill()
        which.wait()
        # What a lost node offers is forgotten.
        wait(lambda: [node["slots"] for node in map(json.loads, cluster.spate("node list", "--json")[0].splitlines())
                      if node["node"] == name] == [0], f"{name} is lost")

    lose(node, "n1")
    jobs["own"] = cluster.submit(*MISSING["own"][1], "--", "true")
    waiting = {name: Waiting(place, "job", "wait", jobs[name], log=f"wait-{name}") for name in MISSING}
    bars = {name: OnTerminal(place, "job", "progress", jobs[name], log=f"bar-{name}") for name in MISSING}
    for name, (why, _) in MISSING.items():
        told_everywhere(cluster, jobs[name], why, waiting[name], bars[name])
        out, _ = cluster.spate("task explain", f"{jobs[name]}.1")
        want(re.search(why, out), out)
    lose(other, "n2")
    out, _ = cluster.spate("task explain", f"{jobs['large']}.1")
    want(re.search(r"no node is connected: n1 \(away for [^)]+\), n2 \(away for [^)]+\)", out), out)
    cluster.spate("job cancel", *jobs.values())
    for name in MISSING:
        waiting[name].process.wait(60)
        bars[name].process.wait(60)


def test_a_cancelled_task_that_does_not_end(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "1")
    job = cluster.submit("--kill-grace", "1h", "--", f"trap '' TERM; touch begun; {BUSY}; false")
    wait(lambda: os.path.exists(os.path.join(place.dir, "begun")), "it runs")
    cluster.spate("job cancel", job)
    why = rf"job {job} was cancelled, and 1 task has not ended yet: a task that ignores TERM gets KILL after its --kill-grace"
    waits, bar = Waiting(place, "job", "wait", job), OnTerminal(place, "job", "progress", job, log="bar")
    told_everywhere(cluster, job, why, waits, bar)
    want("to cancel" not in place.read("waiting"), place.read("waiting"))
    out, _ = cluster.spate("task explain", f"{job}.1")
    want(re.search(why, out), out)
    stop(node)
    try:
        silent = "it is running on n1, which does not respond; if it stays silent for"
        waits.says(silent)
        want("no node is connected" not in place.read("waiting"), place.read("waiting"))
        out, _ = cluster.spate("task explain", f"{job}.1")
        want(silent in out and "more, its cancelled tasks count as ended" in out, out)
    finally:
        node.send_signal(signal.SIGCONT)
    place.write("go")
    waits.ended(1)
    bar.ended(1)


def test_a_job_says_why_it_was_cancelled(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    before = cluster.submit("--", f"{BUSY}; false")
    after = cluster.submit("--after", before, "--", "true")
    late = cluster.submit("--deadline", "1s", "--", "true", ":::", "1", "2")
    waits = {job: Waiting(place, "job", "wait", job, log=f"wait-{job}") for job in (after, late)}
    bars = {job: OnTerminal(place, "job", "progress", job, log=f"bar-{job}") for job in (after, late)}
    wait(lambda: json.loads(cluster.spate("job info", late, "--json")[0])["state"] == "cancelled", "its deadline passed")
    place.write("go")
    whys = {after: (f"job {before}, which had to succeed first, did not",
                    f"to run it anyway, without that condition: spate job retry {after}"),
            late: ("deadline", "to run what was cancelled, submit it again with a later --deadline")}
    for job, (why, advice) in whys.items():
        said = waits[job].ended(1)
        want(f"spate: cancelled: {why}" in said or f" {why}" in said, said)
        want("spate: cancelled: " in said and advice in said and "to run them again" not in said, said)
        bars[job].shows(re.escape(advice))
        bars[job].ended(1)
        out, _ = cluster.spate("job info", job)
        want(re.search(rf"cancelled +.*{why}", out), out)
        want(why in json.loads(cluster.spate("job info", job, "--json")[0])["why_cancelled"], "in JSON")
        (line,) = (json.loads(line) for line in cluster.spate("job list", "--json", job)[0].splitlines())
        want(why in line["why_cancelled"], line)
    out, _ = cluster.spate("job list")
    want(re.search(r"NOTE\n", out) and "which had to succeed" in out, out)
    _, err = place.run("--hub", "--deadline", "1s", "--", "sleep 5; true", code=1)
    want("cancelled: it had not ended by its deadline" in err, err)
    # A user's own order needs no reason.
    mine = cluster.submit("--open", "--", "sleep 100")
    cluster.spate("job cancel", mine)
    _, err = cluster.spate("job wait", mine, code=1)
    want(f"to run them again: spate job retry {mine}" in err, err)
    want(json.loads(cluster.spate("job info", mine, "--json")[0])["why_cancelled"] is None, "nobody else did")


def test_a_run_says_why_nothing_runs(place: Place):
    words = ("run", "--retries", "1", "--retry-delay", "1h", "--", "false")
    said = Waiting(place, *words, log="said")
    said.says("spate: no tasks start for now: the next try of a task waits for --retry-delay until 20")
    beside = OnTerminal(place, "job", "progress", "1", log="beside")
    beside.shows(r"waiting: it waits \S+ before its next try")
    bar = OnTerminal(place, *words, log="bar")
    bar.shows("waiting: the next try of a task waits for --retry-delay until 20")
    for run in said, bar:
        run.process.send_signal(signal.SIGINT)
        run.ended(130)
    beside.ended(1)
    _, err = place.run("-j", "1", "--deadline", "1s", "--", "sleep 5; true", code=1)
    want("cancelled: the --deadline passed" in err, err)
    _, err = place.run("last", command="job wait", code=1)
    want("spate: cancelled: it had not ended by its deadline" in err, err)


def test_a_task_whose_files_do_not_open(place: Place):
    """A named pipe without another end, in a run and on a hub."""
    os.mkfifo(os.path.join(place.dir, "pipe"))
    why = r"still waiting to open '\S*pipe' as stdout: no process has opened the other end of this named pipe"
    words = ("--stdout", "pipe", "--", "echo", "hello")

    def opened():
        with open(os.path.join(place.dir, "pipe")) as pipe:
            want(pipe.read() == "hello\n", "what it wrote")

    def says(waiting):
        wait(lambda: re.search(f"spate: (job 1: )?task 1 {why}\n", place.read(waiting.log)), place.read(waiting.log))

    run = Waiting(place, "run", *words, log="run")
    says(run)
    beside = OnTerminal(place, "job", "progress", "1", log="beside")
    beside.shows("still waiting to open")
    out, _ = place.run("1.1", command="task explain")
    want(re.search(f"its command has not started on node .*: {why}", " ".join(out.split())), out)
    opened()
    run.ended(0)
    beside.ended(0)
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit(*words)
    waits = Waiting(place, "job", "wait", job, log="waits")
    says(waits)
    info, _ = cluster.spate("job info", job)
    want(re.search(rf"waits for +task 1: {why} on node n1\n", info), info)
    out, _ = cluster.spate("task explain", f"{job}.1")
    want(re.search(f"its command has not started on node n1: {why}", out), out)
    opened()
    waits.ended(0)


def test_the_first_interrupt_names_a_pipe_that_does_not_open(place: Place):
    os.mkfifo(os.path.join(place.dir, "pipe"))
    run = Waiting(place, "run", "--stdout", "pipe", "--", "echo", "hello", log="run")
    run.says("task 1 still waiting to open")
    run.process.send_signal(signal.SIGINT)
    run.says("1 task still running (press Ctrl-C again to terminate them)\nspate: task 1 still waiting to open")
    run.process.send_signal(signal.SIGINT)
    run.ended(130)


def test_a_follower_goes_on_after_a_restart_of_the_hub(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    lines = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo {}-$i; done; test {} != 2 || until test -e go; do sleep 0.05; done"
    job = cluster.submit("--open", "--", lines, ":::", "1", "2", "3")
    tail = Waiting(place, "job", "tail", "-f", job, "-n", "3")
    tail.says("1-12")
    cluster.spate("job tail", job)  # by then it has heard from where on to follow
    cluster.kill_hub()
    tail.says("the hub is unreachable")
    cluster.start_hub()
    place.write("go")
    tail.says("3-12")
    tail.says(f"job {job} is open: its tasks have ended")
    cluster.spate("job close", job)
    said = tail.ended(0)
    want(re.findall(r"^[23]-\d+$", said, re.M) == [f"{task}-{i}" for task in (2, 3) for i in range(1, 13)], said)


def test_a_stopped_hub_is_named(place: Place):
    cluster = cluster_of(place)
    stop(cluster.hub)
    try:
        for words, code in ((["job list"], 5), (["submit", "--", "true"], 5), (["hub status"], 5),
                            (["job wait", "1", "--json"], 5), (["run", "--hub", "--", "true"], 5),
                            (["top", "--once"], 5), (["job get", "1"], 5)):
            out, err = cluster.spate(*words, code=code)
            want("--json" not in words or json.loads(out)["exit_code"] == code, out)
            want(f"its process {cluster.hub.pid} is stopped by a signal; to let it continue: kill -CONT "
                 f"{cluster.hub.pid}" in err, err)
            want("Start it" not in err, err)
    finally:
        cluster.hub.send_signal(signal.SIGCONT)
    cluster.spate("hub status")
    cluster.kill_hub()
    cluster.spate("hub status", code=3)


def test_a_typed_folder_means_its_hub_whatever_access_files_there_are(place: Place):
    cluster = cluster_of(place)
    path = cluster.access("--role", "client", "--user", "ann", name="other")
    place.env = dict(place.env, SPATE_HUB=path)
    out, _ = place.run("--state", place.state, command="hub access list")
    want("ann" in out, out)
    _, err = place.run(command="hub access list", code=3)
    want("admin" in err, err)


def test_a_run_that_is_held_or_stopped(place: Place):
    run = Waiting(place, "run", "-j", "1", "--", "until test -e go; do sleep 0.05; done; echo {}", ":::", "1", "2", log="run")
    wait(lambda: "running" in place.run(command="job list")[0], "it runs")
    waits = Waiting(place, "job", "wait", "1")
    place.run("1", command="job hold")
    waits.says("job 1 is held: no more of its tasks start; to continue: spate job release 1")
    out, _ = place.run("1.1-2", command="task explain")
    want("held from another terminal" in out, out)
    place.run("1", command="job release")
    stop(run.process)
    try:
        other = Waiting(place, "job", "wait", "1", log="other")
        other.says(f"its process {run.process.pid} is stopped by a signal; to let it continue: kill -CONT {run.process.pid}")
        _, err = place.run("1", command="job hold", code=3)
        want("is stopped by a signal" in err, err)
    finally:
        run.process.send_signal(signal.SIGCONT)
    place.write("go")
    for each in waits, other, run:
        each.ended(0)


def test_what_a_task_of_a_run_waits_for(place: Place):
    place.write("d.dag", f"TASK a /bin/sh -c \"{BUSY}\"", "TASK b /bin/true", "EDGE a b")
    run = Waiting(place, "run", "d.dag", log="run")
    wait(lambda: "running" in place.run(command="job list")[0], "it runs")
    out, _ = place.run("1.b", command="task explain")
    want("it waits for 1 of 1 parent: task a" in out, out)
    line = json.loads(place.run("1.b", "--json", command="task explain")[0])
    want(line["reason"] == "parents", line)
    place.write("go")
    run.ended(0)


def test_a_folder_of_a_hub_is_not_one_of_runs(place: Place):
    cluster_of(place)
    for folder in (place.state, os.path.join(place.state, "hub")):
        _, err = place.run("--local", "--state", folder, command="job list")
        want(f"a hub has its jobs there (see: spate job list --hub --state {place.state})" in err, err)


def test_who_has_the_places_of_a_semaphore(place: Place):
    first = Waiting(place, "sem", "--id", "disk", "--fg", "--", "sh", "-c", BUSY, log="first")
    lock = os.path.join(place.state, "sem", "disk", "1")
    wait(lambda: os.path.exists(lock) and "spate sem: sh -c" in open(lock).read(), "it has the place")
    second = Waiting(place, "sem", "--id", "disk", "--fg", "--", "true", log="second")
    second.says("spate: semaphore 'disk': its place is taken (sh -c 'until test -e go")
    place.write("go")
    first.ended(0)
    second.ended(0)
    spate = Waiting.__init__.__globals__["SPATE"]
    _, err = place.run("--id", "b", "--fg", "--", spate, "sem", "--id", "b", "--fg", "--", "true", command="sem", code=2)
    want("would wait for its own end; nothing was started" in err, err)


if __name__ == "__main__":
    main(globals(), at_once=4)
