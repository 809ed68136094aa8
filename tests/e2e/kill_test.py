"""`spate run` and what happens to it: kill -9, signals, a full disk, tasks that try to escape."""
import json
import os
import random
import signal
import subprocess
import time

from harness import Place, SPATE, alive, main, mounted, option, wait, want
from processes import send_as_pbs

ROUNDS = option("--rounds", 1)


def kill(run):
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()


def pids(place, name):
    return [int(line) for line in place.lines(name)]


def test_kill_9_at_random_moments_loses_and_repeats_nothing(place: Place):
    tasks, slots = 600, 4
    place.write("jobs.lst", *(f"echo {i} >> ran; sleep 0.01; echo {i} >> done"
                              for i in range(tasks)))
    chance = random.Random(7)
    kills = 0
    for _ in range(10):
        goal = len(place.lines("ran")) + chance.randrange(5, 40)
        run = place.start(f"-j{slots}", "--resume", "jobs.lst")
        wait(lambda: len(place.lines("ran")) >= goal or run.poll() is not None, "progress")
        if run.poll() is None:
            kill(run)
            kills += 1
    place.run(f"-j{slots}", "--resume", "jobs.lst")
    counts = {}
    for line in place.lines("ran"):
        counts[line] = counts.get(line, 0) + 1
    want(len(counts) == tasks, f"{len(counts)} of {tasks} tasks ran")
    want(set(place.lines("done")) == set(counts), "a task was cut short and not repeated")
    # In flight at a kill: one for each slot, and those whose end was not durable yet (2 ms).
    repeated = sum(count - 1 for count in counts.values())
    want(kills >= 5 and repeated <= kills * 3 * slots, f"{repeated} repeated in {kills} kills")
    _, err = place.run("--resume", "jobs.lst")
    want("nothing left to do" in err, err)


def test_what_was_reported_never_runs_again(place: Place):
    place.write("jobs.lst", *(f"echo {i} >> ran; echo end {i}" for i in range(400)))
    run = place.start("jobs.lst")
    reported = [run.stdout.readline().split()[1].decode() for _ in range(50)]
    kill(run)
    before = place.lines("ran")
    place.run("--resume", "jobs.lst")
    after = place.lines("ran")[len(before):]
    want(not set(reported) & set(after), "a reported task ran again")


def test_a_run_after_a_kill_names_the_run_that_was_cut_off(place: Place):
    place.write("jobs.lst", *(f"echo {i}; test {i} -ne 17 || until test -e go; do sleep 0.01; done; echo {i} >> ran"
                              for i in range(1, 41)))
    run = place.start("-j1", "jobs.lst")
    for _ in range(16):
        run.stdout.readline()
    kill(run)
    place.write("go")
    note = "job 1 of the same list was cut off: 16 of 40 tasks done; job 2 runs all of them again"
    _, err = place.run("--dry-run", "jobs.lst")
    want(not err, err)
    _, err = place.run("-q", "jobs.lst")
    want(not err, err)
    place.run("2", command="job forget")
    place.write("other.lst", "true")
    _, err = place.run("other.lst")
    want("cut off" not in err, err)
    place.run("2", command="job forget")
    os.remove(os.path.join(place.dir, "ran"))
    _, err = place.run("jobs.lst")
    want(note in err, err)
    # What it says to type resumes the first one, and then nothing is left to say.
    typed = err.split("stop this run, and type: ")[1].splitlines()[0]
    done = subprocess.run(["sh", "-c", typed], cwd=place.dir, capture_output=True, text=True,
                          env=place.env | {"PATH": f"{os.path.dirname(SPATE)}:{os.environ['PATH']}"})
    want(done.returncode == 0 and "resuming job 1: 16 of 40 tasks done" in done.stderr, done.stderr)
    want(len(place.lines("ran")) == 40 + 24, place.lines("ran"))
    _, err = place.run("jobs.lst")
    want("cut off" not in err, err)


def test_once_is_unknown_after_a_kill(place: Place):
    place.write("jobs.lst", "echo x >> ran; test -e go || sleep 1000", "true")
    run = place.start("--once", "-j1", "jobs.lst")
    wait(lambda: place.lines("ran"), "the first task runs")
    kill(run)
    place.write("go")
    place.run("--resume", "--once", "jobs.lst", code=1)
    want(len(place.lines("ran")) == 1, "--once was repeated")
    place.run("last", command="job retry")
    want(len(place.lines("ran")) == 2, "retry did not run it")


ESCAPES = [
    "(sleep 1000 & echo $! >> pids) & wait",
    "nohup sh -c 'echo $$ >> pids; exec sleep 1000' >/dev/null 2>&1 &",
    "setsid sh -c 'echo $$ >> pids; exec sleep 1000' &",
    "setsid sh -c 'setsid env -i sh -c \"echo \\$\\$ >> pids; exec /bin/sleep 1000\" & exit' &",
]


