"""Futures, cancelled tasks, and the list of slaves."""
from mw_place import MwPlace, main, wait, want
from mw_tasks_test import begun, over

STATE = ["--mw-state", "state"]


# ---- Futures -----------------------------------------------------------------------------------

def test_a_future_waits_for_its_task_alone(place: MwPlace):
    master = place.master("async echo first", "submit echo other", "async throw sorry",
                          "async echo own slave=9", "async echo last tag=t", "get 3", "get 1",
                          "get 2", "get 0", "get 0", "wait-results 1", "show", "exit 0")
    slave = place.slave()
    master.ends(0)
    slave.ends(0)
    want([line for line in master.out if line.split()[0] in ("value", "failure", "error", "shown")]
         == ["value 5 last", "failure 3 sorry",
             "failure 4 it was handed back: SLAVE-9 is not connected", "value 1 first",
             "error the future has no task: its value was taken, or it never had one",
             "shown pending 0 room 0 slaves 1"], master.told())
    want(list(master.results()) == [2] and not master.unrunnable(), master.told())


def test_waiting_for_any_of_several(place: MwPlace):
    master = place.master("any", f"async hold {place.path('a')} a", f"async hold {place.path('b')} b",
                          "any 20", "ready 1", "wait-for 0 1", "-")
    slaves = place.slaves(2)
    begun(place, "a"), begun(place, "b")
    master.await_line("waited 0")
    want(master.out[0].startswith("error there is no future to wait for"), master.told())
    want(master.matching("any none") and master.matching("ready 0"), master.told())
    place.touch("b")
    master.say("any")
    master.await_line("any 1$")
    master.await_line("value 2 b")
    place.touch("a")
    master.say("any", "any")
    master.await_line("value 1 a")
    master.await_line("error there is no future", 2)
    over(master, *slaves)


def test_a_future_that_is_polled_alone_becomes_ready(place: MwPlace):
    """What was submitted leaves, though the master never waits."""
    master = place.master("wait-slaves 1", "async echo x", "-")
    slave = place.slave()
    master.await_line("future 0 1")

    def ready():
        master.say("ready 0")
        return master.matching("ready 1")
    wait(ready, "it is ready")
    over(master, slave)


def test_the_result_of_a_dropped_future(place: MwPlace):
    log = place.path("log")
    master = place.master(f"async note {log} before", "drop 0", f"async note {log} after", "get 1",
                          f"async note {log} came", "submit echo x", "wait-results 1", "drop 2",
                          "attach 1", "show", "exit 0")
    slave = place.slave()
    master.ends(0)
    slave.ends(0)
    want(place.lines("log") == ["before", "after", "came"], "the tasks were computed")
    want(list(master.results()) == [4], master.told())
    want(master.matching("shown pending 0 ") and master.matching("error there is no task 1 "),
         master.told())


def test_futures_of_a_master_that_was_killed(place: MwPlace):
    """Their tasks are kept like others; the next master takes their results, or attaches to them."""
    log = place.path("log")
    first = place.master(*STATE, f"async note {log} 1", f"async note {log} 2", f"async note {log} 3",
                         f"async note {log} 4", f"async note {log} 5", "get 0", "wait-for 1 60000",
                         "drop 2", "checkpoint here", "-")
    slave = place.slave()
    first.await_line("checkpointed")
    wait(lambda: len(place.lines("log")) == 5, "all are computed")
    first.kill()
    second = place.master(*STATE, "restored", "attach 2", "attach 4", "attach 1", "attach 3",
                          "attach 2", "get 0", "get 1", "wait-results 1", "show", "checkpoint", "-")
    second.await_line("checkpointed")
    want(sum(map(int, second.matching(r"restored (\d) (\d) here")[0].groups())) == 3, second.told())
    want([line for line in second.out if line.startswith(("value", "error"))] ==
         ["error there is no task 1 that has not ended: its result was taken or dropped, or no "
          "checkpoint knows it",
          "error there is no task 3 that has not ended: its result was taken or dropped, or no "
          "checkpoint knows it", "error task 2 has a future", "value 2 2", "value 4 4"],
         second.told())
    want(second.matching("shown pending 0 ") and list(second.results()) == [5], second.told())
    second.kill()
    third = place.master(*STATE, "restored", "exit 0").ends(0)
    want(third.matching("restored 0 0 -"), third.told())
    slave.ends(0)


def test_a_future_of_another_algorithm(place: MwPlace):
    master = place.master("submit echo x", "attach 1", "wait-results 1", "exit 0")
    slave = place.slave()
    master.ends(0)
    slave.ends(0)
    want(master.matching("error task 1 is of 'echo', not of 'note'"), master.told())
    want(list(master.results()) == [1], "its result comes as usual")


