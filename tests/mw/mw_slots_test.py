"""Slaves of several slots, and tasks that need something of their slave."""
import os
import re
import signal
import time

from mw_place import MwPlace, main, wait, want


def over(master, *slaves):
    master.say("exit 0")
    master.ends(0)
    for slave in slaves:
        slave.ends(0)


def begun(place, name, count=1):
    wait(lambda: len(place.lines(name + ".begun")) >= count, f"{count} begin {name}")


def most_at_once(lines):
    """Of what `take` has written: slots that were taken at once, and tasks."""
    slots = tasks = most_slots = most_tasks = 0
    for line in lines:
        sign = 1 if line[0] == "+" else -1
        slots += sign * int(line[2:])
        tasks += sign
        most_slots, most_tasks = max(most_slots, slots), max(most_tasks, tasks)
    want(slots == 0 and tasks == 0, lines)
    return most_slots, most_tasks


def test_tasks_that_wait_for_each_other_end_on_one_slave(place: MwPlace):
    for group in ("1", "5"):
        name = f"all-{group}"
        # The last one has an exception, and is one of those that meet.
        master = place.master("--mw-slave-task-group", group, "wait-slaves 1",
                              *[f"submit meet {place.path(name)} 4 priority={i}" for i in range(4)],
                              "wait-results 4", "slaves", "submit throw sorry", "submit echo x times=20",
                              "wait-results 25", "say done", "-", file=f"r{group}")
        slave = place.slave("--mw-slots", "4", file=f"r{group}")
        if group == "5":
            # A packet is computed by one thread, so its tasks would wait for ever.
            wait(lambda: len(place.lines(name)) == 1, "one has begun")
            place.write(name, "here\n" * 4)
        master.await_line("said done")
        want(master.await_line(r"slave 1 .* (\d+)$")[0][1] == "4", master.told())
        results = master.results()
        want(len(results) == 25 and results[5][4] == "sorry", results)
        want(all(results[task][2] for task in results if task != 5), results)
        over(master, slave)


def test_no_more_slots_are_taken_than_there_are(place: MwPlace):
    log = place.path("log")
    master = place.master("wait-slaves 1", f"submit take {log} 3 60 slots=3",
                          f"submit take {log} 2 60 slots=2 times=2",
                          f"submit take {log} 1 20 times=12", f"submit take {log} 4 20 slots=4",
                          f"submit take {log} 2 5 slots=2 times=40", "wait-results 56", "say done", "-")
    slave = place.slave("--mw-slots", "4")
    master.await_line("said done")
    slots, tasks = most_at_once(place.lines("log"))
    want(slots <= 4, f"{slots} at once: {place.lines('log')}")
    want(tasks >= 2, f"one by one: {place.lines('log')}")
    over(master, slave)


def test_a_slave_has_one_slot_unless_it_says_more(place: MwPlace):
    log = place.path("log")
    master = place.master(f"submit take {log} 1 5 times=30", "wait-results 30", "say done", "-")
    slave = place.slave()
    master.await_line("said done")
    want(most_at_once(place.lines("log")) == (1, 1), place.lines("log"))
    over(master, slave)


def test_a_task_goes_where_its_needs_are_met(place: MwPlace):
    master = place.master("wait-slaves 2", "submit echo slots slots=2", "submit echo memory memory=2000000000",
                          "submit echo gpus gpus=2", "submit echo label label=fast",
                          "submit echo all slots=2 gpus=1 label=fast label=near", "submit echo none",
                          "wait-results 2", "say first", "-")
    plain = place.slave("--mw-memory", "1G", "--mw-label", "near")
    other = place.slave("--mw-slots", "2", "--mw-memory", "1G")
    # Slots are there; and one task needs nothing.
    master.await_line("said first")
    want(set(master.results()) == {1, 6}, master.told())
    rich = place.slave("--mw-slots", "2", "--mw-memory", "4G", "--mw-resource", "gpus=1,7",
                       "--mw-label", "near", "--MW-LABEL", "fast")
    master.say("wait-results 6", "say done")
    master.await_line("said done")
    results = master.results()
    want(all(results[task][1] == 3 for task in (2, 3, 4, 5)), results)
    over(master, plain, other, rich)


def test_pieces_are_one_tasks_alone(place: MwPlace):
    file = place.path("g")
    master = place.master("wait-slaves 1", f"submit gpus {file} gpus=1 times=2", f"submit gpus {file}",
                          f"submit gpus {file} gpus=2", "-")
    slave = place.slave("--mw-slots", "4", "--mw-resource", "gpus=a,b")
    begun(place, "g", 3)
    master.say("poll", "show")
    master.await_line("shown pending 4")
    want(len(place.lines("g.begun")) == 3, "the last one waits for its GPUs")
    place.touch("g")
    master.say("wait-results 4", "say done")
    master.await_line("said done")
    texts = {task: text for task, (_, _, _, _, text) in master.results().items()}
    want(sorted([texts[1], texts[2]]) == ["gpus,a", "gpus,b"] and texts[3] == "gpus", texts)
    want(texts[4] == "gpus,a,b", texts)
    over(master, slave)


