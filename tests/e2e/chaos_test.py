"""Nothing is lost, whatever is killed: hub, nodes, machines, clients and the network between them.

By hand, longer: chaos_test.py test_kills_at_random_moments --tasks 20000 --rounds 20 [--seed N]
"""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys

from cluster import Proxy, cluster_of, free_port
from harness import SPATE, Place, alive, main, option, wait, want
from processes import kill_all, processes_with, send_all


TASKS = option("--tasks", 1000)
ROUNDS = option("--rounds", 3)
SEED = option("--seed", 1)
CLIENTS = 4  # of each round
# Every attempt writes a line when it starts and one before it ends, and has some output.
COMMAND = ("echo s {} $SPATE_ATTEMPT $SPATE_NODE $$ >> ran.NAME; "
           "case {} in *5) sleep 0.2;; *) sleep 0.01;; esac; "
           "echo e {} $SPATE_ATTEMPT >> ran.NAME; echo {}.$SPATE_ATTEMPT")


class World:
    """A hub at a fixed port; n1 on its socket, n2 over TLS, n3 over TLS through a proxy."""

    def __init__(self, place, *hub_options, slots=4):
        self.place = place
        self.mark = f"CHAOS={place.dir}"
        place.env["CHAOS"] = place.dir
        self.slots = slots
        port = free_port()
        self.cluster = cluster_of(place, "--listen", f"127.0.0.1:{port}", *hub_options)
        self.proxy = Proxy(port)
        access = self.cluster.access("--role", "node", "--user", "*", name="n2.access")
        with open(access) as file:
            text = file.read()
        far = os.path.join(place.dir, "n3.access")
        with open(os.open(far, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(text.replace(f":{port}", f":{self.proxy.port}"))
        self.options = {"n1": (), "n2": ("--access", access), "n3": ("--access", far)}
        self.nodes = {}
        place.on_remove = self.stop

    def start_node(self, name):
        env = dict(self.place.env, CHAOS_NODE=name,
                   SPATE_STATE=self.place.state if name == "n1" else self.place.dir + "/" + name)
        self.nodes[name] = self.cluster.node(name, "-j", str(self.slots), "--cpus",
                                             str(self.slots), *self.options[name], env=env,
                                             join=False)

    def kill_node(self, name):
        """Its tasks go on, and its next process takes them over."""
        self.nodes[name].kill()
        self.nodes[name].wait()

    def kill_machine(self, name):
        """Node, shepherds, tasks: all that ran there."""
        kill_all(self.mark, f"CHAOS_NODE={name}")
        self.nodes[name].wait()
        kill_all(self.mark, f"SPATE_NODE={name}")

    def states(self):
        out, _ = self.cluster.spate("node list", "--output", "json")
        return {line["node"]: line["state"] for line in map(json.loads, out.splitlines())}

    def join(self, *names):
        wait(lambda: all(self.states().get(name) == "ready" for name in names), f"{names} are there")

    def jobs(self):
        out, _ = self.cluster.spate("job list", "--all", "--output", "json")
        return [json.loads(line) for line in out.splitlines()]

    def ends(self, job, tasks):
        """By task, what the hub says of its attempts."""
        out, _ = self.cluster.spate("task info", f"{job}.1-{tasks}", "--output", "json")
        return {line["task"]: line for line in map(json.loads, out.splitlines())}

    def failures(self, job):
        """What a person would look at first."""
        if job is None:
            return ""
        out, _ = self.cluster.spate("job tasks", str(job), "--filter", "failed")
        tasks = re.findall(rf"^ *({job}\.\d+)", out, re.M)[:5]
        return out + "".join(self.cluster.spate("task info", task)[0] for task in tasks)

    def stop(self):
        self.proxy.go_on()
        self.cluster.stop()
        self.proxy.close()
        # Whatever the test has found before, nothing stays behind.
        left = kill_all(self.mark)
        want(not left, f"processes outlived everything: {left}")


class Client:
    def __init__(self, world, name, tasks):
        self.world, self.name, self.tasks = world, name, tasks
        self.killed = False
        self.start()

    def start(self):
        place = self.world.place
        self.out = open(os.path.join(place.dir, f"{self.name}.out"), "w")
        self.process = subprocess.Popen(
            [SPATE, "submit", "--wait", "--name", self.name, "--array", f"1-{self.tasks}", "--",
             COMMAND.replace("NAME", self.name)],
            cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL, stdout=self.out,
            stderr=subprocess.STDOUT)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.killed = True

    def number(self):
        """Of its job, as far as it was told."""
        numbers = [line for line in self.world.place.lines(f"{self.name}.out") if line.isdigit()]
        return int(numbers[0]) if numbers else None

    def see_to_the_end(self):
        """A client that never reached its hub has sent nothing, and is started again by its user."""
        def ended():
            if self.process.poll() is None:
                return False
            if self.killed or self.process.returncode == 0:
                return True
            if self.process.returncode != 3 or self.number() is not None:
                raise AssertionError(self.world.place.read(f"{self.name}.out")
                                     + self.world.failures(self.number()))
            self.start()
            return False
        wait(ended, f"client {self.name} ends", 60 + TASKS / 20)


def check_job(world, job, tasks):
    """Every task ended once; what ran twice is explained. Returns how many attempts ran doubly."""
    if job["state"] != "succeeded" or job["succeeded"] != tasks:
        raise AssertionError(f"{job} {world.failures(job['job'])}")
    want(job["total"] == tasks, job)
    started, ended = {}, {}
    for line in world.place.lines("ran." + job["name"]):
        what, task, attempt = line.split()[:3]
        seen = (started if what == "s" else ended).setdefault(int(task), [])
        want(int(attempt) not in seen, f"attempt {attempt} of {job['job']}.{task} ran twice")
        seen.append(int(attempt))
    want(set(started) == set(ended) == set(range(1, tasks + 1)), "a task never ran to its end")
    told = world.ends(job["job"], tasks)
    want(set(told) == set(started), "a task is not told of")
    doubled = 0
    for task, line in told.items():
        causes = {end["attempt"]: end["cause"] for end in line["ends"]}
        last = max(causes)
        want(len(causes) == len(line["ends"]), f"an end was told twice: {line}")
        want(causes[last] == "success" and last in ended[task], f"{line} {ended[task]}")
        # What its node held behind what ran was not present at the loss.
        lost = ("node", "stopped")
        want(all(cause in lost for number, cause in causes.items() if number != last), line)
        want(set(started[task]) <= set(causes), f"an attempt nobody knows of: {line} {started[task]}")
        doubled += len(started[task]) - 1
    out, _ = world.cluster.spate("job cat", str(job["job"]))
    kept = {f"{task}.{max(end['attempt'] for end in line['ends'])}" for task, line in told.items()}
    want(sorted(out.splitlines()) == sorted(kept), "output is lost, or of another attempt")
    return doubled


def test_kills_at_random_moments(place: Place):
    # A silent node's tasks run elsewhere soon, so that this happens here, too.
    world = World(place, "--suspect-after", "1s", "--lost-after", "4s")
    for name in world.options:
        world.start_node(name)
    chance = random.Random(SEED)
    tasks = max(1, TASKS // ROUNDS // CLIENTS)
    clients, counts = [], {}

    def ran():
        return sum(len(place.lines(f"ran.{client.name}")) for client in clients)

    def hub():
        world.cluster.kill_hub()
        world.cluster.start_hub()

    def node():
        name = chance.choice(list(world.nodes))
        world.kill_node(name)
        world.start_node(name)

    def machine():
        name = chance.choice(list(world.nodes))
        world.kill_machine(name)
        world.start_node(name)

    def client():
        alive_ones = [each for each in clients if each.process.poll() is None]
        if alive_ones:
            chance.choice(alive_ones).kill()

    def stall():
        world.proxy.stall()
        wait(lambda: world.states().get("n3") != "ready", "n3 is suspected")

    def cut():
        world.proxy.cut()

    for number in range(ROUNDS):
        clients += [Client(world, f"c{number}-{k}", tasks) for k in range(CLIENTS)]
        blows = [hub, node, machine, client, stall, cut]
        chance.shuffle(blows)
        for blow in blows:
            # Most of the round's tasks are still to come at its last blow.
            goal = ran() + chance.randrange(tasks * CLIENTS // 6)
            wait(lambda: ran() >= goal or all(c.process.poll() is not None for c in clients),
                 "tasks run")
            counts[blow.__name__] = counts.get(blow.__name__, 0) + 1
            blow()
        world.proxy.go_on()
    for each in clients:
        each.see_to_the_end()
    world.join("n1", "n2", "n3")

    jobs = {}
    for job in world.jobs():
        want(job["name"] not in jobs, f"two jobs of one client: {job}")
        jobs[job["name"]] = job
    doubled = accepted = 0
    for each in clients:
        if each.number() is not None:
            want(jobs[each.name]["job"] == each.number(), f"{each.name} was told another job")
        if each.name not in jobs:
            want(each.killed and each.number() is None, f"the job of {each.name} is lost")
            continue
        number = str(jobs[each.name]["job"])
        world.cluster.spate("job wait", number)
        doubled += check_job(world, json.loads(
            world.cluster.spate("job list", number, "--output", "json")[0]), tasks)
        accepted += tasks
    print(f"       seed {SEED}: {len(jobs)} jobs, {accepted} tasks, {doubled} ran again; {counts}")


def test_a_silent_node_is_suspected_then_lost_and_its_late_news_is_ignored(place: Place):
    world = World(place, "--suspect-after", "1s", "--lost-after", "4s", slots=1)
    world.start_node("n3")
    world.join("n3")
    job = world.cluster.submit(
        "--", "echo $SPATE_ATTEMPT $SPATE_NODE $$ >> ran; "
        "test $SPATE_NODE = n1 || while ! test -e go; do sleep 0.05; done; echo $SPATE_ATTEMPT >> done")
    wait(lambda: place.lines("ran"), "it runs on n3")
    old = int(place.lines("ran")[0].split()[2])
    world.proxy.stall()
    wait(lambda: world.states()["n3"] == "away", "n3 is suspected")
    want(len(place.lines("ran")) == 1, "not yet lost")
    # Nobody waits for a silent node.
    world.start_node("n1")
    world.join("n1")
    world.cluster.submit("--wait", "--", "true", ":::", *map(str, range(20)))
    world.cluster.spate("job wait", job)
    want([line.split()[:2] for line in place.lines("ran")] == [["1", "n3"], ["2", "n1"]],
         place.read("ran"))
    want(alive(old), "the old attempt cannot know yet")
    world.proxy.go_on()
    wait(lambda: not alive(old), "the old attempt is stopped when its node is back")
    world.join("n3")
    want(place.lines("done") == ["2"], place.read("done"))
    ends = world.ends(job, 1)[1]["ends"]
    want([(end["attempt"], end["cause"]) for end in ends] == [(1, "node"), (2, "success")], ends)
    want(re.search(r"silent for ([4-9]|\d\d)", ends[0]["note"]), ends)


def test_a_link_that_is_cut_or_slow_repeats_nothing(place: Place):
    world = World(place)
    world.start_node("n3")
    world.join("n3")
    world.proxy.delay = 0.01
    tasks = 300
    job = world.cluster.submit("--name", "x", "--array", f"1-{tasks}", "--",
                               COMMAND.replace("NAME", "x"))
    for goal in (100, 250, 400):
        wait(lambda: len(place.lines("ran.x")) >= goal, "progress")
        world.proxy.cut()
    world.cluster.spate("job wait", job)
    want(check_job(world, world.jobs()[0], tasks) == 0, "a cut link repeated a task")


def test_a_short_stall_is_waited_for(place: Place):
    world = World(place, "--suspect-after", "1s", "--lost-after", "1h", slots=1)
    world.start_node("n3")
    world.join("n3")
    job = world.cluster.submit("--", "echo $SPATE_NODE >> ran; "
                               "while ! test -e go; do sleep 0.05; done; echo x >> done")
    wait(lambda: place.lines("ran"), "it runs")
    world.start_node("n1")
    world.join("n1")
    world.proxy.stall()
    wait(lambda: world.states()["n3"] == "away", "n3 is suspected")
    place.write("go")
    wait(lambda: place.lines("done"), "it ends while its node is away")
    world.cluster.submit("--wait", "--", "true")
    world.proxy.go_on()
    world.cluster.spate("job wait", job)
    want(place.lines("ran") == ["n3"], place.read("ran"))


class Host:
    """A network namespace as another machine, behind a cable that can be pulled."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"],
                                       stderr=subprocess.DEVNULL)
        pid = self.holder.pid
        self.enter = ["nsenter", "-t", str(pid), "-n"]
        self.cable = f"sp{pid}"
        net = f"10.{100 + pid % 100}.{pid // 100 % 250}"
        self.hub, self.address = f"{net}.1", f"{net}.2"

    def begin(self):
        """False where this is not allowed."""
        own = os.readlink("/proc/self/ns/net")
        try:
            wait(lambda: self.holder.poll() is not None
                 or os.readlink(f"/proc/{self.holder.pid}/ns/net") != own, "it has its own network")
        except (PermissionError, FileNotFoundError):  # the latter as it ends
            return False
        steps = [f"ip link add {self.cable} type veth peer name far netns {self.holder.pid}",
                 f"ip addr add {self.hub}/24 dev {self.cable}", f"ip link set {self.cable} up",
                 " ".join(self.enter) + f" ip addr add {self.address}/24 dev far",
                 " ".join(self.enter) + " ip link set far up",
                 " ".join(self.enter) + " ip link set lo up"]
        return self.holder.poll() is None and all(
            subprocess.run(step.split(), capture_output=True).returncode == 0 for step in steps)

    def plug(self, state):
        subprocess.run(["ip", "link", "set", self.cable, state], check=True)

    def end(self):
        subprocess.run(["ip", "link", "del", self.cable], capture_output=True)
        self.holder.kill()
        self.holder.wait()


def test_a_pulled_cable_of_a_real_network(place: Place):
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        return print("       (skipped: there is no ip or no unshare)")
    host = Host()
    if not host.begin():
        host.end()
        return print("       (skipped: may not make a network)")
    place.on_remove = host.end
    port = free_port()
    cluster = cluster_of(place, "--listen", f"{host.hub}:{port}", "--suspect-after", "1s",
                         "--lost-after", "3s")

    def end():
        try:
            cluster.stop()
        finally:
            host.end()
    place.on_remove = end
    access = cluster.access("--role", "node", "--user", "*", name="far.access")
    env = dict(place.env, SPATE_STATE=os.path.join(place.dir, "far"))
    cluster.node("far", "-j", "1", "--access", access, env=env, inside=host.enter)
    job = cluster.submit("--", "echo $SPATE_NODE $$ >> ran; "
                         "test $SPATE_NODE = n1 || exec sleep 1000")
    wait(lambda: place.lines("ran"), "it runs")
    old = int(place.lines("ran")[0].split()[1])
    host.plug("down")
    cluster.node("n1", "-j", "1")
    cluster.spate("job wait", job)
    want([line.split()[0] for line in place.lines("ran")] == ["far", "n1"], place.read("ran"))
    want(alive(old), "the old attempt cannot know yet")
    host.plug("up")
    wait(lambda: not alive(old), "the old attempt is stopped when its node is back")


if __name__ == "__main__":
    main(globals())
