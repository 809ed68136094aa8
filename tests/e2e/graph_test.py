"""Graphs of tasks (DAG files): here and on a hub, failures, retries, changes, kills, bad input."""
import json
import os
import random
import signal
import subprocess
import sys
import xml.dom.minidom

from cluster import cluster_of
from harness import DEADLINE, Place, SPATE, main, wait, want
from pmc_place import LIBRARIES, Pmc

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "graphs")
EDGES = "EDGE A B\nEDGE A C\nEDGE B D\nEDGE C D"


def diamond(place, c="true", d="", name="d.dag"):
    """Each task says that it ran; C may fail."""
    tasks = [f'TASK {t} {more} /bin/sh -c "echo {t} >> ran; {end}"'
             for t, more, end in (("A", "", "true"), ("B", "", "true"), ("C", "", c), ("D", d, "true"))]
    place.write(name, *tasks, EDGES)


def states(place, job="last", command="job graph", **options):
    out, _ = place.run(job, "--json", command=command, **options)
    return {task["name"]: task["state"] for task in map(json.loads, out.splitlines())}


def check_order(ran, edges=(("A", "B"), ("A", "C"), ("B", "D"), ("C", "D"))):
    for parent, child in edges:
        want(ran.index(parent) < ran.index(child), ran)


def test_a_task_starts_after_its_parents(place: Place):
    diamond(place)
    _, err = place.run("d.dag")
    want("4 tasks: 4 succeeded" in err, err)
    ran = place.lines("ran")
    want(sorted(ran) == ["A", "B", "C", "D"], ran)
    check_order(ran)


def test_what_waits_for_a_failed_task_is_cancelled_and_retried_with_it(place: Place):
    diamond(place, c="test -e fixed")
    _, err = place.run("d.dag", code=1)
    want("1 failed, 1 cancelled" in err and "spate job retry 1" in err, err)
    want(states(place) == {"A": "succeeded", "B": "succeeded", "C": "failed", "D": "cancelled"},
         states(place))
    out, _ = place.run("last.4", command="task explain")
    want("it waited for task 3 (C), which did not succeed" in out, out)
    place.write("fixed")
    place.run("last", command="job retry")
    want(sorted(place.lines("ran")) == ["A", "B", "C", "C", "D"], place.lines("ran"))
    want(set(states(place).values()) == {"succeeded"}, states(place))


def test_resume_runs_what_changed_and_what_waits_for_it(place: Place):
    diamond(place)
    place.run("d.dag")
    diamond(place, c="echo other >> ran")
    _, err = place.run("--resume", "d.dag")
    want("the list has changed: d.dag:3 edited, 1 task with changed predecessors\n" in err, err)
    want(place.lines("ran")[4:] == ["C", "other", "D"], place.lines("ran"))
    # An edge more: D waits for a new task as well.
    before = len(place.lines("ran"))
    with open(os.path.join(place.dir, "d.dag"), "a") as file:
        file.write('TASK E /bin/sh -c "echo E >> ran"\nEDGE E D\n')
    place.run("--resume", "d.dag")
    want(place.lines("ran")[before:] == ["E", "D"], place.lines("ran")[before:])
    _, err = place.run("--resume", "d.dag")
    want("nothing left to do" in err and "5 of 5 tasks" in err, err)
    # Of each task only what the graph has now is counted.
    want(states(place) == dict.fromkeys("ABCDE", "succeeded"), states(place))
    out, _ = place.run("last", command="job graph")
    want("5 tasks, 5 edges" in out, out)
    out, _ = place.run("last", command="job info")
    want("5: 5 succeeded" in out and "withdrawn  3 tasks" in out and "5 edges" in out, out)


