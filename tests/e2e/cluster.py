"""A hub and nodes as real processes on this machine, and a network between them that can fail."""
import contextlib
import os
import random
import resource
import signal
import socket
import subprocess
import threading
import time

from harness import SPATE, wait, want

NOBODY = 65534


class Cluster:
    """A hub in a place, and nodes that it started."""

    def __init__(self, place, *hub_options, files=None, log="hub.log", inside=(), program=SPATE):
        self.log = log
        self.inside = inside  # what the hub runs under: words of a command in front of its own
        self.files = files  # limit of the hub's open files
        self.place = place
        self.hub_options = hub_options or ("--listen", "127.0.0.1:0")
        self.processes = []
        self.program = program  # of what is started from now on
        self.hub_dir = os.path.join(place.state, "hub")
        self.hub = None
        self.start_hub()

    def popen(self, *args, env=None, log, inside=(), **who):
        out = open(os.path.join(self.place.dir, log), "a")
        process = subprocess.Popen([*inside, self.program, *args], cwd=self.place.dir, env=env or self.place.env,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   start_new_session=True, **who)
        self.processes.append(process)
        return process

    def start_hub(self):
        before = self.place.read(self.log).count("the hub is up, life")
        limit = {} if self.files is None else {"preexec_fn": lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (self.files, self.files))}
        self.hub = self.popen("hub", "start", "--allow-root", *self.hub_options, log=self.log,
                              inside=self.inside, **limit)
        wait(lambda: self.place.read(self.log).count("the hub is up, life") > before
             or self.hub.poll() is not None, "the hub is up")
        want(self.hub.poll() is None, self.place.read(self.log))

    def kill_hub(self):
        os.kill(self.hub.pid, signal.SIGKILL)
        self.hub.wait()

    def ordinary_node(self, name, access):
        """A node that does not run as root, whoever runs the tests."""
        state = os.path.join(self.place.dir, f"state-{name}")
        os.mkdir(state)
        env = dict(self.place.env, SPATE_STATE=state, HOME=state)
        who = {}
        if os.geteuid() == 0:
            os.chmod(self.place.dir, 0o1777)  # root relies on what is below it
            for path in (access, state):
                os.chown(path, NOBODY, NOBODY)
            who = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        return self.node(name, "--access", access, env=env, **who)

    def node(self, name="n1", *options, join=True, env=None, **who):
        process = self.popen("node", "start", "--name", name, "--allow-root", *options, env=env,
                             log=f"{name}.log", **who)
        if join:
            wait(lambda: "joined the hub" in self.place.read(f"{name}.log")
                 or process.poll() is not None, f"{name} joins")
            want(process.poll() is None, self.place.read(f"{name}.log"))
        return process

    def spate(self, *args, code=0, **options):
        return self.place.run(*args[1:], command=args[0], code=code, **options)

    def submit(self, *args, **options):
        out, _ = self.place.run(*args, command="submit", **options)
        return out.strip()

    def access(self, *args, name):
        out, _ = self.place.run("add", *args, command="hub access")
        path = os.path.join(self.place.dir, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(out)
        return path

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise AssertionError(f"did not end: {process.args}")


def cluster_of(place, *hub_options, files=None, inside=(), program=SPATE):
    cluster = Cluster(place, *hub_options, files=files, inside=inside, program=program)
    place.on_remove = cluster.stop
    return cluster


def free_port(host="127.0.0.1"):
    """For a hub that is started again where its access files say. The system gives no port of this range to other sockets, so
    none of them takes it while the hub is down."""
    while True:
        with contextlib.suppress(OSError), socket.create_server((host, random.randrange(20_000, 32_768))) as free:
            return free.getsockname()[1]


class Proxy:
    """Forwards connections, until it is told to stall (they stay open, nothing passes), or to cut them."""

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.delay = 0.0  # seconds, for each piece
        self.flows = threading.Event()
        self.flows.set()
        self.pairs = set()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.join, args=(peer,), daemon=True).start()

    def join(self, peer):
        self.flows.wait()
        try:
            hub = socket.create_connection(self.target)
        except OSError:
            return peer.close()
        pair = (peer, hub)
        self.pairs.add(pair)
        for source, sink in (pair, pair[::-1]):
            threading.Thread(target=self.forward, args=(source, sink, pair), daemon=True).start()

    def forward(self, source, sink, pair):
        try:
            while piece := source.recv(1 << 16):
                time.sleep(self.delay)
                self.flows.wait()
                sink.sendall(piece)
        except OSError:
            pass
        # The end of a connection passes no sooner than what was sent before it.
        self.flows.wait()
        self.end(pair)

    def end(self, pair):
        self.pairs.discard(pair)
        for each in pair:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def stall(self):
        self.flows.clear()

    def go_on(self):
        self.flows.set()

    def cut(self):
        for pair in list(self.pairs):
            self.end(pair)

    def close(self):
        self.server.close()
        self.go_on()
        self.cut()
