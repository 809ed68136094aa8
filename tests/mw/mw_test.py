"""Programs of spate/mw.h as their users start them: the examples, command lines, exit codes, and
what a slave is told that does not belong to its master."""
import os
import re
import signal

from mw_place import MwPlace, main, program, wait, want


# ---- The examples ------------------------------------------------------------------------------

def computed(place, app, *args):
    master = place.master(*args, app=app)
    slaves = place.slaves(2, app=app)
    master.ends(0)
    for slave in slaves:
        slave.ends(0)
    os.remove(place.path("r"))
    return master.out


def test_hello_world(place: MwPlace):
    out = computed(place, "hello_world")
    want(sorted(out) == [f"Got result from slave: Hello World: Task {i}" for i in range(10)], out)


def test_ping(place: MwPlace):
    out = computed(place, "ping", "20000", "--mw-slave-task-group", "100")
    want(len(out) == 1 and re.fullmatch(r"20000 pings, \d+ tasks/s", out[0]), out)


def test_monte_carlo_pi(place: MwPlace):
    out = computed(place, "monte_carlo_pi", "--max-trial-sets", "8", "--trials", "200000")
    about = re.fullmatch(r"pi is about (3\.1[34]\d+), by 1600000 trials", out[0])
    want(about, out)
    # The same seeds, the same darts.
    want(computed(place, "monte_carlo_pi", "--max-trial-sets", "8", "--trials", "200000") == out,
         out)


def test_higher_order(place: MwPlace):
    out = computed(place, "higher_order")
    want(sorted(out) == sorted(f"task {i + 1}: {1 + i} {4 + i} {9 + i}" for i in range(10)), out)


def test_with_task_policy(place: MwPlace):
    out = computed(place, "with_task_policy")
    want(out == ["the sum is 49500"], out)


def test_argument_processing(place: MwPlace):
    out = computed(place, "argument_processing")
    want(sorted(out) == ["keyword: 20", "optional: 101", "renamed: 7", "required: 3", "rest: 10"],
         out)


def test_search(place: MwPlace):
    out = computed(place, "search", "6")
    want(len(out) == 1 and re.fullmatch(r"lowest at \(.*\): -?\d+\.\d+", out[0]), out)
    want(computed(place, "search", "6") == out, out)


def test_best_first(place: MwPlace):
    out = computed(place, "best_first")
    want(out == ["lowest at (0.95, -1.80): -0.96"], out)


def test_first_of_many(place: MwPlace):
    want(computed(place, "first_of_many") == ["1000036000099 = 1000003 * 1000033"], "the factors")
    want(computed(place, "first_of_many", "1000003") == ["1000003 is prime"], "a prime")


def test_nearest(place: MwPlace):
    want(computed(place, "nearest") == ["nearest to (0.50, 0.50): (0.5001, 0.4997)"], "a point")


def test_unit_test(place: MwPlace):
    want(place.start(program("unit_test")).ends(0).out == ["all tests passed"], "its tests pass")


# ---- Command lines -----------------------------------------------------------------------------

def test_what_ends_before_it_begins(place: MwPlace):
    table = [
        ([], 1, "usage:"),
        (["--mw-help"], 1, "usage:"),
        (["--mw-master", "--mw-help"], 1, "--mw-slave-task-group N"),
        (["--mw-version-string"], 1, "."),
        (["--mw-slave", "--mw-version-string"], 1, "."),
        (["exit 0", "--mw-master"], 1, "usage:"),  # the mode comes first
        (["--mw-master", "--mw-nonsense", "7"], 1, "there is no option --mw-nonsense"),
        (["--mw-master", "--mw-member-id"], 1, "--mw-member-id needs a value"),
        (["--mw-master", "--mw-slave-task-group", "0"], 1, "--mw-slave-task-group cannot be '0'"),
        (["--mw-master", "--mw-client-timeout", "x"], 1, "--mw-client-timeout cannot be 'x'"),
        (["--mw-slave"], 1, "a slave needs --mw-master-host and --mw-master-port, or"),
        (["--mw-slave", "--mw-master-host", "h"], 1, "a slave needs"),
        (["--mw-slave", "--mw-resource-file", "none"], 255, "none"),
        (["--mw-slave", "--mw-master-host", "127.0.0.1", "--mw-master-port", "9"], 255,
         "a slave must prove that it is one"),
        (["--mw-slave", "--mw-master-host", "127.0.0.1", "--mw-master-port", "9", "--mw-access",
          "none"], 255, "none"),
        (["--mw-master", "--mw-resource-file", "no/such/folder"], 255,
         "--mw-resource-file no/such/folder: "),
        (["--mw-master", "--mw-audit-file", "no/such/folder"], 255, "no/such/folder"),
        (["--mw-master", "--mw-slave-executable", "no/such/program"], 255, "--mw-slave-executable"),
        (["--mw-master", "--mw-master-host", "no.such.host.invalid"], 255, "no.such.host.invalid"),
        (["--mw-master", "--mw-master-host", "203.0.113.1"], 255, "--mw-master-bind"),
    ]
    for args, code, says in table:
        place.start(program("trial"), *args).ends(code).says(says)