def test_a_fixed_task_of_a_graph_takes_the_place_of_the_old_one(place: Place):
    diamond(place, c="flase")
    place.run("d.dag", code=1)
    diamond(place, c="true")
    _, err = place.run("--resume", "d.dag")
    want("the list has changed: d.dag:3 edited, 1 task with changed predecessors\n" in err, err)
    want("4 tasks: 4 succeeded" in err, err)
    want(states(place) == dict.fromkeys("ABCD", "succeeded"), states(place))
    want(place.lines("ran").count("A") == 1 and place.lines("ran").count("D") == 1, place.lines("ran"))


def test_priorities_and_needs_are_the_tasks_own(place: Place):
    of_priority = [f'TASK T{i} -p {i} /bin/sh -c "echo {i} >> ran"' for i in range(5)]
    place.write("p.dag", *of_priority)
    place.run("-j", "1", "p.dag")
    want(place.lines("ran") == ["4", "3", "2", "1", "0"], place.lines("ran"))
    os.remove(os.path.join(place.dir, "ran"))
    # What a slot had begun goes on; what only waits behind it does not go before a task tried again,
    # but may be overtaken by others on its way back.
    place.write("x.dag", *of_priority, 'TASK X -t 3 -p 9 /bin/sh -c "echo X >> ran; exit 1"')
    place.run("-j", "1", "x.dag", code=1)
    ran = place.lines("ran")
    want(ran[0] == "X" and ran.count("X") == 3 and ran.index("0") > 4, ran)
    want(sorted(ran) == ["0", "1", "2", "3", "4", "X", "X", "X"], ran)
    place.write("big.dag", "TASK A true", "TASK B -c 100000 true")
    _, err = place.run("big.dag", code=2)
    want("big.dag:2: it needs 100000 cpus" in err and "nothing was started" in err, err)


def test_a_graph_is_refused_whole(place: Place):
    for text, told in (
            ("TASK A true\nEDGE A A\n", "bad.dag:2: the tasks wait for one another in a circle: A -> A"),
            ("TASK A true\nEDGE A B\n", "bad.dag:2: No such task: B"),
            ("TASK A true\nTASK A true\n", "bad.dag:2: Duplicate task: A"),
            (f"TASK A true\nTASK B true {'y' * 131072}\n",
             "bad.dag:2: an argument of the command is 131,072 bytes long, but the system accepts at most 131,071"),
            ("TASK A -m 5\n", "bad.dag:1: Invalid TASK record: TASK A -m 5"),
            ("job A\n", "bad.dag: this is a DAG of HTCondor ('job A')"), ("what A\n", "bad.dag:1: Invalid DAG record: what A")):
        place.write("bad.dag", text)
        _, err = place.run("bad.dag", code=2)
        want(told in err and "nothing was started" in err, (text, err))
    place.write("ok.dag", "TASK A touch ran")
    for words, told in ((("-k", "ok.dag"), "--keep-order"), (("--follow", "ok.dag"), "--follow"),
                        (("--order", "shuffle", "ok.dag"), "--order"),
                        (("ok.dag", "ok.dag"), "one DAG file")):
        _, err = place.run(*words, code=2)
        want(told in err, err)
    want(not place.lines("ran"), place.lines("ran"))
    # By its suffix or by word, never by guess.
    place.write("plain", "TASK A touch ran")
    place.run("plain", code=127)
    want(not place.lines("ran"), place.lines("ran"))
    place.run("--format", "dag", "plain")
    want(os.path.exists(os.path.join(place.dir, "ran")), "it did not run")


def random_graph(place, tasks, name):
    """Tasks that each look whether their parents have ended, and its edges."""
    rng = random.Random(7)
    lines, edges = [], []
    for i in range(tasks):
        parents = sorted(set(rng.randrange(max(0, i - 20), i) for _ in range(rng.randrange(3)))) if i else []
        look = " && ".join(f"test -e done/{p}" for p in parents) or "true"
        lines.append(f'TASK T{i} /bin/sh -c "{look} || echo T{i} >> early; echo {i} >> ran; : > done/{i}"')
        edges += [f"EDGE T{p} T{i}" for p in parents]
    os.makedirs(os.path.join(place.dir, "done"), exist_ok=True)
    place.write(name, *lines, *edges)


