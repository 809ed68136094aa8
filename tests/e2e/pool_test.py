"""Pools: a hub that asks batch systems for nodes. The batch system is a fake of Slurm's commands (tests/batch), over real
processes; real ones are in pool_slurm_test.py and pool_gridengine_test.py, fakes of others in pool_pbs_test.py and
pool_htcondor_test.py."""
import json
import os
import re
import signal
import time

from harness import DEADLINE, Place, alive, main, option, wait, want
from cluster import cluster_of, free_port
import pool_cluster
from pool_cluster import add, gone, nodes, pilots_of, pools, slurm

# Longer than a hub lets a connection be silent.
SECONDS = option("--seconds", 18)


def test_a_pool_on_this_machine(place: Place):
    cluster = cluster_of(place)
    cluster.spate("pool add", "local", "here", "--slots", "2")
    job = cluster.submit("--wait", "--pool", "here", "--", "echo $SPATE_NODE >> who # {}", ":::", *"abcd")
    want(set(place.lines("who")) == {"here.1"}, place.read("who"))
    cluster.spate("pool remove", "here", "--wait")
    wait(lambda: "here.1" not in [n for n in nodes(cluster)] or
         '"away"' in cluster.spate("node list", "--json")[0], "its node is gone")
    want(job == "1", job)


def test_slots_are_tasks_at_once(place: Place):
    """Also where the machine has fewer cores."""
    cluster = cluster_of(place)
    slots = os.cpu_count() + 3
    cluster.spate("pool add", "local", "here", "--slots", str(slots))
    job = cluster.submit("--pool", "here", "--", "echo {} >> began; until [ -e go ]; do sleep 0.05; done", ":::",
                         *map(str, range(slots)))
    wait(lambda: len(place.lines("began")) == slots, "as many run at once")
    place.write("go")
    cluster.spate("job wait", job)


def test_pilots_come_with_work_and_go_without(place: Place):
    batch = slurm(place)
    cluster = cluster_of(place)
    cluster.spate("pool add", "slurm", "short", "--time-limit", "1h", "--idle-exit", "1s", "--max-pilots", "3",
                  "--submit-rate", "20", "--", "-p", "short")
    # Nothing waits for it: nothing is asked for, though demand was told meanwhile.
    cluster.spate("pool add", "local", "here", "--slots", "1")
    cluster.submit("--wait", "--pool", "here", "--", "true")
    want(not batch.jobs(), batch.jobs())
    cluster.spate("pool remove", "here")
    cluster.submit("--wait", "--pool", "short", "--", "echo $SPATE_NODE $SLURM_JOB_ID >> who; sleep 0.1 # {}",
                   ":::", *map(str, range(40)))
    who = [line.split() for line in place.lines("who")]
    want(len(who) == 40 and all(node.startswith("short.") for node, _ in who), who)
    out, _ = cluster.spate("pool info", "short")
    want("short" in out, out)
    gone(cluster, batch, "short")
    log, _ = cluster.spate("node list", "--json")
    want(not [line for line in log.splitlines() if '"ready"' in line], log)


def test_pilots_that_had_short_tasks_were_of_use(place: Place):
    """Else the pool would ask ever more slowly, after half a minute, a minute, two."""
    batch = slurm(place)
    cluster = cluster_of(place)
    cluster.spate("pool add", "slurm", "p", "--time-limit", "1h", "--idle-exit", "0.5s", "--submit-rate", "20",
                  "--max-pilots", "1")
    for _ in range(4):
        cluster.submit("--wait", "--pool", "p", "--", "true")
        wait(lambda: not batch.alive(), "its pilot has ended, which the hub does not know yet")
    want(len(batch.jobs()) == 4, batch.jobs())


def test_nothing_is_asked_for_what_cannot_start(place: Place):
    batch = slurm(place)
    cluster = cluster_of(place)
    cluster.spate("pool add", "slurm", "small", "--time-limit", "1h", "--cpus", "2", "--submit-rate", "20")
    big = cluster.submit("--pool", "small", "--cpus", "8", "--", "true")
    late = cluster.submit("--pool", "small", "--time", "2h", "--", "true")
    why, _ = cluster.spate("task explain", f"{big}.1")
    want("needs 8 cpus" in why and "pool small" in why, why)
    why, _ = cluster.spate("task explain", f"{late}.1")
    want("2h" in why and "pool small" in why, why)
    fits = cluster.submit("--wait", "--pool", "small", "--", "true")
    want(fits == "3", fits)
    want(len(batch.jobs()) == 1, batch.jobs())
    cluster.spate("job cancel", big, late)


