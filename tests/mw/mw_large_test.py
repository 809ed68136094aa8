"""Ten million tasks, and very many slaves: what they cost the master."""
import os
import time

from mw_place import MwPlace, main, program, wait, want

TASKS = 10_000_000
SLAVES = 1000


def test_ten_million_tasks_in_little_memory(place: MwPlace):
    tasks = TASKS // 20 if os.environ.get("SPATE_SANITIZE") else TASKS
    master = place.master("--mw-slave-task-group", "100", str(tasks), app="ping")
    slaves = place.slaves(2, app="ping")
    most = 0

    def watch():
        nonlocal most
        try:
            most = max(most, master.memory())
        except (TypeError, FileNotFoundError):
            pass  # it has ended
        return not master.running()
    wait(watch, "all come back", deadline=240)
    master.ends(0)
    for slave in slaves:
        slave.ends(0)
    print(f"       {master.out[0]}, {most / 1e6:.0f} MB", flush=True)
    want(master.out[0].startswith(f"{tasks} pings"), master.told())
    want(most < 50e6, f"the master took {most} bytes")


def memory_left():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))


def test_very_many_slaves(place: MwPlace):
    count = min(SLAVES, memory_left() // (2 * 8_000_000))
    master = place.master("--mw-audit-file", "audit", f"wait-slaves {count}", "say here",
                          f"submit echo x times={10 * count}", f"wait-results {10 * count}",
                          "say computed", "-")
    place.await_file("r")
    begun = time.monotonic()
    import subprocess
    slaves = [subprocess.Popen([program("trial"), "--mw-slave", "--mw-resource-file", "r",
                                "--mw-audit-file", "/dev/null"], cwd=place.dir,
                               stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
              for _ in range(count)]
    try:
        master.await_line("said here")
        there = time.monotonic()
        master.await_line("said computed")
        computed = time.monotonic()
        memory, of_slave = master.memory(), 0
        with open(f"/proc/{slaves[0].pid}/status") as file:
            of_slave = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
        master.say("exit 0")
        master.ends(0)
        wait(lambda: all(slave.poll() is not None for slave in slaves), "all slaves end")
        ended = time.monotonic()
    finally:
        for slave in slaves:
            if slave.poll() is None:
                slave.kill()
            slave.wait()
    print(f"       {count} slaves of {of_slave} KB: there in {there - begun:.1f} s, {10 * count} "
          f"tasks in {computed - there:.1f} s, all ended in {ended - computed:.1f} s; the master "
          f"took {memory / 1e6:.0f} MB", flush=True)
    want([slave.returncode for slave in slaves] == [0] * count, "each was told to end")
    want(memory < 100e6, f"the master took {memory} bytes")
    want(len(master.results()) == 10 * count, "a result for each")


if __name__ == "__main__":
    main(globals())
