"""Messages made from the grammar of src/wire/*.proto: mostly sound, with values that are worth a try."""
import os
import re
import struct

from peer import message, number, packed, zigzag

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/wire")
NUMBERS = [0, 1, 2, 3, 7, 8, 255, 256, 4095, 4096, 65_535, 65_536, 99_999_999, 100_000_000, 1 << 31, (1 << 32) - 1,
           1 << 60, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
DOUBLES = [0.0, 0.5, 1.0, 1e9, -1.0, float("inf"), float("nan")]
TEXTS = [b"", b"a", b"n1", b"/tmp", b"..", b"*", b"GPU", b"\0", b"\xff\xfe", b"{}", b"x" * 1024, b"x" * 20_000]
WORDS = ("job task node hub list info hold release cancel retry forget set add close cat tail get tasks progress explain "
         "status user access drain resume remove report help version para parasol check make --output json --user "
         "--weight --role node client -j -n 1 last all 1-4 2-1000001 1.2 1.2-1000001 3.1,3.2 n1 n2 {} -- *").split()


def read_grammar():
    """{message: [(repeated, type, name, tag)]}"""
    found = {}
    for name in ("spate.proto", "client.proto"):
        with open(os.path.join(FOLDER, name)) as file:
            text = re.sub(r"//.*", "", file.read())
        for each in re.finditer(r"message (\w+) \{(.*?)\n?\}", text.replace("oneof kind {", "").replace("  }\n}", "}"),
                                re.S):
            found[each[1]] = [(bool(r), kind, field, int(tag)) for r, kind, field, tag in re.findall(
                r"(repeated )?(\w+) (\w+) = (\d+);", each[2])]
    return found


def varints(body):
    """Of a packed field."""
    values, at, shift, value = [], 0, 0, 0
    for at in range(len(body)):
        value |= (body[at] & 0x7F) << shift
        shift += 7
        if body[at] < 0x80:
            values.append(value)
            shift = value = 0
    return values


def fields(body):
    """{tag: value}, as far as numbers and bytes go."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = body[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(body):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            value, at = body[at:at + value], at + value
        found[tag >> 3] = value
    return found


class Maker:
    """Makes messages; `refs` are attempts (job, index, attempt) that somebody has, and is the caller's to fill."""

    def __init__(self, random):
        self.random, self.grammar, self.refs = random, read_grammar(), []
        self.special = {"Texts": self.texts, "Needs": self.needs, "Offer": self.offer, "Hello": self.hello,
                        "Ends": self.ends, "Returned": self.returned, "AttemptRef": self.attempt_ref,
                        "NodeState": self.node_state, "Command": self.command, "JobSettings": self.settings,
                        "OutputPiece": self.piece, "WantPiece": self.want_piece, "Live": self.live}

    def chance(self, part):
        return self.random.random() < part

    def small(self, most=8):
        return self.random.randrange(most)

    def number(self):
        return self.small() if self.chance(0.7) else self.random.choice(NUMBERS)

    def text(self):
        return self.random.choice(TEXTS[:6] if self.chance(0.9) else TEXTS)

    # ---- By the grammar alone

    def value(self, kind):
        if kind == "bytes":
            return self.text()
        if kind == "double":
            return struct.pack("<d", self.random.choice(DOUBLES))
        if kind == "bool":
            return self.small(2)
        if kind in self.grammar:
            return self.make(kind)
        return self.number()

    def field(self, repeated, kind, tag):
        count = self.random.choice([0, 1, 2, 3, 20]) if repeated else 1
        values = [self.value(kind) for _ in range(count)]
        if kind == "double":
            return b"".join(number(tag << 3 | 1) + value for value in values)
        if repeated and kind not in self.grammar and kind != "bytes":
            return message({tag: packed(*values)})
        return b"".join(message({tag: value}) for value in values)

    def any(self, name, least=0.4):
        """Any of its fields."""
        return b"".join(self.field(repeated, kind, tag) for repeated, kind, _, tag in self.grammar[name]
                        if self.chance(least))

    def kind_of(self, outer, but=()):
        """A message whose one field is any kind of it."""
        _, kind, _, tag = self.random.choice([each for each in self.grammar[outer] if each[1] not in but])
        return message({tag: self.make(kind)})

    def make(self, name):
        if name in self.special and self.chance(0.95):
            return self.special[name]()
        return self.any(name, 0.9)

    # ---- What has rules beyond the grammar

    def list_of(self, words):
        return message({1: packed(*map(len, words)), 2: b"".join(words)})

    def texts(self):
        return self.list_of([self.text() for _ in range(self.small(4))])

    def names(self):
        return sorted({self.random.choice([b"GPU", b"disk", b"licence", b"x" * 900]) for _ in range(self.small(3))})

    def needs(self):
        names = self.names()
        return message({1: self.number() & 0xFFFFFFFF, 2: self.number() & (1 << 62) - 1, 3: self.list_of(names),
                        4: packed(*[1 + self.small() for _ in names]), 6: self.list_of(self.names())})

    def offer(self):
        names = self.names()
        pieces = [1 + self.small(3) for _ in names]
        return message({1: b"n", 2: 1 + self.small(16), 3: 1000 * self.small(16) + 1, 4: 1 << self.small(40),
                        5: self.list_of(names), 6: packed(*pieces),
                        7: self.list_of([b"%d" % i for count in pieces for i in range(count)]),
                        9: self.list_of(self.names())})

    def pair(self):
        first = self.small() if self.chance(0.8) else self.random.choice(NUMBERS[:12])
        return [first, min(1 + self.small(), 100_000_000 - first) if self.chance(0.9) else 100_000_000 - first]

    def pairs(self):
        return [n for _ in range(1 + self.small(4)) for n in self.pair()]

    def ref(self):
        if self.refs and self.chance(0.7):
            return self.random.choice(self.refs)
        return 1 + self.small(), self.number() & 0x3FFFFFF, 1 + self.small(3)

    def attempt_ref(self):
        return message(dict(zip((1, 2, 3), self.ref())))

    def hello(self):
        held = [self.ref() for _ in range(self.small(4))]
        return message({1: 1, 2: self.offer(), 3: packed(*[n for job, _, tried in held for n in (job, tried, 1)]),
                        4: packed(*[n for _, index, _ in held for n in (index, 1)])})

    def returned(self):
        job, index, tried = self.ref()
        tasks = [index, 1] if self.chance(0.5) else self.pairs()
        return message({1: job, 2: tried, 3: packed(*tasks), 4: self.number()})

    def node_state(self):
        runs = [self.ref() for _ in range(self.small())]
        return message({2: self.number(), 6: packed(*[n for run in runs for n in run]),
                        7: packed(*[zigzag(self.small()) for _ in runs])})

    def want_piece(self):
        return message({1: self.ref()[0], 2: self.number() & 0xFFFFFFFF})

    def piece(self):
        size = self.random.choice([1, 100, 65_536, 1 << 20]) if self.chance(0.1) else 1 + self.small(100)
        return message({1: self.attempt_ref(), 2: 1 + self.small(3), 3: self.number() if self.chance(0.2) else 0,
                        4: b"o" * size})

    def live(self):
        return message({1: self.attempt_ref(), 2: 1 + self.small(2), 3: self.text()})

    def ends(self):
        rows = [self.ref() for _ in range(1 + self.small(4))]
        indexes = [index for _, index, _ in rows]
        said = [b"out" * self.small() for _ in rows]
        sound = {1: packed(*[n for job, _, _ in rows for n in (job, 1)]),
                 2: packed(*[zigzag(b - a) for a, b in zip([0, *indexes], indexes)]),
                 3: packed(*[tried for _, _, tried in rows]), 14: packed(*map(len, said)),
                 24: packed(*map(len, said)), 28: b"".join(said), 29: self.number()}
        for tag, most in ((4, 9), (6, 16), (8, 1 << 40), (11, 1 << 40), (12, 4), (13, 9), (26, 1 << 20), (30, 2)):
            if self.chance(0.05):
                sound[tag] = packed(*[self.small(most) for _ in rows])
        return message(sound)

    def command(self):
        words = [self.random.choice(WORDS).encode() for _ in range(1 + self.small(5))]
        if self.chance(0.5):
            words[:1] = [b"job", self.random.choice(WORDS[4:20]).encode()]
        return message({1: self.list_of(words), 2: self.random.choice([80, 1, 10_000, self.number() & 0xFFFF]),
                        3: self.small(2), 4: self.small(2)})

    def settings(self):
        some = self.any("JobSettings", 0.05)
        return message({2: b"/tmp"}) + (some if self.chance(0.3) else b"")

    def submission(self):
        """The bodies of a whole one: Submit, Rows, SubmitEnd."""
        count = 1 + self.small(20)
        after = {11: packed(1 + self.small(), self.small(4))} if self.chance(0.3) else {}
        submit = {1: b"%x" % self.random.getrandbits(64), 2: self.settings()} | after
        if self.chance(0.2):
            submit |= {9: self.small(5), 10: self.small(2), 14: self.number() & 0xFFFF}
        kinds = [self.needs() if self.chance(0.5) else message({1: 1}) for _ in range(1 + self.small(3))]
        end = message({1: count}) + b"".join(message({2: each}) for each in kinds)
        end += message({3: packed(count, self.small(len(kinds)))})
        if self.chance(0.2):
            end += message({4: packed(*self.random.sample(range(count), count))})
        return [message({2: message(submit)}), message({3: message({1: self.list_of([b"true"] * count)})}),
                message({4: end})]

    def broken(self, body):
        """Cut, with a byte that was changed, or with something behind it."""
        at = self.small(len(body) + 1)
        how = self.small(3)
        if how == 0:
            return body[:at]
        if how == 1 and at < len(body):
            return body[:at] + bytes([body[at] ^ 1 << self.small(8)]) + body[at + 1:]
        return body + self.random.randbytes(self.small(20))