def test_a_pool_asks_for_nothing_that_was_wanted_before_it(place: Place):
    batch = slurm(place)
    cluster = cluster_of(place)
    add = ("pool add", "slurm", "p", "--time-limit", "1h", "--submit-rate", "20")
    cluster.spate(*add)
    job = cluster.submit("--pool", "p", "--", "sleep 100")
    wait(batch.jobs, "a pilot was asked for")
    cluster.spate("pool remove", "p", "--wait")
    cluster.spate("job cancel", job)
    cluster.spate(*add)
    log, _ = cluster.spate("pool log", "p", "--json")
    want('"set"' in log and '"requested"' not in log, log)


def test_a_kill_of_the_hub_doubles_no_pilot(place: Place):
    batch = slurm(place)
    cluster = cluster_of(place, "--listen", "127.0.0.1:" + str(free_port()))
    cluster.spate("pool add", "slurm", "p", "--time-limit", "1h", "--idle-exit", "1s", "--max-pilots", "2",
                  "--submit-rate", "20")
    batch.set("lost")  # submits are carried out, and their answers are lost
    job = cluster.submit("--pool", "p", "--", "sleep 0.3; echo {} >> done", ":::", *map(str, range(12)))
    wait(batch.jobs, "a pilot was asked for")
    cluster.kill_hub()
    batch.clear("lost")
    cluster.start_hub()
    cluster.spate("job wait", job)
    want(sorted(place.lines("done"), key=int) == [str(i) for i in range(12)], place.lines("done"))
    want(len(batch.jobs()) <= 2, batch.names())
    gone(cluster, batch, "p")


def test_why_a_pilot_never_came(place: Place):
    batch = slurm(place)
    cluster = cluster_of(place)
    cluster.spate("pool add", "slurm", "p", "--time-limit", "1h", "--submit-rate", "20", "--prologue",
                  r"printf 'loading gcc\n\nno module called gcc\033[31m\302\233\342\200\256\n'; false")
    job = cluster.submit("--pool", "p", "--", "true")
    wait(lambda: pools(cluster)[0]["state"] == "paused", "the pool pauses")
    why, _ = cluster.spate("task explain", f"{job}.1")
    want("pool p is paused" in why and "no module called gcc" in why and "spate pool resume p" in why, why)
    want("loading gcc; no module" in why and "\\n" not in why, why)
    want(len(batch.jobs()) == 3, batch.jobs())
    [pool] = pools(cluster)
    want(f"on host {os.uname().nodename}" in pool["why"] and pool["avoids"] == [os.uname().nodename], pool)
    # The log tells what is durable, a moment later.
    wait(lambda: "paused" in cluster.spate("pool log", "p")[0], "the log says so")
    # What it wrote has control characters of three kinds, which no terminal gets.
    for command in (("task explain", f"{job}.1"), ("job info", job), ("job list",), ("pool info", "p"), ("pool log", "p")):
        out, _ = cluster.spate(*command)
        want("gcc\\x1b[31m\\xc2\\x9b\\u202e" in out or command[0].startswith("job"), (command, out))
        json_too, _ = cluster.spate(*command, "--json")
        want(not any(raw in out + json_too for raw in ("\x1b", "\x9b", "\u202e")), (command, out, json_too))
    cluster.spate("pool set", "p", "--prologue", "")
    cluster.spate("pool resume", "p")
    cluster.spate("job wait", job)


