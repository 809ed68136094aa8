"""pegasus-mpi-cluster goes on: rescue files, locks, and what is killed in the middle."""
import os
import random
import signal
import stat
import subprocess
import time

from harness import DEADLINE, Place, alive, main, wait, want
from processes import send_as_pbs
from pmc_place import DIAMOND, WAIT, each, need_a_library


def exists(place, name):
    return os.path.exists(os.path.join(place.dir, name))


def put(place, name, text):
    with open(os.path.join(place.dir, name), "w") as file:
        file.write(text)


def finish(run):
    """Of a run that is to end by itself: (code, stdout, stderr)."""
    out, err = run.communicate(timeout=DEADLINE)
    return run.returncode, out, err


def counting(place, count, name="k.dag", seed=1):
    """Each task counts its runs in a file and looks that its parents have ended."""
    rng = random.Random(seed)
    tasks, edges = [], []
    for i in range(count):
        parents = sorted({rng.randrange(max(0, i - 15), i) for _ in range(rng.randrange(3))}) if i else []
        tasks.append(f"TASK T{i} /bin/sh k.sh {i} {' '.join(map(str, parents))}")
        edges += [f"EDGE T{parent} T{i}" for parent in parents]
    place.write(name, *tasks, *edges)
    place.write("k.sh", "i=$1; shift; echo x >> run.$i", "for p; do test -e end.$p || echo $i >> early; done",
                ": > end.$i")


def runs(place, count):
    return [len(place.lines(f"run.{i}")) for i in range(count)]


# ---- Rescue files --------------------------------------------------------------------------------

def test_a_restart_runs_what_is_left(place: Place):
    place.write("d.dag", *(f"TASK {t} /bin/sh t.sh {t}" for t in "ABCD"), *DIAMOND)
    place.write("t.sh", "echo $1 >> ran", "test $1 != C || test -e fixed")
    for pmc in each(place):
        done = pmc.run("d.dag", code=1)
        want(done.code == 1 and sorted(place.lines("ran")) == ["A", "B", "C"], place.lines("ran"))
        # In the order of finishing: a line break, then the record.
        want(place.read("d.dag.rescue") == "".join(f"\nDONE {n}" for n, s in done.records() if s == 0),
             place.read("d.dag.rescue"))
        place.write("fixed")
        summary = pmc.run("d.dag").summary()
        want([summary[key] for key in ("stat", "tasks", "submitted", "succeeded")] == ["ok", "4", "2", "2"], summary)
        want(place.lines("ran")[3:] == ["C", "D"], place.lines("ran"))
        want(sorted(pmc.rescue("d.dag")) == list("ABCD"), place.read("d.dag.rescue"))


def test_a_rescue_file_does_not_grow_and_is_made_anew_at_the_start(place: Place):
    place.write("d.dag", "TASK A true", "TASK B true", "TASK C /bin/sh wait.sh go", "EDGE A B", "EDGE B C")
    place.write("wait.sh", WAIT)
    for pmc in each(place):
        put(place, "d.dag.rescue", "DONE A\n# a remark\n\n  DONE B\t\r\nDONE A\nDON")
        run = pmc.start("d.dag", ranks=2)
        wait(lambda: place.read("d.dag.rescue").split() == ["DONE", "A", "DONE", "B"], "it is made anew")
        place.write("go")
        code, _, err = finish(run)
        want(code == 0 and "[warn]" in err, err)
        text = place.read("d.dag.rescue")
        want(text == "\nDONE A\nDONE B\nDONE C", text)
        for _ in range(2):
            pmc.run("d.dag", ranks=2)
            want(place.read("d.dag.rescue") == text, place.read("d.dag.rescue"))


def test_a_torn_last_line_does_not_count(place: Place):
    place.write("d.dag", "TASK Apple true", "TASK Banana true", "EDGE Apple Banana")
    for pmc in each(place):
        for text, left, warns in (("\nDONE Apple\nD", 1, True), ("\nDONE Apple\nDONE", 1, True),
                                  ("\nDONE Apple\nDONE ", 1, True), ("\nDONE Apple\nDONE Ban", 1, True),
                                  ("\nDONE App", 2, True), ("\nDONE Apple", 1, False),
                                  ("\nDONE Apple\n", 1, False), ("\n", 2, False), ("", 2, False)):
            put(place, "d.dag.rescue", text)
            done = pmc.run("d.dag", ranks=2)
            want(done.summary()["submitted"] == str(left), (text, done.out))
            want(("[warn]" in done.err) == warns, (text, done.err))
            want(sorted(pmc.rescue("d.dag")) == ["Apple", "Banana"], place.read("d.dag.rescue"))