def test_case_does_not_count_and_options_are_taken_away(place: MwPlace):
    master = place.start(program("trial"), "--MW-Master", "say a", "--Mw-Master-HOST", "127.0.0.1",
                         "say b", "--mw-RESOURCE-file", "r", "--mw-max-write-buffer-size", "10",
                         "submit echo c", "wait-results 1", "exit 3")
    place.await_file("r")
    slave = place.start(program("trial"), "--MW-SLAVE", "--MW-RESOURCE-FILE", "r")
    master.ends(3)
    slave.ends(0)
    want(master.out[:3] == ["said a", "said b", "task 1"], master.told())
    want(master.results()[1][4] == "c", master.told())


# ---- Exit codes --------------------------------------------------------------------------------

def test_what_a_master_returns(place: MwPlace):
    for given, code in ((0, 0), (1, 1), (254, 254), (255, 255), (256, 255), (-1, 255)):
        place.master(f"exit {given}").ends(code)
        want(place.resource()["computation-status"] == ":finished", place.read("r"))


def test_a_master_that_throws_fails_its_slaves(place: MwPlace):
    master = place.master("--mw-access", "access", "wait-slaves 2", "throw sadly")
    slaves = [place.slave(), place.direct()]
    master.ends(255).says("ended by an exception: sadly")
    for slave in slaves:
        slave.ends(2).says("the computation failed")
    want(place.resource()["computation-status"] == ":failed", place.read("r"))
    place.slave().ends(2).says("r says that the computation failed")


def test_a_slave_that_comes_when_all_is_over_succeeds(place: MwPlace):
    place.master("exit 0").ends(0)
    slave = place.slave("--mw-audit-file", "audit").ends(0)
    want("COMPUTATION-FINISHED" in place.read("audit"), slave.told() + place.read("audit"))
    slave.says("r says that its computation finished at ", "there is nothing to do")


def test_the_same_commands_again(place: MwPlace):
    """Slaves are quicker than their master, and the last computation's file is still there."""
    for app, last in (("trial", "exit 0"), ("trial", "throw sadly"), ("hello_world", None)):
        again = bool(place.read("r"))
        if again:
            slave = place.slave(app=app)
            slave.await_error("waiting 10.0? ?s for another master")
        master = place.master(*(["wait-slaves 1", last] if last else []), app=app)
        if not again:
            slave = place.slave(app=app)
        master.ends(255 if last and "throw" in last else 0)
        slave.ends(2 if last and "throw" in last else 0)


def test_the_last_word_is_that_it_is_over(place: MwPlace):
    """Also when the file was due to be written, as slaves that leave are missing."""
    masters = []
    for i in range(6):
        master = place.master("allocate unordered 3", "wait-slaves 1", "busy 1100", "exit 0",
                              file=f"r{i}")
        masters.append((f"r{i}", master, place.slave(file=f"r{i}")))
    for file, master, slave in masters:
        master.ends(0)
        slave.ends(0)
        now = place.resource(file)
        want((now["computation-status"], now["slaves-needed"]) == (":finished", "0"),
             place.read(file))


def test_a_second_master_of_the_same_file_is_refused(place: MwPlace):
    master = place.master("-")
    place.await_file("r")
    before = place.read("r")
    host, port = place.place_of_master()
    second = place.master("exit 0").ends(255)
    second.says(f"--mw-resource-file r is in use: the master at {host}:{port} (", "name another")
    want(place.read("r") == before, place.read("r"))
    goes_on(place, master)
    place.master("exit 0").ends(0)  # it is free again
    killed = place.master("-", file="killed")
    place.await_file("killed")
    killed.kill()
    place.master("exit 0", file="killed").ends(0)


def test_slaves_end_with_their_master(place: MwPlace):
    master = place.master("--mw-access", "access", "-")
    slave = place.direct()
    master.say("wait-slaves 1", "say there")
    master.await_line("said there")
    master.kill()
    slave.ends(255).says("MASTER-DISCONNECT")


def test_slaves_that_come_when_all_is_over(place: MwPlace):
    """They are told so too, and the master does not wait for them in vain."""
    for _ in range(10):
        master = place.master("wait-slaves 1", "exit 0")
        slaves = place.slaves(3)
        master.ends(0)
        for slave in slaves:
            slave.ends(0)
        os.remove(place.path("r"))