def test_one_bad_host_of_several(place: Place):
    """A pilot that fails frees its host, which the batch system then gives to the next one."""
    batch = slurm(place)
    batch.set("hosts", "n1 n2 n3")
    cluster = cluster_of(place)
    add(cluster, "slurm", "p", "--max-pilots", "2", "--prologue",
        f"echo $SLURMD_NODENAME >>{place.dir}/tried; test $SLURMD_NODENAME != n1 || {{ echo no scratch here; exit 4; }}")
    cluster.submit("--wait", "--pool", "p", "--", "echo {} >>done", ":::", "0", "1")
    pool_cluster.all_done(place, 2)
    want(sorted(place.lines("tried")[:2]) == ["n1", "n2"] and place.lines("tried").count("n1") == 1, place.lines("tried"))
    [pool] = pools(cluster)
    want(pool["state"] == "on" and pool["avoids"] == ["n1"], pool)
    info = cluster.spate("pool info", "p")[0]
    want("avoids     n1 (pilots failed there)" in info, info)
    wait(lambda: pool_cluster.words_of_ends(cluster, "ended"), "the log tells of it")
    words = pool_cluster.words_of_ends(cluster, "ended")[0]
    want("no scratch here" in words and "on host n1" in words, words)
    # Also after a restart; a change of the pool forgets it.
    wait(lambda: not batch.alive(), "no pilot is left")
    cluster.kill_hub()
    cluster.start_hub()
    cluster.submit("--wait", "--pool", "p", "--", "true")
    want(place.lines("tried").count("n1") == 1 and place.lines("tried").count("n2") == 2, place.lines("tried"))
    cluster.spate("pool set", "p", "--max-pilots", "3")
    wait(lambda: pools(cluster)[0]["avoids"] == [], "it avoids no host")


def test_hosts_that_all_fail_pause_the_pool(place: Place):
    """When no host is left, pilots may run on any."""
    batch = slurm(place)
    batch.set("hosts", "n1 n2")
    cluster = cluster_of(place)
    add(cluster, "slurm", "p", "--prologue", "echo no scratch here; exit 4")
    cluster.submit("--pool", "p", "--", "true")
    wait(lambda: pools(cluster)[0]["state"] == "paused", "the pool pauses")
    [pool] = pools(cluster)
    want("3 pilots in a row" in pool["why"] and "no scratch here" in pool["why"] and "on host n1" in pool["why"], pool)
    want([batch.read(job, "host") for job in batch.jobs()] == ["n1", "n2", "n1"], batch.jobs())


def test_a_pilot_that_took_leave_and_is_not_listed(place: Place):
    """Some systems forget at once what has ended. Its node has said so itself: one answer is enough."""
    batch = slurm(place)
    batch.set("forgets")
    cluster = batch.cluster(*pool_cluster.PATIENT)
    add(cluster, "slurm", "p", "--max-pilots", "1")
    job = cluster.submit("--pool", "p", "--", pool_cluster.CAREFUL, ":::", "0", "1")
    wait(lambda: len(place.lines("began")) == 2, "both tasks run")
    batch.call("scancel", batch.jobs()[0])
    wait(lambda: len(place.lines("began")) == 4, "both run again, in a new pilot")
    place.write("go")
    cluster.spate("job wait", job)
    pool_cluster.all_done(place, 2)
    words = pool_cluster.words_of_ends(cluster, "forgotten")
    want(words[:1] == ["its node has ended, and the batch system no longer lists it"], words)


def test_tasks_have_what_the_prologue_changed(place: Place):
    """And a wrapper is before the node's command; what pilots wrote is kept, and shown."""
    slurm(place)
    cluster = cluster_of(place)
    apps = os.path.join(place.dir, "apps")
    os.makedirs(apps)
    place.write("apps/tool", "#!/bin/sh", "echo the tool")
    os.chmod(os.path.join(apps, "tool"), 0o755)
    cluster.spate("pool add", "slurm", "lab", "--time-limit", "1h", "--submit-rate", "20", "--idle-exit", "1s",
                  "--prologue", f"PATH={apps}:$PATH; export LOADED=gcc", "--wrapper", "env WRAPPED=yes")
    job = cluster.submit("--wait", "--pool", "lab", "--env", "PATH=/usr/bin:/bin", "--env", "LOADED=mine",
                         "--env", "OTHER=2", "--", "sh", "-c",
                         'tool; echo $LOADED $OTHER; tr "\\0" "\\n" </proc/$PPID/environ | grep ^WRAPPED').split()[0]
    out, _ = cluster.spate("job cat", job)
    want(out == "the tool\ngcc 2\nWRAPPED=yes\n", out)
    wait(lambda: "ended" in cluster.spate("pool log", "lab")[0], "its pilot has ended")
    out, _ = cluster.spate("pool log", "lab", "--output-of", "1")
    want("tasks have what the prologue and the wrapper changed: LOADED PATH WRAPPED" in out, out)
    _, err = cluster.spate("pool log", "lab", "--output-of", "7", code=2)
    want("nothing is kept of what pilot 7 of pool lab wrote" in err, err)
    # One command for several nodes is another matter.
    _, err = cluster.spate("pool set", "lab", "--nodes-per-pilot", "2", code=2)
    want("--wrapper is for pilots of one node" in err, err)
    cluster.spate("pool remove", "lab", "--wait")


