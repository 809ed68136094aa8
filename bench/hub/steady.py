"""Whether a hub that keeps and removes jobs is as fast as when it was new.

Jobs of one small task, submitted with the command line, come at a steady rate. In the first minute nothing is removed;
then as many jobs as `--keep` has room for are added at once (with --hours: the stream goes on for that long), and the
last minute has one job removed for each that comes.
"""
import os
import statistics
import sys
import threading
import time

from measures import Hub, await_that, cpu_seconds
from messages import peer_kit

KEEP = "20min,300M"
RATE = 19  # jobs a second
WORKERS = 4  # of the command line
TASK = "seq 2100"  # 10 KB
WARM_UP, MINUTE = 20, 60  # seconds
AT_ONCE = 500


class Stream:
    """Submits jobs at a steady rate until the `with` is left."""

    def __init__(self, hub):
        self.hub, self.sent, self.going = hub, 0, True
        self.begun, self.lock = time.monotonic(), threading.Lock()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(WORKERS)]

    def run(self):
        while self.going:
            with self.lock:
                self.sent += 1
                due = self.begun + self.sent / RATE
            time.sleep(max(0, due - time.monotonic()))
            self.hub.spate("submit", "--", TASK)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.going = False
        for thread in self.threads:
            thread.join()


def jobs_made(hub):
    return hub.journal("select max(id) from job")


def minute(hub, node):
    """Milliseconds of the hub's processor time for a job, of the node's, and of a `job list`."""
    processes = hub.process.pid, node.pid
    made, used, begun, lists = jobs_made(hub), [cpu_seconds(pid) for pid in processes], time.monotonic(), []
    while time.monotonic() - begun < MINUTE:
        start = time.monotonic()
        hub.spate("job", "list")
        lists.append(1e3 * (time.monotonic() - start))
        time.sleep(4)
    made = jobs_made(hub) - made
    if made < 0.9 * RATE * MINUTE:
        print(f"  only {made} of {RATE * MINUTE} jobs came in a minute")
    each = [1e3 * (cpu_seconds(pid) - before) / made for pid, before in zip(processes, used)]
    return *each, statistics.median(lists)


def fill(place, hub):
    """Jobs like those of the stream, until the oldest have been removed."""
    kit = peer_kit(place)
    settings = kit.message({2: b"/tmp", 3: 0})
    while hub.journal("select min(id) from job") == 1:
        peer = kit.local(hub)
        for _ in range(AT_ONCE):
            submit = {1: os.urandom(16).hex().encode(), 2: settings, 7: 1 << 30}
            peer.send(kit.request(2, submit), kit.rows(TASK.encode()), kit.submit_end(1))
            peer.frame()
        await_that("the jobs have ended", lambda: hub.status()["queued"] + hub.status()["running"] == 0, pause=0.1)
    return jobs_made(hub)


def long_stream(hub, node, hours):
    """A line for each minute; the last one's figures."""
    begun = time.monotonic()
    while time.monotonic() - begun < 3600 * hours:
        figures = minute(hub, node)
        status, kept = hub.status(), hub.journal("select count(*) from job")
        print(f"  minute {(time.monotonic() - begun) / 60:.0f}: hub {figures[0]:.2f} ms, node {figures[1]:.2f} ms, job list "
              f"{figures[2]:.0f} ms; {jobs_made(hub):,} jobs made, {kept:,} kept, {status['kept_bytes'] / 1e6:.0f} MB",
              flush=True)
    return figures


def steady(place, args):
    with Hub(place, "--keep", KEEP) as hub:
        hub.cluster, hub.hub_dir = hub, hub.path("hub")  # as the peer kit wants it
        node = hub.real_node()
        with Stream(hub):
            time.sleep(WARM_UP)
            first = minute(hub, node)
            if args.hours > 0:
                last = long_stream(hub, node, args.hours)
        if args.hours == 0:
            fill(place, hub)
            with Stream(hub):
                time.sleep(WARM_UP)
                last = minute(hub, node)
        await_that("all jobs have ended", lambda: hub.journal("select count(*) from job where last_seq is null") == 0)
        gone = hub.journal("select min(id) from job") - 1
        if gone == 0:
            sys.exit("bench: no job was removed: no time is worth measuring")
        print(f"{RATE} jobs/s, --keep {KEEP}, {gone:,} jobs removed; first minute, last minute, ratio: " + "; ".join(
            f"{what} {a:.{digits}f} {b:.{digits}f} ms {b / a:.2f}" for what, digits, a, b in zip(
                ("CPU of a job: hub", "node", "job list"), (2, 2, 0), first, last)))
