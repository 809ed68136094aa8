"""State on a network file system, used from two machines: an sshfs (without a network: its server is a child) that is
mounted twice. As with Lustre's localflock and BeeGFS, no lock of one mount is seen at the other. The second machine is this
one under another boot id, in a mount namespace of its own."""
import json
import os
import shutil
import signal
import subprocess
import sys

from harness import SPATE, main, wait, want

SERVER = "/usr/lib/openssh/sftp-server"
BOOT = "/proc/sys/kernel/random/boot_id"
# Nothing is cached in the client: the two are to see each other's changes at once.
OPTIONS = "passive\\,dir_cache=no\\,attr_timeout=0\\,entry_timeout=0"


class Machines:
    """A folder that two machines use; `run`, `start` and `job` of either."""

    def __init__(self, place):
        self.place = place
        self.mounts = []
        self.clients = []
        os.mkdir(self.path("real"))
        for name in ("n1", "n2"):
            folder = self.path(name)
            os.mkdir(folder)
            command = f"sshfs -f -o {OPTIONS} host\\:{self.path('real')} {folder}"
            self.clients.append(subprocess.Popen(["socat", f"EXEC:{SERVER}", f"EXEC:{command}"],
                                                 stderr=subprocess.DEVNULL, start_new_session=True))
            self.mounts.append(folder)
            wait(lambda folder=folder: os.path.ismount(folder), "the file system is mounted")
        self.place.write("boot", "11111111-2222-3333-4444-555555555555")

    def path(self, name):
        return os.path.join(self.place.dir, name)

    def argv(self, machine, words):
        state = ["--state", os.path.join(self.path(machine), "state")]
        if "--" in words:
            at = words.index("--")
            words = [*words[:at], *state, *words[at:]]
        else:
            words = [*words, *state]
        if machine == "n1":
            return [SPATE, *words]
        script = 'mount --bind "$1" "$2"; shift 2; exec "$@"'
        return ["unshare", "--mount", "--uts", "sh", "-c", "hostname n2; " + script, "sh", self.path("boot"), BOOT,
                SPATE, *words]

    def start(self, machine, *words):
        return subprocess.Popen(self.argv(machine, list(words)), cwd=self.place.dir, env=self.place.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True)

    def run(self, machine, *words, code=0):
        process = self.start(machine, *words)
        out, err = (b.decode() for b in process.communicate(timeout=150))
        want(process.returncode == code, f"exit code {process.returncode}, not {code}: {words}\n{out}\n{err}")
        return out, err

    def listed(self, machine):
        return [json.loads(line) for line in self.run(machine, "job", "list", "--json")[0].splitlines()]

    def remove(self):
        for folder in self.mounts:
            subprocess.run(["umount", "-l", folder], check=False)
        for client in self.clients:
            os.killpg(client.pid, signal.SIGKILL)
            client.wait()


def possible():
    for program in ("sshfs", "socat", "unshare"):
        if shutil.which(program) is None:
            return f"no {program}"
    if not os.path.exists(SERVER):
        return "no sftp-server"
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        return "may not mount"
    return ""


def on_machines(test):
    def run_it(place):
        machines = Machines(place)
        try:
            test(machines)
        finally:
            machines.remove()
    run_it.__name__ = test.__name__
    return run_it


@on_machines
def test_a_run_there_is_seen_from_both_machines(two):
    out, _ = two.run("n1", "run", "--", "echo", "{}", ":::", *(str(i) for i in range(300)))
    want(sorted(map(int, out.split())) == list(range(300)), out)
    for machine in ("n1", "n2"):
        (job,) = two.listed(machine)
        want(job["state"] == "succeeded" and job["succeeded"] == 300, job)
        want(len(two.run(machine, "job", "cat", "1")[0].split()) == 300, "the output is there")
    folder = two.path("real/state/jobs/1")
    want(not os.path.exists(os.path.join(folder, "owner")), "its owner has gone")
    want(not os.path.exists(os.path.join(folder, "job.db-wal")), "no log that needs shared memory")


