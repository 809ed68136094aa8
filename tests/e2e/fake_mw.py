#!/usr/bin/python3 -IS
"""A master-worker program for tests: it writes resource files as masters do, and is their slave.

  fake_mw.py --mw-slave --mw-resource-file F    connects to the master of F and does what it is told:
                                                a byte is its exit code, the end of the connection is 255

The master is a class, in the process of a test.
"""
import os
import select
import socket
import sys
import threading
import time

EPOCH = 2208988800


class Master:
    """Wants slaves, and writes how many are missing: every so often, and when the test says so."""

    def __init__(self, path, program, wanted, interval=1, port=0):
        self.path, self.program, self.wanted, self.interval = path, program, wanted, interval
        self.slaves = {}  # connection by what the slave said of itself
        self.lock = threading.Lock()
        self.finished = self.failed = self.stopped = False
        self.writes = True
        self.server = socket.create_server(("127.0.0.1", port))
        self.port = self.server.getsockname()[1]
        self.write()
        threading.Thread(target=self.serve, daemon=True).start()

    def missing(self):
        return 0 if self.finished else max(0, self.wanted - len(self.slaves))

    def write(self, text=None, age=0):
        if text is None:
            status = (":failed" if self.failed else ":finished" if self.finished else
                      ":in-progress")
            text = (f"(:computation-status {status})\n"
                    f"(:timestamp {int(time.time()) + EPOCH - age})\n(:member-id \"fake\")\n"
                    f"(:update-interval {self.interval})\n(:slaves-needed {self.missing()})\n"
                    f"(:slave-executable (\"{self.program}\" NIL))\n"
                    f"(:slave-arguments (\"--mw-slave\" \"--mw-master-host\" \"127.0.0.1\" "
                    f"\"--mw-master-port\" \"{self.port}\"))\n")
        new = f"{self.path}.new{threading.get_ident()}"  # two threads write
        with open(new, "w") as file:
            file.write(text)
        os.rename(new, self.path)
        self.due = time.monotonic() + self.interval

    def serve(self):
        while not self.stopped:
            ready, _, _ = select.select([self.server, *self.slaves.values()], [], [], 0.05)
            with self.lock:
                for one in ready:
                    self.hear(one)
                if self.writes and time.monotonic() >= self.due:
                    self.write()

    def hear(self, one):
        if self.stopped:
            return
        if one is self.server:
            slave, _ = one.accept()
            self.slaves[slave.recv(100).decode()] = slave
            return
        for name, slave in list(self.slaves.items()):
            if slave is one:
                del self.slaves[name]
        one.close()

    def names(self):
        """(pid, folder) of those that are connected."""
        with self.lock:
            return [(int(name.split()[0]), name.split()[1]) for name in self.slaves]

    def tell(self, code, count=1):
        """So many slaves end with that code."""
        with self.lock:
            for name in list(self.slaves)[:count]:
                self.slaves.pop(name).sendall(bytes([code]))

    def want(self, wanted):
        with self.lock:
            self.wanted = wanted
            self.write()

    def finish(self, failed=False):
        """As a master ends: all slaves are told to, then it says so."""
        with self.lock:
            self.finished, self.failed = True, failed
            for slave in self.slaves.values():
                slave.sendall(b"\2" if failed else b"\0")
            self.write()

    def die(self):
        with self.lock:
            self.stopped = True
            for one in [self.server, *self.slaves.values()]:
                one.close()


def slave(path):
    with open(path) as file:
        text = file.read()
    if ":finished" in text:
        return 0
    port = int(text.split('"--mw-master-port" "')[1].split('"')[0])
    try:
        master = socket.create_connection(("127.0.0.1", port))
    except OSError as error:
        print(f"no master at port {port}: {error}", file=sys.stderr)
        return 255
    master.sendall(f"{os.getpid()} {os.getcwd()}".encode())
    told = master.recv(1)
    if not told:
        print("the master is lost", file=sys.stderr)
    return told[0] if told else 255


if __name__ == "__main__":
    sys.exit(slave(sys.argv[sys.argv.index("--mw-resource-file") + 1]))
