"""pegasus-mpi-cluster under each MPI library that is here."""
import os
import re
import shutil
import signal
import subprocess
import sys

from harness import DEADLINE, Place, want

BIN = os.path.abspath(os.environ.get("SPATE_BIN", "build/bin"))
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe"], "mpich": ["mpirun.mpich"]}
# Sanitizers take what MPI libraries do for errors.
LIBRARIES = [name for name, words in LAUNCHERS.items()
             if not os.environ.get("SPATE_SANITIZE") and shutil.which(words[0]) and os.path.exists(f"{BIN}/pegasus-mpi-cluster.{name}")]
DIAMOND = ["EDGE A B", "EDGE A C", "EDGE B D", "EDGE C D"]
# The launcher's standard input: a pipe that stays open and silent. MPICH's launcher forwards the end of its input to its processes.
# When they have ended by then, it dies of SIGPIPE (3 of 360 starts of a program that ends at once).
SILENCE, _STAYS_OPEN = os.pipe()
# A task that waits for a file: /bin/sh wait.sh FILE.
WAIT = "until test -e $1; do sleep 0.01; done"
ISO_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d"
TASK_RECORD = re.compile(
    r'\[cluster-task (?:id=(?P<id>\d+), )?name=(?P<name>[^,]+), start="(?P<start>' + ISO_TIME + r')", '
    r'duration=(?P<duration>\d+\.\d{3}), status=(?P<status>\d+), app="(?P<app>[^"]*)", '
    r'hostname="(?P<hostname>[^"]*)", slot=(?P<slot>\d+), cpus=(?P<cpus>\d+), memory=(?P<memory>\d+)\]')
SUMMARY = re.compile(
    r'\[cluster-summary stat="(?P<stat>ok|failed)", tasks=(?P<tasks>\d+), submitted=(?P<submitted>\d+), '
    r'succeeded=(?P<succeeded>\d+), failed=(?P<failed>\d+), extra=0, start="(?P<start>' + ISO_TIME + r')", '
    r'duration=(?P<duration>\d+\.\d{3}), pid=(?P<pid>\d+), app="(?P<app>[^"]*)", '
    r'runtime=(?P<runtime>\d+\.\d{3}), slots=(?P<slots>\d+), cpus=(?P<cpus>\d+)\]')


def need_a_library():
    """CTest takes 77 as skipped."""
    for name in LAUNCHERS:
        if name not in LIBRARIES:
            print(f"       (skipped: no {LAUNCHERS[name][0]}, or no pegasus-mpi-cluster.{name})", flush=True)
    if not LIBRARIES:
        sys.exit(77)


def each(place):
    """The program under each library, in a clean folder."""
    for library in LIBRARIES:
        pmc = Pmc(place, library)
        pmc.clean()
        yield pmc


def allowed(text):
    """The CPUs of a line such as Cpus_allowed_list: 0-3,5."""
    found = re.search(r"Cpus_allowed_list:\s*(\S+)", text)
    want(found, text)
    parts = (part.split("-") for part in found[1].split(","))
    return {cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)}


def may_be_several_hosts():
    """Machines of other names, on this one."""
    done = subprocess.run(["unshare", "--uts", "true"], capture_output=True, check=False)
    if done.returncode != 0:
        print("       (skipped: may not make namespaces)")
    return done.returncode == 0


class Done:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def records(self):
        """(name, status) of each cluster-task, in their order."""
        return [(name, int(status)) for name, status in
                re.findall(r"\[cluster-task .*?name=([^,]*), .*?status=(\d+),", self.out)]

    def tasks(self):
        """The cluster-task records, each with all of its fields."""
        found = [record.groupdict() for record in TASK_RECORD.finditer(self.out)]
        want(len(found) == self.out.count("[cluster-task"), self.out)
        return found

    def names(self):
        return [record["name"] for record in self.tasks()]

    def summary(self):
        found = re.findall(r"\[cluster-summary (.*)\]", self.out)
        want(len(found) == 1, (self.out, self.err))
        return dict(re.findall(r"(\w+)=\"?([^\",]*)", found[0]))

    def whole_summary(self):
        """The one cluster-summary record, each field in its place."""
        found = [record.groupdict() for record in SUMMARY.finditer(self.out)]
        want(len(found) == self.out.count("[cluster-summary") == 1, (self.out, self.err))
        return found[0]


