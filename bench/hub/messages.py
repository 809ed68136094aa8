"""The worst message of each kind that an insider can send, and what it costs the hub.

The hub has a job of 200,000 tasks, one of 10,000 tasks with as many distinct needs, 40 fat ones that were cancelled,
two fat ones that wait, and no node that takes them. Each message is sent repeatedly over a connection of its own, with
a small one after it, whose answer shows that the hub is through. The processor time is that of the whole exchange, of
the hub and of its readers.
"""
import os
import sys
import time

from measures import TICK, Hub

TASKS, NEEDS = 200_000, 10_000
ALL_TASKS, RANGES, TEXTS, PIECES = 100_000_000, 65_536, 65_536, 4_000
HOLDS = 32_768
FAT, FAT_WORDS = 20, 60_000  # jobs that were cancelled, with 12 MB of words, and as many with such an environment
MOST_ELEMENTS = 199_000  # of the lists of an Ask
LARGEST = (16 << 20) - 64  # bytes of a message


def peer_kit(place):
    """tests/e2e/peer.py, which takes the program from the environment."""
    os.environ["SPATE_BIN"] = os.path.dirname(place.spate)
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tests/e2e"))
    import peer
    return peer


class Target(Hub):
    """The hub, as the peer kit wants it."""

    def __enter__(self):
        super().__enter__()
        self.cluster, self.hub_dir = self, self.path("hub")
        self.submit("big.lst", ("true" for _ in range(TASKS)))
        self.submit("needs.lst", (f"true {{use ram {n + 1}M}}" for n in range(NEEDS)))
        return self

    def submit(self, name, lines):
        with open(self.path(name), "w") as out:
            out.writelines(line + "\n" for line in lines)
        self.spate("submit", self.path(name))

    def ticks(self):
        """Of the hub, and of its readers that have ended."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])

    def memory(self, field):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith(field))

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5")


# ---- The messages: (what, itself) ------------------------------------------------------------------

def pairs(count, size):
    """So many ranges, all of them inside the big job."""
    return [n for _ in range(count) for n in (0, size)]


def node_messages(kit):
    def to_hub(kind, fields):
        return kit.frame(kit.TO_HUB, kit.message({kind: fields if isinstance(fields, bytes) else kit.message(fields)}))

    def hello(holds, tasks):
        offer = kit.message({1: b"n", 2: 1, 3: 1, 4: 1})
        return to_hub(1, {1: 1, 2: offer, 3: kit.packed(*holds), 4: kit.packed(*tasks)})

    def ends(count, more={}):
        steps = kit.packed(0, *[2] * (count - 1))
        return to_hub(2, {1: kit.packed(1, count), 2: steps, 29: 1} | more)

    def ref(job=1, index=0):
        return kit.message({1: job, 2: index, 3: 1})

    each = ALL_TASKS // RANGES
    runs = kit.packed(*[n for index in range(4096) for n in (1, index, 1)])
    state = {6: runs, 7: kit.packed(*[1] * 4096)}
    return [
        ("Hello: one range of all tasks", hello((1, 1, 1), (0, ALL_TASKS))),
        ("Hello: 65,536 ranges, the same tasks", hello((1, 1, RANGES), pairs(RANGES, each))),
        ("Hello: 32,768 attempts, the same tasks",
         hello([n for attempt in range(HOLDS) for n in (1, attempt + 1, 1)], pairs(HOLDS, each))),
        ("Hello: 32,768 jobs that are not there",
         hello([n for job in range(HOLDS) for n in (job + 10, 1, 1)], pairs(HOLDS, 1))),
        ("Ends: 8,192 of attempts that are not there", ends(8192)),
        ("Ends: the same with 16 MB of output",
         ends(8192, {24: kit.packed(*[2040] * 8192), 28: b"x" * (2040 * 8192)})),
        ("Ends: 65,536 processes of one", ends(1, {19: kit.packed(TEXTS)} | {
            field: kit.packed(*[1] * TEXTS) for field in (20, 21, 22, 23)})),
        ("Returned: 65,536 ranges, the same tasks",
         to_hub(3, {1: 1, 2: 1, 3: kit.packed(*pairs(RANGES, each)), 4: 1})),
        ("Running", to_hub(4, {1: ref(), 2: 1})),
        ("Live: 1 MiB", to_hub(5, {1: ref(), 2: 1, 3: b"x" * (1 << 20)})),
        ("Slow", to_hub(6, {1: ref()})),
        ("Paused: 16 KiB", to_hub(7, {1: b"x" * (16 << 10)})),
        ("WantPiece", to_hub(9, {1: 1, 2: 4_000_000_000})),
        ("NodeState: 4,096 runs", to_hub(10, state)),
        ("Answer: 1 MiB", to_hub(11, {1: 1, 3: b"x" * (1 << 20)})),
        ("OutputPiece: 1 MiB", kit.frame(kit.OUTPUT_PIECE, kit.message({1: ref(), 2: 1, 4: b"x" * (1 << 20)}))),
        ("any: 16 MB of two kinds in turn",
         kit.frame(kit.TO_HUB, b"\x0a\x00\x12\x00" * (LARGEST // 4))),
        ("any: 16 MB of a field that is not known", kit.frame(kit.TO_HUB, b"\xf8\x07\x01" * (LARGEST // 3))),
    ]


def commands(kit):
    def each(count, first, step):
        return b"".join(kit.ranges(at, at) for at in range(first, first + count * step, step))

    of_first = kit.message({1: 1})
    all_tasks = of_first + kit.ranges(2, 1_000_001, MOST_ELEMENTS)
    odd_tasks = of_first + each(MOST_ELEMENTS, 2, 2)
    explained = b"".join(kit.message({1: of_first + kit.ranges(at, at)}) for at in range(1, 200_000, 200))
    names = kit.message({1: kit.texts(*[b"none"] * MOST_ELEMENTS)})
    stepped = b"".join(kit.message({3: kit.message({1: 1, 2: 4_000_000, 3: 2 + at})}) for at in range(100))
    rows_of = kit.message({1: kit.message({1: 1}) + b"".join(
        kit.message({2: kit.message({1: at, 2: 1})}) for at in range(190_000))})
    # What the journal answers: one pick of many tasks (TaskPick.tasks), or of many jobs.
    picked = kit.message({1: kit.message({2: of_first + kit.ranges(2, 1_000_001, MOST_ELEMENTS - 2)})})
    return [
        ("Query: 200,000 ranges of jobs, to read", kit.ask(41, {1: kit.ranges(1, 4_000_000, MOST_ELEMENTS)})),
        ("Query: 3,000 ranges of all jobs, to hold", kit.ask(kit.CHANGE_JOBS, {1: kit.ranges(2, 4_000_000, 3000)})),
        ("Query: 3,000 jobs, one by one, to hold", kit.ask(kit.CHANGE_JOBS, {1: each(3000, 2, 2)})),
        ("Query: 100 ranges with steps, to hold", kit.ask(kit.CHANGE_JOBS, {1: stepped})),
        ("Query: 200,000 ranges of tasks, to cancel", kit.ask(kit.CANCEL, {1: b"", 2: all_tasks})),
        ("Query: every other task, to retry", kit.ask(kit.RETRY, {1: odd_tasks, 5: 1})),
        ("Query: why 1,000 tasks wait", kit.request(8, {1: kit.EXPLAIN, 2: explained})),
        ("Query: 200,000 names of nodes", kit.request(8, {1: kit.LIST_NODES, 2: names})),
        ("Query: 200,000 ranges of tasks, to read", kit.request(8, {1: 42, 2: picked})),
        ("Query: rows of 190,000 ranges of tasks", kit.request(8, {1: 47, 2: rows_of})),
        ("Query: sums of 199,000 jobs", kit.request(8, {1: 49, 2: b"\x08\x01" * 199_000})),
        ("Query: all work", kit.ask(8, {3: 1, 4: 1})),
        ("Watch", kit.request(5, {1: 1})),
        ("ReadEnds", kit.read_ends(1)),
        ("any: 16 MB of two kinds in turn", kit.frame(kit.REQUEST, b"\x0a\x00\x12\x00" * (LARGEST // 4))),
    ]


def uploads(kit):
    """(what, itself, the frames of an exchange, which ends with an answer or with rows)"""
    empty = kit.rows(*[b""] * TEXTS)
    pieces = kit.request(7, {1: kit.texts(*[b""] * PIECES)})
    full = kit.rows(*[b"x" * 4_000_000] * 4)
    after = {11: kit.packed(*[n for _ in range(1000) for n in (1, 1)])}
    variables = {9: kit.texts(*[b"A=b"] * TEXTS)}
    needs = b"".join(kit.message({2: kit.message({1: n + 1})}) for n in range(NEEDS))
    runs = kit.message({3: kit.packed(*[n for i in range(NEEDS) for n in (1, i)])})
    needy = kit.frame(kit.REQUEST, kit.message({4: kit.message({1: NEEDS}) + needs + runs}))
    ordered = kit.request(4, {1: TEXTS, 2: kit.message({1: 1000}), 3: kit.packed(TEXTS, 0),
                              4: kit.packed(*range(TEXTS - 1, -1, -1))})

    def submit(settings={}, more={}):
        named = {1: os.urandom(8).hex().encode(), 2: kit.message({2: b"/tmp", 3: 0} | settings)}
        return kit.request(2, named | more)

    return [
        ("Submit: 1,000 `after`", submit({}, after),
         lambda: [submit({}, after), kit.rows(b"true"), kit.submit_end(1)], True),
        ("Submit: 65,536 variables", submit(variables), lambda: [submit(variables)], False),
        ("PutPieces: 4,000 empty ones", pieces, lambda: [submit(), pieces], False),
        ("Rows: 65,536 empty ones", empty, lambda: [submit(), empty], False),
        ("Rows: 16 MB", full, lambda: [submit(), full], False),
        ("SubmitEnd: 10,000 needs", needy, lambda: [submit(), kit.rows(*[b"true"] * NEEDS), needy], True),
        ("SubmitEnd: an order of 65,536", ordered, lambda: [submit(), empty, ordered], True),
    ]


def fat_submit(kit, words=True, environment=True):
    text = [b"V%06d=" % number + b"w" * 190 for number in range(FAT_WORDS)]
    settings = kit.message({2: b"/tmp", 3: 0} | ({9: kit.texts(*text)} if environment else {}))
    return kit.request(2, {1: os.urandom(8).hex().encode(), 2: settings} | ({4: kit.texts(*text)} if words else {}))


def submit_fat(kit, hub):
    """Fat jobs: some with many words and some with a large environment, because a message has room for one of them."""
    for number in range(FAT + 1):
        for head in fat_submit(kit, environment=False), fat_submit(kit, words=False):
            peer = kit.local(hub).send(head, kit.rows(b"true"), kit.submit_end(1))
            until(peer, lambda body: True)
        if number == FAT - 1:
            hub.spate("job", "cancel", f"3-{2 + 2 * FAT}")


def fat_questions(kit):
    jobs = kit.ranges(3, 2 + 2 * FAT)
    waits = kit.ranges(4 + 2 * FAT, 4 + 2 * FAT)
    one = kit.message({1: 4})
    return [
        ("40 fat jobs, to hold", kit.ask(kit.CHANGE_JOBS, {1: jobs})),
        ("40 fat jobs, to cancel", kit.ask(kit.CANCEL, {1: jobs})),
        ("40 fat jobs, to forget, in a dry run", kit.ask(kit.FORGET, {1: jobs, 3: 1})),
        ("40 fat jobs, why they wait", kit.ask(7, {1: jobs})),
        ("a fat job that waits, with its variables", kit.ask(7, {1: waits, 2: 1})),
        ("a fat job, to retry, in a dry run", kit.ask(kit.RETRY, {1: one, 5: 1})),
        ("a fat job, to read", kit.ask(kit.DESCRIBE_JOBS, {1: kit.ranges(3, 3)})),
    ]


def as_forgotten(kit, hub):
    """Submit a fat job, cancel it and forget it."""
    newest = {1: kit.message({2: 1})}
    peer = kit.local(hub).send(fat_submit(kit, environment=False), kit.rows(b"true"), kit.submit_end(1))
    until(peer, lambda body: True)
    for question in kit.ask(kit.CANCEL, newest), kit.ask(kit.FORGET, newest):
        until(peer.send(question), lambda body: body[:1] not in (b"\x1a", kit.ANSWER))


# ---- What they cost --------------------------------------------------------------------------------

def until(peer, wanted):
    """Frames, up to one that is `wanted`, or that refuses, or the end."""
    got = peer.frame()
    while got and got[0] != 3 and not wanted(got[1]):  # 3: Refusal
        got = peer.frame()


def as_node(kit, hub, what):
    kit.Node(hub, b"evil", instance=b"i" * 16).send(what).ask()


def as_client(kit, hub, what):
    peer = kit.local(hub).send(what)
    until(peer, lambda body: body[:1] != b"\x1a")


def as_upload(kit, hub, frames, ends):
    """Whatever is not a SubmitEnd has no answer: the hub refuses what it hears behind it."""
    peer = kit.local(hub).send(*frames(), *([] if ends else [kit.request(5, {1: 1})]))
    until(peer, lambda body: True)


def measure(hub, exchange, seconds):
    """The milliseconds of the hub and of its readers for each, and by how much the memory grew at most."""
    exchange()  # what is made once
    before, rest = hub.ticks(), hub.memory("VmRSS")
    hub.forget_peak()
    count, begun = 0, time.monotonic()
    while time.monotonic() - begun < seconds:
        exchange()
        count += 1
    costs = [1000 * (b - a) / TICK / count for a, b in zip(before, hub.ticks())]
    return *costs, hub.memory("VmHWM") - rest


def bench_messages(place, args):
    kit = peer_kit(place)
    with Target(place) as hub:
        cases = [("node", "nothing", b"", as_node, (b"",))]
        cases += [("node", *each, as_node, each[1:]) for each in node_messages(kit)]
        cases += [("client", *each, as_client, each[1:]) for each in commands(kit)]
        cases += [("client", *each[:2], as_upload, each[2:]) for each in uploads(kit)]
        submit_fat(kit, hub)
        cases += [("client", *each, as_client, each[1:]) for each in fat_questions(kit)]
        cases.append(("client", "a fat job, from Submit to Forget", fat_submit(kit, environment=False), as_forgotten, ()))
        print("\n| from | message | bytes | hub, ms | readers, ms | more memory, MB |\n|---|---|---|---|---|---|")
        for who, name, what, send, more in cases:
            own, readers, memory = measure(hub, lambda: send(kit, hub, *more), args.seconds)
            print(f"| {who} | {name} | {len(what):,} | {own:.1f} | {readers:.1f} | {memory / 1e6:.0f} |", flush=True)