def test_a_future_whose_slave_is_killed(place: MwPlace):
    master = place.master(f"async hold {place.path('h')} x", "wait-slaves 1", "-")
    slave = place.slave()
    begun(place, "h")
    slave.kill()
    place.touch("h")
    slaves = place.slaves(2)
    master.say("get 0", "async crash 9 losses=2", "get 1", f"async hold {place.path('o')} y once",
               "get 2")
    master.await_line("failure 2 ")
    wait(lambda: not any(slave.running() for slave in slaves), "both have crashed")
    slave = place.slave()
    begun(place, "o")
    slave.kill()
    master.await_line("failure 3 ")
    want([line for line in master.out if line.startswith(("value", "failure"))] ==
         ["value 1 x", "failure 2 lost slaves that computed it: 2 (policy::losses)",
          "failure 3 it was handed back: its slave disconnected, and it may not be retried"],
         master.told())
    over(master)


# ---- Cancelled tasks ---------------------------------------------------------------------------

def test_tasks_that_are_cancelled(place: MwPlace):
    """Those that have not begun never run; the one that runs is told."""
    log = place.path("log")
    master = place.master(f"submit until-stopped {place.path('s')}", f"submit note {log} ahead",
                          f"submit note {log} waits times=3", f"async note {log} future", "-")
    slave = place.slave()
    begun(place, "s")
    master.say("cancel 1 2 4 4 99", "show", "cancel-future 0", "get 0", "wait-results 2",
               "cancel 3", "say done")
    master.await_line("said done")
    wait(lambda: place.lines("s") == ["stopped"], "it hears of it")
    want([line for line in master.out if not line.startswith(("task", "future", "result", "said"))]
         == ["cancelled 3", "shown pending 3 room 0 slaves 1", "cancelled 1",
             "failure 6 it was cancelled", "cancelled 0"], master.told())
    want(place.lines("log") == ["waits", "waits"], place.lines("log"))
    want(sorted(master.results()) == [3, 5], master.told())
    over(master, slave)


def test_a_packet_in_which_a_task_is_cancelled(place: MwPlace):
    log = place.path("log")
    master = place.master("--mw-slave-task-group", "4", f"submit hold {place.path('h')} x",
                          f"submit note {log} a", f"submit note {log} b", "poll", "-")
    slave = place.slave()
    begun(place, "h")
    master.say("cancel 2", "show")
    master.await_line("shown pending 2 ")
    place.touch("h")
    master.say("wait-results 2", "show")
    master.await_line("shown pending 0 ")
    want(sorted(master.results()) == [1, 3], master.told())
    over(master, slave)


def test_all_are_cancelled(place: MwPlace):
    log = place.path("log")
    master = place.master(f"submit until-stopped {place.path('s')}",
                          f"submit note {log} x times=5000", f"submit note {log} x slave=9 anyway",
                          "poll", "-")
    slave = place.slave()
    begun(place, "s")
    master.say("cancel-all", "show", "cancel-all", "submit echo y", "wait-results 1")
    master.await_line("cancelled 5002")
    master.await_line("shown pending 0 ")
    master.await_line("result 5003 echo 1 ok - y")
    want(place.lines("log") == [] and place.lines("s") == ["stopped"], place.lines("log"))
    over(master, slave)


def test_cancelled_tasks_of_a_master_that_was_killed(place: MwPlace):
    log = place.path("log")
    first = place.master(*STATE, f"submit note {log} x times=4", "checkpoint a", "cancel 2", "-")
    first.await_line("cancelled 1")
    first.kill()
    second = place.master(*STATE, "restored", "cancel 2 3", "submit echo y", "cancel 5",
                          "checkpoint b", "cancel 4", "-")
    second.await_line("restored 4 0 a")  # the last checkpoint did not know
    second.await_line("cancelled 1", 2)
    second.kill()
    third = place.master(*STATE, "restored", "wait-results 2", "show", "exit 0")
    slave = place.slave()
    third.ends(0)
    slave.ends(0)
    want(third.matching("restored 2 0 b") and third.matching("shown pending 0 "), third.told())
    want(sorted(third.results()) == [1, 4] and len(place.lines("log")) == 2, third.told())


# ---- Slaves ------------------------------------------------------------------------------------

def test_the_list_of_slaves(place: MwPlace):
    master = place.master("--mw-access", "access", "slaves", "say none", "allocate ordered 1", "wait-slaves 2",
                          "submit echo x times=3", "wait-results 3",
                          f"submit hold {place.path('h')} x", f"submit hold {place.path('h')} y", "-")
    slaves = [place.slave()]
    master.await_line("arrived 1")
    slaves.append(place.direct())
    begun(place, "h")
    master.say("slaves", "say some")
    master.await_line("said some")
    want(master.out[0] == "said none", master.told())
    listed = {m[1]: m.groups()[1:] for m in
              master.matching(r"slave (\d) (\w+) (SLAVE-\d) ([0-9.:]+) (\w+) (\d) (\d)")}
    want({k: (v[0], v[1], *v[3:]) for k, v in listed.items()} ==
         {"1": ("ordered", "SLAVE-1", "idle", "0", "0"),
          "2": ("unordered", "SLAVE-2", "busy", "2", "3")}, master.told())
    want(listed["1"][2] == "127.0.0.1" and listed["2"][2].startswith("127.0.0.1:"), listed)  # by the socket, by TLS
    place.touch("h")
    master.say("wait-results 5")
    over(master, *slaves)


if __name__ == "__main__":
    main(globals())