def test_nothing_outlives_its_task(place: Place):
    place.write("jobs.lst", *(f"{line} sleep 0.1; while [ $(wc -l < pids) -lt {i + 1} ]; "
                              "do sleep 0.01; done; true" for i, line in enumerate(ESCAPES)))
    place.run("-j1", "--leftovers", "end", "jobs.lst")
    left = [pid for pid in pids(place, "pids") if alive(pid)]
    want(len(pids(place, "pids")) == len(ESCAPES) and not left, f"still running: {left}")


def test_everything_ends_with_a_killed_spate(place: Place):
    place.write("jobs.lst", *(f"{line} sleep 1000" for line in ESCAPES))
    run = place.start(f"-j{len(ESCAPES)}", "--cpus", "0", "jobs.lst")
    wait(lambda: len(pids(place, "pids")) == len(ESCAPES), "all have escaped")
    kill(run)
    begun = time.monotonic()
    wait(lambda: not any(alive(pid) for pid in pids(place, "pids")), "all of them end")
    print(f"       (gone {time.monotonic() - begun:.2f} s after kill -9)")


def shell(place, text, program="sh", **options):
    """Runs a shell's script to its end; $SPATE is the program."""
    done = subprocess.run([program, "-c", text], cwd=place.dir, env=place.env | {"SPATE": SPATE},
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=60,
                          **options)
    want(done.returncode == 0, f"exit code {done.returncode}: {text}")


def test_output_through_a_process_of_the_shell_is_whole(place: Place):
    place.write("jobs.lst", *(f"seq {i * 1000} {i * 1000 + 999}" for i in range(200)))
    # The shell makes the pipe's other end a child of what becomes spate.
    shell(place, "exec $SPATE run -k jobs.lst > >(gzip > log.gz)", "bash")

    def unpacked():
        done = subprocess.run(["gzip", "-dc", "log.gz"], cwd=place.dir, capture_output=True)
        return done.stdout if done.returncode == 0 else b""
    whole = b"".join(b"%d\n" % i for i in range(200_000))
    wait(lambda: unpacked() == whole, "all of the output is in the file")


# A service with a process below it; the service ends before the run does.
SERVICE = """
(sleep 1000 & echo $! >> pids; exec sleep 1000) & echo $! >> pids
(sleep 1000 & echo $! >> pids; while [ ! -e ended ]; do sleep 0.01; done) &
while [ "$(wc -l < pids)" -lt 3 ]; do sleep 0.01; done
"""


def test_a_service_of_the_shell_outlives_the_run(place: Place):
    # A shepherd is killed on the way: what it leaves is ended, what it did not make is not.
    place.write("jobs.lst", "touch ended; sleep 0.1",
                f"[ -e again ] || {{ touch again; {ESCAPES[2]} while [ $(wc -l < pids) -lt 4 ]; do "
                "sleep 0.01; done; kill -9 $PPID; }; echo x > done")
    shell(place, SERVICE + "exec $SPATE run -j1 jobs.lst")
    services, escaped = pids(place, "pids")[:3], pids(place, "pids")[3:]
    living = [alive(pid) for pid in services]
    for pid in services:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    want(place.lines("done") and living == [True] * 3, f"who lives: {living}")
    want(escaped and not any(alive(pid) for pid in escaped), "the escaped process ended")


def test_a_second_run_of_the_same_job_is_refused(place: Place):
    place.write("jobs.lst", "echo x > started; sleep 1000")
    run = place.start("jobs.lst")
    wait(lambda: place.lines("started"), "it runs")
    _, err = place.run("--resume", "jobs.lst", code=3)
    want(str(run.pid) in err, err)
    kill(run)


def says(run, text):
    seen = b""
    while text not in seen:
        piece = os.read(run.stderr.fileno(), 4096)
        want(piece, f"not told: {seen}")
        seen += piece


def test_ctrl_c_once_lets_tasks_end_and_twice_ends_them(place: Place):
    place.write("jobs.lst", "echo x > started; while [ ! -e go ]; do sleep 0.01; done; echo fine",
                "echo second")
    run = place.start("-j1", "jobs.lst")
    wait(lambda: place.lines("started"), "it runs")
    run.send_signal(signal.SIGINT)
    # Only when the first one was taken may the task go on.
    says(run, b"no more tasks start")
    place.write("go")
    out, _ = run.communicate(timeout=60)
    want(out == b"fine\n" and run.returncode == 130, f"{out} {run.returncode}")
    os.remove(os.path.join(place.dir, "started"))
    place.write("more.lst", "echo x > started; sleep 1000")
    run = place.start("more.lst")
    wait(lambda: place.lines("started"), "it runs")
    run.send_signal(signal.SIGINT)
    says(run, b"no more tasks start")
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    want(run.returncode == 130, f"exit code {run.returncode}")
    place.run("--resume", "jobs.lst")


