"""The first moments of runs and hubs, and all later ones: each is killed as it enters a system call
that makes something durable, at the first such call, the second, and so on to the end of its life.
Whatever was killed when, the same command with --resume (or the hub's next life) brings the work to
its end, and nothing is called damaged."""
import json
import os
import shutil
import signal
import subprocess

from harness import SPATE, main, option, wait, want

CALLS = ("fdatasync", "fsync", "pwrite64", "ftruncate", "mkdir", "rename", "unlink", "link")
MOST = option("--most", 200)  # of one call, in one life: more is one that does not end


def tracing(call, nth, signal_name="SIGKILL"):
    """Whoever makes that call for the nth time gets the signal, and does not make it."""
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
            f"inject={call}:signal={signal_name}:when={nth}"]


def may_trace():
    try:
        done = subprocess.run([*tracing("fsync", 1), "true"], capture_output=True)
    except FileNotFoundError:
        done = None
    if done is None or done.returncode != 0:
        print("       (skipped: no strace, or it may not trace)")
        return False
    return True


def killed(place, call, nth, *args, signo=signal.SIGKILL):
    """Whether the run was; else it has ended well."""
    done = subprocess.run([*tracing(call, nth, signo.name), SPATE, "run", *args], cwd=place.dir,
                          env=place.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    want(done.returncode in (0, -signo, 128 + signo), f"{call} {nth}: {done}")
    return done.returncode != 0


def lives(place, call, *args, signo=signal.SIGKILL, before=None, step=1):
    """A life for each call (or every `step`-th), in a state folder of its own, until one is not killed any more."""
    for nth in range(1, MOST + 1, step):
        shutil.rmtree(place.state, ignore_errors=True)
        if before:
            shutil.copytree(before, place.state)
        place.write("ran")
        if not killed(place, call, nth, *args, signo=signo):
            return
        yield nth
    raise AssertionError(f"more than {MOST} calls of {call}")


def sound(place, what):
    done = subprocess.run([SPATE, "state", "check"], cwd=place.dir, env=place.env,
                          stdin=subprocess.DEVNULL, capture_output=True)
    want(done.returncode == 0, f"{what}: {done}")


def ran(place, tasks):
    """What was cut short may run again, nothing is left out."""
    lines = place.lines("ran")
    want(set(lines) == set(tasks), f"{lines}")


def born(place):
    """How many jobs have tasks."""
    rows, _ = place.run("--output", "json", command="job list")
    return sum(json.loads(row)["total"] > 0 for row in rows.splitlines())


TASKS = ("a", "b", "c")
VALUES = ("-j1", "--", "echo {} >> ran", ":::", *TASKS)


def test_a_run_that_is_killed_at_any_write_is_resumed(place):
    rounds = {}
    for call in CALLS if may_trace() else ():
        # Of the many writes every fourth; each sync of them is met.
        for nth in lives(place, call, *VALUES, step=4 if call == "pwrite64" else 1):
            what = f"killed at {call} {nth}"
            sound(place, what)
            place.run("--resume", *VALUES)
            ran(place, TASKS)
            _, err = place.run("--resume", *VALUES)
            want("nothing left to do" in err, f"{what}: {err}")
            sound(place, what)
            rounds[call] = rounds.get(call, 0) + 1
    print(f"       ({rounds})")
    want(not rounds or rounds.get("fdatasync", 0) >= 3, rounds)


def test_a_run_that_is_terminated_at_any_write_is_resumed(place):
    rounds = 0
    if not may_trace():
        return
    for nth in lives(place, "fdatasync", *VALUES, signo=signal.SIGTERM):
        place.run("--resume", *VALUES)
        ran(place, TASKS)
        sound(place, f"terminated at fdatasync {nth}")
        rounds += 1
    print(f"       ({rounds} rounds)")


def test_an_older_run_stays_in_reach_of_resume(place):
    """A run that is begun anew and killed at once does not hide the half-done one."""
    if not may_trace():
        return
    place.write("jobs.lst", *(f"echo {task} >> ran; test {task} = a || test -e go || sleep 1000"
                              for task in TASKS))
    run = place.start("-j1", "jobs.lst")
    wait(lambda: "b" in place.lines("ran"), "the second task runs")
    run.kill()
    run.communicate()
    place.write("go")
    half = os.path.join(place.dir, "half")
    shutil.copytree(place.state, half, ignore=shutil.ignore_patterns("socket"))
    births = 0
    for nth in lives(place, "fdatasync", "jobs.lst", before=half):
        if born(place) > 1:
            break  # the newest is the one to go on with
        births += 1
        place.write("ran")
        _, err = place.run("--resume", "jobs.lst")
        want("job 1: 1 of 3 tasks" in err, f"{nth}: {err}")
        want("a" not in place.lines("ran"), "what had succeeded ran again")
        ran(place, TASKS[1:])
    want(births > 0, "none was killed before it was born")


def told_of_the_never_accepted(place):
    """How many resumes passed over a run that was killed before it was accepted."""
    told = 0
    # Rows of megabytes: they are stored, and the job's row with them, before the job is accepted.
    place.write("long", *(f"{n}" * 60_000 for n in range(1, 61)))
    again = ("-a", "long", "--", "echo x > ran; : {}")
    for nth in lives(place, "fdatasync", *again, before=os.path.join(place.dir, "before")):
        if born(place) > 1:
            break
        number = max(int(name) for name in place.jobs() if name.isdigit())
        want(number == 2, place.jobs())
        # The last job is the one that was accepted.
        out, _ = place.run("last", command="job info")
        want("job 1" in out, out)
        place.run("last", command="job wait")
        place.run("last", command="job retry")
        _, err = place.run("2", command="job info", code=2)
        want("job 2" in err, err)
        _, err = place.run("--resume", *again)
        told += "passing over job 2: it ended before its tasks were stored" in err
        want("starting job 3" in err, err)
        want(place.lines("ran") == ["x"], place.lines("ran"))
        # Tidying finds what is older than a minute.
        for folder, _, files in os.walk(os.path.join(place.state, "jobs", "2")):
            for file in files:
                stat = os.stat(os.path.join(folder, file))
                os.utime(os.path.join(folder, file), (stat.st_atime, stat.st_mtime - 100))
        os.remove(os.path.join(place.state, "pruned")) if os.path.exists(
            os.path.join(place.state, "pruned")) else None
        place.run("-q", "--", "true")
        want("2" not in place.jobs() and "1" in place.jobs(), place.jobs())
    return told


def test_what_was_never_accepted_is_no_job(place):
    if not may_trace():
        return
    place.run(*VALUES)
    shutil.copytree(place.state, os.path.join(place.dir, "before"))
    # Two threads write: that of the journal may be ahead of the one that is killed.
    want(any(told_of_the_never_accepted(place) for _ in range(20)),
         "nobody was told that a run was passed over")


# ---- Hubs --------------------------------------------------------------------------------------


class Life:
    """A hub with a node, in a state folder of its own, and the hub again after each of its deaths."""

    def __init__(self, place, name, inside):
        self.place, self.name, self.deaths = place, name, 0
        self.env = dict(place.env, SPATE_STATE=os.path.join(place.dir, name))
        self.processes = []
        place.on_remove = self.stop
        self.hub = self.start("hub", "start", "--listen", "127.0.0.1:0", inside=inside)
        self.await_hub()
        self.start("node", "start", "--name", "n1")

    def start(self, *args, inside=(), log=None):
        with open(os.path.join(self.place.dir, self.name + ".log"), "a") as out:
            process = subprocess.Popen([*inside, SPATE, *args, "--allow-root"], cwd=self.place.dir,
                                       env=self.env, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=out, start_new_session=True)
        self.processes.append(process)
        return process

    def log(self):
        return self.place.read(self.name + ".log")

    def revive(self):
        if self.hub.poll() is None:
            return
        want(self.hub.returncode == -signal.SIGKILL, self.log())
        self.deaths += 1
        self.hub = self.start("hub", "start", "--listen", "127.0.0.1:0")

    def await_hub(self):
        def is_up():
            self.revive()
            return subprocess.run([SPATE, "hub", "status", "-q"], env=self.env, cwd=self.place.dir,
                                  capture_output=True).returncode == 0
        wait(is_up, "the hub is up")

    def call(self, *args):
        done = subprocess.run([SPATE, *args], env=self.env, cwd=self.place.dir,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        want(done.returncode == 0, f"{args}: {done}\n{self.log()}")
        return done.stdout.decode()

    def submit(self, *args):
        """With the hub's deaths meanwhile."""
        call = subprocess.Popen([SPATE, "submit", *args], env=self.env, cwd=self.place.dir,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

        def ended():
            self.revive()
            return call.poll() is not None
        wait(ended, "the submit ends")
        out, err = call.communicate()
        if call.returncode == 3 and b"cannot reach the hub" in err:  # it has sent nothing
            return self.submit(*args)
        want(call.returncode == 0, f"{call.returncode}: {out} {err}\n{self.log()}")

    @staticmethod
    def traced_by(pid):
        """The hub below strace, which keeps signals to itself; else the process."""
        with open(f"/proc/{pid}/comm") as comm:
            if comm.read() != "strace\n":
                return pid
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            return int((children.read().split() or [pid])[0])

    def stop(self):
        for process in reversed(self.processes):  # the hub last
            if process.poll() is None:
                os.kill(self.traced_by(process.pid), signal.SIGTERM)
                process.wait(60)
        self.deaths += self.processes[0].returncode == -signal.SIGKILL and self.hub is self.processes[0]
        self.processes = self.processes[:1]


def hub_lives(place, call, step=1):
    for nth in range(1, MOST * step, step):
        name = f"{call}-{nth}"
        life = Life(place, name, tracing(call, nth))
        life.submit("--wait", "-q", "--", f"echo {{}} >> {name}.ran", ":::", *TASKS)
        life.await_hub()
        listed = life.call("job", "list", "-q")
        want(len(listed.split()) == 1, f"{name}: {listed}\n{life.log()}")
        want(sorted(place.lines(name + ".ran")) == list(TASKS), place.lines(name + ".ran"))
        life.stop()
        life.call("state", "check", "hub")
        if life.deaths == 0:
            return
        yield nth
    raise AssertionError(f"more than {MOST} calls of {call}")


def test_a_hub_that_is_killed_at_any_sync_goes_on(place):
    for call, step in (("fdatasync", 1), ("pwrite64", 25)) if may_trace() else ():
        rounds = sum(1 for _ in hub_lives(place, call, step))
        print(f"       ({call}: {rounds} kills)")
        want(rounds > 2, f"{rounds} rounds")


if __name__ == "__main__":
    main(globals())
