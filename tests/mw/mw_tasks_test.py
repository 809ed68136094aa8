"""What becomes of tasks: groups and policies, slaves that die, stand still or are slow, algorithms
that throw or crash, and arguments and results of all sizes."""
import os
import signal
import time

from mw_place import MwPlace, main, program, wait, want
from harness import stop  # noqa: E402


def begun(place, name, count=1):
    """The words of FILE.begun: [text, pid]..."""
    wait(lambda: len(place.lines(name + ".begun")) >= count, f"{count} begin {name}")
    return [line.split() for line in place.lines(name + ".begun")]


def over(master, *slaves):
    master.say("exit 0")
    master.ends(0)
    for slave in slaves:
        slave.ends(0)


# ---- Groups ------------------------------------------------------------------------------------

def test_tasks_of_a_slave_come_in_order(place: MwPlace):
    master = place.master("--mw-slave-task-group", "3", "allocate ordered 1",
                          "allocate intermingle 1", "wait-arrived 2", "wait-slaves 3", "-")
    slaves = place.slaves(3)
    arrived = {m[2]: m[1] for m in master.await_line(r"arrived (\d+) (\w+)", 2)}
    want(sorted(arrived) == ["intermingle", "ordered"], master.told())
    file = place.path("log")
    for i in range(20):
        master.say(f"submit note {file}-any x{i}",
                   f"submit note {file}-1 {i} slave={arrived['ordered']}",
                   f"submit note {file}-2 {i} slave={arrived['intermingle']}")
    master.say("wait-results 60", "say done")
    master.await_line("said done")
    for name in ("log-1", "log-2"):
        want(place.lines(name) == [str(i) for i in range(20)], place.lines(name))
    want(sorted(place.lines("log-any")) == sorted(f"x{i}" for i in range(20)),
         place.lines("log-any"))
    results = master.results()
    want(all(str(results[task][1]) == arrived["ordered"] for task in range(2, 61, 3)), results)
    want(all(str(results[task][1]) != arrived["ordered"] for task in range(1, 61, 3)), results)
    over(master, *slaves)


def test_an_intermingle_slave_takes_its_own_tasks_first(place: MwPlace):
    master = place.master("allocate intermingle 1", "wait-arrived 1",
                          f"submit hold {place.path('h')} first", "-")
    slave = place.slave()
    begun(place, "h")
    log = place.path("log")
    master.say(f"submit note {log} any times=5", f"submit note {log} own slave=1 times=5")
    master.await_line("task 11$")
    master.say("poll", "show")  # they have left
    master.await_line("shown")
    place.touch("h")
    master.say("wait-results 11", "say done")
    master.await_line("said done")
    # One that was under way to it before its own ones came may go before them.
    want(place.lines("log")[1:6].count("own") >= 4, place.lines("log"))
    over(master, slave)


def test_a_slave_that_is_freed(place: MwPlace):
    master = place.master("allocate ordered 1", "wait-arrived 1", "submit pid", "submit pid slave=1",
                          "wait-results 1", "free 7", "-")
    slave = place.slave()
    master.await_line("freed 0")
    want(list(master.results()) == [2], "tasks for any slave wait")
    master.say(f"submit hold {place.path('h')} a slave=1", f"submit echo behind slave=1", "free 1",
               "submit echo late slave=1", "submit echo x slave=1 anyway", "wait-unrunnable 1")
    master.await_line("unrunnable")
    begun(place, "h")
    place.touch("h")
    master.say("wait-results 5", "say done")
    master.await_line("said done")
    want(master.unrunnable() == {5: ("echo", "-", "SLAVE-1 accepts no tasks of its own")},
         master.told())
    want(set(master.results()) == {1, 2, 3, 4, 6}, master.told())
    slave.kill()
    master.say("deallocate ordered 1", "say fewer")
    master.await_line("said fewer")
    other = place.slave()
    master.say("submit echo x", "wait-results 6", "say done")
    master.await_line("said done")
    over(master, other)
    # Nobody hears of the loss of a slave that was unordered by then.
    want(not master.matching("lost"), master.told())


# ---- Priorities --------------------------------------------------------------------------------