def test_a_wrong_rescue_file_is_refused_and_left_as_it_is(place: Place):
    place.write("d.dag", "TASK A touch ran")
    for pmc in each(place):
        for text, told in (("\nDONE B\n", "Unknown task B in rescue file"), ("\nDONE A\nDONE\n", "Invalid DONE record"),
                           ("\nDON\nDONE A", "Invalid rescue record"), ("TASK A true\n", "Invalid rescue record")):
            put(place, "d.dag.rescue", text)
            done = pmc.run("d.dag", ranks=2, code=1)
            want(told in done.err and done.code == 1 and place.read("d.dag.rescue") == text, (text, done.err))
        want(not exists(place, "ran"), "nothing has started")
        # Who does not read it does not mind.
        put(place, "d.dag.rescue", "\nDONE B\n")
        pmc.run("-s", "d.dag", ranks=2)
        want(place.read("d.dag.rescue") == "\nDONE A" and place.read("d.dag.rescue.old") == "\nDONE B\n", "kept apart")


def test_what_comes_after_an_undone_task_runs_again(place: Place):
    place.write("c.dag", *(f"TASK {t} true" for t in "ABCDX"), "EDGE A B", "EDGE B C", "EDGE C D")
    for pmc in each(place):
        put(place, "c.dag.rescue", "\nDONE A\nDONE C\nDONE D\nDONE X")
        done = pmc.run("c.dag")
        want(done.names() == ["B", "C", "D"], done.out)
        want(set(pmc.rescue("c.dag")) == set("ABCDX"), pmc.rescue("c.dag"))


def test_the_rescue_file_is_where_it_is_asked_for(place: Place):
    place.write("d.dag", "TASK A touch ran", "TASK B true")
    for pmc in each(place):
        done = pmc.run("-r", "no/such/folder/file", "d.dag", ranks=2, code=1)
        want("no/such/folder" in done.err and not exists(place, "ran"), done.err)
        put(place, "d.dag.rescue", "\nDONE A")
        pmc.run("--rescue", "mine", "d.dag", ranks=2)
        want(sorted(place.read("mine").split()) == ["A", "B", "DONE", "DONE"], place.read("mine"))
        want(place.read("d.dag.rescue") == "\nDONE A", "another one is left alone")


def test_a_rescue_file_keeps_its_owner_mode_and_link(place: Place):
    place.write("d.dag", "TASK A true", "TASK B true")
    for pmc in each(place):
        real = os.path.join(place.dir, "real")
        put(place, "real", "# a remark\nDONE A\nDON")
        os.chmod(real, 0o640)
        if os.geteuid() == 0:
            os.chown(real, 12345, 12346)
        before = os.stat(real)
        os.symlink("real", os.path.join(place.dir, "link"))
        want(pmc.run("-r", "link", "d.dag", ranks=2).summary()["submitted"] == "1", "A is done")
        want(os.path.islink(os.path.join(place.dir, "link")), os.listdir(place.dir))
        want(place.read("real") == "\nDONE A\nDONE B", place.read("real"))
        after = os.stat(real)
        want((after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid), after)
        # A new start empties the same file.
        want(pmc.run("-s", "-r", "link", "d.dag", ranks=2).summary()["submitted"] == "2", "all again")
        want(os.path.islink(os.path.join(place.dir, "link")) and place.read("real").count("DONE") == 2, place.read("real"))


