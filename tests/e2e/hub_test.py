"""A hub, nodes and clients as real processes on this machine."""
import json
import os
import re
import signal
import subprocess
import time

from cluster import cluster_of
from harness import DEADLINE, SPATE, Place, alive, main, wait, want


def test_new_users_have_limits(place: Place):
    """And users who have some keep them."""
    cluster = cluster_of(place, "--listen", "none")
    cluster.spate("hub user", "veteran", "--weight", "2")
    cluster.spate("hub user", "*", "--max-queued", "3")
    _, err = cluster.spate("submit", "--array", "1-4", "--", "true", code=3)
    want("may have 3 tasks" in err, err)
    job = cluster.submit("--open", "--array", "1-3", "--", "true")
    rules = {line.split()[0]: line.split()[-2] for line in cluster.spate("hub user")[0].splitlines()}
    want(rules["veteran"] == "any" and [rule for user, rule in rules.items() if user != "*"].count("3") == 1, rules)
    _, err = cluster.spate("job add", job, "--array", "4", "--", "true", code=3)
    want("may have 3 tasks" in err and "make it 4" in err, err)
    cluster.kill_hub()
    cluster.start_hub()
    _, err = cluster.spate("submit", "--", "true", code=3)
    want("may have 3 tasks" in err, err)
    # The first change of a new user's limits begins with those.
    _, err = cluster.spate("hub user", "newcomer", "--weight", "2")
    want("weight 2, any running, 3 queued" in err, err)


def test_groups_of_users_have_common_limits(place: Place):
    """Also over a kill of the hub; a mistyped group is not made."""
    cluster = cluster_of(place, "--listen", "none")
    _, err = cluster.spate("hub user", "*", "--group", "@labb", code=2)
    want("there is no group '@labb'" in err and "hub user '@labb' --weight 1" in err, err)
    cluster.spate("hub user", "@lab", "--max-queued", "5", "--weight", "2")
    _, err = cluster.spate("hub user", "@lab", "--max-output", "1G", code=2)
    want("a limit of users" in err, err)
    _, err = cluster.spate("hub user", "*", "--group", "@lab")
    want("in group @lab" in err, err)
    cluster.submit("--array", "1-3", "--", "true")
    cluster.kill_hub()
    cluster.start_hub()
    _, err = cluster.spate("submit", "--array", "1-3", "--", "true", code=3)
    want("group @lab may have 5 tasks" in err and "make it 6" in err, err)
    rows = [json.loads(line) for line in cluster.spate("hub user", "--json")[0].splitlines()]
    lab = next(row for row in rows if row["user"] == "@lab")
    want(lab["queued"] == 3 and lab["weight"] == 2, rows)
    want(sum(row["group"] == "@lab" for row in rows) == 2, rows)  # '*' and the one who submitted
    cluster.spate("hub user", lab["user"], "--max-queued", "0")
    cluster.submit("--array", "1-3", "--", "true")


def test_a_job_from_submit_to_cat(place: Place):
    cluster = cluster_of(place)
    _, err = place.run("--state", place.state, "--", "true", command="submit")
    want(f"no node is connected, so nothing runs yet; start one: spate node start --state {place.state} --daemon" in err,
         err)
    cluster.node()
    job = cluster.submit("--wait", "--", "echo", "it is {}", ":::", "a", "b", "c")
    want(job == "2", job)
    out, _ = cluster.spate("job cat", job)
    want(sorted(out.split("\n")[:-1]) == ["it is a", "it is b", "it is c"], out)
    out, _ = cluster.spate("job list")
    want("succeeded" in out and "3/3" in out, out)
    out, _ = cluster.spate("job info", job)
    want("echo" in out, out)
    out, _ = cluster.spate("node list")
    want(re.search(r"n1 +ready", out), out)
    out, _ = cluster.spate("hub status")
    want("1 connected" in out, out)


def test_the_hub_of_the_machine_is_down(place: Place):
    """Its users are not told to start one of their own, which would take its port."""
    words = 'mount -t tmpfs tmpfs /var/lib && mkdir /var/lib/spate && exec "$0" job list --hub'
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        print("       (skipped: no user namespaces)")
        return
    done = subprocess.run(["unshare", "-rm", "sh", "-c", words, SPATE], cwd=place.dir, env=place.env,
                          capture_output=True, text=True, timeout=DEADLINE, check=False)
    want(done.returncode == 3, done)
    want("the hub of this machine does not run" in done.stderr and "systemctl start spate-hub" in done.stderr
         and "hub start" not in done.stderr, done.stderr)


def test_commands_reach_the_hub_and_names_stay(place: Place):
    """The client adds options to commands that the hub advises, and to nothing that a user has written."""
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    reach = "--hub", "--state", place.state
    job = cluster.submit("--name", "spate job x", "--label", "none", "--", "true")
    cluster.spate("job hold", job)
    out, _ = cluster.spate("job info", *reach, job)
    want(f"job {job}  spate job x\n" in out and f" spate job release --hub --state {place.state} {job}\n" in out, out)
    failed = cluster.submit("--max-failures", "1", "--", "[ {} -gt 1 ] && exec sleep 300", ":::", "1", "2", "3", "4")
    release = f"its user can release it: spate job release --hub --state {place.state} {failed}\n"
    wait(lambda: release in place.read("hub.log"), "the hub's log names its state folder")