def test_the_highest_priority_that_waits_goes_out_next(place: MwPlace):
    """Also one that is submitted when others wait already, and after a slave was killed."""
    log = place.path("log")
    master = place.master(f"submit hold {place.path('a')} a", "submit echo ahead", "-")
    first = place.slave()
    begun(place, "a")
    master.say("wait-runnable 0", f"submit note {log} plain-1", f"submit note {log} low priority=-1",
               f"submit note {log} high priority=2.5", f"submit note {log} plain-2",
               f"submit hold {place.path('b')} b priority=1e9", f"submit note {log} top priority=9",
               "submit echo x priority=nan", "poll", "show")
    want("must be a number" in master.await_line("error (.*)")[0][1], master.told())
    master.await_line("shown pending 8 ")
    place.touch("a")
    begun(place, "b")
    master.say(f"submit note {log} late priority=3", "poll", "show")
    master.await_line("shown pending", 2)
    first.kill()
    place.touch("b")
    second = place.slave()
    master.say("wait-results 9", "say done")
    master.await_line("said done")
    want(len(place.lines("b.begun")) == 2, "its slave was killed")
    order = place.lines("log")
    want(order == ["top", "late", "high", "plain-1", "plain-2", "low"], order)
    over(master, second)


# ---- Slaves that are killed --------------------------------------------------------------------

def test_what_becomes_of_tasks_of_a_slave_that_is_killed(place: MwPlace):
    master = place.master("allocate ordered 1", "wait-arrived 1",
                          f"submit hold {place.path('h')} it slave=1 tag=running-plain",
                          "submit echo a slave=1 tag=plain",
                          "submit echo b slave=1 tag=anyway anyway",
                          "submit echo c slave=1 tag=once once",
                          "submit echo d slave=1 tag=once-anyway once anyway",
                          "submit echo e slave=99 tag=nobody",
                          "submit echo f slave=99 tag=nobody-anyway anyway", "poll", "-")
    first = place.slave()
    begun(place, "h")
    first.kill()
    master.say("wait-lost 1")
    master.await_line("lost 1 ordered")
    second = place.slave()  # an ordered one: it takes none of them
    master.say("wait-arrived 2", "free 2", "wait-unrunnable 5", "wait-results 2")
    master.say("say done")
    master.await_line("said done")
    back = {tag: reason for _, tag, reason in master.unrunnable().values()}
    want(back == {"running-plain": "SLAVE-1 disconnected", "plain": "SLAVE-1 disconnected",
                  "once": "SLAVE-1 disconnected", "once-anyway": "SLAVE-1 disconnected", "nobody": "SLAVE-99 is not connected"}, back)
    done = {tag: (slave, text) for _, slave, ok, tag, text in master.results().values() if ok}
    want(done == {"anyway": (2, "b"), "nobody-anyway": (2, "f")}, done)
    over(master, second)


def test_what_is_running_may_be_handed_back(place: MwPlace):
    """The same for tasks that the slave has, for any slave and for it alone."""
    table = [("", "elsewhere"), ("once", "back"), ("slave=1 anyway", "elsewhere"),
             ("slave=1", "back"), ("slave=1 once anyway", "back"), ("slave=1 once", "back")]
    for i, (policy, fate) in enumerate(table):
        file = place.path(f"h{i}")
        master = place.master("allocate intermingle 1", "wait-arrived 1",
                              f"submit hold {file} it {policy}", "-", file=f"r{i}")
        first = place.slave(file=f"r{i}")
        begun(place, f"h{i}")
        first.kill()
        master.say("wait-lost 1", "say gone")
        master.await_line("said gone")
        place.touch(f"h{i}")
        second = place.slave(file=f"r{i}")
        master.say("wait-unrunnable 1" if fate == "back" else "wait-results 1", "say done")
        master.await_line("said done")
        want((len(master.unrunnable()), len(master.results())) ==
             ((1, 0) if fate == "back" else (0, 1)), f"{policy}: {master.told()}")
        want(len(place.lines(f"h{i}.begun")) == (1 if fate == "back" else 2), policy)
        over(master, second)


# ---- Slaves that stand still, or are slow ------------------------------------------------------

def test_a_slave_that_stands_still_is_dropped(place: MwPlace):
    master = place.master("--mw-access", "access", "--mw-client-timeout", "3",
                          "--mw-audit-file", "audit", "allocate ordered 1", "wait-arrived 1",
                          f"submit hold {place.path('h')} it slave=1 anyway", "-")
    still = place.direct()
    begun(place, "h")
    stop(still.process)
    master.say("wait-lost 1", "wait-arrived 2", "free 2")
    master.await_line("lost 1 ordered")
    other = place.direct()  # an ordered one, until it is freed
    begun(place, "h", 2)
    place.touch("h")
    master.say("wait-results 1", "say done")
    master.await_line("said done")
    want(master.results()[1][1] == 2, master.told())
    still.send(signal.SIGCONT)
    still.ends(255)
    want("SLAVE-1 TIMEOUT" in place.read("audit"), place.read("audit"))
    over(master, other)