def test_a_device_as_rescue_file_stays_a_device(place: Place):
    place.write("d.dag", "TASK A true", "TASK B true")
    place.write("f.dag", "TASK A -f F=all /bin/sh -c 'echo x >&$F'")
    for pmc in each(place):
        device = os.path.join(place.dir, "null")
        try:
            os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            device = "/dev/null"
        for dag, count in (("d.dag", "2"), ("f.dag", "1")):
            for _ in range(2):
                want(pmc.run("-r", device, dag, ranks=2).summary()["succeeded"] == count, "nothing is known as done")
        want(stat.S_ISCHR(os.stat(device).st_mode), os.stat(device))
        want(place.lines("all") == ["x", "x"] and not exists(place, "null.forwards"), os.listdir(place.dir))
        # A pipe gets the records as they come.
        os.mkfifo(os.path.join(place.dir, "pipe"))
        reader = subprocess.Popen(["cat", "pipe"], cwd=place.dir, stdout=subprocess.PIPE, text=True)
        pmc.run("-r", "pipe", "d.dag", ranks=2)
        want(reader.communicate(timeout=DEADLINE)[0].split() == ["DONE", "A", "DONE", "B"], "records in the pipe")


# ---- One run at a time ---------------------------------------------------------------------------

def test_a_graph_is_locked_as_long_as_it_runs(place: Place):
    place.write("l.dag", "TASK A /bin/sh wait.sh go")
    place.write("wait.sh", "echo $$ >> begun; set -- go.$(wc -l < begun)", WAIT)
    refused = "DAG file is already locked by another process"
    for pmc in each(place):
        first = pmc.start("l.dag", ranks=2)
        wait(lambda: place.lines("begun"), "it runs")
        want(refused in pmc.run("-s", "-r", "other", "l.dag", ranks=2, code=1).err, "locked")
        want(len(place.lines("begun")) == 1 and not exists(place, "other"), os.listdir(place.dir))
        # Who does not ask for the lock is let in.
        second = pmc.start("-n", "-r", "other", "l.dag", ranks=2)
        wait(lambda: len(place.lines("begun")) == 2, "the second runs")
        place.write("go.2")
        want(finish(second)[0] == 0 and place.read("other") == "\nDONE A", "the second ends")
        # The lock goes with its process, however that ends.
        pmc.kill_all(first)
        place.write("go.3")
        wait(lambda: not pmc.ranks(), "all processes end")
        pmc.run("l.dag", ranks=2)


# ---- Killed --------------------------------------------------------------------------------------

def test_any_number_of_workers_keeps_the_order(place: Place):
    counting(place, 60)
    for pmc in each(place):
        for ranks in range(2, 10):
            pmc.clean()
            done = pmc.run("k.dag", ranks=ranks)
            want(runs(place, 60) == [1] * 60, (ranks, runs(place, 60)))
            want(not place.lines("early"), (ranks, place.lines("early")))
            want(sorted(done.names()) == sorted(f"T{i}" for i in range(60)), done.out)
            want({int(task["slot"]) for task in done.tasks()} <= set(range(1, ranks)), done.out)


def running(place):
    place.write("t.dag", "TASK A true", "TASK B /bin/sh wait.sh go", "TASK C true", "TASK D /bin/sh wait.sh go",
                "EDGE A B", "EDGE B C", "EDGE A D")
    place.write("wait.sh", "echo $$ > $PMC_TASK.pid; echo part of $PMC_TASK", WAIT)


def tasks_of(place):
    wait(lambda: place.lines("B.pid") and place.lines("D.pid"), "both run")
    return [int(place.read(f"{name}.pid")) for name in "BD"]


def check_goes_on(place, pmc, pids):
    """Nothing of the first run is left, and the next one does what it has not."""
    for pid in pids:
        wait(lambda: not alive(pid), "a task ends with its run")
    wait(lambda: not pmc.ranks(), "all processes end")
    want(pmc.rescue("t.dag") == ["A"], pmc.rescue("t.dag"))
    place.write("go")
    done = pmc.run("t.dag")
    want(sorted(done.names()) == ["B", "C", "D"] and done.summary()["stat"] == "ok", done.out)


def test_signals_end_it_in_order(place: Place):
    running(place)
    for pmc in each(place):
        for signo in (signal.SIGTERM, signal.SIGINT):
            pmc.clean()
            run = pmc.start("t.dag")
            pids = tasks_of(place)
            os.kill(pmc.ranks()[0], signo)
            code, out, err = finish(run)
            want(code != 0 and "Aborting workflow" in err and "Wall time:" in err, (signo, out, err))
            want('stat="failed"' in out and "name=A," in out, (signo, out, err))
            check_goes_on(place, pmc, pids)


