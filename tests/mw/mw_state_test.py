"""Masters with --mw-state that are killed, start again, share it or find it damaged; and slaves
that find the next master."""
import os
import random
import resource
import signal
import time

from mw_place import MwPlace, main, program, wait, want

STATE = ["--mw-state", "state"]


def test_a_search_that_is_killed_ends_as_one_that_is_not(place: MwPlace):
    undisturbed = place.master("5", app="search")
    slaves = place.slaves(2, app="search")
    expected = undisturbed.ends(0).out
    for slave in slaves:
        slave.ends(0)
    os.remove(place.path("r"))
    chance = random.Random(1)
    slaves = []
    kills, in_vain, known = 0, 0, ""
    while True:
        master = place.master(*STATE, "5", "2", app="search")
        place.await_file("r")
        if not slaves:
            slaves = place.slaves(2, app="search")
        # Where a life is too short for anything, as on a busy machine, the next one is longer.
        end = time.monotonic() + chance.uniform(0.02, 0.3) * (1 + in_vain)
        wait(lambda: time.monotonic() > end or not master.running(), "its time comes")
        if not master.running():
            break
        master.kill()
        kills += 1
        found = next((line for line in master.err if line.startswith("going on")), known)
        in_vain = in_vain + 1 if found == known else 0
        known = found
        want(in_vain < 40, master.told())
    want(master.ends(0).out == expected, f"{master.out}, not {expected}")
    want(kills > 2, "it was hardly killed")
    for slave in slaves:
        slave.ends(0)  # they have found each of its lives


def test_each_result_counts_once_whatever_is_killed(place: MwPlace):
    chance = random.Random(2)
    slaves = []
    kills = 0
    log = place.path("log")
    while True:
        master = place.master(*STATE, "--mw-slave-task-group", "3", f"count 250 20 {log} 4")
        if not slaves:
            slaves = place.slaves(2)
        begun = len(place.lines("log"))
        enough = begun + chance.randrange(1, 40)
        wait(lambda: len(place.lines("log")) >= enough or not master.running(), "some are computed")
        if not master.running():
            break
        master.kill()
        want(not master.matching("(twice|lacks|pending)"), master.told())
        kills += 1
        want(kills < 100, master.told())
    master.ends(0)
    want(not master.matching("(twice|lacks|pending)"), master.told())
    want(master.matching(f"counted 250 {250 * 249 // 2}"), master.told())
    want(set(map(int, place.lines("log"))) == set(range(250)), "each was computed")
    want(kills > 5, f"{kills} kills")
    for slave in slaves:
        slave.ends(0)


def test_what_a_master_finds_again(place: MwPlace):
    first = place.master(*STATE, "restored", "submit echo a tag=a times=2",
                         "submit echo b slave=1 tag=own", "submit echo c slave=1 anyway tag=else",
                         "submit echo d once tag=once", "wait-unrunnable 1", "checkpoint begin",
                         "submit echo lost tag=lost", "-")
    first.await_line("checkpointed")
    want(first.out[0] == "restored none", first.told())
    first.kill()
    second = place.master(*STATE, "restored", "show", "submit echo e tag=new", "checkpoint", "-")
    # One was handed back, and the checkpoint knows; none of the one that came behind it.
    second.await_line("restored 4 0 begin$")
    second.await_line("shown pending 4 ")
    second.await_line("task 6$")
    slave = place.slave()
    second.say("wait-results 5", "say done")
    second.await_line("said done")
    want({task: (tag, text) for task, (_, _, _, tag, text) in second.results().items()} ==
         {1: ("a", "a"), 2: ("a", "a"), 4: ("else", "c"), 5: ("once", "d"), 6: ("new", "e")},
         second.told())
    second.kill()
    # Nothing of it was acknowledged by a checkpoint: all come again.
    third = place.master(*STATE, "restored", "wait-results 5", "checkpoint end", "-")
    third.await_line("restored 0 5 -")
    third.await_line("checkpointed")
    want(len(third.results()) == 5, third.told())
    third.kill()
    last = place.master(*STATE, "restored", "poll", "show", "exit 0").ends(0)
    want(last.matching("restored 0 0 end") and last.matching("shown pending 0"), last.told())
    slave.ends(0)


def test_priorities_outlive_a_master(place: MwPlace):
    log = place.path("log")
    first = place.master(*STATE, *(f"submit note {log} {p} priority={p}" for p in (0, -1, 3, 2)),
                         "checkpoint", "-")
    first.await_line("checkpointed")
    first.kill()
    second = place.master(*STATE, f"submit note {log} 1 priority=1", "poll", "-")
    second.await_line("task 5$")
    slave = place.slave()
    second.say("wait-results 5", "exit 0")
    second.ends(0)
    slave.ends(0)
    want(place.lines("log") == ["3", "2", "1", "0", "-1"], place.lines("log"))


def test_a_task_that_may_not_be_retried(place: MwPlace):
    """It is handed back by the next master when a slave had it, before a checkpoint or after."""
    for when in ("before", "after"):
        for policy in ("once", "once anyway slave=1"):
            name = f"{when}-{policy.split()[-1]}"
            state = ["--mw-state", f"state-{name}"]
            hold = place.path(name)
            first = place.master(*state, "allocate intermingle 1", "wait-arrived 1", "-", file=name + "-r")
            slave = place.slave(file=name + "-r")
            if when == "before":
                first.say(f"submit hold {hold} x {policy}", "checkpoint begin")
                first.await_line("checkpointed")
            else:
                first.say(f"submit hold {hold} x {policy}", f"wait-file {hold}.begun",
                          "checkpoint begin")
                first.await_line("checkpointed")
            wait(lambda: place.lines(name + ".begun"), "it begins")
            first.kill()
            slave.kill()
            place.touch(name)
            second = place.master(*state, "restored", "wait-unrunnable 1", "exit 0",
                                  file=name + "-r")
            other = place.slave(file=name + "-r")
            wait(lambda: not second.running() or second.results(), "its fate")
            want(not second.results(), f"{name}: {second.told()}")
            second.ends(0)
            other.send(signal.SIGKILL)
            want(len(place.lines(name + ".begun")) == 1, name)


