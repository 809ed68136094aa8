"""`parasol` against a hub and nodes: what scripts and Toil read of it, and who may do what."""
import os
import re
import signal
import subprocess
import threading
import time

from cluster import cluster_of
from harness import DEADLINE, SPATE, Place, main, wait, want

MACHINE = r"n\d +good \d+, err \d+, (idle|dead|running \S+ +.* )"
JOB = r"(\d+) +(\S+) +(\S+) +(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) (.*)"


def parasol(place, *args, code=0, **options):
    out, _ = place.run(*args, command="parasol", code=code, **options)
    return out


def ids(place, *args):
    """Numbers of the listed jobs that run, and of those that wait."""
    lines = [re.fullmatch(JOB, line) for line in parasol(place, *args, "list", "jobs").splitlines()]
    want(all(lines), lines)
    return ([int(line[1]) for line in lines if line[2] != "none"],
            [int(line[1]) for line in lines if line[2] == "none"])


def results(place, name="results"):
    """Lines of a file of results, by number of the job."""
    return {int(line.split()[2]): line.split() for line in place.lines(name)}


def of_user(place, access):
    """A place of the same folder, for whoever has this access file."""
    other = Place.__new__(Place)
    other.__dict__.update(place.__dict__)
    other.env = dict(place.env, SPATE_HUB=access, SPATE_STATE=os.path.join(place.dir, "nowhere"))
    return other


def test_too_few_words_print_the_usage(place: Place):
    for args in ([], ["-printId"], ["add"], ["add", "job"], ["add", "machine", "n1"], ["list"],
                 ["list", "hats"], ["remove", "job"], ["remove", "jobs"],
                 ["remove", "machine", "n1"], ["dance"]):
        out, err = place.run(*args, command="parasol", code=255)
        want(out == "" and err.startswith("parasol - ") and "usage:" in err, (args, out, err))
    out, err = place.run("status", command="parasol", code=255)
    want(out == "" and "no hub: none of yours runs here" in err, (out, err))


def test_a_reader_that_is_gone_ends_it_as_it_ends_others(place: Place):
    cluster_of(place).node("n1")
    for words in (["list", "machines"], ["status"], ["ping"], ["pstat2"], ["-printId", "add", "job", "true"]):
        reader, writer = os.pipe()
        os.close(reader)  # as `parasol ... | head -1` may find it
        done = subprocess.run([SPATE, "parasol", *words], stdout=writer, stderr=subprocess.PIPE, env=place.env,
                              cwd=place.dir, check=False)
        os.close(writer)
        want(done.returncode == -signal.SIGPIPE and done.stderr == b"", (words, done))