def test_a_slave_may_compute_for_longer_than_the_timeout(place: MwPlace):
    master = place.master("--mw-client-timeout", "3", "allocate ordered 1", "wait-arrived 1",
                          "submit sleep 6500 slave=1", "wait-results 1", "-")
    slave = place.slave()
    master.await_line("result 1 sleep 1 ok")
    want(not master.matching("lost"), master.told())
    over(master, slave)


def test_a_master_may_compute_for_longer_than_the_timeout(place: MwPlace):
    master = place.master("--mw-client-timeout", "3", "allocate ordered 1", "wait-arrived 1",
                          "busy 6500", "submit echo x slave=1", "wait-results 1", "-")
    slave = place.slave()
    master.await_line("result 1 echo 1 ok")
    want(not master.matching("lost"), master.told())
    over(master, slave)


def test_an_idle_slave_helps_a_slow_one(place: MwPlace):
    master = place.master("wait-slaves 2", f"submit first-holds {place.path('warm')} x times=8",
                          "-")
    slaves = place.slaves(2)
    begun(place, "warm")
    place.touch("warm")  # by now their usual time is small
    master.say("wait-results 8", f"submit first-holds {place.path('h')} y", "wait-results 9",
               "say done")
    master.await_line("said done")  # though the first still holds it
    pids = [line for line in place.lines("h.begun")]
    want(len(pids) == 2 and pids[0] != pids[1], pids)
    place.touch("h")  # its result comes too late
    master.say("submit echo x times=20", "wait-results 29", "poll", "show")
    master.await_line("shown pending 0")
    want(len(master.results()) == 29, master.told())
    over(master, *slaves)


def test_the_packets_of_a_stopped_slave_go_to_others(place: MwPlace):
    """Those that it has not begun as well, long before it counts as lost; each once."""
    log = place.path("log")
    master = place.master(f"submit note {log} x 2 times=50", "wait-results 50", "-")
    still = place.slave()
    other = None
    master.say(f"submit note {log} x 2 times=500", "poll", "say more")
    master.await_line("said more")
    wait(lambda: len(place.lines("log")) >= 100, "it computes")
    stop(still.process)
    begin = time.monotonic()
    other = place.slave()
    master.say("wait-results 550", "say done")
    master.await_line("said done")
    want(time.monotonic() - begin < 20, f"took {time.monotonic() - begin} s")
    still.send(signal.SIGCONT)
    master.say("poll", "show")
    master.await_line("shown pending 0 ")
    want(len(master.results()) == 550, master.told())
    over(master, still, other)


def test_a_slave_that_never_hears_of_the_end(place: MwPlace):
    master = place.master("--mw-shutdown-timeout", "4", "wait-slaves 2", "say there", "-")
    still, other = place.slaves(2)
    master.await_line("said there")
    stop(still.process)
    master.say("exit 5")
    master.ends(5).says("1 slaves have not heard that it is over")
    other.ends(0)
    still.send(signal.SIGCONT)
    still.ends(0)  # the resource file says so


def test_a_slave_that_is_told_to_end_computes_no_more_of_its_tasks(place: MwPlace):
    """The rest of a packet is for nobody."""
    log = place.path("log")
    master = place.master("--mw-slave-task-group", "50", f"submit hold {place.path('h')} it",
                          f"submit note {log} x times=49", "poll", "-")
    slave = place.slave()
    begun(place, "h")
    master.say("exit 0")
    master.ends(0)
    place.touch("h")
    slave.ends(0)
    want(place.lines("log") == [], f"computed in vain: {len(place.lines('log'))}")


def test_a_task_that_passes_its_time_limit(place: MwPlace):
    """It ends with a failure and its slave; the other tasks of its packet go to another slave."""
    for group in ("1", "8"):
        name = f"{group}-h"
        master = place.master("--mw-slave-task-group", group, "submit echo before time=60000",
                              f"submit hold {place.path(name)} x time=500",
                              "submit echo after time=60000 times=6", "wait-results 7", "say rest",
                              "-", file=f"r{group}")
        first = place.slave(file=f"r{group}")
        begun(place, name)
        first.ends(255).says("a task of 'hold' took longer than its time limit")
        second = place.slave(file=f"r{group}")
        master.say("wait-results 8", "say done")
        master.await_line("said done")
        results = master.results()
        late = "it took longer than its time limit of 0.50 s (policy::time)"
        want(not results[2][2] and results[2][4] == late, master.told())
        want(all(results[task][2] for task in results if task != 2), master.told())
        want(len(place.lines(name + ".begun")) == 1, "it ran once")
        over(master, second)


