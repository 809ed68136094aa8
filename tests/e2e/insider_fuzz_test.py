"""Messages from clients and nodes whom the hub trusts, made from the grammar of the protocol at random. The hub lives,
answers, and keeps its memory. `--messages N --seed S` by hand; the same seed sends the same as long as the hub answers
the same."""
import collections
import random
import re

from grammar import Maker, fields, varints
from harness import Place, main, option, want
from peer import OUTPUT_PIECE, REFUSAL, REQUEST, TO_HUB, TO_NODE, WELCOME, Hub, Node, frame, greeting, message, raw

MESSAGES = option("--messages", 20_000)
SEED = option("--seed", 1)
MORE_MEMORY = 200 << 20
PATIENCE = 0.3  # seconds for an answer; some requests have none, or none yet


class Side:
    """A connection that is made again whenever the hub has ended it."""

    def __init__(self, hub, maker, told):
        self.hub, self.maker, self.told, self.peer = hub, maker, told, None

    def send(self):
        """One message, and what the hub says to it."""
        if self.peer is None:
            self.connect()
        try:
            kind, body = self.message()
            if self.maker.chance(0.03):
                body = self.maker.broken(body)
            if self.maker.chance(0.005):
                kind = self.maker.small(12)
            self.peer.send(frame(kind, body))
            got = self.answer(kind, body)
        except TimeoutError:
            return self.leave(f"no answer to {body[:1].hex()}")
        except OSError:
            return self.leave("cut off")
        if got is None or got[0] == REFUSAL:
            self.leave(reason(got))
        elif self.peer and self.maker.chance(0.02):
            self.leave("left by itself")

    def leave(self, why):
        self.told[why] += 1
        self.peer.connection.close()
        self.peer = None


def reason(got):
    """Without what differs from message to message."""
    if got is None:
        return "cut off"
    return re.sub(r"[^a-zA-Z_.' ]+", "#", got[1][4:].decode(errors="replace"))[:60]


class FuzzNode(Side):
    def connect(self):
        """A name may have been removed."""
        for _ in range(100):
            try:
                self.peer = Node(self.hub, b"n%d" % self.maker.small(40), hello=False, instance=b"i" * 16)
                break
            except AssertionError:
                self.told["not let in"] += 1
        self.peer.connection.settimeout(PATIENCE)
        self.peer.send(frame(TO_HUB, message({1: self.maker.hello()})))

    def message(self):
        if self.maker.chance(0.1):
            return OUTPUT_PIECE, self.maker.make("OutputPiece")
        return TO_HUB, self.maker.kind_of("ToHub", but=() if self.maker.chance(0.05) else ("Leaving", "Hello"))

    def answer(self, kind, body):
        """Up to that of a question that follows; what is leased meanwhile is known from now on."""
        self.peer.to_hub(9, {1: 9, 2: 7})
        while (got := self.peer.frame()) and got[0] == TO_NODE and got[1][:1] != b"\x42":
            if got[1][:1] == b"\x12":
                self.leased(fields(fields(got[1])[2]))
        return got

    def leased(self, lease):
        tasks = varints(lease[5])
        self.maker.refs += [(lease[2], first, lease[3]) for first in tasks[::2]]
        del self.maker.refs[:-50]


class FuzzClient(Side):
    ready = ()  # what is left of a submission

    def connect(self):
        self.ready = []
        self.peer = raw(self.hub).send(greeting())
        self.peer.connection.settimeout(PATIENCE)
        got = self.peer.frame()
        want(got and got[0] == WELCOME, got)

    def message(self):
        if not self.ready and self.maker.chance(0.6):
            self.ready = self.maker.submission()
        if self.ready and self.maker.chance(0.97):
            return REQUEST, self.ready.pop(0)
        return REQUEST, self.maker.kind_of("Request", but=() if self.maker.chance(0.3) else ("Command",))

    def answer(self, kind, body):
        """Up to the last one; of what comes again and again, the first."""
        if body[:1] in (b"\x12", b"\x1a", b"\x3a"):  # Submit, Rows, PutPieces: none
            return self.peek()
        while (got := self.peer.frame()) and got[0] != REFUSAL and got[1][:1] == b"\x1a":
            pass
        if got and got[0] != REFUSAL and body[:1] in (b"\x2a", b"\x32"):
            self.leave("heard enough")
        return got

    def peek(self):
        self.peer.connection.setblocking(False)
        try:
            return self.peer.frame()
        except BlockingIOError:
            return 0, b""
        finally:
            self.peer.connection.settimeout(PATIENCE)


def memory_of(pid, field):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(field + r":\s+(\d+) kB", file.read()).group(1)) << 10


def test_any_messages_of_insiders(place: Place):
    print(f"       --messages {MESSAGES} --seed {SEED}", flush=True)
    hub = Hub(place)
    pid = hub.cluster.hub.pid
    before = memory_of(pid, "VmRSS")
    maker, told = Maker(random.Random(SEED)), collections.Counter()
    sides = [FuzzNode(hub, maker, told), FuzzNode(hub, maker, told), FuzzClient(hub, maker, told),
             FuzzClient(hub, maker, told)]
    for sent in range(MESSAGES):
        try:
            maker.random.choice(sides).send()
        finally:
            want(hub.cluster.hub.poll() is None, f"the hub is gone after {sent + 1} messages")
        if sent % 2000 == 1999:
            seconds = min(hub.timed() for _ in range(3))
            want(seconds < 1, f"hub status took {seconds:.1f} s after {sent + 1} messages")
            more = memory_of(pid, "VmHWM") - before
            want(more < MORE_MEMORY, f"the hub took {more >> 20} MB more after {sent + 1} messages")
    for what, times in told.most_common(20):
        print(f"       {times:7,} connections ended: {what}")
    status = hub.status()
    print(f"       {memory_of(pid, 'VmHWM') - before >> 20} MB more; {status}"[:300])


if __name__ == "__main__":
    main(globals())
