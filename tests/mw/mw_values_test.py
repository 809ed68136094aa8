"""Long arguments and results: by a socket and over the network, in memory and in files; and masters
that do not take their results."""
import os
import re

from mw_place import MwPlace, main, wait, want

MB = 1_000_000


def socket_of(place):
    return re.search(r"hub = unix:(/\S+)", place.read("r"))[1]


def test_values_of_all_sizes_by_every_way(place: MwPlace):
    sizes = [1000, 65_535, 65_536, 70_000, MB, (1 << 20) + 1, 3_900_000]
    master = place.master("--mw-access", "access",
                          *(f"submit {what} times=4 {how}" for size in sizes
                            for what, how in (("size", f"@{size}"), ("big", size))),
                          f"wait-results {8 * len(sizes)}", "exit 0")
    place.await_file("r")
    near, far = place.slave(), place.direct()
    master.ends(0)
    near.ends(0)
    far.ends(0)
    texts = [text for _, text in sorted((task, each[4]) for task, each in master.results().items())]
    want(texts == [text for size in sizes for text in [str(size)] * 4 + [f"{size} whole" if size > 200 else ""] * 4],
         master.told())


def test_many_tasks_with_long_arguments_that_take_no_time(place: MwPlace):
    """They are not all sent ahead: a slave whose queue is full would be cut off."""
    count = 80
    master = place.master("--mw-access", "access", "--mw-audit-file", "audit", "wait-slaves 2",
                          f"submit size @3900000 times={count}", f"wait-results {count}", "exit 0")
    place.await_file("r")
    near, far = place.slave(), place.direct()
    master.ends(0)
    near.ends(0)
    far.ends(0)
    want([each[4] for each in master.results().values()] == ["3900000"] * count, master.told())
    want("PROBLEM" not in place.read("audit"), place.read("audit"))


def test_slaves_of_the_same_machine_come_by_a_socket(place: MwPlace):
    master = place.master("-")
    place.await_file("r")
    socket = socket_of(place)
    master.say("submit big 300000 times=2")
    first = place.slave("--mw-audit-file", "first")
    master.say("wait-results 2")
    master.await_line("result", 2)
    want(socket in place.read("first"), place.read("first"))
    want(os.stat(os.path.dirname(socket)).st_mode & 0o077 == 0, "others may look into its folder")
    # One that is told where the master is, or finds no socket, comes over the network.
    host, port = place.place_of_master()
    told = place.slave("--mw-master-host", host, "--mw-master-port", port, "--mw-audit-file", "told")
    wait(lambda: f"{host}:{port}" in place.read("told"), "it is connected")
    os.remove(socket)
    without = place.slave("--mw-audit-file", "without")
    wait(lambda: f"{host}:{port}" in place.read("without"), "it is connected")
    want(socket not in place.read("told") + place.read("without"), place.read("told"))
    master.say("exit 0")
    master.ends(0)
    for slave in (first, told, without):
        slave.ends(0)
    want(not os.path.exists(os.path.dirname(socket)), "the folder is still there")


def test_a_master_that_takes_no_results_slows_its_slaves_down(place: MwPlace):
    """And its memory has a bound; none of the results is lost."""
    os.mkdir(place.path("tmp"))
    count = 300
    master = place.master("--mw-result-memory", "20M", "--mw-audit-file", "audit", "wait-slaves 2",
                          f"submit big-note {place.path('notes')} {MB} times={count}", "poll", "busy-until go",
                          f"wait-results {count}", "exit 0", env={"TMPDIR": place.path("tmp")})
    slaves = place.slaves(2)
    wait(lambda: "of results wait to be taken" in place.read("audit"), "its slaves get no more tasks")

    def both_are_idle():
        states = {m[1]: m[2] for m in re.finditer(r"(SLAVE-\d+) -> :(\w+)", place.read("audit"))}
        return len(states) == 2 and set(states.values()) == {"idle"}
    wait(both_are_idle, "what was given is computed")
    computed = len(place.lines("notes"))
    want(20 <= computed < count, f"{computed} of {count} are computed")
    files = [name for _, _, names in os.walk(place.path("tmp")) for name in names if name.startswith("result-")]
    memory = master.memory()
    print(f"       {computed} computed, {len(files)} in files, {memory / 1e6:.0f} MB", flush=True)
    want(memory < 120 * MB, f"the master took {memory} bytes")
    place.touch("go")
    master.ends(0)
    for slave in slaves:
        slave.ends(0)
    results = master.results()
    want(len(results) == count and all(each[4] == f"{MB} whole" for each in results.values()), master.told())
    want(len(place.lines("notes")) == count, "some were computed twice")
    want(place.read("audit").count("of results wait to be taken") == 1, "it is said each time")
    want(os.listdir(place.path("tmp")) == [], os.listdir(place.path("tmp")))