def test_tasks_have_their_pilots_batch_job(place: Place):
    """Not the one in which they were submitted, whose allocation is another; outside of any, they have none."""
    batch = slurm(place)
    cluster = cluster_of(place)
    cluster.node("n1")
    outside = place.env
    add(cluster, "slurm", "p")
    show = "echo ${SLURM_JOB_ID-none} ${SLURM_JOB_NUM_NODES-none} ${SLURM_ARRAY_TASK_ID-none}"
    place.env = dict(outside, SLURM_JOB_ID="999", SLURM_JOB_NUM_NODES="64", SLURM_ARRAY_TASK_ID="3")
    job = cluster.submit("--wait", "--pool", "p", "--", show).split()[0]
    out, _ = cluster.spate("job cat", job)
    want(out == f"{batch.jobs()[0]} 1 none\n", out)
    out, _ = cluster.spate("job info", job)
    want("not passed SLURM_JOB_ID, SLURM_" in " ".join(out.split()), out)
    out, _ = cluster.spate("job info", job, "--json")
    want(sorted(json.loads(out)["not_passed"]) == ["SLURM_ARRAY_TASK_ID", "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES"], out)
    out, _ = place.run("--", show)
    want(out == "999 64 3\n", out)
    for theirs in ({"SLURM_JOB_ID": "999", "SLURM_NNODES": "64"}, {"PBS_JOBID": "9.server", "NCPUS": "64"},
                   {"JOB_ID": "9", "NSLOTS": "64", "SGE_TASK_ID": "3"}, {"_CONDOR_SCRATCH_DIR": "/gone", "TMPDIR": "/gone/tmp"}):
        place.env = dict(outside, MINE="1", **theirs)
        job = cluster.submit("--wait", "--on", "n1", "--", "env").split()[0]
        names = {line.split("=")[0] for line in cluster.spate("job cat", job)[0].splitlines()}
        want("MINE" in names and not names & (theirs.keys() - outside.keys()), (theirs, names))
        out, _ = cluster.spate("job info", job, "--json")
        want(theirs.keys() <= set(json.loads(out)["not_passed"]), (theirs, out))
    place.env = outside
    job = cluster.submit("--wait", "--on", "n1", "--", "true").split()[0]
    want("not passed" not in cluster.spate("job info", job)[0], "nothing is left out")
    cluster.spate("pool remove", "p", "--wait")


def test_a_time_limit_that_the_own_options_contradict_is_refused(place: Place):
    slurm(place)
    cluster = cluster_of(place)
    cluster.spate("pool add", "slurm", "p", "--", "-p", "short", "-t", "1m")
    _, err = cluster.spate("pool set", "p", "--time-limit", "30m", code=2)
    want("--time-limit is 30m00s, but '-t 0:01:00' among the pool's own options is 1m00s, and the batch system obeys that one"
         in err and "spate pool set" in err and " p -- OPTIONS" in err, err)
    want(pools(cluster)[0]["time_limit"] == 60, pools(cluster))
    cluster.spate("pool set", "p", "--time-limit", "1m", "--max-pilots", "7")
    cluster.spate("pool set", "p", "--", "-p", "short", "-t", "30m")
    want(pools(cluster)[0]["time_limit"] == 1800, pools(cluster))


def test_a_pilot_whose_folder_for_temporary_files_is_missing(place: Place):
    """As where TMPDIR names a disk that only the login machine has. It uses /tmp, and names its node."""
    slurm(place)
    place.env = dict(place.env, TMPDIR="/gone/tmp")
    cluster = cluster_of(place)
    add(cluster, "slurm", "p", "--prologue", "true")
    cluster.submit("--wait", "--pool", "p", "--get", "out", "--", "echo $SPATE_NODE > out")
    want(place.read("out") == "p.1\n", place.read("out"))
    wait(lambda: "ended" in cluster.spate("pool log", "p")[0], "its pilot has ended")
    out, _ = cluster.spate("pool log", "p", "--output-of", "1")
    want("node p.1 on " in out and "cannot create a folder in $TMPDIR '/gone/tmp': No such file or directory; using /tmp" in out,
         out)
    want(not os.path.exists("/gone"), "it was made")


