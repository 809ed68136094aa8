"""What the end-to-end tests share: a folder of its own, `spate` in it, and waiting with a deadline.

Nothing sleeps and hopes: Wait() looks again and again until a condition holds, and fails the test
when it does not hold in time.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

SPATE = os.path.abspath(os.path.join(os.environ.get("SPATE_BIN", "build/bin"), "spate"))
DEADLINE = 60  # seconds; machines may be slow, so only a hang takes so long


# Tests may be started in the background of a shell, which has them ignore some signals: what they
# start shall hear them.
for signo in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
    if signal.getsignal(signo) == signal.SIG_IGN:
        signal.signal(signo, signal.SIG_DFL)


def json_object(pairs):
    """An object as Spate prints it: each key once, and with a type there is the version."""
    found = dict(pairs)
    if len(found) < len(pairs) or ("type" in found and "v" not in found):
        raise ValueError(f"not as docs/formats/json.md has it: {pairs}")
    return found


# What json.loads uses, in all tests.
json._default_decoder = json.JSONDecoder(object_pairs_hook=json_object)


class Place:
    """A fresh folder with its own history."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="spate-e2e-")
        self.state = os.path.join(self.dir, "state")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("SPATE")}
        self.env["SPATE_STATE"] = self.state
        self.on_remove = lambda: None

    def write(self, name, *lines):
        """A new file appears with all of its lines, because tasks may be waiting for it."""
        path = os.path.join(self.dir, name)
        folder, base = os.path.split(path)
        at = path if os.path.lexists(path) else os.path.join(folder, f".{base}.new")
        with open(at, "w") as out:
            out.writelines(line + "\n" for line in lines)
        if at != path:
            os.rename(at, path)
        return name

    def read(self, name):
        try:
            with open(os.path.join(self.dir, name), errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def lines(self, name):
        return self.read(name).splitlines()

    def run(self, *args, code=0, stdin=None, command="run", **options):
        """Runs spate to its end, checks the exit code (None: any), returns (stdout, stderr)."""
        done = subprocess.run([SPATE, *command.split(), *args], cwd=self.dir, env=self.env,
                              input=stdin, capture_output=True, timeout=DEADLINE,
                              **({} if stdin is not None else {"stdin": subprocess.DEVNULL}),
                              **options)
        out, err = (b.decode(errors="replace") for b in (done.stdout, done.stderr))
        want(code in (None, done.returncode),
             f"exit code {done.returncode}, not {code}: {args}\nstdout: {out}\nstderr: {err}")
        return out, err

    def start(self, *args, **options):
        """Starts `spate run` in a process group of its own."""
        with_defaults = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                         "stderr": subprocess.PIPE} | options
        return subprocess.Popen([SPATE, "run", *args], cwd=self.dir, env=self.env,
                                start_new_session=True, **with_defaults)

    def jobs(self):
        path = os.path.join(self.state, "jobs")
        return sorted(os.listdir(path)) if os.path.isdir(path) else []

    def remove(self):
        self.on_remove()
        shutil.rmtree(self.dir, ignore_errors=True)


def option(name, default):
    """Takes `name VALUE` out of the command line."""
    if name not in sys.argv:
        return default
    at = sys.argv.index(name)
    value = int(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    return value


def mounted(folder, options):
    """A file system of its own there, e.g. of "size=64k"; False where that is not allowed."""
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder],
                          capture_output=True)
    if done.returncode != 0:
        print("       (skipped: may not mount a file system)")
    return done.returncode == 0


def want(condition, message):
    if not condition:
        raise AssertionError(message)


def wait(condition, what, deadline=DEADLINE):
    begun = time.monotonic()
    while not condition():
        waited = time.monotonic() - begun
        want(waited < deadline, f"did not happen: {what}")
        # Conditions may be commands, which cost time of their own: what takes long is looked at less often.
        time.sleep(min(max(0.005, waited / 20), 0.1))


def states(pid):
    """Of its threads, as /proc has them: "R", "S", "T" (stopped) ..."""
    found = ""
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as file:
                found += file.read().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            pass  # the thread has ended
    return found


def stop(process):
    """By SIGSTOP; the system tells each thread a little after the sender goes on."""
    os.kill(process.pid, signal.SIGSTOP)
    wait(lambda: set(states(process.pid)) == {"T"}, "it has stopped")


def alive(pid):
    """Zombies are gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def main(namespace, at_once=1):
    """Runs the tests of a file; with `at_once` so many at a time, each in a process of its own, for tests that mostly wait."""
    tests = [(name, function) for name, function in namespace.items()
             if name.startswith("test_") and callable(function)]
    chosen = sys.argv[1:]
    if at_once > 1 and not chosen:
        with ThreadPoolExecutor(at_once) as workers:
            codes = list(workers.map(lambda test: subprocess.run([sys.executable, sys.argv[0], test[0]]).returncode, tests))
        sys.exit(any(codes))
    failed = 0
    for name, function in tests:
        if chosen and name not in chosen:
            continue
        place = Place()
        begun = time.monotonic()
        try:
            function(place)
            print(f"ok     {name} ({time.monotonic() - begun:.1f} s)", flush=True)
        except Exception:  # every failure is told, and the others still run
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
        finally:
            place.remove()
    sys.exit(1 if failed else 0)