def test_a_master_that_waits_for_all_before_it_takes_the_first(place: MwPlace):
    """Results that have no room in memory go to files then; nothing waits for ever."""
    master = place.master("--mw-result-memory", "3M", "--mw-audit-file", "audit", "wait-slaves 1",
                          f"submit big-note {place.path('notes')} {MB} times=30", "wait-untaken 30", "wait-results 30",
                          "exit 0")
    slave = place.slave()
    master.ends(0)
    slave.ends(0)
    want("of results wait to be taken" in place.read("audit"), place.read("audit"))
    results = master.results()
    want(len(results) == 30 and all(each[4] == f"{MB} whole" for each in results.values()), master.told())


def test_futures_of_more_than_fits_in_memory(place: MwPlace):
    """The last one is asked for first, and all are whole; those that are dropped leave no files."""
    os.mkdir(place.path("tmp"))
    master = place.master("--mw-result-memory", "3M", "wait-slaves 1",
                          f"async big-note {place.path('notes')} {MB} times=20", "get 19",
                          *(f"drop {i}" for i in range(10)), *(f"get {i}" for i in range(10, 19)), "-",
                          env={"TMPDIR": place.path("tmp")})
    slave = place.slave()
    master.await_line("value", 10)
    want(all(m.string.endswith(f" {MB} whole") for m in master.matching("value")), master.told())
    master.say("say there")
    master.await_line("said there")
    files = [name for _, _, names in os.walk(place.path("tmp")) for name in names if name.startswith("result-")]
    want(files == [], files)
    master.say("exit 0")
    master.ends(0)
    slave.ends(0)
    want(len(place.lines("notes")) == 20, "some were computed twice")


def test_futures_with_long_values_are_kept_by_a_checkpoint(place: MwPlace):
    """Those that are ready, in memory and in files; the next master finds them."""
    master = place.master("--mw-state", "state", "--mw-result-memory", "1M", "wait-slaves 1",
                          f"async big-note {place.path('notes')} {MB // 2} times=10", "wait-for 9 60000",
                          "checkpoint", "-")
    slave = place.slave()
    master.await_line("checkpointed")
    master.kill()
    again = place.master("--mw-state", "state", "--mw-result-memory", "1M", "restored", "wait-results 10", "exit 0")
    again.ends(0)
    want(again.matching("restored 0 10"), again.told())
    results = again.results()
    want(len(results) == 10 and all(each[4] == f"{MB // 2} whole" for each in results.values()), again.told())
    slave.kill()


def test_results_that_wait_in_files_are_kept_by_a_checkpoint(place: MwPlace):
    """A master with long results that it has not taken is killed; the next one finds them."""
    master = place.master("--mw-state", "state", "--mw-result-memory", "1M", "--mw-audit-file", "audit", "wait-slaves 1",
                          f"submit big-note {place.path('notes')} {MB // 2} times=10", "checkpoint", "busy-until go",
                          "checkpoint", "-")
    slave = place.slave()
    wait(lambda: "of results wait to be taken" in place.read("audit"), "results wait")
    place.touch("go")
    master.await_line("checkpointed", 2)
    master.kill()
    slave.kill()
    before = len(place.lines("notes"))
    place.slave()
    again = place.master("--mw-state", "state", "--mw-result-memory", "1M", "wait-results 10", "exit 0")
    again.ends(0)
    results = again.results()
    want(len(results) == 10 and all(each[4] == f"{MB // 2} whole" for each in results.values()), again.told())
    # Those that were on their way are computed again, not those that had come.
    want(len(place.lines("notes")) <= before + 8, f"{before} and then {len(place.lines('notes'))}")


def test_slaves_with_long_results_are_killed(place: MwPlace):
    """Each result comes once, and whole."""
    rounds, each_round = 4, 50
    count = rounds * each_round
    master = place.master("wait-slaves 3", "-")
    slaves = place.slaves(3)
    for number in range(rounds):
        master.say(f"submit big-note {place.path('notes')} {MB} times={each_round}",
                   f"wait-results {(number + 1) * each_round}")
        master.await_line("result", number * each_round + 1)
        slaves[0].kill()
        slaves = slaves[1:] + [place.slave()]
    master.await_line("result", count)
    master.say("exit 0")
    master.ends(0)
    results = master.results()
    want(len(results) == count and all(each[4] == f"{MB} whole" for each in results.values()), master.told())


if __name__ == "__main__":
    main(globals())
