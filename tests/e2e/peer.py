"""A peer of a hub that speaks the protocol of docs/formats/wire.md by itself: any message, however wrong."""
import os
import json
import re
import socket
import ssl
import struct
import time

from cluster import cluster_of, free_port
from harness import DEADLINE, want

GREETING, WELCOME, REFUSAL, TO_NODE, TO_HUB, OUTPUT_PIECE, REQUEST, REPLY = 1, 2, 3, 5, 6, 7, 8, 9
MEMORY_MOST = 256 << 20  # bytes
UPLOAD_TAGS = (b"\x1a", b"\x22", b"\x3a", b"\x4a")  # more of an upload: such requests have the id of their Submit
WINDOW = 100 << 10  # bytes of replies, after which the hub is told that they were taken


# ---- The protocol (docs/formats/wire.md), as far as an attacker needs it --------------------------

def number(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def packed(*values):
    return b"".join(number(value) for value in values)


def zigzag(value):
    return value << 1 if value >= 0 else (-value << 1) - 1


def message(fields):
    out = b""
    for tag, value in fields.items():
        if isinstance(value, int):
            out += number(tag << 3) + number(value)
        else:
            out += number(tag << 3 | 2) + number(len(value)) + value
    return out


def texts(*values):
    return message({1: b"".join(number(len(v)) for v in values), 2: b"".join(values)})


def frame(kind, body):
    return struct.pack("<IB", len(body) + 1, kind) + body


def request(kind, fields):
    return frame(REQUEST, message({kind: message(fields)}))


ANSWER, ANSWERED = b"\x3a", b"\x42"  # how such replies begin
LOOK_AT_HUB, LIST_NODES, EXPLAIN, DESCRIBE_JOBS, LIST_TASKS = 1, 3, 6, 41, 42  # questions
CHANGE_JOBS, CANCEL, FORGET, RETRY = 25, 26, 27, 28


def ask(question, fields):
    return request(8, {1: question, 2: message(fields)})


def ranges(first, last, times=1):
    """The ranges of a selector."""
    return message({3: message({1: first, 2: last, 3: 1})}) * times


def greeting(role=2, newest=3, oldest=3, name=b""):
    node = {8: name, 9: b"i" * 16} if name else {}
    return frame(GREETING, message({1: b"evil", 2: newest, 3: oldest, 4: role} | node))


def submit(name):
    settings = message({2: b"/tmp", 3: 0})
    return request(2, {1: name, 2: settings})


def rows(*lines):
    return request(3, {1: texts(*lines)})


def submit_end(count):
    needs = message({1: 1000})
    return request(4, {1: count, 2: needs, 3: packed(count, 0)})


def read_ends(job):
    return request(6, {1: job, 2: 0})


class Peer:
    def __init__(self, connection):
        self.connection = connection
        connection.settimeout(DEADLINE)
        self.bytes = b""
        self.id = 0  # of the newest request
        self.taken = {}  # bytes of replies, by the id of their request

    def send(self, *frames):
        for each in frames:
            self.connection.sendall(self.numbered(each))
        return self

    def numbered(self, frames):
        """The whole frames of requests among these get ids."""
        out = b""
        while len(frames) >= 5:
            size, kind = struct.unpack("<IB", frames[:5])
            if len(frames) < 4 + size:
                break
            whole, frames = frames[:4 + size], frames[4 + size:]
            if kind == REQUEST:
                if whole[5:6] not in UPLOAD_TAGS:
                    self.id += 1
                whole = frame(REQUEST, struct.pack("<I", self.id) + whole[5:])
            out += whole
        return out + frames

    def take(self, reply):
        """The reply without the id of its request; the hub sends no more than a window ahead."""
        number = reply[:4]
        taken = self.taken.get(number, 0) + len(reply) - 4
        if taken > WINDOW:
            try:
                self.connection.sendall(frame(REQUEST, number + message({11: message({1: taken})})))
            except OSError:
                pass  # it has ended
            taken = 0
        self.taken[number] = taken
        return reply[4:]

    def frame(self):
        """The next one, (type, body); None at the end."""
        while len(self.bytes) < 5 or len(self.bytes) < 4 + struct.unpack("<I", self.bytes[:4])[0]:
            try:
                piece = self.connection.recv(1 << 16)
            except (ConnectionError, ssl.SSLError):
                return None
            if not piece:
                return None
            self.bytes += piece
        size, kind = struct.unpack("<IB", self.bytes[:5])
        body, self.bytes = self.bytes[5:4 + size], self.bytes[4 + size:]
        return kind, self.take(body) if kind == REPLY else body

    def refusal(self):
        got = self.frame()
        while got and got[0] != REFUSAL:
            got = self.frame()
        want(got, "cut off without a word")
        return got[1].decode(errors="replace")


def local(hub):
    """Greeted and welcome on the hub's own socket."""
    peer = raw(hub).send(greeting())
    want(peer.frame()[0] == WELCOME, "no welcome")
    return peer


def raw(hub):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(os.path.join(hub.cluster.hub_dir, "socket"))
    return Peer(connection)


def tls(hub):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return Peer(context.wrap_socket(socket.create_connection(("127.0.0.1", hub.port))))


class Node(Peer):
    """A node that says what it is told to; it gets no tasks, as it offers too little for any."""

    def __init__(self, hub, name, hello=True, instance=None):
        super().__init__(raw(hub).connection)
        body = {1: b"evil", 2: 3, 3: 3, 4: 1, 8: name, 9: instance or os.urandom(16)}
        self.send(frame(1, message(body)))
        got = self.frame()
        want(got and got[0] == WELCOME, got)
        if hello:
            self.hello()

    def hello(self, *holds):
        """`holds`: (job, attempt, first, count) of tasks."""
        offer = message({1: b"n", 2: 1, 3: 1, 4: 1})
        triples = packed(*[n for job, attempt, _, _ in holds for n in (job, attempt, 1)])
        tasks = packed(*[n for _, _, first, count in holds for n in (first, count)])
        self.to_hub(1, {1: 1, 2: offer, 3: triples, 4: tasks})

    def to_hub(self, kind, fields):
        self.send(frame(TO_HUB, message({kind: message(fields)})))

    def ends(self, job, indexes, text, attempt=1):
        """Each has succeeded, and wrote `text`."""
        steps = [zigzag(b - a) for a, b in zip([0, *indexes], indexes)]
        count = len(indexes)
        self.to_hub(2, {1: packed(job, count), 2: packed(*steps), 3: packed(*[attempt] * count),
                        14: packed(*[len(text)] * count), 24: packed(*[len(text)] * count), 28: text * count,
                        29: 1})

    def ask(self):
        """For a piece of a file that is not there; the answer says that the hub is through with all before it."""
        self.to_hub(9, {1: 9, 2: 7})
        got = self.frame()
        while got and got[0] != REFUSAL and got[1][:1] != b"\x42":
            got = self.frame()
        return got

    def piece(self, job, index, text, offset=0):
        ref = message({1: job, 2: index, 3: 1})
        self.send(frame(OUTPUT_PIECE, message({1: ref, 2: 1, 3: offset, 4: text})))


class Hub:
    """A hub, and whether it keeps its promises under attack."""

    def __init__(self, place, files=None):
        self.port = free_port()
        self.cluster = cluster_of(place, "--listen", f"127.0.0.1:{self.port}", files=files)

    def status(self):
        out, _ = self.cluster.spate("hub status", "--output", "json")
        return json.loads(out)

    def check(self):
        """It answers within a second: in one of a few tries, for the machine may be busy."""
        tries = []
        while len(tries) < 5 and min(tries, default=1) >= 1:
            tries.append(self.timed())
        want(min(tries) < 1, f"hub status took {tries} s")
        with open(f"/proc/{self.cluster.hub.pid}/status") as file:
            memory = int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)) << 10
        want(memory < MEMORY_MOST, f"the hub took {memory >> 20} MB")

    def timed(self):
        begun = time.monotonic()
        self.status()
        return time.monotonic() - begun