# ---- Algorithms that fail ----------------------------------------------------------------------

def test_exceptions_and_tries(place: MwPlace):
    file = place.path("calls")
    master = place.master("submit throw sorry", "submit throw-number", "submit throw sorry tries=3",
                          f"submit throw-first {file}-a 2 tries=2 tag=a",
                          f"submit throw-first {file}-b 2 tries=3 tag=b",
                          f"submit throw-first {file}-c 2 tries=9 tag=c",
                          "submit no-such-algorithm x", "submit echo x tries=0",
                          "submit size @3999000", "submit size @4000001", "wait-results 7",
                          "exit 0")
    slave = place.slave()
    master.ends(0)
    slave.ends(0)
    texts = {task: (ok, text) for task, (_, _, ok, _, text) in master.results().items()}
    want(texts == {1: (False, "sorry"), 2: (False, "the algorithm threw something other than a std::exception"),
                   3: (False, "sorry"), 4: (False, "call 2"), 5: (True, "call 3"),
                   6: (True, "call 3"), 7: (True, "3999000")}, texts)
    want([len(place.lines(f"calls-{x}")) for x in "abc"] == [2, 3, 3], "so often each was called")
    errors = [m[1] for m in master.matching("error (.*)")]
    want(len(errors) == 3 and "no algorithm 'no-such-algorithm'" in errors[0] and
         "at least once" in errors[1] and "more than 4000000" in errors[2], errors)


def killed_again_and_again(place, algorithm, packet):
    master = place.master("--mw-slave-task-group", str(packet), f"submit {algorithm} tag=bad losses=5",
                          "submit echo good tag=good times=3", "wait-results 4", "show", "-")
    ended = lambda: bool(master.matching("shown"))  # noqa: E731
    died = 0
    while not ended():
        slave = place.slave()
        wait(lambda: ended() or not slave.running(), "the slave dies, or all is over")
        if not slave.running():
            died += 1
        want(died < 40, master.told())
    results = master.results()
    bad = results.pop(1)
    want(not bad[2] and bad[1] == 0, f"nobody could compute it: {bad}")
    want(all(ok and text == "good" for _, _, ok, _, text in results.values()), results)
    over(master, slave)
    return died, bad[4]


def test_a_task_that_kills_its_slaves(place: MwPlace):
    died, why = killed_again_and_again(place, "crash 9", 1)
    want(died == 5, f"{died} slaves: {why}")


def test_a_task_that_kills_its_slaves_beside_others(place: MwPlace):
    """Each of its packet goes alone then."""
    died, why = killed_again_and_again(place, "crash 11", 4)
    want(died == 10, f"{died} slaves: {why}")


def crashes_once(place, *tasks):
    """The slaves that die of these tasks with losses=1, and the tasks that fail; one slave at a time."""
    file = f"r{len(place.children)}"
    master = place.master(*(f"submit {task} losses=1" for task in tasks), "poll", "show", "-", file=file)
    master.await_line("shown")
    count = len(master.matching("task "))
    master.say(f"wait-results {count}", "say done")
    died, slave = 0, None
    while not master.matching("said done"):
        slave = slave or place.slave(file=file)
        wait(lambda: master.matching("said done") or not slave.running(), "it dies, or all is over")
        if not slave.running():
            died, slave = died + 1, None
        want(died < 10, master.told())
    results = master.results()
    over(master, *filter(None, [slave]))
    for task, (_, _, ok, _, text) in results.items():
        want(ok or text == "lost slaves that computed it: 1 (policy::losses)", f"{task}: {text}")
    return died, [task for task, (_, _, ok, _, _) in sorted(results.items()) if not ok]


def test_a_lost_slave_counts_for_the_task_that_it_was_in(place: MwPlace):
    """The result of the task before may not have left the slave yet, above all a long one."""
    for _ in range(3):
        found = crashes_once(place, "big 3000000", "crash 9", "echo x times=3")
        want(found == (1, [2]), found)
        found = crashes_once(place, "echo x times=20", "crash 11", "echo x times=20", "leave 0",
                             "echo x times=20")
        want(found == (2, [21, 42]), found)