def test_signals_to_the_launcher_leave_nothing(place: Place):
    running(place)
    for pmc in each(place):
        for signo in (signal.SIGTERM, signal.SIGINT):
            pmc.clean()
            run = pmc.start("t.dag")
            pids = tasks_of(place)
            run.send_signal(signo)
            finish(run)  # the exit code is the launcher's: that of MPICH has been seen to be 0
            check_goes_on(place, pmc, pids)


def test_a_task_that_ignores_term_does_not_cost_the_summary(place: Place):
    # Open MPI's launcher passes a TERM on, and kills the ranks one second later.
    place.write("s.dag", "TASK A /bin/sh s.sh")
    place.write("s.sh", "trap '' TERM; echo half; echo > begun; while :; do sleep 0.02; done")
    for pmc in each(place):
        run = pmc.start("s.dag", ranks=2)
        wait(lambda: exists(place, "begun"), "it runs")
        run.send_signal(signal.SIGTERM)
        _, out, err = finish(run)
        want('stat="failed"' in out and "half" in out.split(), (out, err))
        want("Aborting workflow" in err and "Wall time:" in err, (out, err))
        began = time.monotonic()
        pmc.run("s.dag", "--max-wall-time", "0.02", ranks=2, code=1)
        want(time.monotonic() - began < 8, "it ends soon after the wall time")


def test_what_a_batch_system_cuts_off_is_not_done(place: Place):
    """It signals all processes of its job one after another, children first: shells go on, and end, before we know."""
    place.write("c.dag", 'TASK A /bin/sh -c "echo A >>began; test -e again || sleep 25; true"',
                'TASK B /bin/sh -c "echo B >>began; test -e again || sleep 25 || exit 1"')
    for pmc in each(place):
        pmc.env = pmc.env | {"LSB_JOBID": "1"}
        run = pmc.start("c.dag")
        wait(lambda: len(place.lines("began")) == 2, "both tasks run")
        send_as_pbs(signal.SIGTERM, run.pid, last=pmc.ranks()[0])
        out = finish(run)
        want(not pmc.rescue("c.dag") and "[cluster-task" not in out[1], out)
        place.write("again")
        done = pmc.run("c.dag")
        want(sorted(done.records()) == [("A", 0), ("B", 0)], done.records())


def test_a_killed_launcher_leaves_nothing(place: Place):
    running(place)
    for pmc in each(place):
        run = pmc.start("t.dag")
        pids = tasks_of(place)
        run.kill()
        run.communicate(timeout=DEADLINE)
        check_goes_on(place, pmc, pids)


def test_output_of_a_running_task_survives_a_kill(place: Place):
    place.write("l.dag", "TASK A true", "TASK B /bin/sh l.sh", "EDGE A B")
    place.write("l.sh", "echo half; echo trouble >&2", WAIT.replace("$1", "never"))
    for pmc in each(place):
        run = pmc.start("l.dag", "-o", "l.out", "-e", "l.err", ranks=2)
        wait(lambda: place.lines("l.dag.out.1") == ["half"] and place.lines("l.dag.err.1") == ["trouble"], "it can be seen")
        pmc.kill_all(run)
        place.write("l.sh", "echo whole")
        pmc.run("l.dag", "-o", "l.out", "-e", "l.err", ranks=2)
        want([line for line in place.lines("l.out") if "cluster" not in line] == ["half", "whole"], place.read("l.out"))
        want(place.lines("l.err") == ["trouble"], place.read("l.err"))
        want(not exists(place, "l.dag.out.1") and not exists(place, "l.dag.err.1"), os.listdir(place.dir))
        place.write("l.sh", "echo half; echo trouble >&2", WAIT.replace("$1", "never"))