def test_what_a_newcomer_types_first(place: Place):
    """Each answer names the line that is right: the hub that it starts is one that pilots reach."""
    _, err = place.run("slurm", "p", "-p", "short", command="pool add", code=2)
    want("-p: an option of the batch system; write those at the end, after --" in err, err)
    _, err = place.run("slurm", "p", "--", "-p", "short", command="pool add", code=3)
    want("spate hub start --daemon --listen '*'" in err, err)
    _, err = place.run("local", "p", command="pool add", code=3)
    want("spate hub start --daemon\n" in err, err)
    slurm(place)
    cluster = cluster_of(place, "--listen", "none")
    _, err = cluster.spate("pool add", "slurm", "p", "--", "-p", "short", code=3)
    want("spate hub start --daemon --listen '*'" in err, err)


def test_a_batch_system_that_the_hub_sees_otherwise_is_told(place: Place):
    batch = slurm(place)
    cluster = cluster_of(place)
    _, err = cluster.spate("pool add", "slurm", "same", "--time-limit", "1h")
    want("does not look for the batch system" not in err, err)
    os.mkdir(os.path.join(place.dir, "other"))
    mine = os.path.join(place.dir, place.write("other/sbatch", "#!/bin/sh"))
    os.chmod(mine, 0o755)
    place.env = dict(place.env, PATH=os.path.dirname(mine) + ":" + place.env["PATH"], SLURM_CONF="/x/slurm.conf")
    lines = (f"  sbatch: here '{mine}', for the hub '/", "  SLURM_CONF: here '/x/slurm.conf', for the hub not set",
             "restart the hub from this shell")
    _, err = cluster.spate("pool add", "slurm", "other", "--time-limit", "1h")
    want(all(line in err for line in lines), err)
    _, err = cluster.spate("pool add", "slurm", "own", "--time-limit", "1h", "--submit-command", mine, "--no-test")
    want("SLURM_CONF" in err and "sbatch: here" not in err, err)
    out, _ = cluster.spate("pool dry-run", "same")
    want("Test: passed\n  sbatch: a site's notice\n  sbatch: Job 1 to start" in out, out)
    # That says nothing of the options.
    batch.set("refuse", "Resource temporarily unavailable")
    _, err = cluster.spate("pool add", "slurm", "full", "--time-limit", "1h", code=3)
    want("the batch system accepts no more jobs for now, so the options were not tested; try again later, or use --no-test: "
         in err and "Resource temporarily unavailable" in err, err)
    cluster.spate("pool add", "slurm", "full", "--time-limit", "1h", "--no-test")
    batch.set("refuse", "Invalid account or account/partition combination specified")
    _, err = cluster.spate("pool add", "slurm", "no", "--time-limit", "1h", code=2)
    want("Invalid account" in err and all(line in err for line in lines), err)


def test_bad_input_says_what_it_was(place: Place):
    batch = slurm(place)
    cluster = cluster_of(place)
    batch.set("refuse", "Invalid account or account/partition combination specified")
    _, err = cluster.spate("pool add", "slurm", "p", "--time-limit", "1h", "--", "-A", "nobody", code=2)
    want("Invalid account" in err and "sbatch" in err, err)
    want(not pools(cluster), pools(cluster))
    batch.clear("refuse")
    _, err = cluster.spate("pool add", "slurm", "p", "--", "--job-name", "x", code=2)
    want("--job-name" in err, err)
    _, err = cluster.spate("pool add", "slurm", "p", "--submit-command", "/no/sbatch", code=2)
    want("/no/sbatch" in err, err)
    _, err = cluster.spate("pool add", "torque", "p", code=2)
    want("slurm" in err, err)
    _, err = cluster.spate("submit", "--pool", "none", "--", "true", code=2)
    want("none" in err, err)
    # A pool that was fine, until its account went.
    cluster.spate("pool add", "slurm", "p", "--time-limit", "1h", "--submit-rate", "20")
    batch.set("refuse", "Invalid account or account/partition combination specified")
    job = cluster.submit("--pool", "p", "--", "true")
    wait(lambda: "Invalid account" in cluster.spate("task explain", f"{job}.1")[0], "the reason is told")
    want(not batch.jobs(), batch.jobs())


