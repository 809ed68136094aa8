"""`spate run` as a person uses it: sources, lists, failures, files, bad input."""
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import subprocess

from harness import DEADLINE, Place, SPATE, main, mounted, wait, want


def test_outputs_are_grouped_and_shown(place: Place):
    place.write("jobs.lst", "# a comment", "", "echo one; echo oops >&2", "echo two")
    out, err = place.run("-k", "jobs.lst")
    want(out == "one\ntwo\n", out)
    want("oops\n" in err and "2 tasks: 2 succeeded" in err, err)


def test_failed_tasks_make_the_run_fail_and_retry_runs_just_them(place: Place):
    place.write("jobs.lst", *(f"echo {i} >> ran; test {i} -ne 3 -o -e fixed" for i in range(1, 6)))
    _, err = place.run("jobs.lst", code=1)
    want("spate job retry 1" in err, err)
    place.write("fixed")
    place.run("last", command="job retry")
    want(sorted(place.lines("ran")) == ["1", "2", "3", "3", "4", "5"], place.read("ran"))
    _, err = place.run("last", command="job retry")
    want("nothing to retry" in err, err)


def test_statuses(place: Place):
    place.write("jobs.lst", "no-such-command-here", "/etc/passwd", "exit 3", "kill -9 $$")
    _, err = place.run("jobs.lst", code=1)
    for text in ("command not found (127)", "(126)", "exit code 3", "signal 9"):
        want(text in err, err)


def test_values(place: Place):
    out, _ = place.run("-k", "--", "echo", "{2}-{1}", ":::", "a", "b", ":::", "x", "y z")
    want(out == "x-a\ny z-a\nx-b\ny z-b\n", out)
    out, _ = place.run("-k", "--", "echo {} | tr a-z A-Z", ":::", "it's", "x  y")
    want(out == "IT'S\nX  Y\n", out)
    out, _ = place.run("-k", "--", "echo", "{/.}", stdin=b"/a/b.c\n/d/e.f\n")
    want(out == "b\ne\n", out)
    out, _ = place.run("--", "echo", "{}")
    want(out == "{}\n", out)


def test_a_command_that_continues_in_the_next_line_is_one_task(place: Place):
    place.write("in.txt", "b", "a")
    place.write("jobs.lst", "# a comment \\", "sort in.txt \\", "  > out.txt", "", "exit \\", "\\", "3", "echo a # b \\",
                "echo c", "echo d\\\\", "exit 4")
    out, err = place.run("-k", "jobs.lst", code=1)
    want(out == "a\nc\nd\\\n" and "6 tasks: 4 succeeded, 2 failed" in err, out + err)
    want(place.lines("out.txt") == ["a", "b"], place.read("out.txt"))
    want("task 2 (jobs.lst:5)" in err and "task 6 (jobs.lst:11)" in err, err)
    out, _ = place.run("--dry-run", "jobs.lst")
    want(out.splitlines()[:2] == ["sort in.txt   > out.txt", "exit 3"], out)
    # Nothing of a command whose rest is missing runs.
    place.write("cut.lst", "echo x > ran", "rm -r out.txt \\", "  {check out exists \\")
    for words, name, stdin in ((["cut.lst"], "cut.lst", None), (["-"], "standard input", place.read("cut.lst").encode())):
        _, err = place.run(*words, stdin=stdin, code=2)
        want(f"{name}:2: the command ends in a backslash, but the list has no line after it" in err, err)
    want(not place.lines("ran") and place.lines("out.txt"), "a list that is refused runs nothing")
    # Of a list that is followed, no half of a line starts.
    process = place.start("-q", "--follow", "-", stdin=subprocess.PIPE)
    process.stdin.write(b"echo first\necho sec\\\n")
    process.stdin.flush()
    want(process.stdout.readline() == b"first\n", "the first task's output")
    out, _ = process.communicate(input=b"ond\n", timeout=DEADLINE)
    want(out == b"second\n" and process.returncode == 0, out)


def test_values_end_as_they_are(place: Place):
    place.write("values", "a\\", "b")
    for words in (["-a", "values", "--", "echo", "{}"], ["--", "echo", "{}", "::::", "values"]):
        out, _ = place.run("-q", "-k", *words)
        want(out == "a\\\nb\n", (words, out))
    place.write("json", '{"v": "a\\\\"}', '{"v": "b"}')
    out, _ = place.run("-q", "-k", "--json-lines", "json", "--", "echo", "{v}")
    want(out == "a\\\nb\n", out)


def test_json_lines_are_values_with_names(place: Place):
    place.write("things", '{"name": "a b", "size": 1.50}', '{"size": 2, "name": "it\'s"}')
    out, _ = place.run("-k", "--json-lines", "things", "--", "echo {name} {size} | tr a-z A-Z")
    want(out == "A B 1.50\nIT'S 2\n", out)
    out, _ = place.run("-k", "--json-lines", "-", "--", "echo", "{x}{2}", ":::", "1", "2", stdin=b'{"x":true}\n')
    want(out == "true1\ntrue2\n", out)
    place.write("nested", '{"name": "a", "size": {}}')
    _, err = place.run("--json-lines", "nested", "--", "touch", "ran", code=2)
    want("nested: line 1: the value of 'size' is nested" in err and not place.lines("ran"), err)
    place.write("missing", '{"name": "a", "size": 1}', '{"name": "b"}')
    _, err = place.run("--json-lines", "missing", "--", "touch", "ran", code=2)
    want("missing: line 2: the key 'size' is missing" in err and not place.lines("ran"), err)
    _, err = place.run("--json-lines", "-", "-a", "-", "--", "echo", code=2)
    want("standard input is named as a source twice" in err, err)
    place.write("jobs.lst", "true")
    _, err = place.run("--json-lines", "things", "jobs.lst", code=2)
    want("--json-lines is for the values of a command" in err, err)


