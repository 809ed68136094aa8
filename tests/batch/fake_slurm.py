#!/usr/bin/python3
"""sbatch, squeue and scancel, by the name that this file is called by, over a folder $FAKE_BATCH.

Made from what the real ones (Slurm 22.05) wrote in docs/design/038-batch-systems.md's recordings: ids by --parsable, lines
"ID|STATE|REASON|NAME" of squeue, exit codes. A job is a folder: script, args, state, pid, reason. What goes wrong on purpose is
told by files in the folder: `down` (nothing answers), `lost` (a submit is carried out and fails), `forgets` (ended jobs are not
listed), `refuse` (its text is what sbatch complains of), `slots` (so many jobs run at once; default 4).
"""
import fcntl
import os
import signal
import subprocess
import sys
import time

PLACE = os.environ["FAKE_BATCH"]


def path(*names):
    return os.path.join(PLACE, *names)


def read(*names, default=""):
    try:
        with open(path(*names)) as file:
            return file.read()
    except OSError:
        return default


def write(text, *names):
    temporary = path(*names) + f".{os.getpid()}"
    with open(temporary, "w") as file:
        file.write(text)
    os.rename(temporary, path(*names))


def jobs():
    return sorted((name for name in os.listdir(PLACE) if name.isdigit()), key=int)


def state(job):
    return read(job, "state")


def start(job):
    """Runs the script as slurmd would: in a session of its own, with the batch job's environment."""
    output = read(job, "output")
    limit = read(job, "limit")
    env = dict(os.environ, SLURM_JOB_ID=job, SLURM_JOB_NUM_NODES="1", SLURM_CPUS_ON_NODE=read("cpus", default="2").strip())
    if limit:
        env["SLURM_JOB_END_TIME"] = str(int(time.time()) + 60 * int(limit))
    write("RUNNING", job, "state")
    watcher = os.fork()
    if watcher:
        return
    os.setsid()
    locked.file.close()  # the lock is our parent's
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    with open(output, "ab") as out:
        process = subprocess.Popen(["/bin/sh", path(job, "script")], stdin=null, stdout=out, stderr=out, env=env,
                                   start_new_session=True, close_fds=True)
    write(str(process.pid), job, "pid")
    code = process.wait()
    if state(job) != "CANCELLED":
        write("COMPLETED" if code == 0 else "FAILED", job, "state")
        write("" if code == 0 else "NonZeroExitCode", job, "reason")
    write("", job, "gone")
    # Jobs that follow are started by processes of their own.
    with locked():
        schedule()
    os._exit(0)


class locked:
    file = None

    def __enter__(self):
        locked.file = open(path("lock"), "w")
        fcntl.flock(locked.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        locked.file.close()


def schedule():
    slots = int(read("slots", default="4"))
    running = [job for job in jobs() if read(job, "state") == "RUNNING" or (read(job, "pid") and not os.path.exists(path(job, "gone")))]
    for job in jobs():
        if len(running) >= slots:
            break
        if state(job) == "PENDING":
            start(job)
            running.append(job)


def fail(text, code=1):
    sys.stderr.write(text + "\n")
    sys.exit(code)


def sbatch(args):
    script = sys.stdin.read()
    if read("refuse"):
        fail("sbatch: error: Batch job submission failed: " + read("refuse").strip())
    options = {}
    for arg in args:
        name, _, value = arg.partition("=")
        options[name] = value
    if "--test-only" in options:
        fail("sbatch: Job 1 to start at 2027-01-01T00:00:00 using 1 processors on nodes n1 in partition p", 0)
    job = str(max([0, *map(int, jobs())]) + 1)
    os.mkdir(path(job))
    for name, text in (("script", script), ("name", options["--job-name"]), ("output", options["--output"]),
                       ("limit", options.get("--time", "")), ("args", "\n".join(args)), ("reason", "Priority"),
                       ("state", "PENDING")):
        write(text, job, name)
    schedule()
    if os.path.exists(path("lost")):
        fail("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation")
    print(job)


def squeue(args):
    for arg in args:
        if arg.startswith("--jobs="):
            print("INVALID")
            return
    for job in jobs():
        ended = state(job) not in ("PENDING", "RUNNING")
        if ended and os.path.exists(path("forgets")):
            continue
        reason = read(job, "reason") if state(job) != "RUNNING" else "None"
        print(f"{job}|{state(job)}|{reason or 'None'}|{read(job, 'name')}")


def scancel(args):
    for job in args:
        if not job.isdigit() or not os.path.isdir(path(job)):
            fail(f"scancel: error: Kill job error on job id {job}: Invalid job id specified")
        if state(job) not in ("PENDING", "RUNNING"):
            continue
        was_running = state(job) == "RUNNING"
        write("CANCELLED", job, "state")
        if was_running and read(job, "pid"):
            try:
                os.killpg(int(read(job, "pid")), signal.SIGTERM)
            except ProcessLookupError:
                pass
    schedule()


if __name__ == "__main__":
    if os.path.exists(path("down")):
        fail("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    with locked():
        {"sbatch": sbatch, "squeue": squeue, "scancel": scancel}[os.path.basename(sys.argv[0])](sys.argv[1:])
