"""Master-worker programs beside MPI, Dask, Parsl, Ray and plain copies over TCP and TLS, all in one run on this machine.

Two slaves everywhere. Every program checks each of its answers, and a small run of each comes before
those that are timed. Rivals that PyPI has go into a virtual environment, which --venv (or
SPATE_BENCH_VENV) keeps for the next run; one that cannot be had or does not start is named, with the
reason.
"""
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial

from measures import await_that, memory_of, middle

HERE = os.path.dirname(os.path.abspath(__file__))
SLAVES = 2
PINGS = {1: 400_000, 100: 4_000_000}  # by tasks in a group: some seconds of each
MPI_TASKS = {1: 4_000_000, 100: 80_000_000}
AHEAD = 16
RIVALS = {"dask": ("Dask", "distributed"), "parsl": ("Parsl", "parsl"), "ray": ("Ray", "ray")}
RIVAL_TASKS = 4000
PATIENCE = 300  # seconds, for one installation or one program
BLOCK = 1_000_000
MEGABYTES = 1000
SIZES = (1_000, 60_000, 70_000, 256_000, 1_000_000, 3_900_000)
MOST_TASKS = 200_000  # of short values
NETWORK = ("--mw-master-host", "127.0.0.1")  # behind the resource file: slaves come by TLS even from this machine
MANY = 1000
MANY_BYTES = 12 << 20  # of memory that must be free for each of them


class Missing(Exception):
    """Why a rival is not measured."""


# ---- Masters and slaves --------------------------------------------------------------------------

class Work:
    """A master and its slaves in a folder of their own; `with` ends them."""

    def __init__(self, place, program, *words, options=(), **pipes):
        self.dir = tempfile.mkdtemp(dir=place.dir)
        self.program = program
        self.slaves = []
        self.master = self.spawn("master", "--mw-master", "--mw-master-host", "127.0.0.1", *options, words=words,
                                 stdout=subprocess.PIPE, text=True, **pipes)
        await_that("the master listens", lambda: os.path.exists(self.path("where")) or self.master.poll() is not None)

    def path(self, name):
        return os.path.join(self.dir, name)

    def spawn(self, name, what, *options, words=(), **how):
        return subprocess.Popen([self.program, what, *options, "--mw-resource-file", self.path("where"), "--mw-audit-file",
                                 self.path(f"{name}.audit"), *map(str, words)], close_fds=False,
                                **{"stdin": subprocess.DEVNULL} | how)

    def start_slaves(self, count, words=()):
        for _ in range(count):
            self.slaves.append(self.spawn("slaves", "--mw-slave", words=words, stdout=subprocess.DEVNULL))

    def said(self):
        """What the master printed, when all have ended well."""
        out, _ = self.master.communicate(timeout=PATIENCE)
        for each in [self.master, *self.slaves]:
            if each.wait(timeout=60) != 0:
                sys.exit(f"bench: {' '.join(each.args)[:200]} ended with {each.returncode}: no time is worth measuring")
        return out

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in [self.master, *self.slaves]:
            if each.poll() is None:
                each.kill()
                each.wait()
        shutil.rmtree(self.dir)


def number(pattern, text, who):
    found = re.search(pattern, text)
    if not found:
        sys.exit(f"bench: {who} said '{text[-300:]}'")
    return float(found.group(1))


def pings(place, group, count):
    program = f"{place.build}/bin/mw_ping"
    with Work(place, program, count, options=("--mw-slave-task-group", str(group))) as work:
        work.start_slaves(SLAVES)
        out = work.said()
    if not out.startswith(f"{count} pings"):
        sys.exit(f"bench: {program} said '{out}'")
    return number(r"([\d.]+) tasks/s", out, program)


# ---- No-op tasks, and rivals ---------------------------------------------------------------------

def mpi_rate(place, group, ahead, tasks):
    program = f"{place.build}/bench/mpi_pingpong"
    launcher = shutil.which("mpirun")
    if not os.path.exists(program) or not launcher:
        raise Missing("no MPI library here")
    env = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                        "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    done = subprocess.run([launcher, "-n", str(SLAVES + 1), program, str(tasks), str(group), str(ahead)], env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=place.dir, timeout=PATIENCE)
    if done.returncode != 0:
        raise Missing(f"mpirun failed: {last_line(done.stderr)}")
    return number(r"([\d.]+) tasks/s", done.stdout, program)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:120] if lines else "it said nothing"