def test_results_begin_again_for_each_record(place: Place):
    place.run("-n", "2", "--results", "res", "--", "echo", ":::", "a", "b", "c", "d")
    want(place.read("res/1/a/1/b/stdout") == "a b\n", "as GNU parallel names them")
    place.run("--results", "two", "--", "echo", ":::", "a", ":::", "b")
    want(place.read("two/1/a/2/b/stdout") == "a b\n", "two sources are one record")


def test_a_dry_retry_prints_what_failed(place: Place):
    place.write("jobs.lst", "echo a", "false b", "false c")
    place.run("jobs.lst", code=1)
    out, _ = place.run("--dry-run", "last", command="job retry")
    want(out == "false b\nfalse c\n", out)
    out, _ = place.run("--dry-run", "last.3", command="job retry")
    want(out == "false c\n", out)


def test_a_retry_asks_for_something_else(place: Place):
    place.write("jobs.lst", "{use ram 32M} echo $SPATE_MEMORY $SPATE_CPUS; test -e go", "echo kept")
    place.run("jobs.lst", code=1)
    place.write("go")
    _, err = place.run("last", "--cpus", "9999", command="job retry", code=2)
    want("job 1: it needs 9999 cpus" in err and "nothing was started" in err, err)
    out, _ = place.run("last", "--memory", "64M", "--cpus", "0.5", command="job retry")
    want(out == "67108864 0.5\n", out)


def test_retries_count_further_tries(place: Place):
    place.write("jobs.lst", "echo x >> tries; test $(wc -l < tries) -ge 3")
    place.run("--retries", "1", "jobs.lst", code=1)
    want(len(place.lines("tries")) == 2, place.read("tries"))
    place.run("--retries", "1", "jobs.lst")
    want(len(place.lines("tries")) == 3, place.read("tries"))


def test_checks_decide(place: Place):
    place.write("jobs.lst", "echo ok > {check out line+ good}", "true {check out exists missing}")
    _, err = place.run("jobs.lst", code=1)
    want("missing does not exist" in err and "1 succeeded, 1 failed" in err, err)
    place.write("in.lst", "cat {check in exists+ a}", "cat {check in exists b}", "cat good")
    _, err = place.run("in.lst", code=2)
    want("in.lst:1: a does not exist" in err and "in.lst:2: b does not exist" in err, err)
    want(len(place.jobs()) == 1, "a wrong list must store nothing")


def test_environment_of_tasks(place: Place):
    place.write("jobs.lst", 'echo "$SPATE_JOB_ID $SPATE_TASK_ID $SPATE_TASK_INDEX '
                            '$SPATE_ATTEMPT $SPATE_CPUS $X"; cat')
    out, _ = place.run("--env", "X=y z", "jobs.lst")
    want(out == "1 1.1 1 1 1 y z\n", out)
    out, _ = place.run("--env", "HOME", "--", "echo $HOME")  # as in parallel; it is inherited anyway
    want(out.strip() == os.environ["HOME"], out)


def test_resources_have_indices(place: Place):
    out, _ = place.run("-k", "-j", "2", "--cpus", "0", "--offer", "card=red,blue", "--resource",
                       "card=1", "--", "echo $SPATE_RESOURCE_CARD; true", ":::", "1", "2")
    want(set(out.split()) <= {"red", "blue"} and len(out.split()) == 2, out)
    _, err = place.run("--resource", "card=3", "--", "true", code=2)
    want("card" in err and "--offer" in err, err)


def test_gpus_of_a_grant(place: Place):
    names = cuda, hip, rocr, ze = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                   "ZE_AFFINITY_MASK")
    show = "echo $SPATE_GPUS " + " ".join(f"${{{name}--}}" for name in names)

    def see(grant, *options, code=0):
        place.env = {k: v for k, v in place.env.items() if k not in names} | grant
        out, err = place.run(*options, "--", show, code=code)
        return out.strip() if code == 0 else err

    # A grant, options, what a task sees: one variable more than it has from the grant would select again.
    for grant, options, seen in (
            ({cuda: "4,5"}, ("--gpus", "1"), "4 4 - - -"),
            ({cuda: "4,5"}, ("--gpus", "2", "--offer", "gpus=2"), "4,5 4,5 - - -"),
            ({cuda: "4,5"}, ("--gpus", "1", "--offer", "gpus=1"), "4 4 - - -"),
            ({cuda: "1,2"}, ("--gpus", "2", "--offer", "gpus=0,1"), "1,2 1,2 - - -"),
            ({cuda: "GPU-8f6d,GPU-ab"}, ("--gpus", "1", "--offer", "gpus=1"), "GPU-8f6d GPU-8f6d - - -"),
            ({cuda: "MIG-GPU-8f6d/1/0"}, ("--gpus", "1"), "MIG-GPU-8f6d/1/0 MIG-GPU-8f6d/1/0 - - -"),
            ({rocr: "2,3"}, ("--gpus", "1"), "2 - - 2 -"),
            ({rocr: "2,3"}, ("--gpus", "2", "--offer", "gpus=2"), "2,3 - - 2,3 -"),
            ({hip: "2,3"}, ("--gpus", "1"), "2 - 2 - -"),
            ({rocr: "4,5", hip: "0,1"}, ("--gpus", "1"), "0 - 0 4,5 -"),
            ({ze: "0.1,1"}, ("--gpus", "1"), "0.1 - - - 0.1")):
        found = see(grant, *options)
        want(found == seen, f"{grant} {options}: {found}, not {seen}")
    for grant, offered, why in (
            ({cuda: "4,5"}, "gpus=3", "CUDA_VISIBLE_DEVICES grants only 2 GPUs (4,5)"),
            ({rocr: "4"}, "gpus=4,5", "ROCR_VISIBLE_DEVICES grants only 1 GPU (4)"),
            ({cuda: ""}, "gpus=1", "CUDA_VISIBLE_DEVICES grants no GPUs"),
            ({cuda: "NoDevFiles"}, "gpus=1", "CUDA_VISIBLE_DEVICES grants no GPUs")):
        err = see(grant, "--gpus", "1", "--offer", offered, code=2)
        want(why in err, f"{grant} {offered}: {err}")
    found = see({}, "--gpus", "2", "--offer", "gpus=2").split()
    want(found[0] == "0,1" and sorted(found[1:]) == ["-", "-", "-", "0,1"], str(found))


