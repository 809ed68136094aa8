"""A hub with nodes and clients as processes of their own, over TLS, its journal durable.

Each measure starts a hub in a fresh folder, checks the answer in its journal, and prints one line or
a few. What the nodes of bench/hub/node_swarm answer is checked as well: nobody else could know that
a task never ran.
"""
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")


def await_that(what, condition, seconds=120, pause=0.01):
    """Seconds until the condition held."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > seconds:
            sys.exit(f"bench: not within {seconds} s: {what}")
        time.sleep(pause)
    return time.monotonic() - start


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_of(pid):
    with open(f"/proc/{pid}/status") as status:
        return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))


def middle(values, form):
    """The median, and all of the values."""
    return (form.format(statistics.median(values)) + " ("
            + " ".join(form.format(value) for value in values) + ")")


class Hub:
    """A hub in a fresh folder, with whatever speaks to it; `with` ends them all."""

    def __init__(self, place, *options):
        self.place, self.options = place, options
        self.state = tempfile.mkdtemp(dir=place.dir)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("SPATE")}
        self.env |= {"SPATE_STATE": self.state, "HOME": self.state}
        self.process = None
        self.others = []
        self.listen = "127.0.0.1:0"

    def __enter__(self):
        self.start()
        self.nodes_access = self.make_access("node")
        self.client_access = self.make_access("client")
        return self

    def __exit__(self, *_):
        for process in [*self.others, self.process]:
            process.kill()
            process.wait()

    def path(self, name):
        return os.path.join(self.state, name)

    def spawn(self, name, *command, **options):
        out = open(self.path(name), "w")
        return subprocess.Popen(command, env=self.env, stdout=out, stderr=subprocess.STDOUT,
                                **{"stdin": subprocess.DEVNULL} | options)

    def said(self, name, text):
        with open(self.path(name)) as file:
            return file.read().count(text)

    def spate(self, *words):
        return subprocess.run([self.place.spate, *words], env=self.env, check=True,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout

    def status(self):
        return json.loads(self.spate("hub", "status", "--output", "json"))

    def start(self):
        self.process = self.spawn("hub.log", self.place.spate, "hub", "start", "--allow-root",
                                  "--listen", self.listen, *self.options)
        await_that("the hub is up", lambda: self.said("hub.log", "the hub is up, life"))

    def restart(self):
        """Kills the hub, and starts it at the same port."""
        with open(self.nodes_access) as file:
            self.listen = re.search(r"hub = (\S+)", file.read()).group(1)
        self.process.kill()
        self.process.wait()
        self.start()

    def make_access(self, role):
        path = self.path(f"{role}.access")
        text = self.spate("hub", "access", "add", "--role", role)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(text)
        return path

    def real_node(self, slots=os.cpu_count()):
        node = self.spawn("node.log", self.place.spate, "node", "start", "--allow-root",
                          "--access", self.nodes_access, "--name", "real", "-j", str(slots))
        self.others.append(node)
        await_that("the node has joined", lambda: self.said("node.log", "joined the hub"))
        return node

    def swarm(self, nodes, slots=1, task_ms=0, processes=1, listed=0):
        swarms = []
        for i in range(processes):
            swarms.append(self.spawn(
                f"swarm{i}.log", f"{self.place.build}/bench/node_swarm", self.nodes_access,
                f"n{i}-", str(nodes // processes), str(slots), str(task_ms), str(listed),
                stdin=subprocess.PIPE))
        self.others += swarms
        for i in range(processes):
            await_that("all nodes have come", lambda: self.said(f"swarm{i}.log", "all "))
        return swarms

    def client(self, what, count):
        done = subprocess.run([f"{self.place.build}/bench/hub_client", what, self.client_access,
                               str(count)], env=self.env, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"bench: hub_client {what} {count}: {done.stderr}")
        return [float(number) for number in re.findall(r"(\d+\.\d+) m?s", done.stdout)]

    def journal(self, query):
        with sqlite3.connect(f"file:{self.path('hub/hub.db')}?mode=ro", uri=True) as database:
            return database.execute(query).fetchone()[0]

    def check_ends(self, tasks):
        found = self.journal("select count(distinct job << 32 | idx) from attempt")
        if found != tasks:
            sys.exit(f"bench: {found} of {tasks} tasks in the journal: no time is worth measuring")


# ---- Real tasks ----------------------------------------------------------------------------------

def real_tasks(place, args, bare_rate, rivals):
    with Hub(place) as hub:
        node = hub.real_node()
        answers = hub.path("answers")
        os.mkdir(answers)
        hub.spate("submit", "--wait", "--array", "1-200", "--", f"touch {answers}/{{}}")
        if len(os.listdir(answers)) != 200:
            sys.exit("bench: not all of 200 files were made: no time is worth measuring")
        for program in ("/bin/true", place.nothing):
            # A list, so that the program gets no argument, as in the bare loop: true takes 100 us
            # more with one, since it loads its language then.
            with open(hub.path("tasks.lst"), "w") as file:
                file.write(f"{program}\n" * args.tasks)
            ratios, hub_us, node_us = [], [], []
            others = {name: [] for name in rivals}
            few = max(1, args.tasks // 10)  # the slowest of them would take minutes
            for _ in range(args.rounds):
                bare = bare_rate(place, program, args.tasks)
                before = cpu_seconds(hub.process.pid), cpu_seconds(node.pid)
                start = time.monotonic()
                hub.spate("submit", "--wait", "--env", "none", hub.path("tasks.lst"))
                ratios.append(args.tasks / (time.monotonic() - start) / bare)
                hub_us.append(1e6 * (cpu_seconds(hub.process.pid) - before[0]) / args.tasks)
                node_us.append(1e6 * (cpu_seconds(node.pid) - before[1]) / args.tasks)
                for name, run in rivals.items():
                    others[name].append(few / run(place, [program] * few) / bare)
            print(f"hub + node, {args.tasks:,} x {os.path.basename(program)}: "
                  f"{middle(ratios, '{:.2f}')} of the bare loop; CPU of a task: hub "
                  f"{middle(hub_us, '{:.0f}')} us, node {middle(node_us, '{:.0f}')} us")
            print("  on one machine, without a hub: "
                  + ", ".join(f"{name} {middle(each, '{:.2f}')}" for name, each in others.items()))


def latency(place, args):
    with Hub(place) as hub:
        hub.real_node()
        more, spawns = [], []
        for _ in range(args.rounds):
            spawn, _, task, _ = hub.client("latency", 200)
            spawns.append(spawn)
            more.append(task - spawn)
        hub.check_ends(200 * args.rounds)
        print(f"one /bin/true, submitted to known end, over one connection: p50 "
              f"{middle(more, '{:.1f}')} ms more than its spawn ({middle(spawns, '{:.1f}')} ms)")


# ---- Nodes that answer at once, or after a while ---------------------------------------------------

def instant_nodes(place, args):
    tasks = 10**6
    rates, hub_us, swarm_us, bytes_each = [], [], [], []
    for _ in range(args.rounds):
        with Hub(place) as hub:
            swarm = hub.swarm(100)[0]
            before = cpu_seconds(hub.process.pid), cpu_seconds(swarm.pid)
            _, seconds = hub.client("array", tasks)
            rates.append(tasks / seconds)
            hub_us.append(1e6 * (cpu_seconds(hub.process.pid) - before[0]) / tasks)
            swarm_us.append(1e6 * (cpu_seconds(swarm.pid) - before[1]) / tasks)
            hub.check_ends(tasks)
            pages = hub.journal("select page_count from pragma_page_count")
            bytes_each.append(pages * hub.journal("select page_size from pragma_page_size") / tasks)
    print(f"{tasks:,} tasks, 100 nodes that answer at once: {middle(rates, '{:,.0f}')} tasks/s; CPU "
          f"of a task: hub {middle(hub_us, '{:.1f}')} us, all nodes {middle(swarm_us, '{:.1f}')} us; "
          f"journal {middle(bytes_each, '{:.0f}')} bytes a task")


def many_nodes(place, args):
    nodes, processes = 10_000, 4
    tasks = nodes  # one each: while several nodes are there, long tasks do not wait behind others
    memory, times = [], []
    for _ in range(min(3, args.rounds)):
        with Hub(place) as hub:
            hub.swarm(nodes, task_ms=15_000, processes=processes)
            hub.spate("submit", "--array", f"1-{tasks}", "--", "true")
            await_that("all nodes have tasks", lambda: hub.status()["running"] == tasks, pause=0.2)
            memory.append(memory_of(hub.process.pid) / 2**20)
            hub.restart()
            times.append(await_that("all nodes are back", lambda: hub.status()["nodes"] == nodes,
                                    pause=0.2))
            hub.spate("job", "wait", "1")
            hub.check_ends(tasks)
            again = hub.journal("select count(*) from attempt") - tasks
            if again != 0:
                sys.exit(f"bench: {again} of {tasks} tasks were run again after the restart")
    print(f"{nodes:,} nodes at work: hub {middle(memory, '{:.0f}')} MB; killed and started again it "
          f"has them all back in {middle(times, '{:.1f}')} s, and lost none of their tasks")


def full_slots(place, args):
    nodes, rounds = 64, 10
    shares = []
    for _ in range(args.rounds):
        with Hub(place) as hub:
            hub.swarm(nodes, task_ms=1000)
            _, seconds = hub.client("array", nodes * rounds)
            hub.check_ends(nodes * rounds)
            shares.append(rounds / seconds)
    print(f"{nodes} nodes of 1 slot, tasks of 1 s: {middle(shares, '{:.3f}')} of the slots' time")


# ---- Many jobs -----------------------------------------------------------------------------------

def stuck_jobs(place, args):
    tasks, jobs = 40_000, 3_000
    ratios = []
    for _ in range(args.rounds):
        with Hub(place) as hub:
            hub.swarm(100, slots=4)
            hub.client("array", tasks)  # so that what comes first is no slower
            before = [hub.client("array", tasks)[1] for _ in range(3)]
            hub.client("stuck", jobs)
            after = [hub.client("array", tasks)[1] for _ in range(3)]
            if hub.status()["queued"] != jobs:
                sys.exit(f"bench: {hub.status()['queued']} of {jobs} jobs wait: no time is worth measuring")
            hub.check_ends(7 * tasks)
            ratios.append(statistics.median(after) / statistics.median(before))
    print(f"{tasks:,} tasks beside {jobs:,} jobs that fit no node: {middle(ratios, '{:.2f}')} of the time without them")


def small_jobs(place, args):
    jobs, nodes, slots, task = 20_000, 1_000, 4, 4
    shares, accepted, hub_us = [], [], []
    for _ in range(min(3, args.rounds)):
        with Hub(place) as hub:
            accepted.append(hub.client("jobs", jobs)[0])
            before = cpu_seconds(hub.process.pid)
            hub.swarm(nodes, slots=slots, task_ms=1000 * task, processes=2)
            await_that("all jobs have ended", lambda: hub.status()["queued"] + hub.status()["running"] == 0, pause=0.5)
            hub_us.append(1e6 * (cpu_seconds(hub.process.pid) - before) / jobs)
            hub.check_ends(jobs)
            span = hub.journal("select max(start_us + wall_us) - min(start_us) from attempt") / 1e6
            shares.append(jobs * task / (nodes * slots) / span)
    print(f"{jobs:,} jobs of one task of {task} s, {nodes * slots:,} slots: {middle(shares, '{:.2f}')} of the slots' time, "
          f"from the first start to the last end; accepted in {middle(accepted, '{:.1f}')} s; CPU of the hub for a job "
          f"{middle(hub_us, '{:.0f}')} us")


# ---- Many queued tasks -----------------------------------------------------------------------------

def million_queued(place, args):
    tasks = 10**6
    with Hub(place) as hub:  # and no node
        hub.spate("submit", "--array", "1-1000", "--", "true")
        before = memory_of(hub.process.pid)
        hub.spate("submit", "--array", f"1-{tasks}", "--", "true")
        each = (memory_of(hub.process.pid) - before) / tasks
        lists = {"job list": [], "job info 2": [], "task info 2.500000": []}
        for _ in range(4 * args.rounds):
            for words, times in lists.items():
                start = time.monotonic()
                hub.spate(*words.split())
                times.append(1e3 * (time.monotonic() - start))
        print(f"{tasks:,} tasks queued: {each:.0f} bytes of the hub's memory each; "
              + ", ".join(f"{words} {statistics.median(times):.0f} ms (worst {max(times):.0f})"
                          for words, times in lists.items()))


# ---- Parasol -------------------------------------------------------------------------------------

def para(hub, folder, *words):
    start = time.monotonic()
    done = subprocess.run([hub.place.spate, "para", *words], env=hub.env, cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: para {' '.join(words)}: {done.stderr}")
    return time.monotonic() - start, done.stdout


def batch(hub, name, tasks):
    folder = hub.path(name)
    os.mkdir(folder)
    with open(os.path.join(folder, "list"), "w") as file:
        file.write("/bin/true\n" * tasks)
    return folder


def para_make(place, args, bare_rate):
    with Hub(place) as hub:
        hub.real_node()
        ratios = []
        for number in range(args.rounds):
            bare = bare_rate(place, "/bin/true", args.tasks)
            folder = batch(hub, f"batch{number}", args.tasks)
            took, _ = para(hub, folder, "make", "list")
            ratios.append(args.tasks / took / bare)
            _, counts = para(hub, folder, "check")
            if counts != f"ranOk: {args.tasks}\ntotal jobs in batch: {args.tasks}\n":
                sys.exit(f"bench: para make: {counts}")
        print(f"para make of {args.tasks:,} x true, from the command to the prompt: "
              f"{middle(ratios, '{:.2f}')} of the bare loop")


def para_million(place, args):
    tasks = 10**6
    pushes, checks = [], []
    with Hub(place) as hub:  # and no node
        for number in range(args.rounds):
            folder = batch(hub, f"batch{number}", tasks)
            para(hub, folder, "create", "list")
            pushes.append(para(hub, folder, "push", f"-maxPush={tasks}")[0])
            took, counts = para(hub, folder, "check")
            checks.append(took)
            if counts != f"queued and waiting: {tasks}\ntotal jobs in batch: {tasks}\n":
                sys.exit(f"bench: para check: {counts}")
            para(hub, folder, "stop")
            para(hub, folder, "freeBatch")
        print(f"para push of {tasks:,} jobs: {middle(pushes, '{:.1f}')} s; para check of them: "
              f"{middle(checks, '{:.2f}')} s")


def bench_hub(place, args, bare_rate, rivals, more):
    def real(place, args):
        real_tasks(place, args, bare_rate, rivals)
    def make(place, args):
        para_make(place, args, bare_rate)
    print()
    for measure in (real, latency, instant_nodes, many_nodes, full_slots, stuck_jobs, small_jobs, million_queued, make,
                    para_million, *more):
        if args.measure in (None, measure.__name__):
            measure(place, args)
            sys.stdout.flush()