def test_one_master_at_a_time(place: MwPlace):
    first = place.master(*STATE, "checkpoint", "-")
    first.await_line("checkpointed")
    second = place.master(*STATE, "exit 0", file="other").ends(255)
    second.says("another master runs with --mw-state state")
    first.say("checkpoint", "say fine", "exit 0")
    first.ends(0)
    want(first.matching("said fine"), first.told())


def test_a_state_of_another_build(place: MwPlace):
    place.master(*STATE, "submit echo x", "checkpoint here").ends(0)
    other = {"MW_TRIAL_OTHER_BUILD": "1"}
    refused = place.master(*STATE, "restored", file="other", env=other).ends(255)
    refused.says("--mw-state state was written by another build of the program: the algorithm "
                 "'typed' is (f32)->i32 in this program, (i32)->i32 in the one that wrote the state")
    same = place.master(*STATE, "restored", file="same").ends(0)
    want(same.matching("restored 1 0 here"), same.told())


def test_a_full_disk(place: MwPlace):
    def few_bytes():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    full = place.master(*STATE, "submit size @100000", "checkpoint first",
                        "submit size @200000 times=5", "checkpoint second", before=few_bytes)
    full.ends(255).says("ended by an exception: ", "state.db")
    want(len(full.matching("checkpointed")) == 1, full.told())
    os.remove(place.path("r"))
    after = place.master(*STATE, "restored", "wait-results 1", "checkpoint third", "exit 0")
    slave = place.slave()
    after.ends(0)
    slave.ends(0)
    want(after.matching("restored 1 0 first"), after.told())
    want(after.results()[1][4] == "100000", after.told())


def test_a_damaged_state(place: MwPlace):
    place.master(*STATE, "submit size @20000 times=10", "checkpoint here").ends(0)
    whole = open(place.path("state/state.db"), "rb").read()
    chance = random.Random(3)
    damages = [(0, 16), (16, 100), (100, 4096), (0, len(whole)), (4096, len(whole))]
    told = 0
    for first, last in damages:
        for times in (1, 50):
            bytes_now = bytearray(whole)
            for _ in range(times):
                bytes_now[chance.randrange(first, last)] ^= 1 << chance.randrange(8)
            with open(place.path("state/state.db"), "wb") as file:
                file.write(bytes_now)
            master = place.start(program("trial"), "--mw-master", "--mw-master-host", "127.0.0.1",
                                 *STATE, "restored")
            master.process.wait(30)
            if master.process.returncode == 0:
                # Bytes that nothing looks at, as in the header: then it is as it was.
                master.ends(0)
                want(master.matching("restored 10 0 here"), f"{first}-{last}: {master.told()}")
            else:
                master.ends(255).says("state.db")
                told += 1
    want(told > 4, told)
    for content in (b"", b"nonsense" * 1000, whole[:5000]):
        with open(place.path("state/state.db"), "wb") as file:
            file.write(content)
        master = place.start(program("trial"), "--mw-master", "--mw-master-host", "127.0.0.1",
                             *STATE, "restored")
        master.process.wait(30)
        if content:
            master.ends(255).says("state.db")


def test_a_state_in_the_folder_of_somebody_else(place: MwPlace):
    if os.geteuid() != 0:
        print("       (skipped: only root can be another user)")
        return
    os.chmod(place.path("."), 0o755)
    for name, mode in (("state", 0o700), ("above", 0o755)):
        os.mkdir(place.path(name))
        os.chmod(place.path(name), mode)
        os.chown(place.path(name), 65534, 65534)
    for state in ("state", "above/state"):
        master = place.start(program("trial"), "--mw-master", "--mw-master-host", "127.0.0.1",
                             "--mw-state", state, "checkpoint here")
        master.ends(255).says("--mw-state", "belongs to nobody")
    want(os.listdir(place.path("state")) == [] and os.listdir(place.path("above")) == [], "nothing was made there")


def test_a_slave_whose_algorithm_goes_on_ends_after_its_master(place: MwPlace):
    """Killed or finished: nobody wants the result, and overseers wait for the slave."""
    for end, code in (("kill", 255), ("exit 0", 0), ("throw why", 2)):
        master = place.master(f"submit hold {place.path(str(code))} x", "-", file=f"r{code}")
        slave = place.slave(file=f"r{code}")
        wait(lambda: place.lines(f"{code}.begun"), "it computes")
        if end == "kill":
            master.kill()
        else:
            master.say(end)
        slave.ends(code).says("the algorithm 'hold' still runs")


def test_slaves_find_the_next_master(place: MwPlace):
    first = place.master("wait-slaves 2", "submit echo x", "wait-results 1", "say there", "-")
    slaves = place.slaves(2)
    first.await_line("said there")
    first.say(f"submit hold {place.path('h')} x", "poll", "say held")
    first.await_line("said held")
    wait(lambda: place.lines("h.begun"), "one computes")
    first.kill()
    second = place.master("wait-slaves 2", "submit echo again times=10", "wait-results 10", "say all",
                          "-")
    place.touch("h")
    second.await_line("said all")
    second.say("exit 0")
    second.ends(0)
    for slave in slaves:
        slave.ends(0)


if __name__ == "__main__":
    main(globals())