@on_machines
def test_orders_are_taken_on_the_machine_of_the_run(two):
    run = two.start("n1", "run", "--", "sleep", "1000")
    wait(lambda: os.path.exists(two.path("real/state/jobs/1/socket")), "it listens")
    (there,) = two.listed("n2")
    want(there["state"] == "running", there)
    _, err = two.run("n2", "job", "cancel", "1", code=3)
    want(f"is being run by process {run.pid} on " in err and "that machine" in err, err)
    _, err = two.run("n2", "job", "forget", "1", code=3)
    want(f"process {run.pid} on " in err, err)
    two.run("n1", "job", "cancel", "1")
    want(run.wait(timeout=60) != 0, "it was cancelled")
    (there,) = two.listed("n2")
    want(there["state"] == "cancelled", there)


@on_machines
def test_what_was_killed_goes_on_at_another_machine(two):
    """After a minute in which the first gave no sign of life; nothing that had ended runs again."""
    wait_there = f"while ! test -e {two.path('go')}; do sleep 0.1; done"
    two.place.write("list", *(f"echo {i} >> {two.path('done')}; {wait_there if i == 3 else 'true'}" for i in range(6)))
    run = two.start("n1", "run", "-j", "1", "list")
    wait(lambda: two.place.lines("done") == ["0", "1", "2", "3"], "the fourth task has begun")
    wait(lambda: [job["succeeded"] for job in two.listed("n1")] == [3], "three have ended")
    # While the owner lives.
    _, err = two.run("n2", "run", "-j", "1", "--resume", "list", code=3)
    want(f"was last run by process {run.pid} on " in err and "watching for 60 s" in err, err)
    want(f"job 1 is being run by process {run.pid} on " in err, err)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    (job,) = two.listed("n1")
    want(job["state"] == "interrupted" and job["succeeded"] == 3, job)
    two.place.write("go")
    two.run("n2", "run", "-j", "1", "--resume", "list")
    want(two.place.lines("done") == ["0", "1", "2", "3", "3", "4", "5"], two.place.lines("done"))
    want([job["succeeded"] for job in two.listed("n1")] == [6], "all have ended")


@on_machines
def test_who_was_stopped_for_too_long_writes_no_more(two):
    two.place.write("list", *(f"sleep 2; echo {i} >> {two.path('done')}" for i in range(4)))
    run = two.start("n1", "run", "-j", "1", "list")
    wait(lambda: two.place.lines("done") == ["0"], "a task has ended")
    os.kill(run.pid, signal.SIGSTOP)
    two.run("n2", "run", "-j", "1", "--resume", "list")
    os.kill(run.pid, signal.SIGCONT)
    _, err = run.communicate(timeout=60)
    want(run.returncode != 0, "it ends")
    want("another process has taken over its folder" in err.decode(), err.decode())
    (job,) = two.listed("n1")
    want(job["state"] == "succeeded" and job["succeeded"] == 4, job)


@on_machines
def test_a_hub_there_says_what_it_costs(two):
    hub = two.start("n1", "hub", "start", "--allow-root")
    wait(lambda: os.path.exists(two.path("real/state/hub/socket")), "it listens")
    two.run("n1", "submit", "--", "true")
    _, err = two.run("n2", "hub", "start", "--allow-root", code=3)
    want("a hub runs in " in err and f"process {hub.pid} on " in err, err)
    os.kill(hub.pid, signal.SIGTERM)
    _, err = hub.communicate(timeout=60)
    want("is on a network file system (fuse.sshfs)" in err.decode(), err.decode())
    want("while the server is away nothing is accepted" in err.decode(), err.decode())


if __name__ == "__main__":
    why = possible()
    if why:
        print(f"skipped: {why}")
        sys.exit(77)
    main(globals(), at_once=5)