def test_what_no_hub_takes_is_refused(place: Place):
    """And not sent: the hub would end the connection, each time."""
    cluster = cluster_of(place)
    cluster.node()
    for size, code in (((4 << 20) - 100, 0), ((4 << 20) + 1, 2)):
        place.write("v.csv", "a,b", f"1,{'x' * size}")
        _, err = place.run("--wait", "--csv", "--header", ":", "-a", "v.csv", "--", "echo {a}", command="submit", code=code)
        want(code == 0 or "task 1: its line has 4,194,3" in err and "a hub accepts at most 4,194,304" in err, err)


def test_a_submit_checks_what_a_run_checks(place: Place):
    """The shell, --stdin and scripts: before anything reaches the hub."""
    cluster = cluster_of(place)
    cluster.node()
    place.write("job.sh", "#!/bin/bash", "cd scratch", "rm -rf *")
    place.write("steps.sh", "date", "cd scratch", "rm -rf *")
    place.write("work.py", "date")
    place.write("cut.lst", "date \\")
    place.write("good.lst", "cat")
    place.write("in.a", "x")
    for words, what in ((["job.sh"], "job.sh: this is a script, not a list ('#!/bin/bash')"),
                        (["steps.sh"], "steps.sh:2: 'cd scratch' is a line of a script, not a task"),
                        (["work.py"], "work.py: by its name this is a program, not a list"),
                        (["cut.lst"], "cut.lst:1: the command ends in a backslash"),
                        (["--shell", "no-such-shell -e", "good.lst"],
                         "--shell: 'no-such-shell' is not a program that can be started on this machine: check the "
                         "name, and PATH; if the nodes have it, write --shell 'env no-such-shell -e'"),
                        (["--stdin", "missing", "good.lst"], "missing': No such file or directory; if the nodes have "
                         "the file, write COMMAND < FILE instead of --stdin"),
                        (["--stdin", ".", "good.lst"], "--stdin: '.' is a folder")):
        for command in (["submit"], ["run", "--hub"], ["run", "--pool", "local"]):
            _, err = place.run(*command[1:], *words, command=command[0], code=2)
            want(what in err, (command, words, err))
    out, _ = place.run("--json", command="job list")
    want(out == "", out)
    # What may be there later, what only nodes have, and what is different for each task.
    first = cluster.submit("--", "sleep 0.1; echo made > made")
    for words in (["--after", f"ok:{first}", "--stdin", "made", "--wait", "good.lst"],
                  ["--stdin", "in.{}", "--wait", "--", "cat; : {}", ":::", "a"],
                  ["--shell", "env sh", "--wait", "--", "cat < {}", ":::", "in.a"],
                  ["--shell", "bash -e", "--wait", "--", "cat <<< {}", ":::", "a"]):
        job = cluster.submit(*words).split()[0]
        out, _ = cluster.spate("job cat", job)
        want(out.strip() in ("made", "x", "a"), (words, out))


