"""Masters and slaves of tests/mw/mw_trial.cc and the examples, in a folder of their own."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
sys.dont_write_bytecode = True

from harness import DEADLINE, wait, want  # noqa: E402

BIN = os.path.abspath(os.environ.get("SPATE_BIN", "build/bin"))
LOCAL = ["--mw-master-host", "127.0.0.1"]


def program(name):
    return os.path.join(BIN, "mw_" + name)


class Child:
    """A process whose output is read as it comes."""

    def __init__(self, args, cwd, env=None, before=None):
        self.args = args
        self.process = subprocess.Popen(args, cwd=cwd, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        preexec_fn=before)
        self.out, self.err = [], []
        self.readers = [threading.Thread(target=self.read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.out),
                                     (self.process.stderr, self.err))]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def read(pipe, lines):
        with pipe:
            for line in pipe:
                lines.append(line.decode(errors="replace").rstrip("\n"))

    @property
    def pid(self):
        return self.process.pid

    def say(self, *lines):
        for line in lines:
            self.process.stdin.write((line + "\n").encode())
        self.process.stdin.flush()

    def told(self):
        return f"{self.args}\nstdout: {self.out[-60:]}\nstderr:\n" + "\n".join(self.err[-60:])

    def running(self):
        """A process that has closed its files, which its peers may have seen, has ended or is about to."""
        if self.process.poll() is None:
            try:
                files = os.listdir(f"/proc/{self.pid}/fd")
            except OSError:
                files = []
            if not files:
                self.process.wait()
        return self.process.poll() is None

    def matching(self, pattern):
        """Of output lines that begin so: what the groups of the pattern are."""
        return [m for line in list(self.out) if (m := re.match(pattern, line))]

    def await_line(self, pattern, count=1):
        def there():
            found = len(self.matching(pattern)) >= count
            want(found or self.running() or len(self.matching(pattern)) >= count,
                 f"ended without {pattern!r}: {self.told()}")
            return found
        try:
            wait(there, pattern)
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n{self.told()}") from failure
        return self.matching(pattern)

    def await_error(self, pattern):
        try:
            wait(lambda: any(re.search(pattern, line) for line in list(self.err)), pattern)
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n{self.told()}") from failure

    def send(self, signo):
        os.kill(self.pid, signo)

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.wait()

    def ends(self, code, deadline=DEADLINE):
        try:
            self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"does not end: {self.told()}") from None
        for reader in self.readers:
            reader.join(DEADLINE)
        want(self.process.returncode == code,
             f"exit code {self.process.returncode}, not {code}: {self.told()}")
        return self

    def says(self, *texts):
        everything = "\n".join(self.out + self.err)
        for text in texts:
            want(text in everything, f"does not say {text!r}: {self.told()}")
        return self

    def results(self):
        """{task: (algorithm, slave, ok, tag, text)}; a task must not come twice."""
        found = {}
        for m in self.matching(r"result (\d+) (\S+) (\d+) (ok|failed) (\S+) ?(.*)$"):
            task = int(m[1])
            want(task not in found, f"the result of task {task} came twice: {self.told()}")
            found[task] = (m[2], int(m[3]), m[4] == "ok", m[5], m[6])
        return found

    def unrunnable(self):
        """{task: (algorithm, tag, reason)}"""
        found = {}
        for m in self.matching(r"unrunnable (\d+) (\S+) (\S+) (.*)$"):
            want(int(m[1]) not in found, f"task {m[1]} was handed back twice: {self.told()}")
            found[int(m[1])] = (m[2], m[3], m[4])
        return found

    def memory(self, what="VmHWM"):
        """In bytes."""
        with open(f"/proc/{self.pid}/status") as file:
            return int(re.search(rf"^{what}:\s+(\d+) kB", file.read(), re.M)[1]) * 1024


class MwPlace:
    """A folder, and all that was started there."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="spate-mw-")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("SPATE")}
        self.env["SPATE_STATE"] = os.path.join(self.dir, "spate-state")
        self.children = []

    def path(self, name):
        return os.path.join(self.dir, name)

    def read(self, name):
        try:
            with open(self.path(name), errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def lines(self, name):
        return self.read(name).splitlines()

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def touch(self, name):
        self.write(name, "")

    def start(self, *args, env=None, before=None):
        child = Child(list(args), self.dir, self.env | (env or {}), before)
        self.children.append(child)
        return child

    def master(self, *args, app="trial", file="r", **options):
        return self.start(program(app), "--mw-master", *LOCAL, "--mw-resource-file", file, *args,
                          **options)

    def slave(self, *args, app="trial", file="r", **options):
        """Of the master that writes this resource file."""
        self.await_file(file)
        return self.start(program(app), "--mw-slave", "--mw-resource-file", file, *args, **options)

    def direct(self, *args, app="trial", file="r", access="access"):
        """A slave that is told where the master is: that ends at once when it has lost it."""
        self.await_file(file)
        host, port = self.place_of_master(file)
        return self.start(program(app), "--mw-slave", "--mw-master-host", host,
                          "--mw-master-port", port, "--mw-access", access, *args)

    def slaves(self, count, *args, **options):
        return [self.slave(*args, **options) for _ in range(count)]

    def await_file(self, name):
        wait(lambda: os.path.exists(self.path(name)), f"{name} is there")

    def resource(self, file="r"):
        """{key: rest of its form, as it stands there}"""
        return dict(re.findall(r"^\(:([\w-]+) (.*)\)$", self.read(file), re.M))

    def place_of_master(self, file="r"):
        return re.search(r'"--mw-master-host" "(.*?)" "--mw-master-port" "(\d+)"',
                         self.read(file)).groups()

    def remove(self):
        for child in self.children:
            if child.running():
                child.send(signal.SIGKILL)
        for child in self.children:
            child.process.wait()
            for reader in child.readers:
                reader.join(DEADLINE)
            child.process.stdin.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def main(namespace):
    import harness
    harness.Place = MwPlace
    harness.main(namespace)