def test_time_limit(place: Place):
    _, err = place.run("--time-limit", "100ms", "--kill-grace", "100ms", "--",
                       "trap '' TERM; sleep 100; sleep 100", code=1)
    want("time limit" in err, err)


def test_memory_is_enforced(place: Place):
    hog = "import time; b = bytearray(300 << 20); print(len(b)); time.sleep(60)"
    _, err = place.run("--memory", "100M", "--", "python3", "-c", hog, code=1)
    want("memory" in err, err)
    # The task's own message, its failure and the summary have the same peak, though it still grows.
    grows = "b = []\nwhile len(b) < 600: b.append(b'x' * (1 << 20))\nimport time; time.sleep(60)"
    _, err = place.run("--memory", "100M", "--", "python3", "-c", grows, code=1)
    peaks = re.findall(r"(?:used|peak) ([\d.]+ \w+)", err)
    want(len(peaks) >= 2 and len(set(peaks)) == 1, err)


def test_shared_and_mapped_pages_are_no_need(place: Place):
    # Six processes that share 60 MB, and one that reads a file of 200 MB by a mapping.
    fork = ("import os, time\n"
            "b = b'x' * (60 << 20)\n"
            "for i in range(5):\n"
            "    if os.fork() == 0: time.sleep(2); os._exit(len(b) % 2)\n"
            "for i in range(5): os.wait()\n")
    mapped = ("import mmap, time\n"
              "f = open('big'); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)\n"
              "n = sum(m[::4096]); time.sleep(2); print(n)\n")
    with open(os.path.join(place.dir, "big"), "wb") as big:
        big.truncate(200 << 20)
    place.write("fork.py", fork)
    place.write("mapped.py", mapped)
    place.run("--memory", "140M", "-j2", "--", "python3 {}", ":::", "fork.py", "mapped.py")
    peaks = [json.loads(place.run(f"last.{n}", "--json", command="task info")[0])["ends"][0]["peak_memory"]
             for n in (1, 2)]
    want(55 << 20 < peaks[0] < 140 << 20 and peaks[1] < 100 << 20, str(peaks))
    if not os.environ.get("SPATE_SANITIZE"):
        # The task's, not that of the process which starts it.
        out, _ = place.run("--json", "--", "/bin/true")
        peak = [end for end in map(json.loads, out.splitlines()) if end["type"] == "end"][0]["peak_memory"]
        want(0 < peak < 3500 << 10, str(peak))


def test_a_task_is_over_when_all_that_it_started_is(place: Place):
    # As dash reads "&>": in the background, with a log that is empty.
    place.write("work.sh", "until test -e go; do sleep 0.01; done", "echo done > result")
    place.write("l", "sh ./work.sh & > log", "touch go")
    place.run("-j1", "--shell", "/bin/sh", "l", "--leftovers", "wait=200ms", code=1)
    want(not place.lines("result"), place.read("result"))
    os.unlink(os.path.join(place.dir, "go"))
    place.run("-j2", "--shell", "/bin/sh", "l")
    want(place.lines("result") == ["done"], place.read("result"))
    lines = 300_000
    place.run("--shell", "bash", "--", f"seq {lines} | tee >(sort -n > f) > /dev/null")
    want(len(place.lines("f")) == lines, str(len(place.lines("f"))))


def test_leftovers_that_fail_or_stay_make_the_task_fail(place: Place):
    _, err = place.run("--", "sh -c 'sleep 1; exit 3' & exit 0", code=3)
    want(re.search(r"task 1: exit code 3: left running: sh \(pid \d+\) exited with 3 after ", err), err)
    for how in ("wait=100ms", "fail"):
        _, err = place.run("--leftovers", how, "--", "sleep 1000 & exit 0", code=1)
        want(re.search(r"task 1: left processes running: sleep \(pid \d+\); end the command with `wait`, "
                       r"or use --leftovers after ", err), err)
        out, _ = place.run("last.1", command="task info")
        want("left processes running: sleep" in out and "1 process outlived it" in out, out)
    _, err = place.run("--leftovers", "end", "--", "sleep 1000 & exit 0")
    want("spate: 1 task left processes running, which were terminated:\n  task 1: sleep (pid " in err, err)
    for command in ("sleep 1000 & kill $!", "sleep 1000 & wait=$!; kill $wait; wait $wait; exit 0"):
        place.run("--", command)
    place.run("--shell", "bash", "--", "head -1 <(yes)")
    # A daemon is ended and named; nobody waits for it.
    _, err = place.run("--", "setsid sleep 1000 & exit 0")
    want("task 1: sleep (pid " in err and "1 succeeded" in err, err)


