"""Processes of this machine, found by their environment."""
import os
import signal
import time

from harness import alive


def processes_with(*entries):
    """The living processes whose environment holds all entries."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                there = file.read().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if all(entry.encode() in there for entry in entries) and alive(int(pid)):
            found.append(int(pid))
    return found


def send_all(signo, pids):
    for pid in pids:
        try:
            os.kill(pid, signo)
        except ProcessLookupError:
            pass


def leaves_first(first):
    """The process and all that descends from it, children first, as OpenPBS walks through the tree of a job."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[0] != "Z":
            parents[int(pid)] = int(fields[1])

    def walk(pid):
        for child in sorted(child for child, parent in parents.items() if parent == pid):
            yield from walk(child)
        yield pid
    return list(walk(first))


def send_as_pbs(signo, first, last=None, pause=0.005):
    """`last`, if given, is one of them that comes last."""
    for pid in sorted(leaves_first(first), key=lambda pid: pid == last):
        send_all(signo, [pid])
        time.sleep(pause)


def kill_all(*entries):
    """As when the power fails: all stand still before the first is killed, and none tells of another's end."""
    found = set()
    while fresh := set(processes_with(*entries)) - found:
        send_all(signal.SIGSTOP, fresh)
        found |= fresh
    while left := processes_with(*entries):
        send_all(signal.SIGKILL, left)
    return found