class Rivals:
    """Of PyPI, in a virtual environment that is made where it is missing."""

    def __init__(self, place, folder):
        self.place = place
        self.folder = os.path.abspath(folder or place.path("venv"))
        self.python = os.path.join(self.folder, "bin", "python")

    def call(self, words, what):
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired as late:
            raise Missing(f"{what} took more than {PATIENCE} s") from late
        if done.returncode != 0:
            raise Missing(f"{what} failed: {last_line(done.stderr or done.stdout)}")

    def have(self, name):
        if not os.path.exists(self.python):
            self.call([sys.executable, "-m", "venv", self.folder], "python3 -m venv")
        package = RIVALS[name][1]
        if subprocess.run([self.python, "-c", f"import {package}"], capture_output=True).returncode != 0:
            self.call([self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1",
                       "--timeout", "20", package], "pip install")

    def version(self, name):
        code = f"import importlib.metadata as m; print(m.version('{RIVALS[name][1]}'))"
        return subprocess.run([self.python, "-c", code], capture_output=True, text=True).stdout.strip()

    def rate(self, name, tasks):
        # Short: sockets in it have names of at most 107 bytes.
        with tempfile.TemporaryDirectory(prefix="b", ignore_cleanup_errors=True) as folder:
            env = os.environ | {"HOME": folder, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
            run = subprocess.Popen([self.python, f"{HERE}/rivals.py", name, str(tasks), folder], env=env, cwd=folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
            try:
                out, told = run.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired as late:
                os.killpg(run.pid, signal.SIGKILL)  # with what it started
                run.communicate()
                raise Missing(f"it took more than {PATIENCE} s") from late
        found = re.search(r"rate ([\d.]+)", out)
        if run.returncode != 0 or not found:
            raise Missing(f"it failed: {last_line(told)}")
        return float(found.group(1))


def no_ops(place, args):
    rivals = Rivals(place, args.venv or os.environ.get("SPATE_BENCH_VENV"))
    systems = {f"groups of {group}": partial(pings, place, group, PINGS[group]) for group in PINGS}
    checks = {f"groups of {group}": partial(pings, place, group, 1000) for group in PINGS}
    for group, tasks in MPI_TASKS.items():
        for ahead in (1, AHEAD):
            name = f"MPI, {group} in a message, {ahead} ahead"
            systems[name] = partial(mpi_rate, place, group, ahead, tasks)
            checks[name] = partial(mpi_rate, place, group, ahead, 10_000)
    missing = {}
    for name in RIVALS:
        title = RIVALS[name][0]
        try:
            rivals.have(name)
            title += f" {rivals.version(name)}"
            systems[title] = partial(rivals.rate, name, RIVAL_TASKS)
            checks[title] = partial(rivals.rate, name, 10)
        except Missing as why:
            missing[title] = str(why)
    rates = {name: [] for name in systems}
    for runs in [checks] + [systems] * args.rounds:
        for name in [name for name in systems if name not in missing]:
            try:
                rate = runs[name]()
                if runs is systems:
                    rates[name].append(rate)
            except Missing as why:
                missing[name] = str(why)
    base = statistics.median(rates["groups of 1"])
    print(f"master-worker, no-op tasks, {SLAVES} slaves, medians of {args.rounds}")
    print(f"  {'system':34} {'tasks/s':>12} {'of groups of 1':>15}   all rounds")
    for name in [*systems, *(name for name in missing if name not in systems)]:
        if name in missing:
            print(f"  {name:34} {'skipped':>12}: {missing[name]}")
            continue
        rate = statistics.median(rates[name])
        print(f"  {name:34} {rate:12,.0f} {rate / base:15.3f}   " + " ".join(f"{each:,.0f}" for each in rates[name]))


# ---- Values ----------------------------------------------------------------------------------------

class Tls:
    """The two ends of a TLS copy, with a certificate that `openssl` makes."""

    def __init__(self, place):
        key, certificate = place.path("key.pem"), place.path("certificate.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=bench"], check=True,
                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(certificate, key)
        self.client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.client.check_hostname = False
        self.client.verify_mode = ssl.CERT_NONE


def receive(address, tls, size):
    """What the other end of a copy does; whether all bytes have come."""
    into = bytearray(BLOCK)
    with socket.create_connection(address) as plain, (tls.client.wrap_socket(plain) if tls else plain) as connection:
        while size > 0:
            got = connection.recv_into(into)
            if got == 0:
                return False
            size -= got
        connection.sendall(b"x")
    return True


def copy(tls, receivers, megabytes):
    """MB/s of blocks of 1 MB over loopback, to so many processes in turn; plain TCP, or over TLS."""
    block = bytes(BLOCK)
    rounds = megabytes // receivers
    connections, children = [], []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for _ in range(receivers):
            child = os.fork()
            if child == 0:
                os._exit(0 if receive(listener.getsockname(), tls, rounds * BLOCK) else 1)
            children.append(child)
            plain = listener.accept()[0]
            connections.append(tls.server.wrap_socket(plain, server_side=True) if tls else plain)
    begun = time.monotonic()
    for _ in range(rounds):
        for connection in connections:
            connection.sendall(block)
    good = all(connection.recv(1) == b"x" for connection in connections)
    took = time.monotonic() - begun
    for connection in connections:
        connection.close()
    for child in children:
        good = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and good
    if not good:
        sys.exit("bench: not all bytes of a copy have come")
    return rounds * receivers / took


def value_rate(place, what, size, megabytes, over_network):
    program = f"{place.build}/bench/mw_values"
    tasks = max(20, min(MOST_TASKS, megabytes * 1_000_000 // size))
    with Work(place, program, what, size, tasks, SLAVES) as work:
        work.start_slaves(SLAVES, NETWORK if over_network else ())
        return number(r"([\d.]+) MB/s", work.said(), program)


def values(place, args):
    tls = Tls(place) if shutil.which("openssl") else None
    ways = {(what, size, network): partial(value_rate, place, what, size, over_network=network)
            for network in (False, True) for what in ("arguments", "results") for size in SIZES}
    copies = {"TCP": lambda megabytes: copy(None, SLAVES, 4 * megabytes)}
    if tls:
        copies["TLS"] = lambda megabytes: copy(tls, SLAVES, 2 * megabytes)
    rates = {way: [] for way in [*copies, *ways]}
    for megabytes in [20] + [MEGABYTES] * args.rounds:
        for way in rates:
            rate = copies[way](megabytes) if way in copies else ways[way](megabytes=megabytes)
            if megabytes == MEGABYTES:
                rates[way].append(rate)
    print(f"values, {SLAVES} slaves, MB/s, medians of {args.rounds}; beside them plain copies of blocks of 1 MB over loopback")
    for name in copies:
        print(f"  a copy by {name}: {middle(rates[name], '{:,.0f}')}")
    if not tls:
        print("  a copy by TLS: skipped, there is no openssl command")
    tcp = statistics.median(rates["TCP"])
    titles = [f"{what}{', by TLS' if network else ''}" for network in (False, True) for what in ("arguments", "results")]
    print("  " + f"{'bytes':>10}" + "".join(f"{title:>20} {'of TCP':>6}" for title in titles))
    for size in SIZES:
        row = f"  {size:10,}"
        for network in (False, True):
            for what in ("arguments", "results"):
                rate = statistics.median(rates[what, size, network])
                row += f"{rate:20,.0f} {rate / tcp:6.2f}"
        print(row)


# ---- Very many slaves ----------------------------------------------------------------------------

def affordable():
    """As many slaves as this machine has memory for, and the master descriptors."""
    with open("/proc/meminfo") as info:
        free = 1024 * int(re.search(r"MemAvailable:\s+(\d+)", info.read()).group(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = 1 << 20 if hard == resource.RLIM_INFINITY else hard
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, max(soft, MANY + 200)), hard))
    return max(1, min(MANY, free // MANY_BYTES, files - 200))


def many_slaves(place, args):
    program = f"{place.build}/bench/mw_many_slaves"
    count = affordable()
    memory, before, come, ends = [], [], [], []
    for _ in range(min(3, args.rounds)):
        with Work(place, program, count, stdin=subprocess.PIPE) as work:
            before.append(memory_of(work.master.pid) / 2**20)
            begun = time.monotonic()
            work.start_slaves(count)
            said = work.master.stdout.readline()
            come.append(time.monotonic() - begun)
            if said != f"all {count} slaves, {10 * count} tasks\n":
                sys.exit(f"bench: {program} said '{said}'")
            memory.append(memory_of(work.master.pid) / 2**20)
            begun = time.monotonic()
            work.master.stdin.write("\n")
            work.master.stdin.flush()
            bad = sum(slave.wait(timeout=PATIENCE) != 0 for slave in work.slaves)
            ends.append(time.monotonic() - begun)
            if bad or work.master.wait(timeout=60) != 0:
                sys.exit(f"bench: {bad} of {count} slaves were not told that it is over")
    fewer = "" if count == MANY else f" (of {MANY:,}: there is no more memory, or there are no more descriptors)"
    print(f"{count:,} slaves{fewer}, connected and after 10 tasks for each: master {middle(memory, '{:.0f}')} MB, without slaves "
          f"{middle(before, '{:.0f}')} MB; started and all tasks done in {middle(come, '{:.1f}')} s; all have exited "
          f"{middle(ends, '{:.2f}')} s after the master's function")


def bench_mw(place, args):
    print()
    for measure in (no_ops, values, many_slaves):
        if args.measure in (None, measure.__name__):
            measure(place, args)
            sys.stdout.flush()