def test_a_pools_folder_must_be_its_users_own(place: Place):
    """Who owns it would read the pilots' credentials, and a link of theirs would be written through."""
    if os.geteuid() != 0:
        return print("       (skipped: needs root)")
    cluster = cluster_of(place)
    folder = os.path.join(place.dir, "shared")
    for name, prepare, why in (
            ("theirs", lambda: (os.mkdir(folder), os.chown(folder, 65534, 65534)), "the folder must belong to root"),
            ("open", lambda: (os.chown(folder, 0, 0), os.chmod(folder, 0o777)), "nobody else may write to it")):
        prepare()
        cluster.spate("pool add", "local", name, "--folder", folder, "--no-test")
        job = cluster.submit("--pool", name, "--", "true")
        wait(lambda: why in cluster.spate("pool info", name)[0], why)
        want(not os.listdir(folder), os.listdir(folder))
        cluster.spate("job cancel", job)
        cluster.spate("pool remove", name, "--wait")
    os.chmod(folder, 0o755)
    # A link that its owner could change at any time, at the end of the way or on it.
    os.chmod(place.dir, 0o1777)
    above = os.path.join(place.dir, "above")
    os.mkdir(above)
    for name, link, to, way in (("link", "link", folder, "link"), ("way", "dir", above, "dir/below"),
                                ("chain", "mine", os.path.join(place.dir, "link"), "mine")):
        path = os.path.join(place.dir, link)
        os.symlink(to, path)
        if link != "mine":
            os.lchown(path, 65534, 65534)
        cluster.spate("pool add", "local", name, "--folder", os.path.join(place.dir, way), "--no-test")
        job = cluster.submit("--pool", name, "--", "true")
        wait(lambda: "is a link of another user" in cluster.spate("pool info", name)[0], name)
        want(not os.listdir(folder) and not os.listdir(above), (os.listdir(folder), os.listdir(above)))
        cluster.spate("job cancel", job)
        cluster.spate("pool remove", name, "--wait")
    # The user's own link is followed.
    os.symlink(folder, os.path.join(place.dir, "own"))
    cluster.spate("pool add", "local", "own", "--folder", os.path.join(place.dir, "own"))
    cluster.submit("--wait", "--pool", "own", "--", "true")
    # Its test would run as root, and show what root's prologue says.
    cluster.spate("pool set", "own", "--user", "*")
    ann = cluster.access("--role", "client", "--user", "ann", name="ann.access")
    cluster.spate("pool info", "own", "--access", ann)
    _, err = cluster.spate("pool dry-run", "own", "--access", ann, code=3)
    want("only they and the hub's administrators test it" in err, err)
    cluster.spate("pool dry-run", "own")


def test_nodes_of_a_removed_pool_leave_the_tables(place: Place):
    cluster = cluster_of(place)

    def names():
        return [json.loads(line)["node"] for line in cluster.spate("node list", "--output", "json")[0].splitlines()]
    # A waiting job avoids the node, because its task failed there; another pilot is killed.
    cluster.spate("pool add", "local", "p1", "--no-test")
    job = cluster.submit("--pool", "p1", "--retry-elsewhere", "1", "--retries", "1", "--retry-delay", "1h", "--", "test -e go")
    wait(names, "a pilot has joined")
    wait(lambda: json.loads(cluster.spate("job info", job, "--output", "json")[0])["queued"] == 1, "it waits for another")
    cluster.spate("pool remove", "p1", "--wait")
    wait(lambda: not names(), "they leave the tables", deadline=30)
    want("p1." not in cluster.spate("top", "--once")[0], "of top, too")
    cluster.kill_hub()
    cluster.start_hub()
    want(not names(), names())


