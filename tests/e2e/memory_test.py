"""One ordinary user cannot make a hub use more memory than its bound. To measure other users' latency by hand, use
`--rounds 30`: the number of their questions before the attack."""
import os
import re
import statistics

from harness import Place, main, option, wait, want
from insider_test import TwoUsers, needs_root

MEMORY_MOST = 200 << 20
ROUNDS = option("--rounds", 0)

ATTACKER = """
import threading
def connect(role, name=b""):
    peer = Peer(socket.socket(socket.AF_UNIX))
    peer.connection.connect(hub.socket)
    body = {1: b"evil", 2: 3, 3: 3, 4: role}
    peer.send(frame(1, message(body | ({8: name, 9: os.urandom(16)} if name else {}))))
    got = peer.frame()
    assert got and got[0] == WELCOME, got
    return peer
def each(count, work):
    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(count)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
told = []
def heard(peer, text, last=None):
    end = time.monotonic() + 20
    peer.connection.settimeout(20)
    while time.monotonic() < end:
        try: got = peer.frame()
        except TimeoutError: return
        if got is None or last and got[1].startswith(last): return
        if text in got[1]: return told.append(got[1])
os.nice(19)  # so that others wait for the hub only
print("ready", flush=True)
sys.stdin.readline()
"""

# Labels of 1,000 bytes.
NODES = """
labels = texts(*[b"%06d" % n + b"x" * 994 for n in range(14_000)])
offer = message({1: b"n", 2: 1, 3: 1, 4: 1, 9: labels})
hello = frame(TO_HUB, message({1: message({1: 1, 2: offer})}))
def attack(n):
    peer = connect(1, b"n%d" % n)
    try: peer.connection.sendall(hello + frame(TO_HUB, message({9: message({1: 9, 2: 7})})))  # a piece of a file
    except OSError: pass
    heard(peer, b"labels", last=b"\x42")
each(60, attack)
print(len(told), told[0] if told else b"", flush=True)
"""

UPLOADS = """
pair = packed(*[1] * 50_000)
edges = request(9, {1: pair, 2: pair})
peers = []
def attack(n):
    peer = connect(2)
    peers.append(peer)
    peer.send(submit(b"upload %d" % n))
    for _ in range(19_000_000 // 50_000):
        peer.send(edges)
    peer.send(ask(LOOK_AT_HUB, {}))  # answered when all before it was read
    heard(peer, b"of the hub's memory", last=ANSWER)
each(COUNT, attack)
print(len(told), told[0] if told else b"", flush=True)
"""

QUESTIONS = """
connect(2).send(submit(b"one"), rows(b"true"), submit_end(1)).frame()
asking = ask(LIST_TASKS, {1: message({1: message({1: 1})})}) * 4000
peers = [connect(2) for _ in range(COUNT)]
def attack(n):
    try: peers[n].send(asking)
    except OSError: pass
threads = [threading.Thread(target=attack, args=(n,), daemon=True) for n in range(COUNT)]
for thread in threads: thread.start()
for thread in threads: thread.join(8 / COUNT)
print(0, b"", flush=True)
"""


def peak_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)) << 10


def attack(place, code, reason, **numbers):
    if needs_root("an attacker"):
        return
    hub = TwoUsers(place)
    for name, value in numbers.items():
        code = code.replace(name, str(value))
    attacker = hub.insider("from peer import *\n" + ATTACKER + code)
    want(attacker.stdout.readline() == "ready\n", attacker.stderr.read() if attacker.poll() is not None else "")
    quiet = [hub.timed() for _ in range(max(ROUNDS, 3))]
    begun = peak_of(hub.cluster.hub.pid)
    attacker.stdin.write("\n")
    attacker.stdin.flush()
    busy = []
    while attacker.poll() is None:
        busy.append(hub.timed())
    heard = attacker.stdout.read()
    peak = peak_of(hub.cluster.hub.pid)
    print(f"       peak memory {begun >> 20} -> {peak >> 20} MB; others {statistics.median(quiet) * 1000:.0f} -> "
          f"{statistics.median(busy) * 1000:.0f} ms (median of {len(busy)}), slowest {max(quiet) * 1000:.0f} -> "
          f"{max(busy) * 1000:.0f} ms; refused {heard[:150]}")
    want(peak < MEMORY_MOST, f"the hub took {peak >> 20} MB")
    if reason:
        want(re.match(r"[1-9]", heard) and reason in heard, heard + attacker.stderr.read())
    # The memory is freed, and the same user's questions are answered again.
    wait(lambda: hub.status()["clients"] == 1, "the attacker has gone")
    want(hub.nobody("hub", "status").wait() == 0, "the user's next question was refused")


def test_offers_of_nodes(place: Place):
    attack(place, NODES, "labels, resources and names")


def test_uploads_that_never_end(place: Place):
    attack(place, UPLOADS, "of the hub's memory", COUNT=12 if ROUNDS else 4)


def test_questions_under_way(place: Place):
    # Nobody reads the answers, so the hub stops reading. Its speed decides if there are refusals.
    attack(place, QUESTIONS, None, COUNT=100 if ROUNDS else 60)


if __name__ == "__main__":
    main(globals())