def test_a_slave_of_another_member_id(place: MwPlace):
    master = place.master("--mw-member-id", "run.17", "--mw-audit-file", "audit", "--mw-access",
                          "access", "-")
    place.direct("--mw-member-id", "run.18", "--mw-audit-file", "slave-audit").ends(255)
    wait(lambda: 'EXPECTED MEMBER "run.17" GOT MEMBER "run.18"' in place.read("audit"), "the master's audit tells it")
    want("member id" in place.read("slave-audit"), place.read("slave-audit"))
    want('FINI MASTER-DISCONNECT' in place.read("slave-audit"), place.read("slave-audit"))
    goes_on(place, master)


def goes_on(place, master):
    """With a right slave; whoever came before did it no harm."""
    slave = place.slave()
    master.say("submit echo alive", "wait-results 1", "exit 0")
    master.ends(0)
    slave.ends(0)
    want(master.results()[1][4] == "alive", master.told())


def test_a_slave_with_a_wrong_credential(place: MwPlace):
    master = place.master("--mw-access", "access", "-")
    place.await_file("r")
    text = place.read("access")
    for word, says in (("secret", "credential"), ("pin", "the master at 127.0.0.1")):
        old = re.search(rf"^{word} = .*$", text, re.M)[0]
        place.write(word, text.replace(old, old[:-6] + ("a" if old[-6] != "a" else "b") + old[-5:]))
        os.chmod(place.path(word), 0o600)
        slave = place.direct(access=word).ends(255).says(says, "MASTER-DISCONNECT")
        want(not any("hub" in line for line in slave.err), slave.told())
    place.write("broken", "nonsense")
    os.chmod(place.path("broken"), 0o600)
    slave = place.direct(access="broken").ends(255).says("broken, line 1")
    want(not any("hub" in line for line in slave.err), slave.told())
    goes_on(place, master)


def test_a_slave_of_another_program(place: MwPlace):
    master = place.master("--mw-access", "access", "-")
    slave = place.direct(app="hello_world")
    slave.ends(255).says("master and slaves must be built of the same source")
    goes_on(place, master)


def test_files_that_are_no_resource_files(place: MwPlace):
    master = place.master("-")
    place.await_file("r")
    text = place.read("r")
    master.kill()
    table = {
        "torn": text[:text.index(":slave-arguments") + 30],
        "empty": "",
        "words": "this is not Lisp )",
        "deep": "(" * 100_000,
        "bytes": "\0\1\2\xff" * 1000,
        "port": re.sub(r'"--mw-master-port" "\d+"', '"--mw-master-port" "99999"', text),
        "no-access": re.sub(r"\(:spate-access .*", "", text),
        "bad-access": re.sub(r"(:spate-access) .*", r'\1 "nonsense"))', text),
        "large": text + ";" * 2_000_000,
    }
    children = []
    for name, content in table.items():
        place.write(name, content)
        children.append(place.slave(file=name))
    os.mkdir(place.path("folder"))
    children.append(place.slave(file="folder"))
    stale = place.slave()  # its master is dead
    for child in children:
        child.ends(255)
        want(any(line.startswith(program("trial") + ": ") for line in child.err), child.told())
    stale.ends(255).says("MASTER-DISCONNECT")


def test_signals_end_a_master_as_any_program(place: MwPlace):
    for signo in (signal.SIGTERM, signal.SIGINT):
        master = place.master("-")
        place.await_file("r")
        master.send(signo)
        master.ends(-signo)
        os.remove(place.path("r"))


# ---- The resource file and other ways to be found ----------------------------------------------