def test_output_that_the_hub_did_not_keep_is_said_to_be_missing(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    out, err = place.run("--hub", "--keep-output", "300K", "--", "seq 20000")
    want(out.endswith("\n20000\n") and "missing" not in err, err)
    out, err = place.run("--hub", "--keep-output", "300K", "--", "seq 200000")
    want("bytes were not kept]" in out and "output of 1 task was not kept, because of --keep-output" in err, err)
    out, err = place.run("-q", "--hub", "--keep-output", "0", "--", "echo out")
    want(out == "" and "output of 1 task was not kept, because of --keep-output" in err, err)


def test_a_job_has_its_folder_by_the_path_that_its_user_took(place: Place):
    cluster = cluster_of(place)
    os.makedirs(os.path.join(place.dir, "real/below"))
    link = os.path.join(place.dir, "link")
    os.symlink("real", link)
    real = os.path.join(place.dir, "real")

    def folder(pwd, *options):
        done = subprocess.run([SPATE, "submit", *options, "--", "true"], cwd=real, env=dict(place.env, PWD=pwd),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE)
        want(done.returncode == 0, done)
        return json.loads(cluster.spate("job info", "--json", done.stdout.strip())[0])["cwd"]
    want(folder(link) == link, "as `pwd -L`")
    want(folder(link, "--cwd", "below") == f"{link}/below", "below it")
    # Of another folder, or not a plain path: as the system has it.
    for pwd in (place.dir, "link", f"{link}/.", f"{place.dir}/gone", ""):
        want(folder(pwd) == real, pwd)
    want(folder(link, "--cwd", "..") == place.dir, "the parent in the system")


def test_failures_are_told_and_tried_again(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    job = cluster.submit("--wait", "--", "test -e {}", ":::", "a", "b", code=1).split()[0]
    place.write("a")
    place.write("b")
    _, err = cluster.spate("job retry", job)
    want("2 tasks run again" in err, err)
    cluster.spate("job wait", job)
    out, _ = cluster.spate("job list", "--output", "json")
    line = json.loads(out.splitlines()[-1])
    want(line["succeeded"] == 2 and line["failed"] == 0, out)


def test_an_array_has_its_number_in_a_variable(place: Place):
    """And in {}, but never behind a command that has no place for it."""
    cluster = cluster_of(place)
    cluster.node()
    place.write("step", "#!/bin/sh", 'echo "$# $SPATE_ARRAY_VALUE" >> ran')
    os.chmod(os.path.join(place.dir, "step"), 0o755)
    _, err = place.run("--wait", "--array", "1,3,7-9:2%2", "--", "./step", command="submit")
    want(sorted(place.lines("ran")) == ["0 1", "0 3", "0 7", "0 9"], place.lines("ran"))
    want("the command has no {}" in err and "$SPATE_ARRAY_VALUE" in err, err)
    _, err = place.run("--wait", "--array", "5", "--", "./step {}", command="submit")
    want(place.lines("ran")[4:] == ["1 5"] and "{}" not in err, err)
    for typed, told in (("1,1", "names 1 twice"), ("1-9,5", "names 5 twice"), ("1,", "is not a range")):
        _, err = place.run("--array", typed, "--", "true", command="submit", code=2)
        want(told in err, err)


def test_an_array_of_slurm_runs_as_the_refusal_says(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    place.write("job.sh", "#!/bin/sh", "#SBATCH --array=0-4:2%20 --mem=1G --time=1:00:00", 'echo "$SLURM_ARRAY_TASK_ID" >> ran')
    os.chmod(os.path.join(place.dir, "job.sh"), 0o755)
    options = "--array 0-4:2%20 --memory 1G --time-limit 1:00:00 -- env SLURM_ARRAY_TASK_ID={} ./job.sh\n"
    _, err = place.run("job.sh", command="submit", code=2)
    want(f"to run the script: spate submit {options}nothing was started" in err, err)
    _, err = place.run("--wait", "--", "./job.sh", command="submit", code=2)
    want("$SLURM_ARRAY_TASK_ID would be empty" in err and f"write: spate submit --wait {options}" in err, err)
    _, err = place.run("--array", "5", "--", "./job.sh", command="submit", code=2)
    want("write: spate submit --array 5 --memory 1G --time-limit 1:00:00 -- env SLURM_ARRAY_TASK_ID={} ./job.sh\n" in err, err)
    _, err = place.run("--hub", "--", "./job.sh", code=2)
    want("write: spate run --hub -j 20 --memory 1G" in err, err)
    want(place.lines("ran") == [], "it ran")
    _, err = place.run("--wait", *options.split(), command="submit")
    want(sorted(place.lines("ran")) == ["0", "2", "4"] and "spate ignores" not in err, (place.lines("ran"), err))
    # A script that runs once is only told what it does not get.
    place.write("one.sh", "#!/bin/sh", "#PBS -l walltime=1:00:00,mem=1gb -q long", "echo one >> ran")
    out, err = place.run("--wait", "--memory", "1G", "--", "sh", "one.sh", command="submit")
    want("one.sh: spate ignores #PBS -l walltime=1:00:00, #PBS -q long; to request the same: "
         "spate submit --wait --memory 1G --time-limit 1:00:00 -- sh one.sh\n" in err, err)
    want(place.lines("ran")[-1] == "one", place.lines("ran"))


def test_a_submit_in_a_loop_leaves_the_list_alone(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    place.write("files", "a", "b", "c")
    loop = f'while read f; do {SPATE} submit -- "echo $f >> ran"; done < files'
    subprocess.run(["sh", "-c", loop], cwd=place.dir, env=place.env, check=True, capture_output=True)
    cluster.spate("job wait", "1", "2", "3")
    want(sorted(place.lines("ran")) == ["a", "b", "c"], place.lines("ran"))
    # What asks for values gets them.
    with open(os.path.join(place.dir, "files")) as files:
        place.run("--wait", "--", "echo {}2 >> ran", command="submit", stdin=files.read().encode())
    want(sorted(place.lines("ran"))[1::2] == ["a2", "b2", "c2"], place.lines("ran"))


def test_the_letters_of_batch_systems_are_refused(place: Place):
    for letter, name in (("-n", "--procs"), ("-N", "--nodes")):
        _, err = place.run(letter, "4", "--", "true", command="submit", code=2)
        want(f"{letter}: write {name} N" in err, err)


def test_a_killed_node_leaves_its_tasks_to_the_next_one(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "2")
    job = cluster.submit("--", "echo {} >> ran; while ! test -e go; do sleep 0.05; done; echo {} >> done",
                         ":::", "a", "b")
    wait(lambda: len(place.lines("ran")) == 2, "both run")
    os.kill(node.pid, signal.SIGKILL)
    node.wait()
    cluster.node("n1", "-j", "2", join=False)
    wait(lambda: place.read("n1.log").count("joined the hub") == 2, "the node is back")
    place.write("go")
    cluster.spate("job wait", job)
    want(sorted(place.lines("ran")) == ["a", "b"], place.read("ran"))
    want(sorted(place.lines("done")) == ["a", "b"], place.read("done"))


def test_a_service_of_the_shell_outlives_the_node(place: Place):
    cluster = cluster_of(place)
    place.write("begin", "sleep 1000 & echo $! > service", 'exec "$@"')
    node = cluster.node("n1", "-j", "1", inside=("sh", "begin"))
    service = int(place.read("service"))
    # Its shepherd is killed on the way.
    cluster.submit("--wait", "--", "[ -e again ] || { touch again; kill -9 $PPID; }; true")
    living = [alive(service)]
    node.send_signal(signal.SIGTERM)
    node.wait()
    living.append(alive(service))
    if living[1]:
        os.kill(service, signal.SIGKILL)
    want(living == [True, True], f"alive after a shepherd's death, after the node's end: {living}")


def test_a_second_node_takes_what_waits_on_the_first(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--", "echo $SPATE_NODE >> ran; while ! test -e go; do sleep 0.05; done; : {}",
                         ":::", "a", "b")
    wait(lambda: place.lines("ran") == ["n1"], "the first runs")
    cluster.node("n2", "-j", "1")
    wait(lambda: place.lines("ran") == ["n1", "n2"], "so does the second")
    place.write("go")
    cluster.spate("job wait", job)


def test_tasks_of_a_node_that_leaves_run_elsewhere(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "1")
    job = cluster.submit("--", "echo $SPATE_NODE >> ran; test $SPATE_NODE = n2 || sleep 1000")
    wait(lambda: place.lines("ran") == ["n1"], "it runs on n1")
    cluster.node("n2", "-j", "1")
    node.send_signal(signal.SIGTERM)
    cluster.spate("job wait", job)
    want(place.lines("ran") == ["n1", "n2"], place.read("ran"))


def test_jobs_are_held_released_cancelled(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--", "echo {} >> ran; while ! test -e go; do sleep 0.05; done", ":::", "a", "b")
    wait(lambda: place.lines("ran"), "the first runs")
    cluster.spate("job hold", job)
    place.write("go")
    wait(lambda: json.loads(cluster.spate("node list", "--output", "json")[0])["tasks"] == 0, "idle")
    out, _ = cluster.spate("task explain", f"{job}.2")
    want("held" in out and "job release" in out, out)
    cluster.spate("job release", job)
    cluster.spate("job wait", job)
    want(place.lines("ran") == ["a", "b"], place.read("ran"))
    job = cluster.submit("--", "echo $$ >> pid; sleep 1000")
    wait(lambda: place.lines("pid"), "it runs")
    cluster.spate("job cancel", job)
    _, err = cluster.spate("job wait", job, code=1)
    wait(lambda: not alive(int(place.lines("pid")[0])), "the cancelled task has ended")
    out, _ = cluster.spate("job list", job)
    want(re.search(r"cancelled +0/1 +0 ", out), out)
    out, _ = cluster.spate("job list", "-q", "--filter", "cancelled")
    want(out.split() == [job], out)
    out, _ = cluster.spate("job list", "-q", "--filter", "succeeded,failed")
    want(job not in out.split(), out)


def test_single_tasks_are_cancelled(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "2")
    command = "echo $$ > {}.pid; while ! test -e go; do sleep 0.05; done; echo {} >> ran"
    job = cluster.submit("--retries", "3", "--", command, ":::", "a", "b", "c", "d", "e")
    wait(lambda: place.lines("a.pid") and place.lines("b.pid"), "two run")
    _, err = cluster.spate("job cancel", f"{job}.1", f"{job}.4-9", f"{job}.1")
    want(f"3 tasks of job {job} cancelled" in err, err)
    wait(lambda: not alive(int(place.lines("a.pid")[0])), "the cancelled task has ended")
    want(alive(int(place.lines("b.pid")[0])), "the other one goes on")
    _, err = cluster.spate("task cancel", f"{job}.5")
    want("no selected task" in err, err)
    # A node that is away hears of it when it is back.
    wait(lambda: place.lines("c.pid"), "the third runs")
    node.kill()
    node.wait()
    cluster.spate("task cancel", f"{job}.3")
    want(alive(int(place.lines("c.pid")[0])), "nobody has told its node")
    cluster.node("n1", "-j", "2")
    wait(lambda: not alive(int(place.lines("c.pid")[0])), "it is told")
    place.write("go")
    cluster.spate("job wait", job, code=1)
    want(place.lines("ran") == ["b"], place.read("ran"))
    out, _ = cluster.spate("job tasks", job, "--filter", "cancelled", "--output", "quiet")
    want(out.split() == [f"{job}.{n}" for n in (1, 3, 4, 5)], out)


def test_jobs_wait_for_jobs(place: Place):
    cluster = cluster_of(place)
    first = cluster.submit("--", "sleep 0.2; echo first >> ran")
    second = cluster.submit("--after", first, "--", "echo second >> ran")
    third = cluster.submit("--after", f"fail:{first}", "--", "echo never >> ran")
    cluster.node("n1", "-j", "4", "--cpus", "4")
    cluster.spate("job wait", second)
    want(place.lines("ran") == ["first", "second"], place.read("ran"))
    cluster.spate("job wait", third, code=1)


def test_a_retry_names_the_jobs_that_it_does_not_bring_back(place: Place):
    cluster = cluster_of(place)
    first = cluster.submit("--", "while test ! -e go; do sleep 0.05; done; cat go >> ran; exec sh go")
    second = cluster.submit("--after", f"ok:{first}", "--", "echo second >> ran")
    third = cluster.submit("--after", f"ok:{second}", "--", "echo third >> ran")
    others = [cluster.submit("--after", f"ok:{third}", "--", "echo other >> ran") for _ in range(12)]
    cluster.node("n1", "-j", "4", "--cpus", "4")
    place.write("go", "exit 1")
    cluster.spate("job wait", others[-1], code=1)
    os.remove(os.path.join(place.dir, "go"))
    _, err = cluster.spate("job retry", first, "--dry-run")
    want(f"job {second}, which waited for job {first}, was cancelled; to have it wait again: " in err, err)
    _, err = cluster.spate("job retry", first)
    want(f"job {second}, which waited for job {first}, was cancelled; to have it wait again: " in err, err)
    want(err.rstrip().endswith(f" {second}") and str(third) not in err.split(), err)
    _, err = cluster.spate("job retry", second, third)
    want(f"job {second} waits first for job {first} again" in err, err)
    want(f"job {third} waits first for job {second} again" in err, err)
    want(f"12 jobs that waited for job {third} were cancelled; to have the first 10 wait again: " in err, err)
    want(err.rstrip().endswith(" ".join(str(job) for job in others[:10])), err)
    place.write("go", "exit 0")
    cluster.spate("job wait", third)
    want(place.lines("ran") == ["exit 1", "exit 0", "second", "third"], place.read("ran"))
    # Those that are named run when what they waited for has ended; it says that they wait no more.
    _, err = cluster.spate("job retry", others[0])
    want(f"job {others[0]} does not wait for job {third}, which has ended" in err, err)
    cluster.spate("job wait", others[0])
    want(place.lines("ran")[4:] == ["other"], place.read("ran"))


def test_an_open_job_grows(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    place.write("one.lst", "echo 1 >> ran")
    place.write("more.lst", "echo 2 \\", "  >> ran", "echo 3 >> ran")
    place.write("steps.sh", "echo 4 >> ran", "set -e")
    job = cluster.submit("--open", "one.lst")
    wait(lambda: place.lines("ran"), "the first line runs")
    _, err = place.run(job, "steps.sh", command="job add", code=2)
    want("steps.sh:2: 'set -e' is a line of a script" in err and "spate job add 1 -- bash steps.sh;" in err, err)
    place.run(job, "more.lst", command="job add")
    cluster.spate("job close", job)
    cluster.spate("job wait", job)
    want(sorted(place.lines("ran")) == ["1", "2", "3"], place.read("ran"))


def test_lines_that_are_added_are_for_the_jobs_shell(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    place.write("one.lst", "echo 1 >> ran")
    place.write("more.lst", "echo 2 >> ran", "cat <<< 3 >> ran")
    job = cluster.submit("--open", "one.lst")
    named = cluster.submit("--open", "--shell", "/bin/sh -f", "one.lst")
    place.write("glob.lst", "echo on[e].lst >> ran")
    cluster.spate("job add", job, "more.lst")
    cluster.spate("job add", named, "glob.lst")
    for each in job, named:
        cluster.spate("job close", each)
        cluster.spate("job wait", each)
    want(sorted(place.lines("ran")) == ["1", "1", "2", "3", "on[e].lst"], place.read("ran"))


def test_tasks_of_another_kind_are_not_added(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    place.write("important", "all that there is")
    place.write("one.lst", "echo 1 >> ran")
    place.write("two.dag", "TASK a sh -c 'echo a >> ran'")
    words = ["echo", "safe", "{}", ":::", "rm -f important"]

    def add(job, *argv, says):
        _, err = cluster.spate("job add", job, *argv, code=2)
        want(f"nothing was added to job {job}" in err and says in err, err)

    of_list = cluster.submit("--open", "one.lst")
    add(of_list, "--", *words, says=f"To add to job {of_list}: spate job add {of_list} LIST")
    add(of_list, "two.dag", says="these are the TASK records of a DAG file")
    of_command = cluster.submit("--open", "--", "echo", "{}", ">>ran", ":::", "b")
    add(of_command, "--", *words, says="these are values for the command echo safe '{}'")
    add(of_command, "one.lst", says=f"spate job add {of_command} -- echo '{{}}' '>>ran' ::: VALUES")
    of_graph = cluster.submit("--open", "two.dag")
    add(of_graph, "one.lst", says=f"spate job add {of_graph} FILE.dag")
    cluster.spate("job add", of_command, "--", "echo", "{}", ">>ran", ":::", "c")
    for job in (of_list, of_command, of_graph):
        cluster.spate("job close", job)
        cluster.spate("job wait", job)
    want(sorted(place.lines("ran")) == ["1", "a"], place.read("ran"))
    out, _ = cluster.spate("job cat", of_command)
    want(sorted(out.splitlines()) == ["b >>ran", "c >>ran"], out)
    want(place.read("important"), "it is there")


def test_a_second_hub_and_a_second_node_are_refused(place: Place):
    cluster = cluster_of(place)
    _, err = cluster.spate("hub start", "--allow-root", "--listen", "none", code=3)
    want(str(cluster.hub.pid) in err, err)
    cluster.node("n1")
    other = dict(place.env, SPATE_STATE=os.path.join(place.dir, "other"))
    access = cluster.access("--role", "node", name="node.access")
    cluster.node("n1b", "--name", "n1", "--access", access, env=other, join=False)
    wait(lambda: "already connected" in place.read("n1b.log"), "the second n1 is told")


def test_run_on_a_hub_shows_what_run_shows(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    out, err = place.run("--hub", "-k", "--", "echo {}; echo e{} >&2; exit {}", ":::", "0", "1", "0",
                         code=1)
    want(out == "0\n1\n0\n", out)
    want("e1" in err and "2 succeeded, 1 failed" in err and "spate job retry 1" in err, err)
    out, _ = place.run("--hub", "-q", "--", "head -c 300000 /dev/zero | tr '\\0' x; echo end")
    want(out == "x" * 300000 + "end\n", len(out))
    out, _ = place.run("2", command="job cat")
    want(out == "x" * 300000 + "end\n", len(out))


def test_run_on_a_hub_survives_the_hub_and_ctrl_c(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    run = place.start("--hub", "--", "echo {} >> ran; echo out{}; while ! test -e go{}; do sleep 0.05; done",
                      ":::", "1", "2", "3")
    wait(lambda: place.lines("ran") == ["1"], "the first task runs")
    cluster.kill_hub()
    place.write("go1")
    cluster.start_hub()
    wait(lambda: place.lines("ran") == ["1", "2"], "the second task runs")
    place.write("go2")
    wait(lambda: place.lines("ran") == ["1", "2", "3"], "the third task runs")
    want(run.stdout.readline() == b"out1\n" and run.stdout.readline() == b"out2\n", "outputs")
    run.send_signal(signal.SIGINT)
    wait(lambda: run.poll() is not None, "run has gone away")
    err = run.stderr.read().decode()
    want(run.returncode == 130 and "spate job progress 1" in err and "the hub is unreachable" in err, err)
    place.write("go3")
    cluster.spate("job wait", "1")


def test_run_on_a_hub_hears_of_a_cancelled_job(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    run = place.start("--hub", "--", "echo {} >> ran; sleep 1000", ":::", "1", "2")
    wait(lambda: place.lines("ran"), "the first task runs")
    cluster.spate("job cancel", "1")
    _, err = run.communicate(timeout=DEADLINE)
    want(run.returncode == 1 and b"cancelled" in err, err)


def test_output_is_followed(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--", "echo o{}; echo e{} >&2; while ! test -e go{}; do sleep 0.05; done",
                         ":::", "1", "2")
    follow = subprocess.Popen([SPATE, "job", "cat", "--follow", job], cwd=place.dir, env=place.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    place.write("go1")
    want(follow.stdout.readline() == b"o1\n", "the first output")
    place.write("go2")
    out, err = follow.communicate(timeout=DEADLINE)
    want((out, err) == (b"o2\n", b"e1\ne2\n"), (out, err))
    out, err = cluster.spate("job tail", "--lines", "2", job)
    want((out, err) == ("o2\n", "e2\n"), (out, err))


def test_the_tail_goes_on(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--", "seq {}0 {}9; while ! test -e go{}; do sleep 0.05; done", ":::", "1", "2", "3")
    place.write("go1")
    wait(lambda: "19\n" in cluster.spate("job tail", job)[0], "the first output")
    follow = subprocess.Popen([SPATE, "job", "tail", "-n", "2", "-f", job], cwd=place.dir, env=place.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    want(follow.stdout.readline() + follow.stdout.readline() == b"18\n19\n", "the last lines")
    place.write("go2")
    want(follow.stdout.readline() == b"20\n", "the next output, whole")
    place.write("go3")
    out, err = follow.communicate(timeout=DEADLINE)
    want(out.endswith(b"38\n39\n") and err == b"", (out, err))
    want(cluster.spate("task list", job)[0] == cluster.spate("job tasks", job)[0], "the same list")
    want(cluster.spate("task cat", f"{job}.2")[0].startswith("20\n"), "the same output")


def test_more_tasks_ask_for_what_a_job_needed(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    _, err = cluster.spate("submit", "--like", "1", "--", "true", code=2)
    want("--like: no jobs on the hub yet" in err, err)
    failed = cluster.submit("--wait", "--", "false", code=1)
    _, err = cluster.spate("submit", "--like", failed, "--", "true", code=2)
    want(f"--like: no task of job {failed} has succeeded" in err, err)
    job = cluster.submit("--wait", "--", "sort /etc/passwd > /dev/null; echo")
    options, talk = cluster.spate("report", "--suggest", job)
    asked = re.fullmatch(r"--memory (\d+)M --time (\d+)s\n", options)
    want(asked and f"1 of 1 tasks of job {job} succeeded" in talk, (options, talk))
    out, err = cluster.spate("submit", "--like", job, "--time", "1h", "--", "echo $SPATE_MEMORY")
    want(err.startswith(f"spate: like job {job}: {options}"), err)
    cluster.spate("job wait", out.strip())
    memory, _ = cluster.spate("job cat", out.strip())
    want(int(memory) == int(asked[1]) << 20, (memory, options))


def test_a_report_tells_what_a_job_ran_beside(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    alone = cluster.submit("--", "true")
    cluster.spate("job wait", alone)
    # The first one stays for three times as long as it was alone, and the second one until then.
    begun = time.monotonic()
    near = cluster.submit("--bound", "network", "--", "until test -e near; do sleep 0.01; done")
    far = cluster.submit("--bound", "cpu", "--", "touch begun; until test -e far; do sleep 0.01; done")
    wait(lambda: os.path.exists(os.path.join(place.dir, "begun")), "both run")
    time.sleep(3 * (time.monotonic() - begun))
    place.write("near")
    cluster.spate("job wait", near)
    place.write("far")
    cluster.spate("job wait", far)
    out, _ = cluster.spate("report", alone, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    want([(row["type"], row.get("beside")) for row in rows] == [("use", None), ("pair", "alone")], rows)
    out, _ = cluster.spate("report", near)
    want(re.search(r"^cpu jobs +1 ", out, re.M) and not re.search("^alone", out, re.M), out)


def test_a_retry_asks_for_something_else(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "4", "--gpus", "0,1")
    place.write("go2")
    job = cluster.submit("--memory", "64M", "--", 'echo "{} $SPATE_MEMORY $SPATE_CPUS $SPATE_GPUS"; test -e go{}',
                         ":::", "1", "2")
    cluster.spate("job wait", job, code=1)
    place.write("go1")
    want(cluster.spate("job cat", job)[0].splitlines()[0].startswith("1 67108864 1"), "its first needs")
    for options, problem in ((["--retries", "3"], "keeps the options"), (["--memory", "much"], "--memory"),
                             (["--time-limit", "soon"], "--time-limit")):
        _, err = cluster.spate("job retry", job, *options, code=2)
        want(problem in err, err)
    _, err = cluster.spate("job retry", job, "--dry-run")
    want("would be" in err and "1 task" in err, err)
    cluster.spate("job retry", job, "--memory", "1G", "--cpus", "2", "--gpus", "1")
    cluster.spate("job wait", job)
    out, _ = cluster.spate("job cat", job)
    want(re.match(r"1 1073741824 2 [01]\n2 67108864 1 \n", out), out)
    info, _ = cluster.spate("task info", f"{job}.1")
    want("2 cpus, 1.0 GB of memory, 1 of 'gpus'" in info, info)


def test_an_ended_job_is_retried_by_many_at_once(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    job = cluster.submit("--wait", "--array", "1-400", "--", "echo x >> ran; test $((SPATE_TASK_INDEX % 2)) = 0 || test -e go #", code=1)
    place.write("go")
    command = [SPATE, "job", "retry", job]
    asked = [subprocess.Popen(command, cwd=place.dir, env=place.env, stderr=subprocess.PIPE)
             for _ in range(6)]
    told = [process.communicate(timeout=60)[1].decode() for process in asked]
    want(all(process.returncode == 0 for process in asked), told)
    cluster.spate("job wait", job)
    want(len(place.lines("ran")) == 600, f"{len(place.lines('ran'))} attempts, not 400 and 200")
    # Who waits for each of its tasks hears how they ended, though the hub has forgotten them.
    other = cluster.submit("--wait", "--array", "1-400", "--after", f"each:{job}", "--", "true")
    out, _ = cluster.spate("job info", other)
    want("400 succeeded" in out, out)
    # One who goes away meanwhile is no reason to keep it.
    for _ in range(20):
        process = subprocess.Popen(command, cwd=place.dir, env=place.env, stderr=subprocess.DEVNULL)
        process.kill()
        process.wait()
    _, err = cluster.spate("job retry", job)
    want("nothing to retry" in err, err)


def test_a_retry_may_have_more_time(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    job = cluster.submit("--time-limit", "0.2", "--", "test -e go || sleep 100; sleep 0.4")
    cluster.spate("job wait", job, code=1)
    place.write("go")
    cluster.spate("job retry", job)
    cluster.spate("job wait", job, code=1)
    cluster.spate("job retry", job, "--time-limit", "100")
    cluster.spate("job wait", job)
    out, _ = cluster.spate("job tasks", job, "--output", "json")
    want(json.loads(out)["attempts"] == 3, out)
    job = cluster.submit("--", "test {} = 2 && sleep 100; false", ":::", "1", "2")
    wait(lambda: '"failed"' in cluster.spate("job tasks", job, "--output", "json")[0], "one has failed")
    _, err = cluster.spate("job retry", job, "--time-limit", "9", code=3)
    want("has not ended" in err, err)


def test_an_end_is_notified_of(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    for command, how in (("true", "succeeded"), ("false", "failed"), ("sleep 1000", "cancelled")):
        out, err = place.run("--notify", "echo $SPATE_NOTIFY_JOB >> ended; pwd > where", "--env", "none",
                             "--", command, command="submit")
        job = out.strip()
        want(job.isdigit() and f"job {int(job) + 1} runs the command of --notify" in err, (out, err))
        if how == "cancelled":
            want(job not in place.lines("ended"), "not yet")
            cluster.spate("job cancel", job)
        cluster.spate("job wait", str(int(job) + 1))
        want(place.lines("ended").count(job) == 1, place.read("ended"))
    want(place.lines("where") == [place.dir], place.read("where"))
    # What it leaves in the background is waited for, as with a task.
    out, _ = place.run("--notify", "{ sleep 1; echo > late; } &", "--", "true", command="submit")
    cluster.spate("job wait", str(int(out) + 1))
    want(os.path.exists(os.path.join(place.dir, "late")), "it was ended early")
    _, err = place.run("--notify", "", "--", "true", command="submit", code=2)
    want("name a command" in err, err)


def test_users_have_shares_and_bounds(place: Place):
    cluster = cluster_of(place)
    _, err = cluster.spate("hub user", "root", "--max-running", "1", "--weight", "3")
    want("weight 3, 1 running" in err, err)
    cluster.node("n1", "-j", "4", "--cpus", "4")
    job = cluster.submit("--", "echo {} >> ran; while ! test -e go; do sleep 0.05; done", ":::", "a", "b")
    wait(lambda: place.lines("ran"), "one runs")
    out, _ = cluster.spate("hub user", "root", "--output", "json")
    want(json.loads(out)["running"] == 1, out)
    out, _ = cluster.spate("task explain", f"{job}.2")
    want("1" in out and "root" in out, out)
    place.write("go")
    cluster.spate("job wait", job)
    cluster.kill_hub()
    cluster.start_hub()
    out, _ = cluster.spate("hub user", "root", "--output", "json")
    want(json.loads(out)["weight"] == 3, out)
    cluster.spate("hub user", "root", "--max-running", "0", "--max-output", "1M")
    job = cluster.submit("--wait", "--", "head -c 2000000 /dev/zero")
    out, _ = cluster.spate("job cat", job, code=1)  # something is missing
    want(len(out) <= 1 << 20, "the job keeps no more than the user may")
    place.write("half", os.urandom(600_000).hex())
    job = cluster.submit("--put", "half", "--", "true")
    place.write("other", os.urandom(600_000).hex())
    _, err = place.run("--put", "other", "--", "true", command="submit", code=3)
    want("but the limit is 1.0 MB" in err and "job forget" in err, err)
    cluster.spate("job wait", job)
    cluster.spate("job forget", job)
    cluster.submit("--put", "other", "--", "true")


def test_jobs_are_forgotten(place: Place):
    cluster = cluster_of(place)
    running = cluster.submit("--", "true")
    _, err = cluster.spate("job forget", running, code=3)
    want("has not ended" in err, err)
    cluster.node()
    cluster.spate("job wait", running)
    kept = cluster.submit("--wait", "--", "echo kept").split()[0]
    cluster.spate("job forget", running)
    out, _ = cluster.spate("job list", "--output", "json")
    want([json.loads(line)["job"] for line in out.splitlines()] == [int(kept)], out)
    want(cluster.spate("job cat", kept)[0] == "kept\n", "the other job is whole")
    cluster.kill_hub()
    cluster.start_hub()
    cluster.spate("job info", running, code=2)
    job = cluster.submit("--", "true")
    want(int(job) > int(kept), "numbers are not used again")


def test_jobs_share_by_weight_and_change(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "4")
    task = "echo {}.$SPATE_JOB_ID >> ran; while ! test -e go; do sleep 0.05; done"
    first = cluster.submit("--array", "1-9", "--max-running", "1", "--", task)
    wait(lambda: len(place.lines("ran")) == 1, "one of the first job runs")
    second = cluster.submit("--array", "1-9", "--weight", "300", "--", task)
    wait(lambda: len(place.lines("ran")) == 4, "the node is full")
    _, err = cluster.spate("job set", first, "--max-running", "0", "--weight", "50")
    want("changed" in err, err)
    _, err = cluster.spate("job set", first, code=2)
    want("nothing to change" in err, err)
    cluster.spate("job set", second, "--priority", "7", "--time", "90m", "--deadline", "+5h")
    page = cluster.spate("job info", second)[0]
    for line in ("priority   7\n", "time limit 1h30m\n", "deadline   "):
        want(line in page, page)
    facts = json.loads(cluster.spate("job info", second, "--json")[0])
    want(facts["priority"] == 7 and facts["time_limit"] == 5400 and facts["deadline"] > time.time() + 4 * 3600, facts)
    cluster.kill_hub()
    cluster.start_hub()
    want(json.loads(cluster.spate("job info", second, "--json")[0])["time_limit"] == 5400, "the journal has it")
    place.write("go")
    cluster.spate("job wait", first, second)


def test_nodes_tell_how_they_are(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    job = cluster.submit("--", "while ! test -e go; do sleep 0.05; done")

    def state():
        return json.loads(cluster.spate("node list", "--output", "json")[0])
    wait(lambda: state().get("free_memory", 0) > 0, "the node has told of itself")
    wait(lambda: f"runs       {job}.1 since" in cluster.spate("node info", "n1")[0], "it tells what runs")
    place.write("go")
    cluster.spate("job wait", job)
    wait(lambda: f"{job}.1" not in cluster.spate("node info", "n1")[0], "it has ended")


if __name__ == "__main__":
    main(globals())
