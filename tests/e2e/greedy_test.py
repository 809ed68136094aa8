"""A greedy user who sends, holds, watches and connects without end delays nobody else."""
import os
import sqlite3

from cluster import cluster_of
from harness import Place, main, want
from insider_test import TwoUsers, needs_root
from peer import REPLY, Hub, local, rows, submit


def noise(place, name, count):
    """Write a job list of `count` KB, which cannot be compressed to less than a half."""
    place.write(name, *["echo " + os.urandom(509).hex() for _ in range(count)])


def test_all_bytes_of_a_job_count(place: Place):
    cluster = cluster_of(place)
    cluster.spate("hub user", "root", "--max-output", "1M")
    noise(place, "a.lst", 1200)
    noise(place, "b.lst", 1200)
    job = cluster.submit("a.lst")
    told = place.run("b.lst", command="submit", code=3)[1]
    want("limit is 1.0 MB" in told and "job forget" in told, told)
    cluster.kill_hub()
    cluster.start_hub()
    again = place.run("b.lst", command="submit", code=3)[1]
    want(again == told, f"{told} {again}")
    big = [word for n in range(8) for word in ("--env", f"BIG{n}=" + os.urandom(60_000).hex())]
    told = place.run(*big, "--", "true", command="submit", code=3)[1]
    want("limit is 1.0 MB" in told, told)
    cluster.spate("job cancel", job)
    cluster.spate("job forget", job)
    cluster.submit("b.lst")


def test_an_upload_that_never_ends_is_refused(place: Place):
    hub = Hub(place)
    hub.cluster.spate("hub user", "root", "--max-output", "1M", "--max-queued", "1000")
    for line, reason in ((b"echo " + os.urandom(8_000).hex().encode(), b"limit is 1.0 MB"), (b"true", b"")):
        peer = local(hub).send(submit(line[:9]))
        for _ in range(30):
            peer.send(rows(*[line] * 40))
        got = peer.frame()
        want(got and got[0] == REPLY and reason in got[1], got and got[1][:200])
    database = sum(os.path.getsize(os.path.join(hub.cluster.hub_dir, name)) for name in ("hub.db", "hub.db-wal"))
    want(database < 8 << 20, f"the journal has {database} bytes")
    hub.check()


def test_a_hold_that_changes_nothing_writes_nothing(place: Place):
    cluster = cluster_of(place)
    jobs = [cluster.submit("--", "true") for _ in range(3)]

    def records():
        with sqlite3.connect(os.path.join(cluster.hub_dir, "hub.db")) as db:
            return db.execute("SELECT MAX(seq) FROM log").fetchone()[0]

    for command in (("job hold",), ("job set", "--weight", "7"), ("job release",)):
        cluster.spate(command[0], *command[1:], *jobs)
        before = records()
        for _ in range(3):
            cluster.spate(command[0], *command[1:], *jobs, code=None)
        want(records() == before, f"{command} wrote {records() - before} records")


def test_silent_connections_to_the_socket_are_few(place: Place):
    if needs_root("sockets"):
        return
    hub = TwoUsers(place)
    crowd = hub.insider("""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1300, 1300))
silent = []
for _ in range(1200):
    silent.append(socket.socket(socket.AF_UNIX))
    silent[-1].connect(hub.socket)
print("ready", flush=True)
sys.stdin.read()
""")
    want(crowd.stdout.readline() == "ready\n", "an attacker failed")
    hub.status()  # it has heard of them all
    files = len(os.listdir(f"/proc/{hub.cluster.hub.pid}/fd"))
    want(files <= 400, f"the hub has {files} open files")
    hub.check()
    crowd.communicate()


if __name__ == "__main__":
    main(globals())