def test_a_task_without_a_limit_is_not_counted_for_the_one_before(place: MwPlace):
    log = place.path("log")
    master = place.master("submit big 3000000 losses=1", f"submit crash-first {log} 1",
                          "submit echo x losses=1", "wait-results 3", "say done", "-")
    first = place.slave()
    wait(lambda: not first.running(), "it dies")
    second = place.slave()
    master.await_line("said done")
    want(all(ok for _, _, ok, _, _ in master.results().values()), master.results())
    over(master, second)


def test_a_task_that_has_failed_takes_no_further_slave(place: MwPlace):
    """Though others had room for it when its slave was lost."""
    master = place.master("wait-slaves 6", "-")
    slaves = place.slaves(6)
    for left in (5, 4, 3):
        name = f"h{left}"
        master.say("submit crash 9 losses=1", f"wait-results {6 - left}", "say one")
        master.await_line("said one", 6 - left)
        wait(lambda left=left: sum(slave.running() for slave in slaves) <= left, "one dies")
        # Whoever is left can compute: one that was given the task as well would be dead by now.
        master.say(f"submit until-stopped {place.path(name)} x times={left}")
        wait(lambda left=left, name=name: len(place.lines(name + ".begun")) >= left
             or sum(slave.running() for slave in slaves) < left, "all that are left begin a task")
        want(sum(slave.running() for slave in slaves) == left, f"{left}: {master.told()}")
        master.say("cancel-all")
    over(master, *(slave for slave in slaves if slave.running()))


def test_a_task_is_retried_however_many_slaves_are_lost(place: MwPlace):
    log = place.path("log")
    master = place.master(f"submit crash-first {log} 7", "wait-results 1", "say done", "-")
    died = 0
    while not master.matching("said done"):
        slave = place.slave()
        wait(lambda: master.matching("said done") or not slave.running(), "it dies, or all is over")
        died += 0 if master.matching("said done") else 1
        want(died < 40, master.told())
    want(died == 7 and master.results()[1][2:] == (True, "-", "7"), f"{died}: {master.told()}")
    over(master, slave)


def test_an_algorithm_that_ends_its_slave(place: MwPlace):
    died, why = killed_again_and_again(place, "leave 0", 1)
    want(died == 5, f"{died} slaves: {why}")


# ---- Sizes -------------------------------------------------------------------------------------

def test_results_of_all_sizes(place: MwPlace):
    sizes = [0, 1, 200, 1000, 65_535, 65_536, 100_000, 1 << 20, 5_000_000, 20_000_000]
    for group in ("1", "4"):
        master = place.master("--mw-slave-task-group", group, *(f"submit big {n}" for n in sizes),
                              f"wait-results {len(sizes)}", "exit 0")
        slaves = place.slaves(2)
        master.ends(0)
        for slave in slaves:
            slave.ends(0)
        for task, n in enumerate(sizes, 1):
            text = master.results()[task][4]
            want(text == f"{n} whole" if n > 200 else len(text) == n, f"{n}: {text[:100]}")
        os.remove(place.path("r"))


def test_groups_of_tasks_and_results(place: MwPlace):
    for tasks, results in ((7, 3), (3, 7), (100, 1)):
        master = place.master("--mw-slave-task-group", str(tasks), "--mw-slave-result-group",
                              str(results), "--mw-audit-file", f"audit-{tasks}",
                              "submit echo x times=100", "wait-results 100", "exit 0")
        slave = place.slave()
        master.ends(0)
        slave.ends(0)
        want(len(master.results()) == 100, master.told())
        sent = [int(line.split()[5]) for line in place.lines(f"audit-{tasks}")
                if "SLAVE-1 <-" in line and "tasks" in line]
        want(sum(sent) == 100, sent)
        os.remove(place.path("r"))


def test_very_many_arguments_at_once(place: MwPlace):
    """More bytes than go in one message, in one packet and in many."""
    for group in ("1", "64"):
        master = place.master("--mw-slave-task-group", group, "submit size @900000 times=64",
                              "wait-results 64", "exit 0")
        slaves = place.slaves(2)
        master.ends(0)
        want(all(r[4] == "900000" for r in master.results().values()), master.told())
        for slave in slaves:
            slave.ends(0)
        os.remove(place.path("r"))


if __name__ == "__main__":
    main(globals())
