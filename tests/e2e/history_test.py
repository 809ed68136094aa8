"""The history: going on with earlier runs, selectors, retries, states that may not be used."""
import hashlib
import json
import os
import re
import signal
import sqlite3
import subprocess

from harness import Place, SPATE, main, mounted, wait, want


def test_resume_finds_the_run(place: Place):
    place.write("jobs.lst", *(f"echo {i} >> ran; test {i} -ne 2" for i in range(1, 5)))
    _, err = place.run("--resume", code=2)
    want("no unfinished run" in err and not place.jobs(), err)
    _, err = place.run("--resume", "-j1", "--halt", "now,fail=1", "jobs.lst", code=1)
    want(err.startswith("spate: no earlier run to resume: starting job 1\n"), err)
    want(place.lines("ran") == ["1", "2"], place.read("ran"))
    os.mkdir(os.path.join(place.dir, "sub"))
    elsewhere = subprocess.run([SPATE, "run", "--resume"], cwd=os.path.join(place.dir, "sub"),
                               env=place.env, stdin=subprocess.DEVNULL, capture_output=True)
    want(elsewhere.returncode == 2, "the run of another folder was taken")
    place.run("--resume", "--halt", "never", code=1)  # without FILE
    want(sorted(place.lines("ran")) == ["1", "2", "3", "4"], place.read("ran"))
    _, err = place.run("--resume", "jobs.lst", code=1)  # nothing but a failed task
    want("nothing left to do" in err and len(place.lines("ran")) == 4, err)
    place.run("-q", "--resume", "jobs.lst", code=1)
    place.run("--", "echo", ":::", "a", "b")
    _, err = place.run("--resume", "--", "echo", ":::", "a", "b")
    want("nothing left to do" in err, err)
    out, _ = place.run("job", "info", "1", command="")
    want("(the job was resumed once)" in out, out)


def test_more_values_go_on_with_the_run(place: Place):
    command = ("--resume", "-k", "--", "echo {}; echo {} >> ran")
    place.run(*command, ":::", "a", "b")
    out, err = place.run(*command, ":::", "a", "b", "c")
    want(out == "c\n" and "the list has changed: 1 new task\n" in err, (out, err))
    # Other values of the same command are another run; the one that had most is gone on with.
    out, err = place.run(*command, ":::", "x", "y")
    want(out == "x\ny\n" and "no earlier run to resume: starting job 2" in err, (out, err))
    out, _ = place.run(*command, ":::", "a", "b", "c", "d")
    want(out == "d\n", out)
    _, err = place.run(*command, ":::", "x", "y")
    want("nothing left to do" in err, err)
    _, err = place.run(*command, ":::", "a", ":::", "x")
    want("starting job 3" in err, err)
    want(sorted(place.lines("ran")) == ["a", "a x", "b", "c", "d", "x", "y"], place.read("ran"))


def test_equal_lines_are_counted(place: Place):
    place.write("jobs.lst", *["echo x >> ran"] * 3)
    place.run("jobs.lst")
    place.write("jobs.lst", *["echo x >> ran"] * 4)
    _, err = place.run("--resume", "jobs.lst")
    want("1 new task\n" in err and len(place.lines("ran")) == 4, err)


def test_a_running_job_is_left_alone(place: Place):
    place.write("jobs.lst", "echo >> started; sleep 1000", "echo >> never")
    run = place.start("-j1", "jobs.lst")
    wait(lambda: place.lines("started"), "it runs")
    for command in ("job retry 1", "job retry last", "job forget 1", "run --resume jobs.lst"):
        _, err = place.run(command=command, code=3)
        want(str(run.pid) in err, f"{command}: {err}")
    _, err = place.run("all", command="job forget")
    want("keeping job 1" in err and place.jobs() == ["1"], err)
    out, _ = place.run("--output", "json", command="job list")
    job = json.loads(out)
    want(job["state"] == "running" and job["pid"] == run.pid, out)
    out, _ = place.run("1.1", command="task explain")
    want("has been running since" in out, out)
    run.send_signal(signal.SIGHUP)
    run.communicate(timeout=60)
    want(run.returncode == 129, f"exit code {run.returncode}")
    out, _ = place.run("--output", "json", command="job list")
    want(json.loads(out)["state"] in ("stopped", "interrupted"), out)


def test_selectors(place: Place):
    for name in "abcd":
        place.run("--name", name, "--", "exit {}", ":::", "0", "1", "0", code=1)

    def numbers(command, *selectors):
        out, _ = place.run("--output", "json", *selectors, command=command)
        return [(row["job"], row.get("task")) for row in map(json.loads, out.splitlines())]

    for selector, jobs in {"last": [4], "2": [2], "2-3": [2, 3], "1-4:2": [1, 3], "1,3-4":
                           [1, 3, 4], "all": [1, 2, 3, 4]}.items():
        want([job for job, _ in numbers("job list", selector)] == jobs, selector)
    want(numbers("job tasks", "2.2-3") == [(2, 2), (2, 3)], "2.2-3")
    want(numbers("task info", "last.1", "1.3") == [(4, 1), (1, 3)], "last.1 1.3")
    for selector in ("9", "0", "1-", "x", "1.9", "1.0", "1.x"):
        place.run(selector, command="job tasks", code=2)
    _, err = place.run("2.2", command="job retry", code=1)
    want("task 2" in err and "attempt 2" in err, err)
    place.run("2", command="job forget")
    want(place.jobs() == ["1", "3", "4"], str(place.jobs()))
    place.run("2", command="job retry", code=2)