def test_long_output_of_a_running_task_survives_a_kill(place: Place):
    """It does not cross MPI while it comes: what is seen is the file that its host keeps it in."""
    script = "seq 100000; echo half", WAIT.replace("$1", "never")
    for pmc in each(place):
        place.write("l.dag", "TASK B /bin/sh l.sh")
        place.write("l.sh", *script)
        run = pmc.start("l.dag", "-o", "l.out", "-e", "l.err", ranks=2)
        wait(lambda: place.lines("l.dag.out.1")[-1:] == ["half"], "it can be seen")
        pmc.kill_all(run)
        place.write("l.sh", "seq 100000; echo whole")
        pmc.run("l.dag", "-o", "l.out", "-e", "l.err", ranks=2)
        numbers = [str(number) for number in range(1, 100001)]
        want([line for line in place.lines("l.out") if "cluster" not in line] == [*numbers, "half", *numbers, "whole"],
             place.read("l.out")[-300:])
        want(not exists(place, "l.dag.out.1"), os.listdir(place.dir))


def test_a_killed_first_process_leaves_nothing(place: Place):
    running(place)
    for pmc in each(place):
        run = pmc.start("t.dag")
        pids = tasks_of(place)
        os.kill(pmc.ranks()[0], signal.SIGKILL)
        want(finish(run)[0] != 0, "it has failed")
        check_goes_on(place, pmc, pids)


def test_a_lost_worker_loses_no_more_than_its_task(place: Place):
    # The run may end, or go on without it; what it was doing is not done.
    running(place)
    for pmc in each(place):
        for rank in (1, 2):
            pmc.clean()
            run = pmc.start("t.dag")
            pids = tasks_of(place)
            os.kill(pmc.ranks()[rank], signal.SIGKILL)
            # A run that goes on waits for its tasks.
            try:
                run.wait(5)
                for pid in pids:
                    wait(lambda: not alive(pid), f"a task ends with its run (rank {rank})")
            except subprocess.TimeoutExpired:
                pass
            place.write("go")
            code, _, err = finish(run)
            wait(lambda: not pmc.ranks(), "all processes end")
            if code == 0:
                want(sorted(pmc.rescue("t.dag")) == list("ABCD"), pmc.rescue("t.dag"))
                continue
            want("A" in pmc.rescue("t.dag"), pmc.rescue("t.dag"))
            done = set(pmc.rescue("t.dag"))
            again = pmc.run("t.dag")
            want(set(again.names()) == set("ABCD") - done and again.summary()["stat"] == "ok", (again.out, err))


def test_whoever_is_killed_what_is_done_never_runs_again(place: Place):
    count = 120
    counting(place, count)
    rng = random.Random(23)
    for pmc in each(place):
        kills = 0
        for victim in ("first", "worker", "launcher", "all") * 2:
            done = pmc.rescue("k.dag")
            if len(done) > count - 20:
                break
            enough = len(done) + rng.randrange(1, 12)
            before = dict(enumerate(runs(place, count)))
            run = pmc.start("k.dag", "-o", "k.out", "-e", "k.err", ranks=rng.randrange(2, 6))
            wait(lambda: len(pmc.rescue("k.dag")) > enough or run.poll() is not None, "it goes on")
            ranks = pmc.ranks()
            if victim == "all" or not ranks:
                pmc.kill_all(run)
            else:
                pid = {"first": ranks[0], "worker": rng.choice(ranks[1:] or ranks), "launcher": run.pid}[victim]
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                finish(run)
            wait(lambda: not pmc.ranks(), f"all processes end ({victim} was killed)")
            kills += 1
            now = runs(place, count)
            for name in done:
                want(now[int(name[1:])] == before[int(name[1:])], f"{name} was done and has run again ({victim})")
            want(set(done) <= set(pmc.rescue("k.dag")), f"what was done stays done ({victim})")
        done, before = pmc.rescue("k.dag"), runs(place, count)
        pmc.run("k.dag", "-o", "k.out", "-e", "k.err")
        now = runs(place, count)
        want(kills >= 2 and min(now) >= 1 and max(now) <= kills + 1, now)
        want(all(now[int(name[1:])] == before[int(name[1:])] for name in done), "what was done has run again")
        want(sorted(set(pmc.rescue("k.dag"))) == sorted(f"T{i}" for i in range(count)), "all are done")
        want(not place.lines("early"), place.lines("early"))


if __name__ == "__main__":
    need_a_library()
    main(globals())
