"""para on a site: batches, their folders, and what may go wrong with them.

By hand, longer: para_test.py test_mouse_and_human --human 200 --mouse 1000
"""
import contextlib
import fcntl
import os
import pwd
import re
import shutil
import signal
import sqlite3
import subprocess

from cluster import NOBODY, Cluster, cluster_of
from harness import SPATE, Place, alive, main, mounted, option, wait, want

HUMAN = option("--human", 20)
MOUSE = option("--mouse", 50)


def para(place, *args, code=0, folder=".", env=None, **options):
    done = subprocess.run([SPATE, "para", *args], cwd=os.path.join(place.dir, folder),
                          env=env or place.env, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120, **options)
    out, err = (b.decode(errors="replace") for b in (done.stdout, done.stderr))
    want(done.returncode == code,
         f"exit code {done.returncode}, not {code}: para {args}\nstdout: {out}\nstderr: {err}")
    return out, err


def counts(place, *options, **how):
    """What para check says, by its labels."""
    out, _ = para(place, *options, "check", **how)
    return {label: int(number) for label, number in (line.split(": ") for line in out.splitlines())}


def results(place, name="para.results"):
    return [line.split(maxsplit=11) for line in place.lines(name)]


def batch_lines(place, name="batch"):
    return len(place.lines(name))


def state_file(place, name, results="para.results"):
    """What is kept of a batch outside of its folder."""
    root = os.path.join(place.state, "para")
    path = os.path.join(place.dir, results)
    for entry in os.listdir(root):
        with open(os.path.join(root, entry, "results")) as file:
            if file.read() == path:
                return os.path.join(root, entry, name)
    raise AssertionError(f"nothing is known of {path}")


