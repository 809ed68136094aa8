"""Constants: values that many tasks have in common, and that each slave gets once."""
import collections
import os
import re

from mw_place import MwPlace, main, program, wait, want

from cluster import Proxy  # noqa: E402

MB = 1_000_000
LARGE = 64 * MB


def sent(place, audit="audit"):
    """{slave: [bytes of each constant that it was sent]}"""
    found = collections.defaultdict(list)
    for m in re.finditer(r"SLAVE-(\d+) <- a constant of (\d+) bytes", place.read(audit)):
        found[int(m[1])].append(int(m[2]))
    return dict(found)


def sizes_on_the_way(*sizes):
    return [size + 9 for size in sizes]  # a length of nine bytes is before it


def whole(master, size, count):
    results = master.results()
    texts = collections.Counter(each[4] for each in results.values())
    want(texts[f"{size} whole"] == count, f"{texts}\n{master.told()}")
    return results


def test_many_tasks_and_each_slave_gets_it_once(place: MwPlace):
    """By the socket and over TLS; a slave that comes late gets it, too. Tasks take so long that none is without any."""
    log = place.path("log")
    master = place.master("--mw-access", "access", "--mw-audit-file", "audit", "wait-slaves 2", f"constant {LARGE}",
                          f"with 0 {log} 20 200", "wait-results 200", "-")
    place.await_file("r")
    near, far = place.slave(), place.direct()
    results = (master.await_line("result", 200), whole(master, LARGE, 200))[1]
    want({each[1] for each in results.values()} == {1, 2}, "one of them has computed nothing")
    want(sent(place) == {1: sizes_on_the_way(LARGE), 2: sizes_on_the_way(LARGE)}, sent(place))
    late = place.slave()
    master.say("wait-slaves 3", f"with 0 {log} 20 200", "wait-results 400", "exit 0")
    results = (master.ends(0), whole(master, LARGE, 400))[1]
    want({each[1] for each in results.values()} == {1, 2, 3}, "the late one has computed nothing")
    want(sent(place) == {each: sizes_on_the_way(LARGE) for each in (1, 2, 3)}, sent(place))
    for slave in (near, far, late):
        slave.ends(0)


def test_a_slave_that_needs_none_gets_none(place: MwPlace):
    master = place.master("--mw-audit-file", "audit", "wait-slaves 1", f"constant {MB}", "submit echo a times=20",
                          "wait-results 20", "exit 0")
    slave = place.slave()
    master.ends(0)
    slave.ends(0)
    want(sent(place) == {}, sent(place))


def slow_slave(place, proxy):
    """Its link passes some 3 MB/s: a constant of 16 MB is on its way for seconds."""
    return place.start(program("trial"), "--mw-slave", "--mw-master-host", "127.0.0.1", "--mw-master-port",
                       str(proxy.port), "--mw-access", "access")


def behind_proxy(place):
    place.await_file("r")
    proxy = Proxy(int(place.place_of_master()[1]))
    proxy.delay = 0.02
    return proxy


def test_slaves_that_are_killed_while_it_comes(place: MwPlace):
    """No task is lost; those that had it in part cost nothing."""
    size, count = 16 * MB, 20
    log = place.path("log")
    master = place.master("--mw-access", "access", "--mw-audit-file", "audit", "wait-slaves 1", f"constant {size}",
                          f"with 0 {log} 5 {count}", f"wait-results {count}", "exit 0")
    proxy = behind_proxy(place)
    for victim in (1, 2):
        slave = slow_slave(place, proxy)
        wait(lambda: victim in sent(place), "it is sent")
        slave.kill()
    want(place.lines("log") == [], "a slave has computed before it had all")
    last = place.slave()
    master.ends(0)
    last.ends(0)
    whole(master, size, count)
    want(sent(place) == {each: sizes_on_the_way(size) for each in (1, 2, 3)}, sent(place))