def test_tables_are_as_wide_as_columns_says_and_whole_in_a_pipe(place: Place):
    name, words = "n" * 200, "word " * 50
    place.run("-q", "--name", name, "--", "echo " + words + "; exit 3", code=3)
    for command, whole in (("job list", name), ("job tasks", words)):
        out, _ = place.run(command=command)
        want(whole in out and out.count("\n") == 2, out)
        for columns in (60, 100):
            place.env["COLUMNS"] = str(columns)
            out, _ = place.run(command=command)
            want(max(map(len, out.splitlines())) == columns and out.count("\n") == 2, out)
        del place.env["COLUMNS"]


def test_a_failed_task_of_a_list_is_named_by_its_line(place: Place):
    place.write("jobs.lst", "# first", "true", "exit 3")
    place.run("-q", "jobs.lst", code=1)
    out, _ = place.run("1.2", command="task info")
    want(re.search(r"\n  in list +jobs.lst:3\n", out), out)
    places = [json.loads(line)["place"]
              for line in place.run("1.1-2", "--json", command="task info")[0].splitlines()]
    want(places == [None, "jobs.lst:3"], places)
    os.unlink(os.path.join(place.dir, "jobs.lst"))
    out, _ = place.run("1.2", command="task info")
    want("in list" not in out, out)


def test_what_was_left_behind_is_told(place: Place):
    place.run("-q", "--", "setsid sleep 1000 & echo")
    out, _ = place.run("last.1", command="task info")
    want("1 process outlived it" in out and "sleep" in out, out)


def test_any_number_of_runs_go_on_at_once(place: Place):
    runs = [place.start("--", f"echo {i}") for i in range(8)]
    outs = sorted(run.communicate(timeout=60)[0] for run in runs)
    want(outs == [b"%d\n" % i for i in range(8)], str(outs))
    want(len(place.jobs()) == 8, str(place.jobs()))


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def test_a_newer_journal_is_refused_and_untouched(place: Place):
    place.write("jobs.lst", "false")
    place.run("jobs.lst", code=1)
    place.run("-q", "--", "echo sound")
    path = os.path.join(place.state, "jobs", "1", "job.db")
    journal = sqlite3.connect(path)
    journal.execute("PRAGMA user_version = 99")
    journal.close()
    before = digest(path)
    for command in ("job retry 1", "job tasks 1", "job cat 1", "task info 1.1"):
        _, err = place.run(command=command, code=3)
        want("its format is 99" in err and "newer release" in err and "damage" not in err, f"{command}: {err}")
    out, _ = place.run(command="job list")
    want(re.search(r"1 +\? +newer\n", out), out)
    out, err = place.run(command="state check", code=3)
    want("newer release" in err and "DAMAGED" not in out and "job 2: undamaged" in out, out + err)
    _, err = place.run("--resume", "jobs.lst", code=3)
    want("newer release" in err, err)
    out, _ = place.run("2", command="job cat")
    want(out == "sound\n" and digest(path) == before, "the newer journal was changed")


def test_sqlite3_can_query_a_job(place: Place):
    place.run("-q", "--", "exit {}", ":::", "0", "7", code=1)
    journal = sqlite3.connect(os.path.join(place.state, "jobs", "1", "job.db"))
    rows = journal.execute("SELECT state, total, succeeded, failed FROM job").fetchall()
    want(rows == [("finished", 2, 1, 1)], str(rows))
    want(journal.execute("SELECT count(*) FROM attempts").fetchone() == (2,), "attempts")
    journal.close()


def test_a_full_state_folder(place: Place):
    if not mounted(place.state, "size=16k"):
        return
    try:
        _, err = place.run("--", "touch ran", code=3)
        want("is full" in err and place.state in err and "--state" in err, err)
        want(not place.jobs() and not os.path.exists(os.path.join(place.dir, "ran")), "it ran")
    finally:
        subprocess.run(["umount", place.state], check=True)


def test_a_read_only_state_folder(place: Place):
    if not mounted(place.state, "size=8m"):
        return
    try:
        place.run("-q", "--", "echo kept; exit 1", code=1)
        subprocess.run(["mount", "-o", "remount,ro", place.state], check=True)
        for command in ("run -- touch\tran", "job retry 1"):
            _, err = place.run(command=command, code=3)
            want("read-only" in err and "--state" in err, err)
        want(place.run("1", command="job cat")[0] == "kept\n", "reading works")
        place.run(command="job list")
        place.run(command="state check")
    finally:
        subprocess.run(["umount", place.state], check=True)


def test_a_state_folder_of_another_user(place: Place):
    if os.geteuid() != 0:
        print("       (skipped: only root can be another user)")
        return
    os.mkdir(place.state)
    os.chmod(place.state, 0o755)
    os.chmod(place.dir, 0o755)

    def nobody():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    binary = os.path.join(place.dir, "spate")  # where the other user may read it
    subprocess.run(["cp", SPATE, binary], check=True)
    done = subprocess.run([binary, "run", "--", "true"], cwd=place.dir, env=place.env,
                          stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=nobody)
    want(done.returncode == 3 and b"--state" in done.stderr, f"{done.returncode} {done.stderr}")
    want(not os.listdir(place.state), "something was made in it")


if __name__ == "__main__":
    main(globals())