def held(path):
    """Whether a process holds the lock."""
    with open(path, "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def site(place, nodes=2, slots=2) -> Cluster:
    os.chmod(place.dir, 0o1777)
    cluster = cluster_of(place)
    for number in range(nodes):
        cluster.node(f"n{number + 1}", "-j", str(slots), "--cpus", str(slots))
    return cluster


def test_quick_start(place: Place):
    """para make: all succeed, within a second of the last job."""
    site(place)
    place.write("job.lst", *(f"cp /etc/hostname {{check out line+ out.{i}}}" for i in range(5)))
    out, err = para(place, "make", "job.lst")
    want(out == "", out)
    want("Checking input files\n" in err and "5 jobs written to" in err, err)
    want("Pushed Jobs: 5\n" in err and err.endswith("Successful batch!\n"), err)
    # The process that followed the results closes its files a moment after it is done.
    wait(lambda: not held(state_file(place, "follow")), "nobody works in the folder after para make")
    # Nothing but what Parasol itself has there.
    files = sorted(name for name in os.listdir(place.dir) if not name.endswith(".log"))
    want(files == ["batch", "batch.bak", "err", "job.lst", *(f"out.{i}" for i in range(5)),
                   "para.bookmark", "para.results", "state"], files)
    want(counts(place) == {"ranOk": 5, "total jobs in batch": 5}, counts(place))
    ends = results(place)
    want(len(ends) == 5 and {end[0] for end in ends} == {"0"}, ends)
    want({end[3] for end in ends} == {"cp"} and ends[0][11].startswith("'cp /etc/hostname out."), ends)
    want(batch_lines(place) == 5 and '"out","line+","out.3",' in place.read("batch"), "the batch")
    out, _ = para(place, "time")
    want(out.startswith("Completed: 5 of 5 jobs\nCPU time in finished jobs:  "), out)


def test_what_a_job_leaves_running_is_ended(place: Place):
    """As with paraNode, a job has ended when its command has: nobody waits for what that left in the background."""
    site(place, nodes=1)
    place.write("job.lst", "sh leave")
    place.write("leave", "sleep 1000 & echo $! > pid")
    para(place, "make", "job.lst")
    want(counts(place) == {"ranOk": 1, "total jobs in batch": 1}, counts(place))
    want(not alive(int(place.read("pid"))), "what it left is ended")


def test_crashes_are_tried_again(place: Place):
    """What crashes is told with its stderr, and runs four times; a success on the last try is one."""
    site(place, nodes=1)
    place.write("job.lst", "sh flaky {check out exists done.1}", "sh broken", "no-such-program")
    place.write("flaky", "echo x >> tries", "test $(wc -l < tries) -ge 4 && touch done.1")
    place.write("broken", "echo it broke >&2", "exit 3")
    _, err = para(place, "make", "job.lst", code=255)
    want("Batch failed after 4 tries on " in err, err)
    want(counts(place) == {"crashed": 2, "ranOk": 1, "failed 4 times": 2, "total jobs in batch": 3},
         counts(place))
    out, _ = para(place, "problems")
    want(out.count("failure type: crash\n") == 4 + 4 + 3 and out.endswith("11 problems total\n"), out)
    want(out.count("return: 3\n") == 4 and out.count("it broke\n") == 4, out)
    want("no-such-program: command not found" in out, out)
    want({end[0] for end in results(place)} == {"0", "256", "768"}, results(place))
    ids = [end[2] for end in results(place)]
    want(len(ids) == len(set(ids)) == 12, ids)
    out, _ = para(place, "crashed")
    want(out == "sh broken\nno-such-program\n", out)
    # The last try of a job that is fixed.
    place.write("broken", "exit 0")
    place.write("job2.lst", "sh broken")
    para(place, "-retries=1", "make", "job2.lst")


def test_another_machine_is_the_same_try(place: Place):
    """What cannot be started, or fails on a machine of which nothing is known, runs on the other one, too."""
    site(place)
    place.write("job.lst", "no-such-program", "sh broken", "sh broken")
    place.write("broken", "exit 3")
    para(place, "-retries=1", "make", "job.lst", code=255)
    want(len(results(place)) == 3, results(place))


def test_a_failed_check_is_a_crash(place: Place):
    site(place)
    place.write("job.lst", "true {check out exists never}")
    para(place, "create", "job.lst")
    para(place, "push")
    wait(lambda: len(results(place)) == 1, "the job has ended")
    _, err = para(place, "check")
    want("never does not exist" in err, err)
    want(counts(place)["crashed"] == 1, counts(place))


def test_nobody_waits_for_processes_that_a_job_leaves(place: Place):
    """As in Parasol the job's own process decides; here the others end with it."""
    site(place, nodes=1)
    place.write("job.lst", "sh leaves")
    place.write("leaves", "sh -c 'echo $$ > left; exec sleep 600' &", "until test -s left; do :; done")
    para(place, "-retries=1", "make", "job.lst")
    want(results(place)[0][0] == "0", results(place))
    wait(lambda: not os.path.exists(f"/proc/{place.read('left').strip()}"), "it ends")


def test_environment_and_words(place: Place):
    """No shell; the variables are Parasol's; the job's number stands for $JOB_ID."""
    site(place, nodes=1)
    place.write("show", 'printf "%s|" "$PARASOL" "$JOB_ID" "$USER" "$HOME" "$HOST" "$@" > shown')
    place.write("job.lst", 'sh show  "a  b" > x $JOB_ID $HOME *')
    _, err = para(place, "make", "job.lst")
    want("uot" in err, err)  # the other system could not have read this batch
    user = pwd.getpwuid(os.geteuid())
    number = results(place)[0][2]
    want(place.read("shown").split("|")[:-1] ==
         ["7", number, user.pw_name, user.pw_dir, "n1", '"a', 'b"', ">", "x", number, "$HOME", "*"],
         place.read("shown"))
    want(not os.path.exists(f"/tmp/para{number}.err"), "an empty file of stderr was left")


def test_mouse_and_human(place: Place):
    """Each piece of one genome against each of the other, with checks of what goes in and out."""
    site(place)
    os.mkdir(os.path.join(place.dir, "out"))
    for genome, pieces in (("human", HUMAN), ("mouse", MOUSE)):
        os.mkdir(os.path.join(place.dir, genome))
        names = [place.write(f"{genome}/{genome}{i:04}.seq", "acgt") for i in range(pieces)]
        place.write(f"{genome}.lst", *names)
    place.write("blat", "#!/bin/sh", 'read a < "$1"; read b < "$2"; echo "$a $b" > "$3"')
    os.chmod(os.path.join(place.dir, "blat"), 0o755)
    place.write("template", "#LOOP", "./blat $(path1) {check in line+ $(path2)} "
                "{check out line+ out/$(root1)_$(root2)}", "#ENDLOOP")
    subprocess.run([SPATE, "gensub2", "human.lst", "mouse.lst", "template", "jobList"],
                   cwd=place.dir, check=True)
    jobs = HUMAN * MOUSE
    want(len(place.lines("jobList")) == jobs, "the list")
    para(place, "create", "jobList")
    para(place, "try")
    wait(lambda: counts(place).get("ranOk") == 10, "the first ten")
    want(counts(place)["unsubmitted jobs"] == jobs - 10, counts(place))
    # One of the outputs of a later job cannot be written.
    os.mkdir(os.path.join(place.dir, f"out/human0001_mouse{MOUSE - 1:04}"))
    para(place, "push", "-maxPush=1000000")
    wait(lambda: len(results(place)) == jobs, "all have ended", deadline=3600)
    want(counts(place) == {"crashed": 1, "ranOk": jobs - 1, "total jobs in batch": jobs},
         counts(place))
    os.rmdir(os.path.join(place.dir, f"out/human0001_mouse{MOUSE - 1:04}"))
    _, err = para(place, "shove")
    want(err.endswith("Successful batch!\n"), err)
    out, _ = para(place, "time")
    want(out.startswith(f"Completed: {jobs} of {jobs} jobs\n"), out)
    print("       " + out.replace("\n", "\n       ").rstrip())
    want(len(os.listdir(os.path.join(place.dir, "out"))) == jobs, "all outputs")


def test_chill_stop_and_go_on(place: Place):
    site(place, nodes=1)
    place.write("job.lst", *["sh wait"] * 40)
    place.write("wait", "while test -e hold; do sleep 0.05; done")
    place.write("hold")
    para(place, "create", "job.lst")
    para(place, "push")
    wait(lambda: counts(place).get("running") == 2, "two run")
    _, err = para(place, "create", "job.lst", code=255)
    want("This batch is currently running.  Please para stop first." in err, err)
    _, err = para(place, "chill")
    want("Told hub to chill out\n" in err, err)
    want(counts(place) == {"unsubmitted jobs": 38, "running": 2, "total jobs in batch": 40},
         counts(place))
    _, err = para(place, "stop")
    want("2 running jobs stopped\n" in err, err)
    want(counts(place) == {"unsubmitted jobs": 40, "total jobs in batch": 40}, counts(place))
    want(results(place) == [], "removed jobs have no results")
    os.remove(os.path.join(place.dir, "hold"))
    para(place, "push")
    para(place, "shove")
    want(counts(place) == {"ranOk": 40, "total jobs in batch": 40}, counts(place))


def start_para(place, *args, log="para.err"):
    """para in another terminal."""
    with open(os.path.join(place.dir, log), "w") as err:
        return subprocess.Popen([SPATE, "para", *args], cwd=place.dir, env=place.env,
                                stdin=subprocess.DEVNULL, stdout=err, stderr=err)


def waiting_jobs(place, count):
    """Jobs that run as long as the file hold is there."""
    place.write("job.lst", *(f"sh wait {i}" for i in range(count)))
    place.write("wait", "while test -e hold; do sleep 0.05; done; echo $1 >> ran")
    place.write("hold")


def test_stop_beside_a_make(place: Place):
    """From another terminal para stop ends the batch, and with it whoever pushes it."""
    site(place, nodes=1)
    waiting_jobs(place, 10)
    for command in (["make", "job.lst"], ["shove"], ["-delayTime=3600", "push"]):
        pushing = start_para(place, *command)
        running = 1 if command[-1] == "push" else 2
        wait(lambda: len(place.lines("batch")) == 10 and
             counts(place).get("running") == running, f"it runs: {command}")
        _, err = para(place, "stop")
        want(err.startswith("Told hub to chill out\n10 jobs in batch\n"), err)
        want(f"Chilled {8 if running == 2 else 0} jobs\n{running} running jobs stopped\n" in err, err)
        want(counts(place) == {"unsubmitted jobs": 10, "total jobs in batch": 10}, counts(place))
        want(pushing.wait(30) == 255, place.read("para.err"))
        want("para stop has ended this run: 0 of 10 jobs are done" in place.read("para.err"),
             place.read("para.err"))
        want(counts(place) == {"unsubmitted jobs": 10, "total jobs in batch": 10}, counts(place))
    os.remove(os.path.join(place.dir, "hold"))
    para(place, "shove")
    want(counts(place) == {"ranOk": 10, "total jobs in batch": 10}, counts(place))


def test_chill_beside_a_make(place: Place):
    """What runs goes on; the make waits for that, and ends."""
    site(place, nodes=1)
    waiting_jobs(place, 10)
    make = start_para(place, "make", "job.lst")
    wait(lambda: len(place.lines("batch")) == 10 and counts(place).get("running") == 2, "two run")
    _, err = para(place, "chill")
    want("Chilled 8 jobs\n" in err, err)
    want(counts(place) == {"unsubmitted jobs": 8, "running": 2, "total jobs in batch": 10},
         counts(place))
    want(make.poll() is None, place.read("para.err"))
    os.remove(os.path.join(place.dir, "hold"))
    want(make.wait(30) == 255, place.read("para.err"))
    want("para chill has ended this run: 2 of 10 jobs are done" in place.read("para.err"),
         place.read("para.err"))
    want(counts(place) == {"unsubmitted jobs": 8, "ranOk": 2, "total jobs in batch": 10},
         counts(place))


def test_push_beside_a_make(place: Place):
    """They take turns: each job runs once, and both end well."""
    site(place)
    waiting_jobs(place, 40)
    make = start_para(place, "-maxPush=10", "make", "job.lst")
    wait(lambda: len(place.lines("batch")) == 40 and counts(place).get("running") == 4, "four run")
    _, err = para(place, "-maxPush=15", "push")
    want("Pushed Jobs: 15\n" in err, err)
    _, err = para(place, "create", "job.lst", code=255)
    want("This batch is currently running.  Please para stop first." in err, err)
    para(place, "cpu", "1")
    os.remove(os.path.join(place.dir, "hold"))
    want(make.wait(60) == 0, place.read("para.err"))
    want(place.read("para.err").endswith("Successful batch!\n"), place.read("para.err"))
    want(sorted(map(int, place.lines("ran"))) == list(range(40)), "each ran once")
    want(counts(place) == {"ranOk": 40, "total jobs in batch": 40}, counts(place))


def test_the_hub_is_killed(place: Place):
    """Its queue survives it, and so do priority and bounds; results come as if nothing had been."""
    cluster = site(place)
    place.write("job.lst", *(f"sh slow {i}" for i in range(60)))
    place.write("slow", "sleep 0.1; echo $1 >> ran")
    para(place, "create", "job.lst", "-maxJob=3", "-priority=high")
    para(place, "push")
    wait(lambda: len(results(place)) > 5, "some have ended")
    cluster.kill_hub()
    _, err = para(place, "check", code=255)
    want("cannot reach the hub" in err, err)
    cluster.start_hub()
    para(place, "shove")
    want(sorted(map(int, place.lines("ran"))) == list(range(60)), "each ran once")
    want(len({end[2] for end in results(place)}) == 60 == len(results(place)), "one line each")
    out, _ = cluster.spate("parasol", "-all", "list", "batches")
    want(out.splitlines()[1].split()[5:7] == ["1", "3"], out)  # priority, most at once


def start_push(place, until_the_hub_has_it):
    """A push that has just begun, or whose jobs the hub has just taken; most often the batch file does not know it yet."""
    def accepted():
        return journal.execute("SELECT max(seq) FROM log").fetchone()[0]

    with contextlib.closing(sqlite3.connect(f"file:{place.state}/hub/hub.db?mode=ro", uri=True)) as journal:
        before = accepted()
        push = subprocess.Popen([SPATE, "para", "push"], cwd=place.dir, env=place.env, stderr=subprocess.DEVNULL)
        # No pause between two looks: the moment after the commit is the one to meet.
        while until_the_hub_has_it and accepted() == before and push.poll() is None:
            pass
    return push


def test_a_push_is_killed(place: Place):
    """The hub has the jobs, the batch file does not know it: they are found again."""
    site(place)
    jobs = 300
    place.write("job.lst", *(f"sh one {i}" for i in range(jobs)))
    place.write("one", "echo $1 >> ran")
    for taken in (False, True, True, True):
        para(place, "create", "job.lst")
        push = start_push(place, taken)
        push.kill()
        push.wait()
        para(place, "shove")
        ran = sorted(map(int, place.lines("ran")))
        want(ran == list(range(jobs)), f"{taken}: {len(ran)} of {len(set(ran))}")
        want(counts(place) == {"ranOk": jobs, "total jobs in batch": jobs}, counts(place))
        os.remove(os.path.join(place.dir, "ran"))


def test_the_hub_is_killed_while_it_takes_a_push(place: Place):
    """Either it has the jobs or not; both ways each runs once."""
    cluster = site(place, nodes=1)
    jobs = 300
    place.write("job.lst", *(f"/bin/true {i}" for i in range(jobs)))
    for taken in (False, True, True):
        para(place, "create", "job.lst")
        push = start_push(place, taken)
        cluster.kill_hub()
        push.wait()
        cluster.start_hub()
        para(place, "shove")
        want(counts(place) == {"ranOk": jobs, "total jobs in batch": jobs}, counts(place))
        commands = sorted(end[11] for end in results(place))
        want(len(commands) == len(set(commands)) == jobs, f"{taken}: {len(commands)} ends")
        for name in ("para.results", "para.bookmark"):
            os.remove(os.path.join(place.dir, name))
        os.remove(state_file(place, "place"))
        para(place, "freeBatch")


def test_results_after_a_killed_writer(place: Place):
    """A line that was cut off is written whole, and none twice; without its place all are kept."""
    site(place)
    place.write("job.lst", *["true"] * 20)
    para(place, "make", "job.lst")
    whole = sorted(place.lines("para.results"))
    want(len(whole) == 20, whole)
    path = os.path.join(place.dir, "para.results")
    for change in ("place", "cut"):
        if change == "place":
            os.remove(state_file(place, "place"))
        else:
            place.write(state_file(place, "place"), "position 0 created 0 bytes 0")
            os.truncate(path, os.path.getsize(path) - 30)
        para(place, "flushResults")
        want(sorted(place.lines("para.results")) == whole, f"{change}: {place.read('para.results')}")
    want(counts(place) == {"ranOk": 20, "total jobs in batch": 20}, counts(place))


def test_results_that_cannot_be_written(place: Place):
    site(place)
    place.write("job.lst", *["true"] * 5)
    os.mkdir(os.path.join(place.dir, "para.results"))
    _, err = para(place, "make", "job.lst", code=255)
    want("para.results" in err, err)
    os.rmdir(os.path.join(place.dir, "para.results"))
    want(not os.path.exists(os.path.join(place.dir, "batch")), "a batch was made")
    para(place, "make", "job.lst")
    want(counts(place) == {"ranOk": 5, "total jobs in batch": 5}, counts(place))


def test_results_over_no_link_or_pipe_of_others(place: Place):
    """In a folder where others may write."""
    site(place)
    place.write("job.lst", *["true"] * 5)
    results = os.path.join(place.dir, "para.results")
    os.mkfifo(results)
    _, err = para(place, "make", "job.lst", code=255)
    want("para.results" in err and "not a regular file" in err, err)
    os.remove(results)
    if os.geteuid() == 0:
        os.chmod(place.dir, 0o777)
        place.write("precious", "as it was")
        os.symlink(os.path.join(place.dir, "precious"), results)
        os.lchown(results, NOBODY, NOBODY)
        _, err = para(place, "make", "job.lst", code=255)
        want("is a link of nobody" in err, err)
        want(place.read("precious") == "as it was\n", place.read("precious"))
        os.remove(results)
        # Files of an older version count only if they are this user's own.
        for name in (".para.hub", ".para.lock", ".para.results.place", ".para.results.lock", ".para.results.follow"):
            path = os.path.join(place.dir, name)
            os.symlink(os.path.join(place.dir, "precious"), path)
            os.lchown(path, NOBODY, NOBODY)
    want(not os.path.exists(os.path.join(place.dir, "batch")), "a batch was made")
    para(place, "make", "job.lst")
    want(counts(place) == {"ranOk": 5, "total jobs in batch": 5}, counts(place))
    want(os.geteuid() != 0 or place.read("precious") == "as it was\n", place.read("precious"))


def test_a_full_disk(place: Place):
    """Nothing is half written: the old batch stays, and all goes on when there is room."""
    site(place, nodes=1)
    small = os.path.join(place.dir, "small")
    if not mounted(small, "size=2m"):
        return
    try:
        jobs = 600
        place.write("small/job.lst", *["/bin/true"] * jobs)
        para(place, "create", "job.lst", folder="small")
        before = place.read("small/batch")
        with open(os.path.join(small, "filler"), "wb") as filler:
            filler.write(bytes(os.statvfs(small).f_bavail * os.statvfs(small).f_frsize))
        _, err = para(place, "push", code=255, folder="small")
        want("No space left on device" in err, err)
        want(place.read("small/batch") == before, "the batch has changed")
        os.remove(os.path.join(small, "filler"))
        para(place, "shove", folder="small")
        all_ok = {"ranOk": jobs, "total jobs in batch": jobs}
        want(counts(place, folder="small") == all_ok, counts(place, folder="small"))
        ids = [end[2] for end in results(place, "small/para.results")]
        want(len(ids) == len(set(ids)) == jobs, f"{len(ids)} ends")
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def test_a_folder_that_is_read_only(place: Place):
    site(place, nodes=1)
    folder = os.path.join(place.dir, "fixed")
    if not mounted(folder, "size=1m"):
        return
    try:
        place.write("fixed/job.lst", "/bin/true")
        para(place, "make", "job.lst", folder="fixed")
        remount = ["mount", "-o", "remount,ro", folder]
        # The process that followed the results closes its files a moment after it is done.
        wait(lambda: subprocess.run(remount, capture_output=True).returncode == 0, "read-only")
        for command in (["create", "job.lst"], ["push"]):
            _, err = para(place, *command, code=255, folder="fixed")
            want("Read-only file system" in err, err)
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_many_jobs_that_wait(place: Place):
    """No node is there: all of it waits. Looking at it leaves the batch file alone."""
    cluster = cluster_of(place)
    jobs = 200_000
    place.write("job.lst", *(f"/bin/true {i}" for i in range(jobs)))
    para(place, "create", "job.lst")
    _, err = para(place, "push", "-maxPush=2000000")
    want(f"Pushed Jobs: {jobs}\n" in err, err)
    before = os.stat(os.path.join(place.dir, "batch"))
    want(counts(place) == {"queued and waiting": jobs, "total jobs in batch": jobs}, counts(place))
    after = os.stat(os.path.join(place.dir, "batch"))
    want((before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns), "it was written")
    _, err = para(place, "stop")
    want(f"Chilled {jobs} jobs\n" in err, err)
    para(place, "freeBatch")
    out, _ = cluster.spate("job list")
    want("para" not in out, out)


def test_a_damaged_batch_stays(place: Place):
    site(place)
    place.write("job.lst", *["true"] * 3)
    para(place, "make", "job.lst")
    lines = place.lines("batch")
    place.write("batch", lines[0], lines[1][:20], lines[2])
    before = place.read("batch")
    for command in ("check", "push", "stop"):
        _, err = para(place, command, code=255)
        want("batch" in err and "line 2" in err, err)
    want(place.read("batch") == before, "it was written")


def test_a_sick_batch(place: Place):
    site(place, nodes=1)
    place.write("job.lst", "true", *["sh bad"] * 60)
    # So long that few of them are given out ahead.
    place.write("bad", "sleep 0.1; exit 1")
    para(place, "create", "job.lst")
    para(place, "push")
    wait(lambda: len(results(place)) >= 25, "so many have failed")
    _, err = para(place, "check", code=255)
    want("Sick batch! Correct problem and then run para clearSickNodes." in err, err)
    place.write("bad", "exit 0")
    _, err = para(place, "clearSickNodes")
    want("Told hub to clear sick nodes" in err, err)
    wait(lambda: len(results(place)) == 61, "the others run")
    para(place, "shove")
    want(counts(place) == {"ranOk": 61, "total jobs in batch": 61}, counts(place))


def test_short_jobs_do_not_wait_behind_a_long_one(place: Place):
    """A node holds short jobs ahead; those behind a long one run on the other machine."""
    site(place, slots=1)
    place.write("job.lst", *["true"] * 400, "sleep 600",
                *(f"touch {{check out exists done.{i}}}" for i in range(100)))
    para(place, "create", "job.lst")
    para(place, "push", "-maxPush=1000")
    wait(lambda: counts(place).get("ranOk") == 500, "all but the long one have ended")
    para(place, "stop")


def test_a_held_batch_says_so(place: Place):
    cluster = cluster_of(place)
    place.write("job.lst", *["true"] * 3)
    para(place, "create", "job.lst")
    para(place, "push")
    cluster.spate("job hold", "1")
    for command in ("push", "check"):
        _, err = para(place, command)
        want("the batch is held; to release it: spate job release 1\n" in err, err)
    cluster.spate("job release", "1")
    _, err = para(place, "check")
    want("holds" not in err, err)


def test_two_users(place: Place):
    """Batches of the same folder's name are each user's own, and run as them."""
    if os.geteuid() != 0:
        return print("only root has accounts to choose from")
    cluster = site(place, nodes=0)
    nodes = cluster.access("--role", "node", "--user", "*", name="node.access")
    cluster.node("n1", "-j", "2", "--access", nodes)
    name = pwd.getpwuid(NOBODY).pw_name
    access = cluster.access("--role", "client", "--user", name, name="other.access")
    os.chown(access, NOBODY, NOBODY)
    folder = os.path.join(place.dir, "other")
    os.mkdir(folder)
    os.chown(folder, NOBODY, NOBODY)
    place.write("other/job.lst", *["sh who"] * 3)
    place.write("other/who", "id -un >> names; echo >&2 $USER; false")
    env = dict(place.env, SPATE_HUB=access, HOME=folder)
    env.pop("SPATE_STATE")
    other = {"env": env, "user": NOBODY, "group": NOBODY, "extra_groups": [], "folder": "other"}
    para(place, "-retries=1", "make", "job.lst", code=255, **other)
    want(place.lines("other/names") == [name] * 3, place.read("other/names"))
    out, _ = para(place, "problems", **other)
    want(out.count(f"stderr:\n{name}\n") == 3, out)
    # The same path is another batch to another user.
    want(os.stat(os.path.join(folder, "para.results")).st_uid == NOBODY, "whose results")
    _, err = para(place, "freeBatch", code=255, folder="other")
    want("Batch not found." in err, err)
    para(place, "freeBatch", **other)


def test_machine_goes_and_comes(place: Place):
    """A dead machine's jobs run elsewhere, and the machine works again as soon as it is back."""
    cluster = site(place, nodes=0)
    first = cluster.node("n1", "-j", "1", "--cpus", "1")
    cluster.node("n2", "-j", "1", "--cpus", "1")
    place.write("job.lst", *["sh job"] * 30)
    place.write("job", "echo $HOST >> begun", "while test -e hold; do sleep 0.05; done", "sleep 0.05")
    place.write("hold")
    para(place, "create", "job.lst")
    para(place, "push")
    wait(lambda: sorted(place.lines("begun")) == ["n1", "n2"], "both work")
    first.send_signal(signal.SIGTERM)
    first.wait()
    os.remove(os.path.join(place.dir, "hold"))
    wait(lambda: any(end[1] == "n2" for end in results(place)), "n2 works")
    cluster.node("n1", "-j", "1", "--cpus", "1")
    para(place, "shove")
    want(counts(place) == {"ranOk": 30, "total jobs in batch": 30}, counts(place))


def test_a_moved_folder_goes_on(place: Place):
    """Jobs that have ended are not run again, and those that run are waited for."""
    site(place, nodes=1)
    os.mkdir(os.path.join(place.dir, "a"))
    place.write("hold")
    place.write("a/job.lst", *(f"sh {place.dir}/job {i}" for i in range(3)))
    place.write("job", f"while test $1 = 2 -a -e {place.dir}/hold; do sleep 0.05; done; "
                f"echo $1 >> {place.dir}/ran")
    para(place, "create", "job.lst", folder="a")
    para(place, "push", folder="a")
    wait(lambda: counts(place, folder="a").get("ranOk") == 2, "two have ended")
    os.rename(os.path.join(place.dir, "a"), os.path.join(place.dir, "b"))
    wait(lambda: counts(place, folder="b") ==
         {"running": 1, "ranOk": 2, "total jobs in batch": 3}, "the third is known to run")
    os.remove(os.path.join(place.dir, "hold"))
    para(place, "shove", folder="b")
    want(sorted(place.lines("ran")) == ["0", "1", "2"], place.read("ran"))
    want(len(results(place, "b/para.results")) == 3, place.read("b/para.results"))
    # A new batch in the old place is another one.
    os.mkdir(os.path.join(place.dir, "a"))
    place.write("a/job.lst", "true")
    para(place, "make", "job.lst", folder="a")
    want(counts(place, folder="a") == {"ranOk": 1, "total jobs in batch": 1}, "the new batch")
    want(counts(place, folder="b") == {"ranOk": 3, "total jobs in batch": 3}, "the moved one")


def test_a_removed_folder_stays_removed(place: Place):
    """As Toil does it: one file of results for each of its jobs, in a folder that it then removes."""
    cluster = site(place, nodes=1)
    folder = os.path.join(place.dir, "tmp")
    for _ in range(3):
        os.mkdir(folder)
        for job in ("true", "sleep 0.3", "sleep 600"):
            cluster.spate("parasol", f"-results={folder}/results", "add", "job", job)
        wait(lambda: len(place.lines("tmp/results")) == 2, "two have ended")
        want(os.listdir(folder) == ["results"], os.listdir(folder))
        shutil.rmtree(folder)
        cluster.spate("parasol", "remove", "jobs", pwd.getpwuid(os.geteuid()).pw_name)
        wait(lambda: "sleep 600" not in cluster.spate("parasol", "list", "jobs")[0], "it is gone")
        want(not os.path.exists(folder), "it was made again")


def test_reports_in_the_folder_of_a_colleague(place: Place):
    """Who may only read there sees what its owner sees, and then what Parasol complains of."""
    if os.geteuid() != 0:
        return print("only root has accounts to choose from")
    cluster = site(place, nodes=1)
    os.mkdir(os.path.join(place.dir, "root"), 0o755)
    place.write("root/job.lst", "true", "false", *["sh wait"] * 3)
    place.write("root/wait", "while test -e hold; do sleep 0.05; done")
    place.write("root/hold")
    para(place, "create", "job.lst", folder="root")
    para(place, "push", folder="root")

    def two_wait():
        """One of the two that run could be the one that crashes."""
        now = counts(place, folder="root")
        return now.get("running") == 2 and now.get("crashed") == 1
    wait(two_wait, "two run")
    access = cluster.access("--role", "client", "--user", pwd.getpwuid(NOBODY).pw_name,
                            name="other.access")
    os.chown(access, NOBODY, NOBODY)
    home = os.path.join(place.dir, "home")
    os.mkdir(home)
    os.chown(home, NOBODY, NOBODY)
    env = dict(place.env, SPATE_HUB=access, HOME=home)
    env.pop("SPATE_STATE")
    other = {"env": env, "user": NOBODY, "group": NOBODY, "extra_groups": [], "folder": "root"}
    for command, code in (("check", 255), ("time", 255), ("status", 0)):
        own, _ = para(place, command, folder="root")
        seen, err = para(place, command, code=code, **other)
        # The time of what runs goes on between the two.
        own, seen = (re.sub(r"(?m)^(run(?:ning)?\t\d+)\t[\d.]+", r"\1", text) for text in (own, seen))
        want(seen == own or command == "time", f"{command}: {seen}\nnot {own}")
        complaint = f"mustOpen: Can't open {place.dir}/root/batch to write: Permission denied\n"
        want((complaint in err) == (code == 255), err)
    seen, _ = para(place, "time", code=255, **other)
    want(seen.startswith("Completed: 1 of 5 jobs\nJobs currently running: 2\nCrashed: 1 jobs\n"), seen)
    for restarts in (False, True):
        if restarts:
            cluster.kill_hub()
            cluster.start_hub()
            env["SPATE_HUB"] = cluster.access("--role", "client", "--user", pwd.getpwuid(NOBODY).pw_name, name="again.access")
            os.chown(env["SPATE_HUB"], NOBODY, NOBODY)
            wait(lambda: "Jobs currently running: 2\n" in para(place, "time", folder="root")[0], "the node is back")
        done = subprocess.run([SPATE, "parasol", "-results=para.results", "pstat2"], env=env,
                              user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True,
                              cwd=os.path.join(place.dir, "root"), text=True)
        want(done.returncode == 0 and done.stdout.count("\nq ") + done.stdout.startswith("q ") == 1,
             (restarts, done.stdout + done.stderr))
        want("Total Jobs: 3\n" in done.stdout and "Results Size: " in done.stdout, (restarts, done.stdout))
    # Also of what the owner has dropped.
    for change in (["stop"], ["push"], ["chill"], ["stop"], ["create", "job.lst"]):
        para(place, *change, folder="root")
        if change == ["push"]:
            wait(lambda: counts(place, folder="root").get("running") == 2, "two run again")
        own, _ = para(place, "check", folder="root")
        seen, err = para(place, "check", code=255, **other)
        want(seen == own and "tracking" not in seen, f"{change}: {seen}\nnot {own}\n{err}")
    _, err = para(place, "push", code=255, **other)
    want("Permission denied" in err, err)
    os.remove(os.path.join(place.dir, "root/hold"))
    para(place, "-retries=1", "shove", code=255, folder="root")


def test_lists_of_all_kinds(place: Place):
    """stdin and packed ones, as Parasol's programs read them."""
    site(place, nodes=1)
    for pack, end in ((["gzip"], ".gz"), (["bzip2"], ".bz2")):
        if not shutil.which(pack[0]):
            continue
        place.write("list", "true", "true")
        subprocess.run([*pack, "list"], cwd=place.dir, check=True)
        para(place, "make", "list" + end)
        want(counts(place) == {"ranOk": 2, "total jobs in batch": 2}, counts(place))
    done = subprocess.run([SPATE, "para", "create", "stdin"], cwd=place.dir, env=place.env,
                          input=b"true\rfalse\rtrue\r", capture_output=True, timeout=60)
    want(done.returncode == 0, done.stderr)
    want(counts(place) == {"unsubmitted jobs": 3, "total jobs in batch": 3}, counts(place))


def test_many_failures_in_flight_make_the_batch_sick(place: Place):
    """Forty at once on the only machine: nothing is sent before clearSickNodes."""
    site(place, nodes=1, slots=40)
    place.write("job.lst", *["sh bad"] * 80)
    place.write("bad", "while test -e hold; do sleep 0.05; done; exit 1")
    place.write("hold")
    para(place, "create", "job.lst")
    para(place, "push")
    wait(lambda: counts(place).get("running") == 40, "forty run")
    os.remove(os.path.join(place.dir, "hold"))
    wait(lambda: len(results(place)) >= 40, "they have failed")
    _, err = para(place, "check", code=255)
    want("Sick batch! Correct problem and then run para clearSickNodes." in err, err)
    # What was handed out by then still fails.
    wait(lambda: "running: " not in para(place, "check", code=255)[0], "nothing runs")
    before = len(results(place))
    _, err = para(place, "push", code=255)
    want("Pushed Jobs" not in err and "Sick batch!" in err, err)
    want(len(results(place)) == before, "jobs were sent")
    place.write("bad", "exit 0")
    para(place, "clearSickNodes")
    para(place, "shove")
    want(counts(place) == {"ranOk": 80, "total jobs in batch": 80}, counts(place))


def test_words_for_scripts(place: Place):
    cluster = site(place, nodes=1)
    place.write("job.lst", "true", "true {check OUT Exists job.lst}")
    para(place, "create", "job.lst")
    want(not os.path.exists(os.path.join(place.dir, "para.bookmark")), "nothing was read yet")
    para(place, "-priority=HIGH", "maxJob", "7")
    para(place, "shove")
    want(os.path.exists(os.path.join(place.dir, "para.bookmark")), "results were read")
    out, _ = para(place, "hippos")
    want(out == "total hippos running: 0\n", out)
    for word in ("freeBatch", "resetCounts", "flushResults"):
        para(place, word, "x", code=255)
    os.mkdir(os.path.join(place.dir, "unknown"))
    # There is nothing to change of it, as in the original.
    unknown = os.path.join(place.dir, "unknown")
    reset = f"Told hub to reset done and crashed counts on batch {unknown}\n"
    for word, told in (("resetCounts", reset),
                       ("clearSickNodes", "Told hub to clear sick nodes\n"),
                       ("showSickNodes", "total sick machines: 0 failures: 0\n")):
        want("".join(para(place, word, folder="unknown")) == told, word)
    for word in ("flushResults", "freeBatch"):
        _, err = para(place, word, code=255, folder="unknown")
        want(err.endswith("Batch not found.\n"), f"{word}: {err}")
    out, _ = cluster.spate("parasol", "-all", "list", "batches")
    row = out.splitlines()[1].split()
    want(row[5:7] == ["1", "7"], out)
    out, _ = cluster.spate("parasol", "list", "sick")
    want(out == "", out)
    for words in (["remove", "job", "abc"], ["ping", "x"], ["list", "machines", "x"]):
        cluster.spate("parasol", *words, code=255)
    # What waits has no host yet, but its columns.
    place.write("job.lst", "sleep 600", "sleep 600", "sleep 600")
    para(place, "create", "job.lst")
    para(place, "maxJob", "0")
    para(place, "-maxJob=1", "push")
    wait(lambda: counts(place).get("running") == 1, "one runs")
    out, _ = para(place, "status")
    want([line.split("\t")[4] for line in out.splitlines()[2:]] == ["n/a", "n/a"], out)
    # Where no job of the batch has ended, there are no results yet.
    file = os.path.join(place.dir, "para.results")
    os.remove(file)
    _, err = para(place, "flushResults")
    want(err == "Told hub to flush the results file\n"
                "Flushed results. Some jobs are still queued or running.\n", err)
    want(not os.path.exists(file), "an empty file was made")
    para(place, "stop")
    out, _ = cluster.spate("parasol", "list", "machines")
    want(" good 2, err 0, " in out, out)
    # The folder of an output is not made.
    cluster.spate("parasol", "-out=missing/out", "-wait", "add", "job", "echo", "x", code=1)
    want(not os.path.exists(os.path.join(place.dir, "missing")), "it was made")


if __name__ == "__main__":
    main(globals())
