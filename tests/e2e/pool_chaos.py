"""Nothing is lost in pools, whatever is killed: hub, batch system, pilots and their nodes."""
import json
import random
import signal

from harness import DEADLINE, wait, want
from processes import kill_all, processes_with, send_all

# Every attempt writes a line when it starts and one before it ends, and has some output.
COMMAND = ("echo s $SPATE_JOB_ID.{} $SPATE_ATTEMPT >> ran; sleep 0.2; echo e $SPATE_JOB_ID.{} $SPATE_ATTEMPT >> ran; "
           "echo {}.$SPATE_ATTEMPT")


def hub_options(port):
    """Of a hub in which what happens after minutes does so after seconds."""
    return ("--listen", f"127.0.0.1:{port}", "--suspect-after", "1s", "--lost-after", "4s")


def is_node(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"--pilot" in file.read().split(b"\0")
    except OSError:
        return False


def facts_of(cluster, job):
    return json.loads(cluster.spate("job list", job, "--json")[0])


def kill_rounds(place, cluster, pool, batch, tasks, rounds, seed, patience=5 * DEADLINE):
    """`batch` has running() and waiting(), the names of jobs, and blows(), what the batch system itself does to its jobs."""
    chance = random.Random(seed)
    counts = {}
    each = max(1, tasks // rounds)

    def hub():
        cluster.kill_hub()
        cluster.start_hub()

    def some_pilot():
        names = batch.running()
        return f"SPATE_PILOT={chance.choice(names)}" if names else "SPATE_PILOT=none"

    def node():
        send_all(signal.SIGKILL, filter(is_node, processes_with(some_pilot())))

    def machine():
        kill_all(some_pilot())

    def ran():
        return len(place.lines("ran"))

    jobs = []
    for number in range(rounds):
        jobs.append(cluster.submit("--pool", pool, "--array", f"1-{each}", "--name", f"round{number}", "--", COMMAND))
        blows = [hub, node, machine, *batch.blows(chance)]
        chance.shuffle(blows)
        for blow in blows:
            # Most of the round's tasks are still to come at its last blow.
            goal = ran() + chance.randrange(max(1, 2 * each // len(blows)))
            wait(lambda: ran() >= goal or facts_of(cluster, jobs[-1])["ended"], "tasks run", patience)
            counts[blow.__name__] = counts.get(blow.__name__, 0) + 1
            blow()
    for job in jobs:
        wait(lambda: facts_of(cluster, job)["ended"], f"job {job} ends", patience)
    started = [tuple(line.split()[1:]) for line in place.lines("ran") if line.startswith("s ")]
    want(len(started) == len(set(started)), "an attempt ran twice")
    for job in jobs:
        facts = facts_of(cluster, job)
        want(facts["succeeded"] == each, facts)
        out, _ = cluster.spate("job cat", job)
        numbers = sorted(int(line.split(".")[0]) for line in out.splitlines())
        want(numbers == list(range(1, each + 1)), f"output of job {job}: {len(numbers)} lines")
    wait(lambda: not batch.running() and not batch.waiting(), "no pilot is left", patience)
    print(f"       seed {seed}: {each * rounds} tasks, {len(started) - each * rounds} ran again; {counts}")