def test_a_killed_run_goes_on(place: Place):
    random_graph(place, 300, "r.dag")
    for kills in range(4):
        run = subprocess.Popen([SPATE, "run", "--resume", "r.dag"], cwd=place.dir, env=place.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        wait(lambda: len(place.lines("ran")) > 40 * (kills + 1) or run.poll() is not None, "it runs")
        run.send_signal(signal.SIGKILL)
        run.wait(DEADLINE)
    place.run("--resume", "r.dag")
    want(set(states(place).values()) == {"succeeded"}, states(place))
    want(not place.lines("early"), place.lines("early"))
    want(set(place.lines("ran")) == {str(i) for i in range(300)}, "some never ran")


def test_a_hub_runs_it_and_its_kill_loses_nothing(place: Place):
    random_graph(place, 200, "r.dag")
    diamond(place, c="exit 3")
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    job = cluster.submit("r.dag")
    wait(lambda: len(place.lines("ran")) > 30, "it runs")
    cluster.kill_hub()
    cluster.start_hub()
    cluster.spate("job wait", job)
    want(set(states(place, job).values()) == {"succeeded"}, states(place, job))
    want(not place.lines("early"), place.lines("early"))
    out, _ = cluster.spate("job info", job)
    want("edges (spate job graph" in out and "critical" in out, out)
    failed = cluster.submit("d.dag")
    cluster.spate("job wait", failed, code=1)
    want(states(place, failed)["D"] == "cancelled", states(place, failed))
    out, _ = cluster.spate("task explain", f"{failed}.4")
    want("it waited for task 3 (C)" in out, out)


def test_a_hub_tells_what_a_task_waits_for(place: Place):
    place.write("w.dag", 'TASK A /bin/sh -c "until test -e go; do sleep 0.02; done"', "TASK B true",
                "TASK C true", "EDGE A C", "EDGE B C")
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    job = cluster.submit("w.dag")
    wait(lambda: states(place, job)["B"] == "succeeded", "B ends")
    out, _ = cluster.spate("task explain", f"{job}.3")
    want("it waits for 1 of 2 parents: task A" in out, out)
    place.write("go")
    cluster.spate("job wait", job)


def test_tasks_of_a_job_list_wait_by_name(place: Place):
    place.write("jobs.lst", "{name join} cat a b > all {after left right}",
                "{name left} echo a > a", "{name right} echo b > b && test -e fixed", "echo free")
    out, err = place.run("jobs.lst", code=1)
    want("free" in out and "jobs.lst:3" in err and "1 cancelled" in err, err)
    want(states(place) == {"join": "cancelled", "left": "succeeded", "right": "failed", "4": "succeeded"},
         states(place))
    place.write("fixed")
    place.run("last.right", command="job retry")
    want(place.lines("all") == ["a", "b"], place.lines("all"))
    # What waits for a task that has changed runs again.
    place.write("jobs.lst", "{name join} cat a b > all {after left right}",
                "{name left} echo A > a", "{name right} echo b > b && test -e fixed", "echo free")
    place.run("--resume", "jobs.lst")
    want(place.lines("all") == ["A", "b"], place.lines("all"))
    # Inputs that other tasks make are no problem of the start.
    place.write("in.lst", "{name m} echo x > made", "cat {check in line+ made} {after m}")
    place.run("in.lst")


def test_wrong_names_in_a_list_are_told(place: Place):
    for lines, told in (
            (["{name a} true", "{name a} true"], "bad.lst:2: another task is also called a"),
            (["true {after b}"], "bad.lst:1: no task is called b: give one that name by {name b}"),
            (["{name a} true {after c}", "{name b} true {after a}", "{name c} true {after b}"],
             "in a circle: b -> c -> a -> b")):
        place.write("bad.lst", *lines)
        _, err = place.run("bad.lst", code=2)
        want(told in err and "nothing was started" in err, (lines, err))
    place.write("ok.lst", "{name a} true", "true {after a}")
    _, err = place.run("--order", "shuffle", "ok.lst", code=2)
    want("--order" in err, err)
    _, err = place.run("--follow-until", "END", "ok.lst", code=2)
    want("ok.lst:2: {after} in a list that is followed" in err, err)


def test_tasks_are_called_by_their_names(place: Place):
    diamond(place, c="false")
    place.run("d.dag", code=1)
    out, _ = place.run("last.C", command="task info")
    want("task 1.3" in out and "failed" in out, out)
    out, _ = place.run("last.A,D", "--json", command="job tasks")
    want([json.loads(line)["task"] for line in out.splitlines()] == [1, 4], out)
    _, err = place.run("last.X", command="task info", code=2)
    want("job 1 has no task that is called X" in err, err)
    _, err = place.run("last.C", "--dry-run", command="job retry")
    want("1 task" in err or "/bin/sh" in _, (_, err))


def test_a_number_that_is_a_name_has_one_reading(place: Place):
    place.write("jobs.lst", "{name 2} echo first", "{name 1} echo second", "{name 30} echo third",
                "{name 4} echo fourth")
    cluster = cluster_of(place)
    cluster.node("n1")
    place.run("-q", "jobs.lst")
    cluster.submit("--wait", "jobs.lst")
    for where in ("--local", "--hub"):
        for verb in ("task info", "task explain", "job cat", "job tasks", "job retry",
                     "job cancel"):
            _, err = place.run(where, "last.2", command=verb, code=2)
            want("1.2 has two readings: task 2 by number, and task 1, which is called 2" in err and
                 "'1.#2' for task 2 by number, or '1.name=2' for task 1" in err, (verb, err))
        for word, text in (("last.#2", "second"), ("last.name=2", "first"), ("last.30", "third"),
                           ("last.3", "third"), ("last.4", "fourth"), ("last.name=1", "second"),
                           ("last.#1-2", "first\nsecond"), ("last.1-2", "first\nsecond")):
            out, _ = place.run(where, word, command="job cat")
            want(out == text + "\n", (where, word, out))
        _, err = place.run(where, "last.31", command="job cat", code=2)
        want("has no task 31" in err, err)


def test_a_graph_on_a_hub_grows_and_is_cancelled_by_name(place: Place):
    place.write("g.dag", 'TASK A /bin/sh -c "until test -e go; do sleep 0.02; done; echo A >> ran"')
    place.write("more.dag", 'TASK B /bin/sh -c "echo B >> ran"', 'TASK C /bin/sh -c "echo C >> ran"',
                "EDGE A B", "EDGE B C")
    place.write("more.lst", "{name D} echo D >> ran {after B}", "{name E} echo E >> ran {after D}")
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    job = cluster.submit("--open", "g.dag")
    cluster.spate("job add", job, "more.dag")
    _, err = cluster.spate("job add", job, "more.dag", code=2)
    want("more.dag:1: Duplicate task: B" in err, err)
    out, _ = cluster.spate("task explain", f"{job}.C")
    want("it waits for 1 of 1 parent" in out or "task 2" in out, out)
    cluster.spate("job cancel", f"{job}.C")
    place.write("go")
    cluster.spate("job close", job)
    cluster.spate("job wait", job, code=1)
    want(place.lines("ran") == ["A", "B"], place.lines("ran"))
    want(states(place, job)["C"] == "cancelled", states(place, job))


def test_a_mosaic_is_the_same_wherever_it_is_made(place: Place):
    def make(folder):
        subprocess.run([sys.executable, f"{EXAMPLES}/montage.py", "5", os.path.join(place.dir, folder)], check=True)
        return {"cwd": os.path.join(place.dir, folder), "env": place.env, "stdin": subprocess.DEVNULL,
                "capture_output": True, "timeout": DEADLINE}

    here = subprocess.run([SPATE, "run", "montage.dag"], **make("here"))
    want(here.returncode == 0, here.stderr)
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    hub = subprocess.run([SPATE, "submit", "--wait", "montage.dag"], **make("hub"))
    want(hub.returncode == 0, hub.stderr)
    want(place.read("hub/mosaic") == place.read("here/mosaic") != "", "the hub's mosaic")
    for library in LIBRARIES:
        options = make(library)
        pmc = Pmc(place, library)
        done = subprocess.run(pmc.words(3, ["montage.dag", "-o", "out"]), **(options | {"env": pmc.env}))
        want(done.returncode == 0 and b"submitted=98, succeeded=98" in done.stdout, done.stdout + done.stderr)
        want(place.read(f"{library}/mosaic") == place.read("here/mosaic"), library)


def test_a_dag_of_htcondor_is_named(place: Place):
    place.write("c.dag", "# of DAGMan", "", "Job A a.sub", "JOB B b.sub", "PARENT A CHILD B")
    for words in (["c.dag"], ["--dry-run", "c.dag"]):
        _, err = place.run(*words, code=2)
        want("c.dag: this is a DAG of HTCondor ('Job A a.sub')" in err and "condor_submit_dag" in err, err)
    place.write("d.dag", "TASK A true", "JOB B b.sub")
    _, err = place.run("d.dag", code=2)
    want("d.dag:2: Invalid DAG record: JOB B b.sub" in err, err)
    want(not place.jobs(), "a job was made")


def test_a_fan(place: Place):
    subprocess.run(["sh", f"{EXAMPLES}/fan.sh", place.dir], check=True)
    place.run("fan.dag")
    want(place.lines("total") == ["500000500000"], place.lines("total"))


def test_a_task_that_succeeded_runs_again_with_what_waited_for_it(place: Place):
    diamond(place, c="test -e fixed")
    place.run("d.dag", code=1)
    for word in ("last", "1"):
        _, err = place.run("--succeeded", word, command="job retry", code=2)
        want("name the tasks that are to run again, as in: spate job retry --succeeded 12.3-9" in err, err)
    for word, task in (("last.C", "1.3"), ("last.1-4", "1.3")):
        _, err = place.run("--succeeded", word, command="job retry", code=2)
        want(f"task {task} has not succeeded; to retry failed tasks: spate job retry" in err, err)
    place.write("fixed")
    out, _ = place.run("--succeeded", "last.B", "--dry-run", command="job retry")
    want("echo B" in out and len(out.splitlines()) == 2, out)  # D, which was cancelled, waited for B
    want(sorted(place.lines("ran")) == ["A", "B", "C"], place.lines("ran"))
    _, err = place.run("--succeeded", "last.A", command="job retry")
    want("4 tasks: 4 succeeded" in err, err)
    want(sorted(place.lines("ran")[3:]) == ["A", "B", "C", "D"], place.lines("ran"))
    check_order(place.lines("ran")[3:])
    _, err = place.run("--succeeded", "last.B", command="job retry")
    want("4 tasks: 4 succeeded; this run: 2" in err, err)
    want(place.lines("ran")[7:] == ["B", "D"], place.lines("ran"))
    want(set(states(place).values()) == {"succeeded"}, states(place))


def test_what_runs_again_does_so_after_a_kill(place: Place):
    place.write("k.dag", 'TASK A /bin/sh -c "echo A >> ran"',
                'TASK B /bin/sh -c "echo B >> ran; until test -e go; do sleep 0.02; done"',
                'TASK C /bin/sh -c "echo C >> ran"', "EDGE A B", "EDGE B C")
    place.write("go")
    place.run("k.dag")
    os.remove(os.path.join(place.dir, "go"))
    retry = subprocess.Popen([SPATE, "job", "retry", "--succeeded", "last.A"], cwd=place.dir, env=place.env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait(lambda: len(place.lines("ran")) == 5 or retry.poll() is not None, "B runs again")
    wait(lambda: states(place)["A"] == "succeeded" or retry.poll() is not None, "the end of A is durable")
    retry.send_signal(signal.SIGKILL)
    retry.wait(DEADLINE)
    want(states(place)["A"] == "succeeded" and states(place)["C"] != "succeeded", states(place))
    # Also where the killed run has left tasks running that waited for it.
    place.write("go")
    _, err = place.run("--succeeded", "last.A", command="job retry")
    want("3 tasks: 3 succeeded" in err, err)
    want(place.lines("ran")[5:] == ["A", "B", "C"], place.lines("ran"))
    _, err = place.run("--resume", "k.dag")
    want("nothing left to do: job 1 is complete (3 of 3 tasks succeeded)" in err, err)


def test_a_hub_runs_a_task_that_succeeded_again(place: Place):
    place.write("h.dag", 'TASK A /bin/sh -c "echo A >> ran"',
                'TASK B /bin/sh -c "echo B >> ran; until test -e go; do sleep 0.02; done"',
                'TASK C /bin/sh -c "echo C >> ran"', "EDGE A B", "EDGE B C")
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    job = cluster.submit("h.dag")
    wait(lambda: len(place.lines("ran")) == 2, "B runs")
    _, err = cluster.spate("job retry", "--succeeded", f"{job}.A", code=3)
    want(f"task {job}.2, which waited for them, is running; wait for it" in err, err)
    place.write("go")
    cluster.spate("job wait", job)
    # Of a job that has ended, and whose end a hub has read back.
    cluster.kill_hub()
    cluster.start_hub()
    _, err = cluster.spate("job retry", "--succeeded", f"{job}.B", "--dry-run")
    want(f"would be: job {job}: 2 tasks run again" in err, err)
    _, err = cluster.spate("job retry", "--succeeded", f"{job}.B")
    want(f"job {job}: 2 tasks run again" in err, err)
    cluster.spate("job wait", job)
    want(place.lines("ran") == ["A", "B", "C", "B", "C"], place.lines("ran"))
    cluster.kill_hub()
    cluster.start_hub()
    want(set(states(place, job).values()) == {"succeeded"}, states(place, job))
    _, err = cluster.spate("job retry", "--succeeded", f"{job}.9")
    want(f"nothing to retry: no selected task of job {job} has succeeded" in err, err)


def test_a_resumed_run_names_outputs_that_are_missing(place: Place):
    place.write("out.lst", "{name a} echo a > {check out exists a.txt}",
                "{name b} cat a.txt > {check out exists+ b.txt} {after a}",
                "echo c > {check out line c.txt}", "echo d > d.txt")
    place.run("out.lst")
    _, err = place.run("--resume", "out.lst")
    want("nothing left to do" in err and "missing" not in err, err)
    for name in ("a.txt", "b.txt", "d.txt"):
        os.remove(os.path.join(place.dir, name))
    _, err = place.run("--resume", "out.lst")
    want("2 outputs of finished tasks are missing: a.txt (task 1), b.txt (task 2)\n" in err, err)
    want("to run these tasks again:  spate job retry --succeeded 1.1,2\n" in err, err)
    place.run("--succeeded", "1.1,2", command="job retry")
    want(place.lines("b.txt") == ["a"], place.lines("b.txt"))
    # The same where there are tasks left to run, but not of tasks that leave the list.
    os.remove(os.path.join(place.dir, "c.txt"))
    place.write("out.lst", "{name a} echo a > {check out exists a.txt}", "echo c > {check out line c.txt}",
                "echo e > e.txt")
    os.remove(os.path.join(place.dir, "b.txt"))
    _, err = place.run("--resume", "out.lst")
    want("1 output of finished tasks is missing: c.txt (task 3)\n" in err and "b.txt" not in err, err)
    want("to run this task again:  spate job retry --succeeded 1.3\n" in err, err)
    _, err = place.run("--resume", "-q", "out.lst")
    want(not err, err)


def test_targets_run_with_what_they_need_alone(place: Place):
    place.write("pipe.lst", "{name left} echo left >> ran", "{name right} echo right >> ran",
                "{name merge} echo merge >> ran {after left}", "{name report} echo report >> ran {after merge right}",
                "cat {check in exists none.txt}")
    out, _ = place.run("--dry-run", "--target", "merge", "pipe.lst")
    want(out.splitlines() == ["echo left >> ran", "echo merge >> ran"] and not place.lines("ran"), out)
    _, err = place.run("--target", "merge", "pipe.lst")
    want("2 tasks: 2 succeeded" in err and place.lines("ran") == ["left", "merge"], err)
    _, err = place.run("--resume", "pipe.lst")
    want("nothing left to do: job 1 is complete (2 of 2 tasks succeeded)" in err, err)
    want("to run the tasks that --target left out: spate run --resume pipe.lst --target all" in err, err)
    _, err = place.run("--resume", "--target", "report", "pipe.lst")
    want("the selection by --target has changed: 2 new tasks" in err and "4 tasks: 4 succeeded" in err, err)
    want(place.lines("ran") == ["left", "merge", "right", "report"], place.lines("ran"))
    out, _ = place.run("--dry-run", "--target", "1,right", "--target", "name=merge", "pipe.lst")
    want(len(out.splitlines()) == 3, out)
    # A graph likewise.
    diamond(place)
    os.remove(os.path.join(place.dir, "ran"))
    place.run("--target", "C", "d.dag")
    want(place.lines("ran") == ["A", "C"], place.lines("ran"))
    cluster = cluster_of(place)
    cluster.node("n1")
    cluster.submit("--wait", "--target", "B", "d.dag")
    want(place.lines("ran") == ["A", "C", "A", "B"], place.lines("ran"))


def test_targets_that_make_no_sense_are_refused(place: Place):
    place.write("pipe.lst", "{name left} true", "{name 1} true", "{name merge} true {after left}")
    place.write("plain.lst", "true", "true")
    for words, told in ((("--target", "merg", "pipe.lst"), "no task is called merg; did you mean merge?"),
                        (("--target", "4", "pipe.lst"), "no task is called 4"),
                        (("--target", "1", "pipe.lst"), "write '#1' or 'name=1'"),
                        (("--target", "1", "plain.lst"), "no task of this list has a name"),
                        (("--target", "a", "--follow", "-"), "leave out --follow"),
                        (("--target", "a", "--", "echo", ":::", "a"), "leave one of them out")):
        _, err = place.run(*words, code=2, stdin=b"")
        want(told in err and not place.jobs(), (words, err))
    _, err = place.run("--target", "#1", "pipe.lst")
    want("1 task: 1 succeeded" in err, err)


def test_the_picture(place: Place):
    diamond(place)
    place.run("d.dag")
    out, _ = place.run("last", command="job graph")
    want("4 tasks, 4 edges" in out and "critical path" in out, out)
    svg, _ = place.run("last", "--svg", command="job graph")
    boxes = xml.dom.minidom.parseString(svg).getElementsByTagName("title")
    want(sum(box.firstChild.data.startswith(("A", "B", "C", "D")) for box in boxes) == 4, svg)
    dot, _ = place.run("last", "--dot", command="job graph")
    want(dot.startswith("digraph") and "t1 -> t2" in dot, dot)
    place.write("jobs.lst", "true", "true")
    place.run("jobs.lst")
    out, _ = place.run("last", command="job graph")
    want("2 tasks, 0 edges" in out, out)


if __name__ == "__main__":
    main(globals())