def cgroup_tree_of(place):
    """The cgroup below which a run of this place has its tasks; empty: it makes none here."""
    out, _ = place.run("-q", "--", "grep ^0:: /proc/self/cgroup")
    found = re.match(r"0::(.*/)spate-[^/]*/", out)
    return found.group(1) if found else ""


def test_runs_in_other_pid_namespaces_leave_each_other_alone(place: Place):
    """Both make cgroups in the same folder, and a process of one has no number in the other."""
    inside = ["unshare", "--pid", "--fork", "--mount-proc"]
    if shutil.which("unshare") is None or subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        return print("       (skipped: unshare may not make a pid namespace)")
    tree = cgroup_tree_of(place)
    if not tree:
        return print("       (skipped: no cgroup is writable here)")

    def start(name, *before):
        command = (f"grep ^0:: /proc/self/cgroup >> {name}.cgroup; echo > {name}.runs; "
                   f"until [ -e go ]; do sleep 0.05; done; grep ^0:: /proc/self/cgroup > {name}.done")
        return subprocess.Popen([*before, SPATE, "run", "-q", "-j1", "--", command], cwd=place.dir, env=place.env,
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    for first, then in (([], inside), (inside, []), (inside, inside)):
        runs = {}
        for name, before in (("first", first), ("then", then)):
            runs[name] = start(name, *before)
            wait(lambda: os.path.exists(os.path.join(place.dir, f"{name}.runs")) or runs[name].poll() is not None,
                 f"{name} runs")
            want(runs[name].poll() is None, name)
            want(f"0::{tree}spate-" in place.read(f"{name}.cgroup"), place.read(f"{name}.cgroup"))
        # Each start looks for what dead runs left.
        for before in ([], inside):
            subprocess.run([*before, SPATE, "run", "-q", "--", "true"], cwd=place.dir, env=place.env, check=True,
                           stdin=subprocess.DEVNULL)
        place.write("go")
        for name, run in runs.items():
            _, err = run.communicate(timeout=DEADLINE)
            want(run.returncode == 0 and place.read(f"{name}.done") == place.read(f"{name}.cgroup"),
                 f"{name}: it ran once, in its own cgroup: {err}, {place.read(name + '.cgroup')}")
        for name in ("go", *(f"{run}.{what}" for run in runs for what in ("cgroup", "runs", "done"))):
            os.remove(os.path.join(place.dir, name))


def test_limits_hold_while_leftovers_are_waited_for(place: Place):
    _, err = place.run("--time-limit", "1s", "--", "sleep 1000 & exit 0", code=1)
    want("over its time limit" in err, err)
    run = place.start("--", "sleep 1000 & exit 0")
    seen = b""
    while b"left processes running: sleep (pid " not in seen:
        piece = os.read(run.stderr.fileno(), 4096)
        want(piece, f"not told: {seen}")
        seen += piece
    run.send_signal(signal.SIGTERM)
    want(run.wait(timeout=60) == 143, str(run.returncode))


def test_a_signal_comes_before_the_time_limit(place: Place):
    out, _ = place.run("--time-limit", "100s", "--signal", "USR1@98s", "--",
                       "trap 'echo saved; exit 0' USR1; while :; do sleep 0.01; done")
    want(out == "saved\n", out)
    place.run("--signal", "USR1@60s", "--", "true", code=2)


def test_halt_and_resume(place: Place):
    place.write("jobs.lst", *(f"echo {i} >> ran; test {i} -ne 2" for i in range(1, 9)))
    _, err = place.run("-j1", "--halt", "soon,fail=1", "jobs.lst", code=1)
    want(len(place.lines("ran")) < 8 and "--resume" in err, err)
    place.run("--resume", "jobs.lst", code=1)
    want(sorted(place.lines("ran")) == [str(i) for i in range(1, 9)], place.read("ran"))


def test_halting_on_success_is_a_success(place: Place):
    place.write("jobs.lst", "false", "true", "true", "sleep 60")
    place.run("-j1", "--halt", "soon,success=1", "jobs.lst")
    place.run("-j1", "--halt", "-1", "jobs.lst")
    place.run("-j1", "--halt", "soon,done=2", "jobs.lst", code=1)  # one of them failed
    place.run("-j1", "--halt", "soon,done=2", "--", "true", ":::", "1", "2", "3")


def test_a_changed_list(place: Place):
    place.write("jobs.lst", "echo a >> ran", "echo b >> ran; false", "echo c >> ran")
    place.run("-j1", "--halt", "soon,fail=1", "jobs.lst", code=1)
    place.write("jobs.lst", "echo new >> ran", "echo a >> ran")
    _, err = place.run("--resume", "jobs.lst")
    want("the list has changed: 1 new task, 2 tasks no longer in it\n" in err, err)
    want("2 tasks: 2 succeeded" in err, err)
    want(place.lines("ran") == ["a", "b", "new"], place.read("ran"))
    _, err = place.run("--resume", "jobs.lst")
    want("nothing left to do" in err, err)
    want(place.lines("ran") == ["a", "b", "new"], place.read("ran"))


def test_a_fixed_command_runs_and_the_run_can_succeed(place: Place):
    place.write("jobs.lst", "echo a >> ran", "ehco b >> ran", "echo c >> ran")
    place.run("jobs.lst", code=1)
    place.write("jobs.lst", "echo a >> ran", "echo b >> ran", "echo c >> ran")
    # A retry runs what the job has, and says so.
    _, err = place.run("last", command="job retry", code=1)
    want("1 task is no longer in the list as it was then; a retry runs the commands of job 1 as they were\n"
         "to run the list as it is now:  spate run --resume jobs.lst\n" in err, err)
    _, err = place.run("--resume", "jobs.lst")
    want("the list has changed: jobs.lst:2 edited\n" in err, err)
    want("3 tasks: 3 succeeded" in err, err)
    want(sorted(place.lines("ran")) == ["a", "b", "c"], place.lines("ran"))
    job = json.loads(place.run("last", "--json", command="job info")[0])
    want([job[key] for key in ("state", "total", "succeeded", "failed", "withdrawn")]
         == ["succeeded", 3, 3, 0, 1], job)
    tasks = [json.loads(line) for line in place.run("last", "--json", command="job tasks")[0].splitlines()]
    want([(task["task"], task["state"]) for task in tasks]
         == [(1, "succeeded"), (3, "succeeded"), (4, "succeeded")], tasks)
    out, _ = place.run("last.2", command="task explain")
    want("withdrawn" in out and "no longer in the list" in out, out)
    # As it was at first: what had run then is not run again, what had failed is.
    place.write("jobs.lst", "echo a >> ran", "ehco b >> ran", "echo c >> ran")
    _, err = place.run("--resume", "jobs.lst", code=1)
    want("3 tasks: 2 succeeded, 1 failed" in err, err)
    # Without the line nothing is wrong any more.
    place.write("jobs.lst", "echo c >> ran", "echo a >> ran")
    place.run("--resume", "jobs.lst")
    want(sorted(place.lines("ran")) == ["a", "b", "c"], place.lines("ran"))


def test_what_is_typed_beside_resume_is_obeyed_or_refused(place: Place):
    place.write("jobs.lst", "test -e go", *(["echo $SPATE_MEMORY $SPATE_CPUS"] * 2),
                "{use ram 32M} echo $SPATE_MEMORY $SPATE_CPUS")
    place.run("-q", "-j1", "--memory", "64M", "--halt", "soon,fail=1", "jobs.lst", code=1)
    place.write("go")
    for words, told in ((("--procs", "2"), "--procs: the first run did not have it"),
                        (("--deadline", "+1h"), "--deadline: the first run did not have it"),
                        (("--shuf",), "--order: the first run did not have it"),
                        (("--follow",), "--follow: only a new run"),
                        (("--memory", "9999T"), "jobs.lst:1: it needs")):
        _, err = place.run("--resume", *words, "jobs.lst", code=2)
        want(told in err, err)
    # How the first run was shown is no property of the job; a line's own needs go before --memory.
    out, err = place.run("--resume", "-k", "--memory", "96M", "--cpus", "0.5", "--name", "named",
                         "--halt", "never", "jobs.lst", code=1)
    want(out == "100663296 0.5\n" * 2 + "33554432 0.5\n", out)
    want("4 tasks: 3 succeeded, 1 failed" in err, err)
    want(json.loads(place.run("--json", command="job list")[0])["name"] == "named", "it has another name")
    _, err = place.run("last", "-q", "--quiet=false", command="job retry")
    want("4 tasks: 4 succeeded" in err, err)
    _, err = place.run("last", "--on", "n1", command="job retry", code=2)
    want("--on: " in err, err)


def test_how_a_run_is_shown_may_stand_in_the_environment(place: Place):
    place.env["SPATE_OPTIONS"] = "--quiet"
    _, err = place.run("--", "test -e {}", ":::", "a", "b", code=1)
    want([line[:13] for line in err.splitlines()] == ["spate: task 1", "spate: task 2"], err)
    _, err = place.run("--resume", "--", "test -e {}", ":::", "a", "b", code=1)
    want(err == "", err)
    del place.env["SPATE_OPTIONS"]
    _, err = place.run("last", command="job retry", code=1)
    want("2 failed" in err, err)


def test_joblog_goes_on(place: Place):
    place.write("jobs.lst", "true", "false", "true")
    place.run("-j1", "--joblog", "log", "--halt", "soon,fail=1", "jobs.lst", code=1)
    place.run("--resume", "jobs.lst", code=1)
    rows = [line.split("\t") for line in place.lines("log")]
    want(rows[0][:2] == ["Seq", "Host"] and all(len(row) == 9 for row in rows), str(rows))
    want(sorted(row[0] for row in rows[1:]) == ["1", "2", "3"], str(rows))
    want([row[6] for row in rows[1:] if row[0] == "2"] == ["1"], str(rows))


def test_joblog_and_results_are_made_whole(place: Place):
    place.write("jobs.lst", "echo a", "echo b", "false")
    place.run("-j1", "--joblog", "log", "--results", "res", "--halt", "soon,fail=1",
              "jobs.lst", code=1)
    # As after a kill between the end of task 1 and what tells of it.
    lines = place.lines("log")
    place.write("log", *(line for line in lines if not line.startswith("1\t")))
    import shutil
    shutil.rmtree(os.path.join(place.dir, "res", "1", "echo a"))
    place.run("last", command="job retry", code=1)
    want(sorted(line.split("\t")[0] for line in place.lines("log")[1:]) == ["1", "2", "3", "3"],
         place.read("log"))
    want(place.read("res/1/echo a/stdout") == "a\n", "the results of task 1 are not there again")


def test_a_joblog_of_parallel_is_not_emptied(place: Place):
    place.write("jobs.lst", "echo a >> ran", "echo b >> ran")
    place.write("log", "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand",
                "1\t:\t1796021555.625\t     0.003\t0\t0\t0\t0\techo a >> ran")
    before = place.read("log")
    for name in ("log", "+log"):
        _, err = place.run("--joblog", name, "--resume", "jobs.lst", code=2)
        want("log' has tasks of a run that Spate does not know" in err, err)
        want(place.read("log") == before and not place.jobs() and not place.read("ran"), err)
    # As the guide says.
    subprocess.run("awk -F'\\t' 'NR == FNR { done[$1]; next } !(FNR in done)' log jobs.lst > rest.lst", shell=True,
                   check=True, cwd=place.dir)
    place.run("--joblog", "+log", "rest.lst")
    want(place.read("ran") == "b\n" and len(place.lines("log")) == 3, place.read("log"))
    place.run("--joblog", "new", "--resume", "jobs.lst")
    want(len(place.lines("new")) == 3, place.read("new"))
    # A run that Spate knows goes on, and its log with it.
    place.write("more.lst", "true", "false", "true")
    place.run("-j1", "--joblog", "+log", "--halt", "soon,fail=1", "more.lst", code=1)
    place.run("--resume", "more.lst", code=1)
    want(len(place.lines("log")) == 6 and not os.path.exists(os.path.join(place.dir, "+log")), place.read("log"))


def test_a_wrong_joblog_stores_nothing(place: Place):
    _, err = place.run("--joblog", "no/such/folder/log", "--", "true", code=2)
    want("no/such/folder/log" in err and not place.jobs(), err)


def test_long_output_is_kept_whole(place: Place):
    command = ("--", "seq 200000; seq 100000 >&2", )
    whole = "".join(f"{i}\n" for i in range(1, 200001))
    place.run("-q", *command)
    out, err = place.run("last", command="job cat")
    want(out == whole and err == whole[:len(err)] and len(err) > 500000, f"{len(out)}, {len(err)}")
    out, _ = place.run("-n", "3", "--stream", "stdout", command="job tail")
    want(out == "199998\n199999\n200000\n", out)
    out, _ = place.run("-n", "150000", "--stream", "stdout", command="job tail")
    want(out == whole[whole.index("\n50001\n") + 1:], f"{len(out)}")
    place.run("-q", "--keep-output", "300K", *command)
    out, err = place.run("--stream", "stdout", "last", command="job cat", code=1)
    want(len(out) == 131072 and whole.startswith(out[:65536]) and whole.endswith(out[-65536:]),
         f"{len(out)}")
    want("bytes of its standard output were not kept, because of --keep-output" in err, err)


def test_json_is_one_object_a_line(place: Place):
    out, _ = place.run("--output", "json", "--", "echo", "hi")
    events = [json.loads(line) for line in out.splitlines()]
    want(any("hi\n" in str(event.get("stdout")) for event in events), out)


def test_a_retry_after_max_failures_runs(place: Place):
    place.write("jobs.lst", "test -e go && echo a >> ran", *["echo b >> ran"] * 3)
    _, err = place.run("-j1", "--max-failures", "1", "jobs.lst", code=1)
    want(err.endswith("to run the remaining tasks:  spate job retry 1\n") and "--resume" not in err, err)
    _, err = place.run("--resume", "jobs.lst", code=2)
    want("job 1 has 1 failed task already, so --max-failures 1 starts nothing; " in err, err)
    place.write("go")
    _, err = place.run("1", command="job retry")
    want("4 tasks: 4 succeeded" in err and sorted(place.lines("ran")) == ["a", "b", "b", "b"], err)
    # A corrected line takes the place of the one that failed.
    place.write("jobs.lst", "false", "true")
    place.run("-j1", "--max-failures", "1", "jobs.lst", code=1)
    place.write("jobs.lst", "true # corrected", "true")
    _, err = place.run("--resume", "jobs.lst")
    want("2 tasks: 2 succeeded" in err, err)
    # What is left alone, with another limit.
    place.write("jobs.lst", "false", "true")
    place.run("-j1", "--max-failures", "1", "jobs.lst", code=1)
    _, err = place.run("--resume", "--max-failures", "0", "jobs.lst", code=1)
    want("2 tasks: 1 succeeded, 1 failed" in err, err)


def test_an_empty_list_is_a_success(place: Place):
    place.write("jobs.lst", "# nothing")
    _, err = place.run("jobs.lst")
    want("0 tasks" in err, err)


def test_closed_stdout_ends_the_run(place: Place):
    place.write("jobs.lst", *("seq 5000" for _ in range(200)))
    done = subprocess.run(["sh", "-c", f"'{SPATE}' run jobs.lst | head -1 >/dev/null; echo "
                           "${PIPESTATUS:-}"], cwd=place.dir, env=place.env, timeout=60,
                          capture_output=True)
    want(done.returncode == 0, done.stderr)
    run = place.start("jobs.lst")
    run.stdout.close()
    run.stderr.read()
    want(run.wait(timeout=60) == 141, f"exit code {run.returncode}")


def shell(place, text):
    return subprocess.run(["sh", "-c", text.replace("spate", SPATE)], cwd=place.dir, env=place.env,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def test_closed_standard_streams(place: Place):
    for closed in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
        done = shell(place, f"spate run -- 'echo x >> ran' {closed}")
        want(done.returncode == 0, f"{closed}: {done}")
    want(place.read("ran") == "x\n" * 4, place.read("ran"))


def test_a_write_error_is_told(place: Place):
    for args in ("run -q -- echo hi", "run -- echo hi", "run --output json -- echo hi",
                 "run -q --line-buffer -- echo hi"):
        done = shell(place, f"spate {args} > /dev/full")
        want(done.returncode == 3 and b"o space" in done.stderr, f"{args}: {done}")


def bad(place, *args, says, stdin=None, code=2):
    _, err = place.run(*args, stdin=stdin, code=code)
    for text in says:
        want(text in err, f"{args}: '{text}' is not in: {err}")
    want(not place.jobs(), f"{args}: something was stored")


def test_what_cannot_be_printed_is_told(place: Place):
    for args in ("--version", "help", "run --help"):
        done = shell(place, f"spate {args} > /dev/full")
        want(done.returncode == 3, (args, done))
        want(b"cannot write to 'standard output': No space left on device" in done.stderr, (args, done))


def test_a_bound_of_file_sizes_is_told(place: Place):
    """It does not end the run by a signal; but tasks have the signal as usual."""
    done = shell(place, "ulimit -f 16; spate run -- echo hi")
    want(done.returncode == 3, done)
    want(b"no space left for" in done.stderr and b"limit of file sizes (ulimit -f)" in done.stderr, done)
    # Wherever the limit cuts the journal, or what SQLite keeps beside it.
    for blocks in range(8, 160, 24):
        done = shell(place, f"ulimit -f {blocks}; spate run -- echo hi")
        want(done.returncode in (0, 3), (blocks, done))
        want(done.returncode == 0 or b"(ulimit -f)" in done.stderr, (blocks, done))
    done = shell(place, "ulimit -f 4096; spate run -- 'head -c 8000000 /dev/zero > big'")
    want(done.returncode == 153 and b"File size limit exceeded" in done.stderr + done.stdout, done)


def test_a_bound_of_memory_is_told(place: Place):
    """Wherever memory ends: a message and exit code 3, not an abort."""
    def bound(kilobytes, command):
        return shell(place, f"ulimit -v {kilobytes}; exec spate {command}")
    small, enough = 1 << 10, 1 << 20
    if bound(enough, "--version").returncode != 0:
        return print("       (skipped: the program reserves many addresses, as sanitizers do)")
    while enough - small > 16:  # the least in which the program starts at all
        middle = (small + enough) // 2
        small, enough = (small, middle) if bound(middle, "--version").returncode == 0 else (middle, enough)
    said = b""
    for more in (20, 60, 100, 150, 250, 400, 1000, 2000, 4000, 8000, *range(8500, 10000, 250), 16000, 32000):
        done = bound(enough + more, "run -- true")
        want(done.returncode in (0, 3) and b"terminate called" not in done.stderr, (more, done))
        want(b"spate: " in done.stderr, (more, done))
        said += done.stderr
    want(b"spate: out of memory; free some, or raise the limit (ulimit -v)\n" in said, said)
    want(b"raise the limits of processes and memory (ulimit -u, -v)\n" in said, said)
    want(done.returncode == 0, done)


def test_the_job_server_of_make_reaches_tasks(place: Place):
    """Two descriptors that MAKEFLAGS names, whatever their numbers are."""
    pipe = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in os.pipe()]
    for read, write in ((3, 4), (4, 3), (9, 5)):
        os.write(pipe[1], b"+")
        script = (f"exec {read}<&{pipe[0]} {write}>&{pipe[1]} {pipe[0]}<&- {pipe[1]}>&-; "
                  f"exec '{SPATE}' run -- 'head -c 1 <&{read}; printf - >&{write}'")
        done = subprocess.run(["bash", "-c", script], cwd=place.dir, stdin=subprocess.DEVNULL,
                              env=place.env | {"MAKEFLAGS": f" -j2 --jobserver-auth={read},{write}"},
                              capture_output=True, timeout=60, pass_fds=pipe)
        want(done.stdout == b"+", (read, write, done))
        want(os.read(pipe[0], 9) == b"-", (read, write))


def test_a_relative_state_folder_is_ignored_and_told(place: Place):
    place.env.pop("SPATE_STATE")
    done = shell(place, "XDG_STATE_HOME=relative HOME=$PWD spate run -- true")
    want(done.returncode == 0, done)
    want(b"XDG_STATE_HOME is 'relative', which is not an absolute path" in done.stderr, done)
    want(not os.path.exists(os.path.join(place.dir, "relative")), "it was used")
    want(os.path.exists(os.path.join(place.dir, ".local/state/spate")), "it is not in the home folder")


def test_bad_input_starts_and_stores_nothing(place: Place):
    place.write("nul.lst", "echo a", "echo \0b")
    place.write("check.lst", "echo {check in exists a")
    place.write("word.lst", "echo {check in exits a}")
    place.write("use.lst", "{use ram lots} true")
    place.write("cpu.lst", "true", "{use cpu 1000} true")
    place.write("long.lst", "true", "echo " + "x" * 10_000_000)
    os.mkdir(os.path.join(place.dir, "folder"))
    bad(place, "missing.lst", says=["missing.lst"])
    bad(place, "folder", says=["folder", "is a folder"])
    bad(place, "--cwd", "nul.lst", "cpu.lst", says=["--cwd", "is not a folder"])
    bad(place, "nul.lst", says=["nul.lst:2", "NUL"])
    bad(place, "check.lst", says=["check.lst:1", "without }"])
    bad(place, "word.lst", says=["word.lst:1", "exits"])
    bad(place, "use.lst", says=["use.lst:1", "lots"])
    bad(place, "cpu.lst", says=["cpu.lst:2", "needs 1000 cpus"])
    bad(place, "long.lst", says=["long.lst:2"])
    bad(place, "--", "echo", ":::", says=[":::"])
    bad(place, "--job-log", "x", "nul.lst", says=["--joblog"])
    bad(place, "--memory", "1X", "nul.lst", says=["--memory", "1X"])
    bad(place, "--retries", "-1", "nul.lst", says=["--retries"])
    bad(place, "--sshlogin", "host", "nul.lst", says=["--sshlogin"])
    bad(place, "--", "echo", "{3}", ":::", "a", ":::", "b", says=["{3}"])


def test_invalid_utf8_runs_and_is_escaped_on_screen(place: Place):
    with open(os.path.join(place.dir, "jobs.lst"), "wb") as file:
        file.write(b"false \xff\x1b[31m\n")
    _, err = place.run("jobs.lst", code=1)
    want("\\xff\\x1b[31m" in err, err)


def test_a_state_that_cannot_be_written(place: Place):
    file = place.write("file")
    _, err = place.run("--state", file, "--", "true", code=2)
    want(file in err, err)


def test_a_program_on_a_file_system_without_programs(place: Place):
    folder = os.path.join(place.dir, "data")
    if not mounted(folder, "noexec,size=64k"):
        return
    place.on_remove = lambda: subprocess.run(["umount", folder], check=True)
    place.write("data/tool", "#!/bin/sh")
    os.chmod(os.path.join(folder, "tool"), 0o755)
    _, err = place.run("--", "data/tool", "x", code=126)
    want("data/tool: programs on its file system cannot run (it is mounted noexec)" in err and "chmod" not in err, err)


def test_a_lost_journal_is_not_made_again(place: Place):
    place.run("-q", "--", "true")
    os.remove(os.path.join(place.state, "jobs", "1", "job.db"))
    _, err = place.run("1", command="job retry", code=2)
    want("spate job forget --local 1" in err, err)
    want("job.db" not in os.listdir(os.path.join(place.state, "jobs", "1")), "made anew")


def test_a_process_limit_slows_down_and_loses_nothing(place: Place):
    if os.getuid() != 0:
        print("skip   test_a_process_limit: only root can become a user whom the limit binds")
        return
    nobody_else = 1_000_000 + os.getpid()  # the limit counts all processes of a user

    def become_limited():
        os.setgroups([])
        os.setgid(nobody_else)
        os.setuid(nobody_else)
        resource.setrlimit(resource.RLIMIT_NPROC, (12, 12))

    os.chmod(place.dir, 0o777)
    place.env["ASAN_OPTIONS"] = "detect_leaks=0"  # where it is built in, its own process is too many
    place.write("jobs.lst", *(f"touch done.{i}" for i in range(100)))
    _, err = place.run("-j", "100", "jobs.lst", preexec_fn=become_limited)
    want("100 succeeded" in err and len([f for f in os.listdir(place.dir) if "done." in f]) == 100,
         err)


def test_a_resume_reads_a_pipe_again(place: Place):
    place.run("-", stdin=b"echo a\n")
    out, err = place.run("--resume", "-", stdin=b"echo a\necho b\n")
    want(out == "b\n" and "1 new task" in err, out + err)
    place.run("--", "echo", stdin=b"x\n")
    out, _ = place.run("--resume", "--", "echo", stdin=b"x\ny\n")
    want(out == "y\n", out)
    _, err = place.run("--resume", "--", "echo")
    want("nothing left to do" in err, err)


def test_a_list_is_the_same_by_another_path(place: Place):
    place.write("jobs.lst", "echo a")
    place.run("jobs.lst")
    _, err = place.run("--resume", "./jobs.lst")
    want("nothing left to do" in err, err)


def test_low_memory_holds_the_first_tasks_back(place: Place):
    with open(os.path.join(place.dir, "err"), "w") as err:
        run = place.start("--min-free-memory", "9000G", "--", "touch started", stderr=err)
    wait(lambda: "no tasks start for now" in place.read("err"), "a word about the memory")
    run.terminate()
    run.wait(timeout=60)
    want(not os.path.exists(os.path.join(place.dir, "started")), "it was started")


def test_a_damaged_or_newer_journal_is_refused_and_untouched(place: Place):
    place.write("jobs.lst", "true", "false")
    place.run("jobs.lst", code=1)
    path = os.path.join(place.state, "jobs", "1", "job.db")
    with open(path, "r+b") as file:
        file.seek(0)
        file.write(b"not a database at all")
    with open(path, "rb") as file:
        before = file.read()
    _, err = place.run("1", command="job retry", code=3)
    want("job.db" in err or "damaged" in err, err)
    with open(path, "rb") as file:
        want(file.read() == before, "the damaged file was changed")


def test_too_few_descriptors_are_an_error_and_no_crash(place: Place):
    for most in range(10, 26):
        run = subprocess.run(["sh", "-c", f'ulimit -n {most}; exec "$0" run -- true', SPATE], cwd=place.dir,
                             env=place.env, capture_output=True, timeout=DEADLINE)
        want(run.returncode in (0, 3) and b"terminate" not in run.stderr, f"{most}: {run}")


if __name__ == "__main__":
    main(globals())