def test_needs_that_cannot_be(place: MwPlace):
    master = place.master("submit echo x slots=0", "submit echo x slots=4097", "submit echo x gpus=0",
                          "submit echo x gpus=1 gpus=2", "submit echo x label=any", "submit echo x label=a,b",
                          "submit echo x memory=18446744073709551615", "exit 0")
    master.ends(0)
    errors = [m[1] for m in master.matching(r"error (.*)")]
    want(len(errors) == 7 and all("policy::needs" in each for each in errors), errors)
    for wrong in (("--mw-slots", "0"), ("--mw-slots", "x"), ("--mw-memory", "0"), ("--mw-resource", "gpus"),
                  ("--mw-resource", "gpus=1,1"), ("--mw-label", "any"), ("--mw-label", "")):
        place.slave(*wrong).ends(1).says(f"{wrong[0]} cannot be '{wrong[1]}'")
    place.master("--mw-slots", "2", "exit 0").ends(1).says("--mw-slots is for slaves")


def test_a_slave_of_several_slots_that_is_lost(place: MwPlace):
    """All that it had goes to others, and what may not be retried is handed back."""
    hold = place.path("h")
    master = place.master("wait-slaves 1", f"submit hold {hold} x times=3", f"submit hold {hold} z once", "-")
    first = place.slave("--mw-slots", "4")
    begun(place, "h", 4)
    first.kill()
    second = place.slave("--mw-slots", "3")
    begun(place, "h", 7)
    place.touch("h")
    master.say("wait-results 3", "wait-unrunnable 1", "say done")
    master.await_line("said done")
    want(set(master.results()) == {1, 2, 3} and set(master.unrunnable()) == {4}, master.told())
    want(len(place.lines("h.begun")) == 7, place.lines("h.begun"))
    over(master, second)


def test_the_time_limit_of_one_of_several(place: MwPlace):
    hold = place.path("h")
    master = place.master("wait-slaves 1", f"submit hold {hold} x", f"submit hold {hold} slow time=600",
                          f"submit hold {hold} y time=60000", "-")
    first = place.slave("--mw-slots", "4")
    begun(place, "h", 3)
    first.ends(255).says("a task of 'hold' took longer than its time limit")
    second = place.slave("--mw-slots", "4")
    begun(place, "h", 5)
    place.touch("h")
    master.say("wait-results 3", "say done")
    master.await_line("said done")
    results = master.results()
    want(results[2][4].startswith("it took longer than its time limit"), results)
    want(results[1][2] and results[3][2] and results[1][1] == results[3][1] == 2, results)
    over(master, second)


def test_a_task_that_is_cancelled_is_told_so_alone(place: MwPlace):
    hold, stops = place.path("h"), place.path("s")
    master = place.master("wait-slaves 1", f"submit until-stopped {stops}", f"submit hold {hold} x",
                          f"submit until-stopped {stops}2", "-")
    slave = place.slave("--mw-slots", "3")
    for name in ("h", "s", "s2"):
        begun(place, name)
    master.say("cancel 1", "submit echo x", "wait-results 1", "say next")
    master.await_line("said next")
    wait(lambda: place.lines("s") == ["stopped"], "it is told")
    want(place.lines("s2") == [], "the other one is not")
    place.touch("h")
    master.say("wait-results 2", "cancel 3", "say done")
    master.await_line("said done")
    wait(lambda: place.lines("s2") == ["stopped"], "it is told, too")
    over(master, slave)


def test_a_slave_of_several_slots_finds_the_next_master(place: MwPlace):
    hold = place.path("h")
    master = place.master("--mw-state", "s", f"submit hold {hold} x slots=2", f"submit hold {hold} y label=b times=2",
                          "checkpoint", "-")
    slave = place.slave("--mw-slots", "4", "--mw-label", "b")
    begun(place, "h", 3)
    master.kill()
    place.touch("h")
    again = place.master("--mw-state", "s", "restored", "wait-slaves 1", "wait-results 3", "say done", "-")
    again.await_line("said done")
    want(again.matching("restored 3 0"), again.told())
    over(again, slave)


def test_a_stopped_slave_of_several_slots(place: MwPlace):
    """An idle slot of another slave computes what takes it too long."""
    master = place.master("wait-slaves 2", f"submit first-holds {place.path('warm')} x times=8", "-")
    slaves = place.slaves(2, "--mw-slots", "2")
    begun(place, "warm")
    place.touch("warm")
    hold = place.path("h")
    master.say("wait-results 8", f"submit first-holds {hold} y", "wait-results 9", "say done")
    master.await_line("said done")
    want(len(set(place.lines("h.begun"))) == 2, place.lines("h.begun"))
    place.touch("h")
    master.say("submit echo x times=20", "wait-results 29", "poll", "show")
    master.await_line("shown pending 0")
    over(master, *slaves)


if __name__ == "__main__":
    main(globals())
