"""Pools: a hub that asks batch systems for nodes. The batch system is a fake of Slurm's commands (tests/batch), over real
processes; real ones are in pool_slurm_test.py and pool_gridengine_test.py, fakes of others in pool_pbs_test.py and
pool_htcondor_test.py."""
import os
import signal
import time

from harness import Place, main, wait, want
from cluster import cluster_of, free_port
import pool_cluster
from pool_cluster import add, gone, nodes, pools, slurm


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
                  r"printf 'no module called gcc\033[31m\302\233\342\200\256\n'; false")
    job = cluster.submit("--pool", "p", "--", "true")
    wait(lambda: pools(cluster)[0]["state"] == "paused", "the pool pauses")
    why, _ = cluster.spate("task explain", f"{job}.1")
    want("pool p is paused" in why and "no module called gcc" in why and "spate pool resume p" in why, why)
    want(len(batch.jobs()) == 3, batch.jobs())
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
             "stop the hub and start it again")
    _, err = cluster.spate("pool add", "slurm", "other", "--time-limit", "1h")
    want(all(line in err for line in lines), err)
    _, err = cluster.spate("pool add", "slurm", "own", "--time-limit", "1h", "--submit-command", mine, "--no-test")
    want("SLURM_CONF" in err and "sbatch: here" not in err, err)
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
    cluster.spate("pool add", "local", "own", "--folder", folder)
    cluster.submit("--wait", "--pool", "own", "--", "true")
    # Its test would run as root, and show what root's prologue says.
    cluster.spate("pool set", "own", "--user", "*")
    ann = cluster.access("--role", "client", "--user", "ann", name="ann.access")
    cluster.spate("pool info", "own", "--access", ann)
    _, err = cluster.spate("pool dry-run", "own", "--access", ann, code=3)
    want("only they and the hub's administrators test it" in err, err)
    cluster.spate("pool dry-run", "own")


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
    want(not [p for p in os.listdir("/proc") if p.isdigit() and is_hub_of(place, p)], "a hub is left")


def test_a_run_with_a_pool_that_is_killed(place: Place):
    batch = slurm(place)
    place.write("jobs.lst", *[f"echo {i} >> began; sleep 1; echo {i} >> done" for i in range(6)])
    options = ("--pool", "slurm:-t 60", "jobs.lst")
    run = place.start(*options)
    wait(lambda: place.lines("began"), "a task runs")
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    wait(lambda: not batch.alive(), "no pilot is left")
    wait(lambda: not [p for p in os.listdir("/proc") if p.isdigit() and is_hub_of(place, p)], "its hub has ended")
    place.run("--resume", *options)
    want(sorted(place.lines("done"), key=int) == [str(i) for i in range(6)], place.lines("done"))
    wait(lambda: not batch.alive(), "no pilot is left")


def test_a_run_with_a_pool_whose_machine_dies(place: Place):
    batch = slurm(place)
    place.write("jobs.lst", *[f"echo {i} >> began; sleep 1; echo {i} >> done" for i in range(6)])
    options = ("--pool", "slurm:-t 60", "jobs.lst")
    run = place.start(*options)
    wait(lambda: place.lines("began"), "a task runs")
    [hub] = [p for p in os.listdir("/proc") if p.isdigit() and is_hub_of(place, p)]
    os.kill(run.pid, signal.SIGSTOP)  # so that it sees nothing of its hub's end
    os.kill(int(hub), signal.SIGKILL)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    wait(lambda: not is_hub_of(place, hub), "its hub has died")
    place.run("--resume", *options)
    want(sorted(place.lines("done"), key=int) == [str(i) for i in range(6)], place.lines("done"))
    wait(lambda: not batch.alive(), "no pilot is left")
    # Of a pilot whose submission the first hub could not see answered, its second one may know nothing to the end.
    place.run(*options)
    want(len(place.lines("done")) == 12, place.lines("done"))


def is_hub_of(place, pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False
    return b"__pool-hub" in words and place.dir.encode() in words[2]


if __name__ == "__main__":
    main(globals(), at_once=4)
