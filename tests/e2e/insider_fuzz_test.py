"""Any messages of clients and nodes whom the hub trusts, made from the grammar of the protocol at random by
spate-insider (tests/insider). The hub lives, answers others meanwhile, and keeps its memory. By hand:
`--messages N --seed S`."""
import os
import re
import statistics
import subprocess
import time

from harness import SPATE, Place, main, option, want
from peer import Hub

MESSAGES = option("--messages", 200_000)
SEED = option("--seed", 1)
INSIDER = os.path.join(os.path.dirname(SPATE), "spate-insider")
MEMORY_MOST = 200 << 20
# Of `spate hub status`, started as a process. On a machine of its own the median is 0.05 s; messages that stopped a hub
# did so for 30 s.
STATUS_MOST = 10  # seconds


def peak_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)) << 10


def test_any_messages_of_insiders(place: Place):
    hub = Hub(place)
    socket = os.path.join(hub.cluster.hub_dir, "socket")
    told = open(os.path.join(place.dir, "insider.log"), "w")
    insider = subprocess.Popen([INSIDER, socket, str(MESSAGES), str(SEED)], stdout=told, stderr=told)
    seconds = []
    try:
        while insider.poll() is None:
            seconds.append(hub.timed())
            want(hub.cluster.hub.poll() is None, "the hub is gone")
            time.sleep(0.1)  # it is asked now and then
        want(insider.returncode == 0, f"seed {SEED}: exit code {insider.returncode}")
    except AssertionError:
        code = hub.cluster.hub.poll()
        tail = "".join(f"       {line}\n" for line in place.lines("hub.log")[-8:])
        print(f"       the hub {'lives' if code is None else f'ended with {code}'}; its log:\n{tail}", end="")
        raise
    finally:
        insider.kill()
        insider.wait()
        print("".join(f"       {line}\n" for line in place.lines("insider.log")[-30:]), end="")
    peak = peak_of(hub.cluster.hub.pid)
    print(f"       hub status {len(seconds)} times: median {statistics.median(seconds):.3f} s, slowest "
          f"{max(seconds):.3f} s; peak memory {peak >> 20} MB")
    want(max(seconds) < STATUS_MOST, f"seed {SEED}: hub status took {max(seconds):.1f} s")
    want(peak < MEMORY_MOST, f"seed {SEED}: the hub took {peak >> 20} MB")


if __name__ == "__main__":
    main(globals())