def test_the_resource_file(place: MwPlace):
    master = place.master("--mw-resource-file-update-interval", "1", "--mw-member-id", 'a "b" \\c',
                          "-")
    place.await_file("r")
    want(os.stat(place.path("r")).st_mode & 0o777 == 0o600, oct(os.stat(place.path("r")).st_mode))
    keys = re.findall(r"^\(:([\w-]+) ", place.read("r"), re.M)
    first = place.resource()
    want(keys == ["computation-status", "timestamp", "member-id", "update-interval",
                         "slaves-needed", "slave-executable", "slave-arguments", "spate-access"],
         place.read("r"))
    want(first["computation-status"] == ":in-progress", first)
    want(first["member-id"] == r'"a \"b\" \\c"', first)
    want((first["update-interval"], first["slaves-needed"]) == ("1", "0"), first)
    want(first["slave-executable"].startswith(f'("{program("trial")}"'), first)
    want(re.fullmatch(r'\("--mw-slave" "--mw-master-host" "127.0.0.1" "--mw-master-port" "\d+"\)',
                      first["slave-arguments"]), first)

    slave = place.slave()  # which unescapes the member id
    master.say("wait-slaves 1", "allocate ordered 2", "allocate unordered 3", "say wished",
               f"busy-until {place.path('go')}", "deallocate unordered 2", "say less",
               f"busy-until {place.path('on')}", "say over")
    # Also while the master computes by itself; and whoever looks never sees a part of it.
    def needs(count):
        text = place.read("r")
        want(re.findall(r"^\(:([\w-]+) ", text, re.M) == keys and text.endswith('")\n'), text)
        now = place.resource()
        return now["slaves-needed"] == str(count)
    master.await_line("said wished")
    # The slave came before: it is an unordered one, and one less is missing.
    wait(lambda: needs(4), "the wish is in the file")
    then = place.resource()["timestamp"]
    wait(lambda: place.resource()["timestamp"] > then, "it is written again")
    place.touch("go")
    wait(lambda: needs(2), "a smaller wish")
    place.touch("on")
    master.say("exit 0")
    master.ends(0)
    slave.ends(0)
    want(place.resource()["computation-status"] == ":finished", place.read("r"))
    want(os.listdir(place.dir).count("r") == 1 and
         not [name for name in os.listdir(place.dir) if name.startswith("r") and name != "r"],
         os.listdir(place.dir))


def test_tasks_without_a_slave_ask_for_one(place: MwPlace):
    """Also a program that asks for none, and when the last one was lost."""
    def needs(count):
        return place.resource()["slaves-needed"] == str(count)
    master = place.master("-")
    place.await_file("r")
    want(needs(0), place.read("r"))
    master.say(f"submit hold {place.path('h')} x", "submit echo x times=4")
    for _ in range(2):
        wait(lambda: needs(1), "one is asked for")
        slave = place.slave()
        wait(lambda: needs(0), "one is enough")
        wait(lambda: place.lines("h.begun"), "it computes")
        slave.kill()
    place.touch("h")
    slave = place.slave()
    master.say("wait-results 5", "exit 0")
    master.ends(0)
    slave.ends(0)


def test_audit_lines_without_a_file(place: MwPlace):
    """A slave's are its output, as CL-MW's manual says; a master's output is its results."""
    master = place.master("submit echo x", "wait-results 1", "exit 0")
    slave = place.slave()
    master.ends(0)
    slave.ends(0)
    told = [line for line in slave.out if " [A] " in line]
    want(any("INIT SLAVE" in line for line in told) and "FINI" in told[-1], slave.told())
    want(slave.err == [] and not any(" [A] " in line for line in master.out), master.told())
    want(any("INIT MASTER" in line for line in master.err), master.told())


def test_slaves_with_an_access_file(place: MwPlace):
    ports = set()
    for _ in range(2):  # the second master takes what the first has made
        master = place.master("--mw-access", "access", "submit echo x", "wait-results 1", "exit 0")
        place.await_file("r")
        wait(lambda: place.resource()["computation-status"] == ":in-progress", "its file")
        want(os.stat(place.path("access")).st_mode & 0o777 == 0o600, "the access file is private")
        host, port = place.place_of_master()
        ports.add(port)
        slave = place.start(program("trial"), "--mw-slave", "--mw-master-host", host,
                            "--mw-master-port", port, env={"SPATE_MW_ACCESS": "access"})
        master.ends(0)
        slave.ends(0)
    want(len(ports) == 2, ports)


def test_ipv6(place: MwPlace):
    if not os.path.exists("/proc/net/if_inet6") or not open("/proc/net/if_inet6").read():
        return print("       (skipped: no IPv6)")
    master = place.start(program("trial"), "--mw-master", "--mw-master-host", "::1",
                         "--mw-resource-file", "r", "--mw-access", "access", "submit echo six",
                         "wait-results 1", "exit 0")
    place.await_file("r")
    host, port = place.place_of_master()
    want(host == "::1", host)
    slave = place.start(program("trial"), "--mw-slave", "--mw-master-host", host,
                        "--mw-master-port", port, "--mw-access", "access")
    master.ends(0)
    slave.ends(0)
    want(master.results()[1][4] == "six", master.told())


def test_a_master_binds_where_it_is_told(place: MwPlace):
    master = place.start(program("trial"), "--mw-master", "--mw-master-host", "localhost",
                         "--mw-master-bind", "127.0.0.1", "--mw-resource-file", "r", "-")
    place.await_file("r")
    want(place.place_of_master()[0] == "localhost", place.read("r"))
    goes_on(place, master)


if __name__ == "__main__":
    main(globals())