def test_term_ends_tasks_and_keeps_the_state(place: Place):
    place.write("jobs.lst", "echo x >> started; test -e go || sleep 1000")
    run = place.start("jobs.lst")
    wait(lambda: place.lines("started"), "it runs")
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=60)
    want(run.returncode == 143, f"exit code {run.returncode}")
    place.write("go")
    place.run("--resume", "jobs.lst")
    want(len(place.lines("started")) == 2, place.read("started"))


def stopped(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


def test_ignored_signals_stay_ignored(place: Place):
    place.write("jobs.lst", "echo >> started; while [ ! -e go ]; do sleep 0.05; done", "echo >> done")
    signals = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

    def nohup():
        for signo in signals:
            signal.signal(signo, signal.SIG_IGN)
    run = place.start("-j1", "jobs.lst", preexec_fn=nohup)
    wait(lambda: place.lines("started"), "it runs")
    for signo in signals:
        run.send_signal(signo)
    place.write("go")
    _, err = run.communicate(timeout=60)
    want(run.returncode == 0 and place.lines("done"), f"exit code {run.returncode}: {err}")


def test_ctrl_z_stops_tasks_and_fg_continues_them(place: Place):
    # It starts no process: a shell that is stopped in vfork() waits, in state D, for its child.
    os.mkfifo(os.path.join(place.dir, "go"))
    place.write("jobs.lst", "echo $$ > pids; read -r line < go")
    run = place.start("jobs.lst")
    wait(lambda: pids(place, "pids"), "it runs")
    task = pids(place, "pids")[0]
    run.send_signal(signal.SIGTSTP)
    wait(lambda: stopped(run.pid) and stopped(task), "spate and task are stopped")
    run.send_signal(signal.SIGCONT)
    wait(lambda: not stopped(task), "the task goes on")
    place.write("go", "x")
    run.communicate(timeout=60)
    want(run.returncode == 0, f"exit code {run.returncode}")


def test_what_a_batch_system_cuts_off_has_not_ended(place: Place):
    """It signals all processes of its job one after another, children first: shells go on, and end, before the run knows."""
    words = ("--", "echo >>$ROUND; test $SPATE_ATTEMPT != 1 || eval {}", ":::", "sleep 25; true", "sleep 25 || exit 1")
    wrong = []
    for round in map(str, range(ROUNDS)):
        place.env = place.env | {"PBS_JOBID": "1.server", "ROUND": round}
        run = place.start("-j2", *words)
        wait(lambda: len(place.lines(round)) == 2, "both tasks run")
        send_as_pbs(signal.SIGTERM, run.pid)
        run.communicate()
        done = subprocess.run([SPATE, "run", "-j2", "--resume", *words], cwd=place.dir, env=place.env, capture_output=True, check=False)
        for task in "12":
            ends = [(each["cause"], each["verdict"]) for each in
                    json.loads(place.run(f"last.{task}", "--json", command="task info")[0])["ends"]]
            if run.returncode != 143 or ends != [("stopped", "retry"), ("success", "succeeded")]:
                wrong.append((round, task, run.returncode, ends))
    print(f"run: {2 * ROUNDS} tasks were cut off, {len(wrong)} of these ends were believed")
    want(not wrong and done.returncode == 0, (wrong, done))


def test_a_full_disk_stops_and_a_resume_goes_on(place: Place):
    small = os.path.join(place.dir, "small")
    if not mounted(small, "size=3m"):
        return
    try:
        place.write("jobs.lst", *(f"echo {i} >> ran; head -c 2000 /dev/urandom | od"
                                  for i in range(400)))
        _, err = place.run("--state", small, "--keep-output", "1G", "jobs.lst", code=3)
        want("space" in err or "full" in err, err)
        want("--resume" in err, err)
        # The sum is that of the journal, which ends of the last moment have not reached.
        out, _ = place.run("--state", small, "--json", command="job list")
        kept = json.loads(out.splitlines()[-1])["succeeded"]
        want(0 < kept < 400 and f"400 tasks: {kept} succeeded, {400 - kept} not done" in err, (kept, err))
        before = len(place.lines("ran"))
        subprocess.run(["mount", "-o", "remount,size=64m", small], check=True)
        place.run("--state", small, "--resume", "jobs.lst")
        ran = place.lines("ran")
        want(set(ran) == {str(i) for i in range(400)}, "a task was lost")
        want(len(ran) < before + 400, "nothing was kept")
    finally:
        subprocess.run(["umount", small], check=True)


if __name__ == "__main__":
    main(globals())