def test_a_job_whose_pool_was_removed(place: Place):
    """The reason names the pool that a job waits for; nodes of other pools are no reason, and neither is that there are none."""
    batch = slurm(place)
    cluster = cluster_of(place)

    def explains(job, reason):
        for command in ("task explain", f"{job}.1"), ("job info", job):
            out = " ".join(cluster.spate(*command)[0].split())
            want(reason in out and "no node" not in out and "busy" not in out, out)
    batch.set("slots", "0")  # pilots stay in the queue
    add(cluster, "slurm", "lab")
    job = cluster.submit("--pool", "lab", "--", "true")
    wait(batch.jobs, "a pilot was asked for")
    cluster.spate("pool remove", "lab", "--wait")
    removed = "pool lab was removed; to add it again: spate pool add SYSTEM lab"
    explains(job, removed)
    cluster.spate("pool add", "local", "busy", "--slots", "1")
    works = cluster.submit("--pool", "busy", "--", "sleep 100")
    wait(lambda: nodes(cluster), "a node has joined")
    explains(job, removed)
    add(cluster, "slurm", "late")
    waits = cluster.submit("--pool", "late", "--", "true")
    wait(lambda: len(batch.jobs()) == 2, "a pilot was asked for")
    wait(lambda: "pool late has 1 pilot queued" in cluster.spate("task explain", f"{waits}.1")[0], "it is known")
    explains(waits, "pool late has 1 pilot queued")
    cluster.spate("job cancel", job, works, waits)
    cluster.spate("pool remove", "busy", "late", "--wait")


def test_a_pool_whose_batch_system_fails_is_named_first(place: Place):
    """And before the node that does not fit, since a bar has room for the beginning only."""
    batch = slurm(place)
    cluster = batch.cluster()
    cluster.node("small", "-j", "1", "--cpus", "1")
    add(cluster, "slurm", "lab")
    batch.set("down")
    job = cluster.submit("--cpus", "2", "--", "true")

    def waits():
        return json.loads(cluster.spate("job info", job, "--json")[0])["waits"] or ""

    wait(lambda: waits().startswith("pool lab gets no answer from its batch system: s"), "it is told")
    told = waits()
    want(re.search(r"; it has 1 pilot to submit; no node fits: it needs 2 cpus, small offers 1$", told), told)
    want(told.count(" failed (exit code 1)") == 1 and "queued" not in told, told)
    cluster.spate("job cancel", job)
    batch.clear("down")
    gone(cluster, batch, "lab")


def test_a_pilot_whose_node_is_killed(place: Place):
    batch = slurm(place)
    cluster = batch.cluster(*pool_cluster.PATIENT)
    pool_cluster.replaces_a_killed_node(place, cluster, lambda: add(cluster, "slurm", "p"), batch.alive)


def test_a_run_with_a_pool_of_its_own(place: Place):
    batch = slurm(place)
    place.write("jobs.lst", *[f"echo {i} $SLURM_JOB_ID >> done; sleep 0.05" for i in range(20)])
    options = ("--pool", "slurm:-p short -t 1h", "jobs.lst")
    runs = os.path.join(place.state, "pool-runs")
    for name, days in (("old", 91), ("recent", 89)):
        os.makedirs(os.path.join(runs, name, "hub"))
        then = time.time() - days * 24 * 3600
        os.utime(os.path.join(runs, name, "hub"), (then, then))
    place.run(*options)
    want("recent" in os.listdir(runs) and "old" not in os.listdir(runs), os.listdir(runs))
    want(sorted(int(line.split()[0]) for line in place.lines("done")) == list(range(20)), place.lines("done"))
    wait(lambda: not batch.alive(), "no pilot is left")
    want(not hubs_of(place), "a hub is left")


def test_a_run_with_a_pool_that_is_killed(place: Place):
    batch = slurm(place)
    # None of them ends in the moment in which its pilot is withdrawn.
    place.write("jobs.lst", *[f"echo {i} >> began; until [ -e go ]; do sleep 0.05; done; echo {i} >> done" for i in range(6)])
    options = ("--pool", "slurm:-t 60", "jobs.lst")
    run = place.start(*options)
    wait(lambda: place.lines("began"), "a task runs")
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    wait(lambda: not batch.alive(), "no pilot is left")
    wait(lambda: not hubs_of(place), "its hub has ended")
    place.write("go")
    place.run("--resume", *options)
    want(sorted(place.lines("done"), key=int) == [str(i) for i in range(6)], place.lines("done"))
    wait(lambda: not batch.alive(), "no pilot is left")