def test_status_and_lists(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    second = cluster.node("n2", "-j", "2", "--cpus", "2")
    labels = ["CPUs total: ", "CPUs free: ", "CPUs busy: ", "Nodes total: ", "Nodes dead: ",
              "Nodes sick?: ", "Jobs running:  ", "Jobs waiting:  ", "Jobs finished: ",
              "Jobs crashed:  ", "Spokes free: ", "Spokes busy: ", "Spokes dead: ",
              "Active batches: ", "Total batches: ", "Active users: ", "Total users: ",
              "Days up: ", "Version: "]

    def status():
        lines = parasol(place, "status").splitlines()
        want([line[:len(label)] for line, label in zip(lines, labels)] == labels, lines)
        want(len(lines) == len(labels), lines)
        return {label.strip(" :?"): line[len(label):] for line, label in zip(lines, labels)}

    want(status()["CPUs free"] == "4", status())
    want(parasol(place, "list", "machines").splitlines() ==
         ["n1         good 0, err 0, idle", "n2         good 0, err 0, idle"], "idle machines")
    want(parasol(place, "list", "jobs") == "" and parasol(place, "pstat") == "", "no jobs")
    want(parasol(place, "pstat2") == "Total Jobs: 0\nResults Size: 0\n", "pstat2")
    want(parasol(place, "ping") == "Pinged hub 1 times\n", "ping")
    want(parasol(place, "ping", "3") == "Pinged hub 3 times\n", "ping 3")
    for quiet in (["check", "dead"], ["add", "spoke"], ["clear", "sick"]):
        want(parasol(place, *quiet) == "", quiet)
    for words in (["check", "dead", "x"], ["clear", "sick", "x"], ["flushResults", "x"]):
        want("usage:" in place.run(*words, command="parasol", code=255)[1], words)
    out, err = place.run("flushResults", command="parasol", code=255)
    want(out == "" and "Batch not found." in err, (out, err))

    for number in range(6):
        parasol(place, "add", "job", "sh", "-c", f": {number}; until test -e go; do sleep 0.1; done")
    cluster.submit("--", "test -e go && exit 1")  # a job that is none of Parasol's
    wait(lambda: status()["Jobs running"] == "4", "four run")
    now = status()
    want((now["CPUs busy"], now["Jobs waiting"], now["Active batches"], now["Active users"]) ==
         ("4", "3", "2", "1"), now)
    machines = parasol(place, "list", "machine").splitlines()
    want(len(machines) == 4 and all(re.fullmatch(MACHINE, line) for line in machines), machines)
    user = machines[0].split()[6]
    running, waiting = ids(place)
    want(len(running) == 4 and len(waiting) == 3, (running, waiting))
    first = parasol(place, "-extended", "list", "jobs").splitlines()[0]
    want(first.endswith(f": 0; until test -e go; do sleep 0.1; done {place.dir}/results"), first)
    want(parasol(place, "list", "users") ==
         f"{user} 4 jobs running, 3 waiting, 0 finished, 2 of 2 batches active, priority=10, "
         "maxJob=-1\n", parasol(place, "list", "user"))
    head, *batches = parasol(place, "list", "batches").splitlines()
    want(head == "#user     run   wait   done crash pri max cpu  ram  plan min batch", head)
    want(all(len(line.split()) == 12 for line in batches), batches)
    want(batches[0].split()[:7] + batches[0].split()[-1:] ==
         [user, "4", "2", "0", "0", "10", "-1", place.dir + "/"], batches)
    want(parasol(place, "list", "sick") == "", "nobody is sick")
    plan = parasol(place, "plan").splitlines()
    want(plan[0].startswith("cpuUnit=1, ramUnit=") and "mach: n1 c=2 cpu units; r=2 ram units" in plan
         and plan[-2] == "# machines: busy 2 ready 0 blocked 0 free 0 dead 0"
         and plan[-1] == "end of planning", plan)
    lines = parasol(place, "pstat").splitlines()
    want([len(line.split()) for line in lines] == [6] * 7, lines)
    want([line.split()[0] for line in lines] == ["r"] * 4 + ["q"] * 3, lines)
    lines = parasol(place, "pstat2").splitlines()
    want([line.split()[1] for line in lines[:4]] == [str(id) for id in running], lines)
    want(lines[4:] == [f"q {id}" for id in waiting[:2]] + ["Total Jobs: 7", "Results Size: 0"], lines)

    place.write("go")
    wait(lambda: status()["Jobs finished"] == "6" and status()["Jobs crashed"] == "1", "all end")
    want(len(parasol(place, "list", "batches").splitlines()) == 1, "an idle batch")
    want(len(parasol(place, "-all", "list", "batches").splitlines()) == 3, "-all")
    want("6 finished, 0 of 2 batches active" in parasol(place, "list", "users"), "users")
    second.terminate()
    second.wait()
    wait(lambda: re.search(r"n2 +good \d+, err \d+, dead", parasol(place, "list", "machines")),
         "n2 is dead")
    want(status()["Nodes dead"] == "1" and status()["CPUs total"] == "2", status())


def test_jobs_are_added_and_waited_for(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    os.mkdir(os.path.join(place.dir, "there"))
    # Its words stay the words that they are, and there is no shell.
    parasol(place, "-wait", "add", "job", "sh", "-c", "exit 7", code=7)
    parasol(place, "-wait", "add", "job", "sh", "-c", "kill -9 $$", code=255)
    parasol(place, "-wait", "add", "job", "true")
    parasol(place, "-wait", "-out=out.$JOB_ID", "-dir=there", "add", "job", "echo a;b  $HOME 'c d'")
    [name] = [name for name in os.listdir(os.path.join(place.dir, "there"))]
    want(place.read(f"there/{name}") == "a;b $HOME 'c d'\n", place.read(f"there/{name}"))
    place.write("there/words", "from a file")
    parasol(place, "-wait", "-in=words", "-out=copy", f"-dir={place.dir}/there", "add", "job", "cat")
    want(place.read("there/copy") == "from a file\n", "-in")
    parasol(place, "-wait", "-err=complaint", "add", "job", "sh", "-c", "echo no >&2; exit 3", code=3)
    want(place.read("complaint") == "no\n", place.read("complaint"))
    one = int(parasol(place, "-printId", "add", "job", "true"))
    out = parasol(place, "-verbose", "-results=other", "add", "job", "echo", "b c")
    two = re.fullmatch(r'your job (\d+) \("echo b c"\) has been submitted\n', out)
    want(two, out)
    want(name == f"out.{one - 3}", (name, one))  # numbers follow each other
    want(parasol(place, "add", "job", "true") == "", "add job is silent")
    lines = results(place)
    wait(lambda: parasol(place, "flushResults") == "" and len(results(place)) == 8, "all results")
    statuses = [line[0] for _, line in sorted(results(place).items())]
    want(statuses == [str(7 << 8), "9", "0", "0", "0", str(3 << 8), "0", "0"], statuses)
    want(results(place)[one][1:4] == ["n1", str(one), "true"], lines)
    wait(lambda: parasol(place, "-results=other", "flushResults") == ""
         and int(two[1]) in results(place, "other"), "the other batch's result")
    want(len(parasol(place, "-all", "list", "batches").splitlines()) == 3, "two batches")
    parasol(place, "-wait", "-ram=1k0", "add", "job", "true", code=255)
    parasol(place, "-cpu=many", "add", "job", "true", code=255)


def test_what_toil_does(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    with_results = f"-results={place.dir}/toil.results"
    jobs = []
    for number in range(4):
        out = parasol(place, "-verbose", "-ram=100000000", "-cpu=1", with_results, "add", "job",
                      "sleep 1000" if number else "true")
        match = re.match(r"your job (\d+).*", out)
        want(match, out)
        jobs.append(int(match[1]))

    def running():
        return [int(line.split()[1]) for line in parasol(place, with_results, "pstat2").splitlines()
                if line.startswith("r ")]

    wait(lambda: running() == jobs[1:3], "two run")
    wait(lambda: jobs[0] in results(place, "toil.results"), "the first has its result")
    line = results(place, "toil.results")[jobs[0]]
    want((int(line[0]), int(line[2])) == (0, jobs[0]), line)
    listed = parasol(place, "-extended", "list", "jobs").splitlines()
    want([int(line.split()[0]) for line in listed if line.split()[-1].endswith("toil.results")] ==
         jobs[1:], listed)
    for job in jobs[1:]:
        parasol(place, "remove", "job", str(job))
    wait(lambda: parasol(place, "-extended", "list", "jobs") == "", "nothing is left")
    parasol(place, with_results, "flushResults")
    parasol(place, with_results, "clear", "sick")
    want(list(results(place, "toil.results")) == jobs[:1], "removed jobs have no result")


def test_jobs_are_removed(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1", "--cpus", "1")
    cluster.submit("--wait", "--", "true")
    user = parasol(place, "list", "users").split()[0]
    for name in ("a.fa", "b.fa", "c.txt", "d.fa", "e.txt"):
        parasol(place, "add", "job", "sh", "-c", f"exec sleep 1000; : {name}")
    wait(lambda: len(ids(place)[0]) == 1, "one runs")
    running, waiting = ids(place)
    parasol(place, "remove", "job", "7")  # there is none
    parasol(place, "remove", "job", "what?", code=255)
    parasol(place, "remove", "job", str(waiting[-1]))
    want(ids(place) == (running, waiting[:-1]), ids(place))
    parasol(place, "remove", "jobs", user, "*[x]*")
    want(ids(place) == (running, waiting[:-1]), ids(place))
    parasol(place, "remove", "jobs", user, "*: ?.fa")
    wait(lambda: sum(ids(place), []) == [waiting[1]], "c.txt alone is left")
    parasol(place, "remove", "jobs", user)
    wait(lambda: ids(place) == ([], []), "none is left")
    parasol(place, "flushResults")
    want(results(place) == {}, results(place))


def test_users_are_kept_apart(place: Place):
    cluster = cluster_of(place)
    ada = of_user(place, cluster.access("--role", "client", "--user", "ada", name="ada.access"))
    bob = of_user(place, cluster.access("--role", "client", "--user", "bob", name="bob.access"))
    parasol(ada, "add", "job", "sleep", "17")
    ada.run("--", "echo secret words", command="submit")
    parasol(bob, "add", "job", "sleep", "18")
    # The same path is another batch.
    want(len(parasol(place, "list", "batches").splitlines()) == 4, "three batches")
    lines = parasol(bob, "list", "jobs")
    want("sleep 17" in lines and "sleep 18" in lines and "secret" not in lines, lines)
    want("secret" in parasol(ada, "list", "jobs"), "her own")
    numbers = sum(ids(bob), [])
    for refused in (["remove", "job", str(numbers[0])], ["remove", "jobs", "ada"],
                    ["remove", "machine", "n1", "spite"], ["add", "machine", "n1", "/tmp"],
                    ["check", "dead"], ["add", "spoke"]):
        out, err = bob.run(*refused, command="parasol", code=255)
        want(out == "" and "administrators" in err, (refused, err))
    want(sum(ids(bob), []) == numbers, "nothing was removed")
    want("Active batches: 3" in parasol(bob, "-host=127.0.0.1", "status"), "-host")
    _, err = bob.run("-host=127.0.0.2", "ping", command="parasol", code=255)
    want("127.0.0.2" in err, err)
    _, err = place.run("-host=127.0.0.3", "ping", command="parasol", code=255)
    want("-host=127.0.0.3" in err, err)  # nothing proves there who we are
    parasol(bob, "remove", "jobs", "bob")
    parasol(place, "remove", "jobs", "ada", "sleep*")  # by an administrator
    want(len(sum(ids(place), [])) == 1, "hers that does not sleep")


def test_machines_come_and_go(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    want(parasol(place, "remove", "machine", "n7", "it smokes") == "Machine not found.\n", "n7")
    want(parasol(place, "remove", "machine", "n1", "it smokes") == "ok\n", "n1")
    wait(lambda: " removes node n1: it smokes\n" in place.read("hub.log"), "the hub's log says why")
    want(parasol(place, "remove", "machine", "n1", "it smokes") == "Machine not found.\n", "again")
    want(parasol(place, "list", "machines") == "", "no machine")
    # Its node has not ended, and may come back.
    want(parasol(place, "add", "machine", "n1", "/tmp") == "", "n1")
    want(parasol(place, "list", "machines").startswith("n1 "), "n1 is there")
    begun = time.monotonic()
    out, err = place.run("add", "machine", "n3", "/tmp", command="parasol", code=255)
    want(out == "" and "paraNode start -node=n3" in err, (out, err))
    want(time.monotonic() - begun >= 10, "it did not wait")
    # This one comes while we wait for it.
    done = []
    adding = threading.Thread(target=lambda: done.append(
        parasol(place, "add", "machine", "n2", "4", "4096", "/tmp", "/scratch", "100", "sw")))
    adding.start()
    cluster.node("n2")
    adding.join()
    want(done == [""], done)


def test_jobs_of_a_removed_machine_end_there_first(place: Place):
    """No copy begins while the first one still writes, whichever command removes the machine."""
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    place.write("job", "trap 'sleep 1; echo end >> log; exit 0' TERM", "echo begin $HOST >> log",
                "while :; do sleep 0.05; done")
    place.write("log")
    parasol(place, "add", "job", "sh", "job")
    log = []
    for node, other in (("n1", "n2"), ("n2", "n3")):
        log.append(f"begin {node}")
        wait(lambda: place.lines("log")[-1:] == log[-1:], f"it runs on {node}")
        cluster.node(other, "-j", "1")
        if node == "n1":
            want(parasol(place, "remove", "machine", node, "it smokes") == "ok\n", node)
        else:
            cluster.spate("node remove", node)
        want(f"{node} " not in parasol(place, "list", "machines"), "it is listed still")
        log.append("end")
    wait(lambda: "begin n3" in place.lines("log"), "it runs on n3")
    want(place.lines("log") == [*log, "begin n3"], place.lines("log"))
    # One that was removed has ended its jobs, and works again when it is wanted.
    want(parasol(place, "add", "machine", "n1", "/tmp") == "", "n1")
    parasol(place, "-wait", "add", "job", "true")
    parasol(place, "remove", "jobs", parasol(place, "list", "users").split()[0])


def test_a_sick_batch(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    batch = "-results=para.results"
    place.write("jobs", "true", *["false"] * 2000)
    place.run("create", "jobs", command="para")
    place.run("push", command="para")
    sick = r"\nSick Batch: consecutive crashes \(\d+\) >= sick batch threshold \(25\)\nResults"
    wait(lambda: re.search(sick, parasol(place, batch, "pstat2")), "the batch is sick")
    out, err = place.run(batch, "add", "job", "true", command="parasol", code=255)
    want(out == "" and err.startswith("Sick batch!"), err)
    want("Sick" not in parasol(place, "pstat2"), "another one is not")
    parasol(place, "-wait", "add", "job", "true")
    user = parasol(place, "list", "users").split()[0]
    parasol(place, "remove", "jobs", user, "false")
    parasol(place, batch, "clear", "sick")
    want("Sick" not in parasol(place, batch, "pstat2"), "cleared")
    parasol(place, batch, "-wait", "add", "job", "true")


def test_a_long_queue_holds_nobody_up(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    count = 40_000
    cluster.submit("--array", f"1-{count}", "--", "sleep 0.05; : {}")
    wait(lambda: len(ids(place)[1]) < count - 2, "it is under way", deadline=2 * DEADLINE)
    lines = parasol(place, "list", "jobs").count("\n")
    want(count / 2 < lines < count, lines)

    def ended():
        return int(re.search(r"Jobs finished: (\d+)", parasol(place, "status"))[1])

    # Five that list at once leave the hub its time: jobs go on, and it answers.
    before = ended()
    clients = [subprocess.Popen([SPATE, "parasol", "list", "jobs"], cwd=place.dir, env=place.env,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(5)]
    wait(lambda: ended() > before + 5, "jobs go on meanwhile")
    for client in clients:
        out, _ = client.communicate(timeout=DEADLINE)
        want(client.returncode == 0 and out.count(b"\n") > count / 2, out[-200:])


def test_waiting_ends_in_order(place: Place):
    """What waited is taken apart from the inside out, also when memory is used again."""
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    os.mkdir(os.path.join(place.dir, "sub"))
    for _ in range(10):
        parasol(place, f"-dir={place.dir}/sub", "-wait", "add", "job", "true")
    parasol(place, "-wait", "add", "job", "no-such-command", code=1)


def test_questions_leave_no_files(place: Place):
    cluster_of(place)
    folder = os.path.join(place.dir, "empty")
    os.mkdir(folder)
    for words, code in ((["parasol", "pstat2"], 0), (["parasol", "-host=127.0.0.1", "flushResults"], 255),
                        (["para", "flushResults"], 255)):
        done = subprocess.run([SPATE, *words], cwd=folder, env=place.env, timeout=DEADLINE, capture_output=True)
        want(done.returncode == code, (words, done.stderr))
        want(os.listdir(folder) == [], (words, os.listdir(folder)))


def test_machines_that_fail_for_everybody(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    place.write("list", *["false"] * 40)
    for words in (["create", "list"], ["push"]):
        cluster.spate("para", *words)
    wait(lambda: "n1\n" in parasol(place, "list", "sick"), "it is sick")
    want("Nodes sick?: 1\n" in parasol(place, "status"), parasol(place, "status"))
    parasol(place, "clear", "sick")


if __name__ == "__main__":
    main(globals(), at_once=4)