class Pmc:
    def __init__(self, place: Place, library):
        self.place, self.library = place, library
        self.program = f"{BIN}/pegasus-mpi-cluster.{library}"
        self.env = place.env | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        place.on_remove = self.end_all

    def words(self, ranks, args, hosts=()):
        """`hosts`: (name, processes) of machines, all of which are this one by other names."""
        launcher = LAUNCHERS[self.library]
        if hosts and self.library == "openmpi":
            launcher = [*launcher, "--mca", "plm_rsh_agent", self.remote_shell(), "--host",
                        ",".join(f"{name}:{count}" for name, count in hosts)]
        elif hosts:
            launcher = [*launcher, "-launcher", "rsh", "-launcher-exec", self.remote_shell(), "-hosts",
                        ",".join(f"{name}:{count}" for name, count in hosts)]
        return [*launcher, "-n", str(ranks), self.program, *args]

    def remote_shell(self):
        """HOST COMMAND..., as rsh, in a namespace where this machine has that name."""
        self.place.write("rsh.sh", "#!/bin/sh", "host=$1; shift",
                         "exec unshare --uts sh -c 'hostname \"$1\"; shift; exec sh -c \"$*\"' rsh \"$host\" \"$@\"")
        path = os.path.join(self.place.dir, "rsh.sh")
        os.chmod(path, 0o755)
        return path

    def run(self, *args, ranks=3, hosts=(), code=0, alone=False, env=None, deadline=DEADLINE, **options):
        words = [self.program, *args] if alone else self.words(ranks, args, hosts)
        run = subprocess.Popen(words, cwd=self.place.dir, env=self.env | (env or {}),
                               stdin=SILENCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace", start_new_session=True, **options)
        try:
            out, err = run.communicate(timeout=deadline)
        except subprocess.TimeoutExpired as late:
            run.kill()
            self.end_all()
            out, err = run.communicate()
            raise AssertionError(f"it hangs: {args}\n{out}\n{err}") from late
        want((run.returncode != 0) == (code != 0),
             f"exit code {run.returncode}, not {code}: {args}\n{out}\n{err}")
        return Done(run.returncode, out, err)

    def binding(self, options):
        """The CPUs that the launcher itself leaves to the first worker's process."""
        look = 'echo $OMPI_COMM_WORLD_RANK$PMI_RANK $(grep Cpus_allowed_list: /proc/self/status)'
        words = [*LAUNCHERS[self.library], "-n", "2", "/bin/sh", "-c", look]
        told = subprocess.run(words, cwd=self.place.dir, env=self.env, stdin=SILENCE, check=True,
                              capture_output=True, text=True, timeout=DEADLINE, **options).stdout
        return allowed(re.search(r"^1 (.*)", told, re.M)[1])

    def start(self, *args, ranks=3):
        return subprocess.Popen(self.words(ranks, args), cwd=self.place.dir, env=self.env,
                                stdin=SILENCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, start_new_session=True)

    def ranks(self):
        """Processes of the program in this folder: rank 0 is the first."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                here = os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(self.place.dir)
                if words[0].decode() == self.program and here:
                    with open(f"/proc/{pid}/environ", "rb") as file:
                        env = dict(e.split(b"=", 1) for e in file.read().split(b"\0") if b"=" in e)
                    rank = env.get(b"OMPI_COMM_WORLD_RANK", env.get(b"PMI_RANK", b"0"))
                    found.append((int(rank), int(pid)))
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass
        return [pid for _, pid in sorted(found)]

    def end_all(self):
        """Every process in this folder: ranks, tasks and what they have left."""
        folder = os.path.realpath(self.place.dir)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                here = os.readlink(f"/proc/{pid}/cwd")
                if int(pid) != os.getpid() and (here + "/").startswith(folder + "/"):
                    os.kill(int(pid), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                pass

    def kill_all(self, launcher):
        """Launcher and ranks at once, as a loss of power would."""
        for pid in [launcher.pid, *self.ranks()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        launcher.wait(DEADLINE)
        launcher.stdout.close()
        launcher.stderr.close()

    def rescue(self, dag):
        text = self.place.read(f"{dag}.rescue")
        return [line[5:] for line in text.split("\n") if line.startswith("DONE ")]

    def clean(self):
        for name in os.listdir(self.place.dir):
            path = os.path.join(self.place.dir, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif not name.endswith((".dag", ".sh")):
                os.unlink(path)