def test_a_run_that_outlasts_every_silence_withdraws_its_pilots(place: Place):
    """Its connection to its hub is idle while the tasks run. By hand, longer: --seconds 60"""
    batch = slurm(place)
    runs = [place.start("--pool", pool, "--", f"sleep {SECONDS}") for pool in ("slurm:-t 1h", "local:")]
    for run in runs:
        _, err = run.communicate(timeout=SECONDS + DEADLINE)
        want(run.returncode == 0 and last_line(err) == "spate: withdrew its pilot", (run.returncode, err))
        want(run != runs[0] or not batch.alive(), batch.states())
    want(len(batch.jobs()) == 1 and not pilots_of(place) and not hubs_of(place), (batch.jobs(), pilots_of(place)))


def test_ctrl_c_at_a_terminal_withdraws_and_resume_does_too(place: Place):
    """A terminal signals all processes of the command: its hub, too, if it were one of them."""
    batch = slurm(place)
    place.write("jobs.lst", *[f"echo {i} >> began; until [ -e go ]; do sleep 0.05; done; echo {i} >> done" for i in range(2)])
    options = ("--pool", "slurm:-t 60", "jobs.lst")
    run = place.start(*options)
    wait(lambda: len(place.lines("began")) == 2, "both tasks run")
    time.sleep(SECONDS - 1)
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=DEADLINE)
    want(run.returncode == 130 and last_line(err).startswith("spate: withdrew its "), (run.returncode, err))
    want(not batch.alive() and not hubs_of(place), batch.states())
    place.write("go")
    _, err = place.run("--resume", *options)
    want(sorted(place.lines("done")) == ["0", "1"] and last_line(err).startswith("spate: withdrew its "), err)
    want(not batch.alive() and not hubs_of(place), batch.states())


def test_what_is_left_is_named_and_the_hub_sees_it_through(place: Place):
    batch = slurm(place)
    # It ends only when it is killed, 10 s after it was asked to.
    place.write("jobs.lst", "trap '' TERM; echo >> began; while :; do sleep 0.1; done")
    with open(os.path.join(place.dir, "err"), "w") as err:
        run = place.start("--pool", "slurm:-t 60", "jobs.lst", stdout=err, stderr=err)
    wait(lambda: place.lines("began"), "the task runs")
    os.killpg(run.pid, signal.SIGINT)
    wait(lambda: "spate: withdrawing its pilot; Ctrl-C leaves this to the run's hub\n" in place.read("err"), "it withdraws")
    os.killpg(run.pid, signal.SIGINT)
    want(run.wait(DEADLINE) == 130, place.read("err"))
    want("spate: left in the queue: batch job 1 (the run's hub withdraws it and then ends; log: " in
         last_line(place.read("err")), place.read("err"))
    wait(lambda: not batch.alive() and not pilots_of(place), "no pilot is left")
    wait(lambda: not hubs_of(place), "its hub has ended")


def test_a_run_with_a_pool_whose_machine_dies(place: Place):
    batch = slurm(place)
    place.write("jobs.lst", *[f"echo {i} >> began; sleep 1; echo {i} >> done" for i in range(6)])
    options = ("--pool", "slurm:-t 60", "jobs.lst")
    run = place.start(*options)
    wait(lambda: place.lines("began"), "a task runs")
    hub = min(hubs_of(place), key=int)  # a process that it has just forked has the same words
    os.kill(run.pid, signal.SIGSTOP)  # so that it sees nothing of its hub's end
    os.kill(int(hub), signal.SIGKILL)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    wait(lambda: has_no_thread(hub), "its hub has died and let its lock go")
    place.run("--resume", *options)
    want(sorted(place.lines("done"), key=int) == [str(i) for i in range(6)], place.lines("done"))
    wait(lambda: not batch.alive(), "no pilot is left")
    # Of a pilot whose submission the first hub could not see answered, its second one may know nothing to the end.
    place.run(*options)
    want(len(place.lines("done")) == 12, place.lines("done"))


def last_line(err):
    return (err.decode() if isinstance(err, bytes) else err).splitlines()[-1]


def hubs_of(place):
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and is_hub_of(place, pid)]


def has_no_thread(pid):
    try:
        return not any(alive(f"{pid}/task/{thread}") for thread in os.listdir(f"/proc/{pid}/task"))
    except FileNotFoundError:
        return True


def is_hub_of(place, pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False
    return b"__pool-hub" in words and place.dir.encode() in words[2]


if __name__ == "__main__":
    main(globals(), at_once=4)