def test_signs_of_life_pass_while_it_comes(place: MwPlace):
    """Longer than the time-out, and than tasks may take; and a task may be cancelled that waits for it."""
    size = 16 * MB
    log = place.path("log")
    master = place.master("--mw-access", "access", "--mw-client-timeout", "2", "--mw-audit-file", "audit",
                          "wait-slaves 1", f"constant {size}", f"with 0 {log} 0 3 1500", "-")
    proxy = behind_proxy(place)
    slave = slow_slave(place, proxy)
    wait(lambda: sent(place), "it is sent")
    master.say("cancel 1", "wait-results 2", "say there")
    master.await_line("said there")
    want(sorted(master.results()) == [2, 3], master.told())
    whole(master, size, 2)
    master.say("exit 0")
    master.ends(0)
    slave.ends(0)
    want(len(place.lines("log")) == 2, "the cancelled one was computed")
    want(sent(place) == {1: sizes_on_the_way(size)}, sent(place))


def test_many_of_them_have_a_bound_and_an_end(place: MwPlace):
    """The master has 256 MiB in memory and others in files; slaves drop what nobody needs."""
    os.mkdir(place.path("tmp"))
    size, count = 100 * MB, 5
    log = place.path("log")
    master = place.master("wait-slaves 1", *(f"constant {size}" for _ in range(count)), "-",
                          env={"TMPDIR": place.path("tmp")})
    slave = place.slave()
    master.await_line(f"constant {count - 1}")

    def files():
        return [name for _, _, names in os.walk(place.path("tmp")) for name in names if name.startswith("constant-")]
    want(len(files()) == 3, files())
    memory = master.memory("VmRSS")
    print(f"       the master has {memory / 1e6:.0f} MB", flush=True)
    want(memory < 330 * MB, memory)
    master.say(*(f"with {i} {log} 0 3" for i in range(count)), f"wait-results {3 * count}", "say there")
    master.await_line("said there")
    whole(master, size, 3 * count)
    want(slave.memory("VmRSS") > count * size, "it has lost some")
    master.say(*(f"forget {i}" for i in range(count)), "say here")
    master.await_line("said here")
    want(files() == [], files())
    wait(lambda: slave.memory("VmRSS") < 150 * MB, "the slave has dropped them")
    want(master.memory("VmRSS") < 150 * MB, master.memory("VmRSS"))
    master.say("exit 0")
    master.ends(0)
    slave.ends(0)
    want(os.listdir(place.path("tmp")) == [], os.listdir(place.path("tmp")))


def test_a_restarted_master_has_those_of_its_tasks(place: MwPlace):
    """And no others; slaves that come back get them again, once."""
    log = place.path("log")
    master = place.master("--mw-state", "state", "wait-slaves 2", f"constant {LARGE}", f"constant {MB}",
                          f"with 0 {log} 20 100", f"with 1 {log} 20 1", "wait-results 1", "checkpoint", "-")
    slaves = place.slaves(2)
    master.await_line("checkpointed")
    wait(lambda: len(place.lines("log")) >= 20, "some are computed")
    master.kill()
    before = os.stat(place.path("state/state.db")).st_size
    want(LARGE < before < LARGE + 8 * MB, before)
    next_one = place.master("--mw-state", "state", "--mw-audit-file", "audit", "restored", f"constant {2 * MB}",
                            f"with 0 {log} 0 10", "wait-pending 0", "checkpoint", "exit 0")
    next_one.ends(0)
    for slave in slaves:
        slave.ends(0)
    pending, results = map(int, next_one.await_line(r"restored (\d+) (\d+)")[0].groups())
    texts = collections.Counter(each[4] for each in next_one.results().values())
    texts.update(each[4] for each in master.results().values())
    # What the first took before its last checkpoint does not come again.
    want(pending + results >= 100 - len(master.results()), next_one.told())
    want(texts[f"{2 * MB} whole"] == 10, texts)
    want(texts[f"{LARGE} whole"] >= 100 and texts[f"{MB} whole"] >= 1 and len(texts) == 3, texts)
    for each in sent(place).values():
        want(len(each) == len(set(each)), sent(place))
    last = place.master("--mw-state", "state", "restored", "exit 0")
    last.ends(0).says("restored 0 0")


if __name__ == "__main__":
    main(globals())
