"""What the tests of pools share: batch systems that are fakes of their commands (tests/batch), over real processes."""
import json
import os
import shutil
import signal
import subprocess

from cluster import cluster_of, free_port
from harness import DEADLINE, wait, want

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
FAKES = os.path.abspath(os.path.join(SOURCE, "tests", "batch"))


class Batch:
    """A fake batch system of a place. Its switches are files: see tests/batch/fake_queue.py."""

    def __init__(self, place, fake, *commands):
        self.place = place
        self.dir = os.path.join(place.dir, "batch")
        home, bin_dir = os.path.join(place.dir, "home"), os.path.join(place.dir, "bin")
        for folder in (self.dir, home, bin_dir):
            os.mkdir(folder)
        for name in commands:
            os.symlink(os.path.join(FAKES, fake), os.path.join(bin_dir, name))
        place.env = dict(place.env, FAKE_BATCH=self.dir, HOME=home, PATH=bin_dir + ":" + place.env["PATH"])

    def cluster(self, *hub_options):
        """A hub whose nodes are soon taken for lost, at a port that it finds again. What the batch system runs ends with it."""
        cluster = cluster_of(self.place, "--listen", f"127.0.0.1:{free_port()}", "--suspect-after", "2s", "--lost-after", "4s",
                             *hub_options)

        def stop():
            try:
                cluster.stop()
            finally:
                shutil.rmtree(self.dir, ignore_errors=True)  # which ends what the fake runs
        self.place.on_remove = stop
        return cluster

    def set(self, name, text=""):
        """In one step, as commands may be looking."""
        path = os.path.join(self.dir, name)
        with open(path + ".new", "w") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def clear(self, name):
        os.remove(os.path.join(self.dir, name))

    def call(self, *args, code=0):
        """A command of the batch system, as a person gives it."""
        done = subprocess.run(args, env=self.place.env, cwd=self.place.dir, timeout=DEADLINE, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL)
        want(done.returncode == code, f"{args}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def jobs(self):
        return sorted((name for name in os.listdir(self.dir) if name.isdigit()), key=int)

    def read(self, job, name):
        try:
            with open(os.path.join(self.dir, job, name)) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def states(self):
        want(not os.path.exists(os.path.join(self.dir, "broken")), "the fake is broken: " + self.read("", "broken"))
        return [self.read(job, "state") for job in self.jobs()]

    def alive(self):
        return [state for state in self.states() if state in ("queued", "running", "held")]

    def names(self):
        return [self.read(job, "name") for job in self.jobs()]


def slurm(place):
    return Batch(place, "fake_slurm.py", "sbatch", "squeue", "scancel")


def pbs(place):
    return Batch(place, "fake_pbs.py", "qsub", "qstat", "qselect", "qdel", "qhold", "qrls", "qrerun")


def htcondor(place):
    return Batch(place, "fake_htcondor.py", "condor_submit", "condor_q", "condor_history", "condor_rm", "condor_hold",
                 "condor_release", "condor_vacate_job")


def pools(cluster):
    out, _ = cluster.spate("pool list", "--json")
    return [json.loads(line) for line in out.splitlines()]


def nodes(cluster):
    out, _ = cluster.spate("node list", "--json")
    return [json.loads(line)["node"] for line in out.splitlines()]


def gone(cluster, batch, *names):
    wait(lambda: not batch.alive(), "no pilot is left in the batch system")
    cluster.spate("pool remove", *names)
    wait(lambda: not pools(cluster), "the pools are gone")
    none_doubled(batch)


def none_doubled(batch):
    want(len(set(batch.names())) == len(batch.jobs()), "a pilot was asked for twice")


# ---- What every batch system has to bear -----------------------------------------------------------

# A task that tells whether it runs twice at once: what a process of it still holds is locked.
CAREFUL = ("exec 9>lock-{}; flock -n 9 || echo {} >>twice; echo {} $SPATE_NODE >>began; "
           "until [ -e go ]; do sleep 0.05; done; echo {} >>done")
QUICK = ("--idle-exit", "1s", "--submit-rate", "20")


def add(cluster, system, name, *options, own=()):
    # The test of PBS submits a batch job, held, and deletes it: that would be one more in the lists.
    untested = ("--no-test",) if system == "pbs" else ()
    cluster.spate("pool add", system, name, "--time-limit", "1h", *QUICK, *untested, *options, "--", *own)


def all_done(place, count):
    want(sorted(place.lines("done"), key=int) == [str(i) for i in range(count)], place.lines("done"))
    want(not place.lines("twice"), place.lines("twice"))


def comes_and_goes(place, cluster, batch, system, *options, own=(), variable):
    """Pilots come with work and go without; each task runs once, where the pool's nodes are."""
    add(cluster, system, "short", "--max-pilots", "3", *options, own=own)
    want(not batch.jobs(), "nothing waits, and pilots are asked for")
    cluster.submit("--wait", "--pool", "short", "--", f"echo {{}} $SPATE_NODE ${variable} >>who; sleep 0.1", ":::",
                   *map(str, range(40)))
    who = [line.split() for line in place.lines("who")]
    want(sorted(int(task) for task, _, _ in who) == list(range(40)), who)
    want({node.rsplit(".", 1)[0] for _, node, _ in who} == {"short"}, who)
    gone(cluster, batch, "short")
    want('"ready"' not in cluster.spate("node list", "--json")[0], "a node is left")


def survives_a_lost_answer(place, cluster, batch, system, *options, own=()):
    """The hub is killed, and the answer of its submit is lost."""
    add(cluster, system, "p", "--max-pilots", "2", *options, own=own)
    batch.set("lost")
    job = cluster.submit("--pool", "p", "--", CAREFUL, ":::", *map(str, range(6)))
    wait(batch.jobs, "a pilot was asked for")
    cluster.kill_hub()
    batch.clear("lost")
    cluster.start_hub()
    place.write("go")
    cluster.spate("job wait", job)
    all_done(place, 6)
    want(len(batch.jobs()) <= 2, batch.names())
    gone(cluster, batch, "p")


def survives_a_late_answer(place, cluster, batch, system, *options, own=()):
    """The hub is killed while the submit has still to answer."""
    add(cluster, system, "p", "--max-pilots", "1", *options, own=own)
    batch.set("late")
    job = cluster.submit("--pool", "p", "--", CAREFUL, ":::", *map(str, range(3)))
    wait(batch.jobs, "a pilot was asked for")
    cluster.kill_hub()
    cluster.start_hub()
    batch.clear("late")
    place.write("go")
    cluster.spate("job wait", job)
    all_done(place, 3)
    want(len(batch.jobs()) == 1, batch.names())
    gone(cluster, batch, "p")


def bears_silence(place, cluster, batch, system, *options, own=()):
    """The batch system does not answer for a while; pilots run on, and none is given up."""
    add(cluster, system, "p", "--max-pilots", "2", *options, own=own)
    first = cluster.submit("--pool", "p", "--", CAREFUL, ":::", *map(str, range(2)))
    wait(lambda: len(place.lines("began")) == 2, "the tasks run")
    batch.set("down")
    place.write("go")
    cluster.spate("job wait", first)
    wait(lambda: not batch.alive(), "the pilot goes while nothing answers")
    last = cluster.submit("--pool", "p", "--", "echo {} >>done", ":::", "2", "3")
    batch.clear("down")
    cluster.spate("job wait", last)
    all_done(place, 4)
    none_doubled(batch)


def bears_forgetting(place, cluster, batch, system, *options, own=()):
    """What has ended is not known any more: the next ones come all the same, and none is asked for again."""
    batch.set("forgets")
    add(cluster, system, "p", "--max-pilots", "2", *options, own=own)
    for task in ("0", "1"):
        cluster.submit("--wait", "--pool", "p", "--", "echo {} >>done", ":::", task)
        wait(lambda: not batch.alive(), "the pilot goes")
    all_done(place, 2)
    none_doubled(batch)
    want(len(batch.jobs()) == 2, batch.names())


def tells_a_refusal(place, cluster, batch, system, words, *options, own=()):
    """A pool that was fine, until submits are refused; it goes on when that is over."""
    add(cluster, system, "p", *options, own=own)
    batch.set("refuse", words)
    job = cluster.submit("--pool", "p", "--", "echo {} >>done", ":::", "0")
    wait(lambda: words in cluster.spate("task explain", f"{job}.1")[0], "the reason is told")
    want(words in cluster.spate("pool info", "p")[0], cluster.spate("pool info", "p")[0])
    want(not batch.jobs(), batch.jobs())
    batch.clear("refuse")
    cluster.spate("pool resume", "p")
    cluster.spate("job wait", job)
    all_done(place, 1)


def gives_tasks_back(place, cluster, batch, system, preempt, *options, own=()):
    """`preempt(id)` ends a running pilot. Its tasks begin anew, no try is used (they have one), and none runs twice at once."""
    add(cluster, system, "p", "--max-pilots", "2", *options, own=own)
    job = cluster.submit("--pool", "p", "--", CAREFUL, ":::", "0", "1")
    wait(lambda: len(place.lines("began")) == 2, "both tasks run")
    preempt(batch.jobs()[0])
    wait(lambda: len(place.lines("began")) == 4, "both run again")
    place.write("go")
    cluster.spate("job wait", job)
    all_done(place, 2)
    wait(lambda: not batch.alive(), "no pilot is left in the batch system")
    none_doubled(batch)


def pilots_of(place):
    """Pids of the nodes that pilots of this place have started."""
    def words(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read().split(b"\0")
        except OSError:
            return []
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit()
            and words(pid)[1:4] == [b"node", b"start", b"--pilot"] and any(place.dir.encode() in word for word in words(pid))]


def replaces_a_killed_node(place, cluster, add, left):
    """The hub would wait for the node for an hour; the batch system knows at once that its pilot has ended. `left()`: pilots in
    the batch system."""
    add()
    job = cluster.submit("--pool", "p", "--", CAREFUL, ":::", "0", "1")
    wait(lambda: len(place.lines("began")) == 2, "both tasks run")
    found = []  # for a moment more than one: a process that the node has just forked has the same words
    wait(lambda: found.append(pilots_of(place)) or len(found[-1]) == 1, "one node runs")
    os.kill(found[-1][0], signal.SIGKILL)
    wait(lambda: len(place.lines("began")) == 4, "both run again")
    place.write("go")
    cluster.spate("job wait", job)
    all_done(place, 2)
    wait(lambda: not left(), "no pilot is left in the batch system")
    log = cluster.spate("pool log", "p")[0]
    want("pilot 1 ended" in log, log)


PATIENT = ("--suspect-after", "1h", "--lost-after", "1h")


def believes_no_cut_off(place, cluster, system, rounds, cancel, *options, own=()):
    """`cancel()` ends the newest pilot. A task that it cuts off has not ended, however its shell went on: it begins anew, and
    no try is used."""
    add(cluster, system, "p", "--max-pilots", "1", *options, own=own)
    wrong = []
    for round in range(rounds):
        job = cluster.submit("--pool", "p", "--retries", "0", "--", f"echo >>began-{round}; test $SPATE_ATTEMPT != 1 || eval {{}}", ":::",
                             "sleep 25; true", "sleep 25 || exit 1")
        wait(lambda: len(place.lines(f"began-{round}")) == 2, "both tasks run")
        cancel()
        cluster.spate("job wait", job, code=None)
        for task in 1, 2:
            out, _ = cluster.spate("task info", f"{job}.{task}", "--json")
            ends = [(each["cause"], each["verdict"]) for each in json.loads(out)["ends"]]
            if len(ends) < 2 or ends[0][0] not in ("stopped", "node") or ends[-1] != ("success", "succeeded"):
                wrong.append((round, task, ends))
    print(f"{system}: {2 * rounds} tasks were cut off, {len(wrong)} of these ends were believed")
    want(not wrong, wrong)


def words_of_ends(cluster, what):
    """Words of such events of pool p."""
    events = [json.loads(line) for line in cluster.spate("pool log", "p", "--json")[0].splitlines()]
    return [event["words"] for event in events if event["what"] == what]


def names_a_bad_host(place, cluster, system, *options, own=()):
    """A pilot that fails before it joins: what it wrote is told, and where it was. The third one pauses the pool."""
    add(cluster, system, "p", "--prologue", "echo no scratch here; exit 4", *options, own=own)
    cluster.submit("--pool", "p", "--", "true")
    wait(lambda: pools(cluster)[0]["state"] == "paused", "the pool pauses")
    [pool] = pools(cluster)
    want("no scratch here" in pool["why"], pool)
    host = pool["why"].rpartition(" on host ")[2].split()[:1]
    want(host and (not pool["avoids"] or pool["avoids"] == host), pool)
    wait(lambda: len(words_of_ends(cluster, "ended")) == 3, "the log tells of three pilots that ended")
    words = words_of_ends(cluster, "ended")
    want(all(f"on host {host[0]}" in each for each in words), words)


def tells_a_hold(place, cluster, batch, system, words, release, *options, own=()):
    """The answer of the submit is lost, so the hub looks for the pilot soon, and finds it held."""
    add(cluster, system, "p", *options, own=own)
    batch.set("lost")
    batch.set("hold", words)
    job = cluster.submit("--pool", "p", "--", "echo {} >>done", ":::", "0")
    wait(lambda: " ".join(words.split()) in cluster.spate("pool info", "p")[0], "the reason is told")
    [pool] = pools(cluster)
    want(pool["why"].startswith("pilot 1 is held: ") and " ".join(words.split()) in pool["why"], pool["why"])
    batch.clear("hold")
    batch.clear("lost")
    release(batch.jobs()[0])
    cluster.spate("job wait", job)
    all_done(place, 1)
    want(len(batch.jobs()) == 1, batch.names())
