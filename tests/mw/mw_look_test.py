"""Others look at a master while it runs, with the commands that look at any hub."""
import os
import re
import subprocess

from mw_place import BIN, MwPlace, main, wait, want

SPATE = os.path.join(BIN, "spate")


def spate(place, *args, code=0):
    done = subprocess.run([SPATE, *args], cwd=place.dir, env=place.env, capture_output=True,
                          text=True, check=False)
    want(done.returncode == code, f"{args}: {done}")
    return done.stdout + done.stderr


def socket_of(master):
    master.await_error("spate top --at ")
    return re.search(r"spate top --at (\S+)", "\n".join(master.err))[1]


def test_a_master_is_asked_while_it_runs(place: MwPlace):
    hold = place.path("h")
    master = place.master("wait-slaves 1", f"submit hold {hold} x", f"submit hold {hold} y times=3",
                          "-")
    slave = place.slave()
    socket = socket_of(master)
    wait(lambda: place.lines("h.begun"), "a task begins")
    top = spate(place, "top", "--once", "--at", socket)
    want("SLAVE-1" in top and "master-worker" in top, top)
    info = spate(place, "job", "info", "--at", socket)
    want("master-worker" in info and "running" in info, info)
    tasks = spate(place, "job", "tasks", "--at", socket)
    want("task 1: hold" in tasks and "the next task that waits" in tasks, tasks)
    jobs = spate(place, "job", "list", "--at", socket)
    want("master-worker" in jobs and "0/4" in jobs, jobs)
    why = spate(place, "task", "explain", "1.1-2", "--at", socket)
    want("task 1.1" in why, why)
    want(socket in spate(place, "job", "list", "--local"), "job list does not show the socket")
    # Others look, and change nothing.
    refused = spate(place, "job", "cancel", "1", "--at", socket, code=2)
    want("others may only look" in refused, refused)
    refused = spate(place, "job", "cat", "1", "--at", socket, code=3)
    want("keeps no history" in refused, refused)
    place.touch("h")
    master.say("wait-results 4", "exit 0")
    master.ends(0)
    slave.ends(0)
    want(len(master.results()) == 4, master.told())
    want(not os.path.exists(os.path.dirname(socket)), "the socket outlives its master")
    want(socket not in spate(place, "job", "list", "--local"), "it is still listed")


def test_it_says_what_no_slave_offers(place: MwPlace):
    master = place.master("wait-slaves 1", "submit echo x", "submit echo x slots=3", "submit echo x gpus=1",
                          "submit echo x memory=2000000000", "submit echo x label=fast", "wait-results 1", "-")
    slave = place.slave("--mw-slots", "2", "--mw-memory", "1G")
    master.await_line("result 1 ")
    socket = socket_of(master)
    reasons = {2: "it needs 3 cpus, SLAVE-1 offers 2", 3: "it needs 1 of 'gpus', SLAVE-1 offers 0",
               4: "of memory, SLAVE-1 offers 1.0 GB", 5: "a node with label 'fast'; SLAVE-1 does not have it"}
    found = {}
    for job in range(1, 6):
        why = spate(place, "task", "explain", f"{job}.1", "--at", socket)
        found |= {task: job for task, reason in reasons.items() if reason in why}
    want(sorted(found) == [2, 3, 4, 5], found)
    info = spate(place, "job", "info", str(found[3]), "--at", socket)
    want(reasons[3] in info, info)
    rich = place.slave("--mw-slots", "3", "--mw-memory", "2G", "--mw-resource", "gpus=1", "--mw-label", "fast")
    master.say("wait-results 5", "exit 0")
    master.ends(0)
    slave.ends(0)
    rich.ends(0)


def test_a_killed_master_is_not_listed(place: MwPlace):
    master = place.master("-")
    socket = socket_of(master)
    want(socket in spate(place, "job", "list", "--local"), "it is not listed")
    master.kill()
    want(socket not in spate(place, "job", "list", "--local"), "it is still listed")
    want(not os.path.exists(os.path.dirname(socket)), "its folder stays")


def test_the_overseer_starts_a_slave_for_a_master_that_asks_for_none(place: MwPlace):
    master = place.master("submit echo x times=3", "wait-results 3", "exit 0")
    place.await_file("r")
    told = spate(place, "overseer", "r", "--local", "2", "--every", "50ms")
    master.ends(0)
    want(len(master.results()) == 3, told)


if __name__ == "__main__":
    main(globals())
