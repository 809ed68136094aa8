"""Paths that never answer hurt the task that names them, and nobody else."""
import json
import os
import signal
import subprocess
import tempfile
import time

from cluster import cluster_of
from harness import Place, alive, main, option, wait, want
from hung_server import FLUSH, WRITE, hung_server

ROUNDS = option("--rounds", 5)
SERVER_ROUNDS = option("--server-rounds", 1)
LIMIT = 1  # seconds, of tasks whose server hangs
ANOTHER = 10  # seconds after which a slot gets another shepherd
SOON = 30  # seconds: far more than needed, far less than for ever


def named_pipe(place, name="pipe"):
    os.mkfifo(os.path.join(place.dir, name))
    return name


def openers(parents):
    """Processes that open files, below these."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{int(name)}/stat") as file:
                head, rest = file.read().rsplit(")", 1)
            with open(f"/proc/{int(name)}/environ", "rb") as file:
                ours = file.read()
        except (ValueError, OSError):
            continue
        if head.endswith("(spate-opener") and any(mark in ours for mark in parents):
            found.append((int(name), int(rest.split()[1])))
    return found


def openers_of(place):
    return openers([f"SPATE_STATE={place.env['SPATE_STATE']}".encode()])


def end(run, place):
    """Of a run that is to end soon."""
    try:
        out, err = run.communicate(timeout=SOON)
    except subprocess.TimeoutExpired:
        openers_now = openers_of(place)
        run.kill()
        out, err = run.communicate()
        raise AssertionError(f"it hangs; openers: {openers_now}, of run {run.pid}, which printed {err!r}")
    return out.decode(), err.decode()


def test_a_time_limit_ends_a_task_that_waits_for_a_pipe(place: Place):
    streams = ("stdin", "stdout", "stderr")
    for stream in streams:
        named_pipe(place, f"pipe.{stream}")
    for _ in range(ROUNDS):
        runs = [place.start("-j", "1", "--time-limit", "300ms", f"--{stream}", f"pipe.{stream}", "--",
                            "touch ran; cat; echo hi >&2") for stream in streams]
        for stream, run in zip(streams, runs):
            _, err = end(run, place)
            want(run.returncode != 0 and f"still waiting to open 'pipe.{stream}' as {stream}" in err, err)
        want(not os.path.exists(os.path.join(place.dir, "ran")), "it never ran")
        wait(lambda: not openers_of(place), "no opener is left")


def test_ctrl_c_ends_a_task_that_waits_for_a_pipe(place: Place):
    named_pipe(place)
    for _ in range(ROUNDS):
        run = place.start("-j", "1", "--stdin", "pipe", "--", "cat")
        wait(lambda: openers_of(place), "it is being opened")
        # The first one lets running tasks end, as ever.
        until = time.monotonic() + SOON
        while run.poll() is None and time.monotonic() < until:
            run.send_signal(signal.SIGINT)
            time.sleep(0.05)
        _, err = end(run, place)
        want(run.returncode != 0, err)
        wait(lambda: not openers_of(place), "no opener is left")


def test_neighbours_go_on_and_the_pipe_works_when_it_is_opened(place: Place):
    named_pipe(place)
    for _ in range(ROUNDS):
        with open(os.path.join(place.dir, "ran"), "w"):
            pass
        reader = place.start("-j", "1", "--stdin", "pipe", "--", "cat > got")
        wait(lambda: openers_of(place), "it is being opened")
        place.run("-j", "2", "--", "echo {} >> ran", ":::", *[str(i) for i in range(20)])
        want(len(place.lines("ran")) == 20, place.read("ran"))
        place.run("--stdout", "pipe", "--", "echo through")
        end(reader, place)
        want(reader.returncode == 0 and place.read("got") == "through\n", place.read("got"))


def test_a_killed_run_leaves_no_opener(place: Place):
    named_pipe(place)
    run = place.start("-j", "1", "--stdin", "pipe", "--", "cat")
    wait(lambda: openers_of(place), "it is being opened")
    pid, shepherd = openers_of(place)[0]
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    wait(lambda: not alive(pid) and not alive(shepherd), "both are gone")


def test_a_node_serves_on_while_pipes_are_waited_for(place: Place):
    named_pipe(place)
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    for n in range(ROUNDS):
        stream = ("--stdin", "--stdout", "--stderr")[n % 3]
        job = cluster.submit("--array", "1-4", stream, "pipe", "--", "cat {}")
        wait(lambda: len(openers_of(place)) == 2, "both slots open files")
        cluster.spate("job cancel", job)
        done = cluster.submit("--wait", "--", "true")
        want(done, "the next job runs")
        wait(lambda: not openers_of(place), "nothing is left")
    job = cluster.submit("--time-limit", "300ms", "--stdin", "pipe", "--", "cat")
    cluster.spate("job wait", job, code=1)
    out, _ = cluster.spate("task info", job, "--output", "json")
    last = json.loads(out.splitlines()[0])["ends"][-1]
    want(last["cause"] == "time" and "still waiting to open 'pipe' as stdin" in last["note"], last)


def test_forwarding_to_a_pipe_fails_its_task(place: Place):
    named_pipe(place)
    for _ in range(ROUNDS):
        run = place.start("-j", "2", "--forward", "OUT={}", "--", "echo {} >&$OUT", ":::", "pipe", "file")
        _, err = end(run, place)
        want(run.returncode == 1 and "pipe': it is not a regular file; name another one" in err, err)
    want(place.read("file") == "file\n" * ROUNDS, place.read("file"))


# ---- File servers that hang. A round has a server of its own, and says how long its task took to end.

def each_server(place, **options):
    """A server at place.folder for each round; none where that is not allowed."""
    for _ in range(SERVER_ROUNDS):
        place.folder = tempfile.mktemp(prefix="hung", dir=place.dir).split("/")[-1]
        server = hung_server(os.path.join(place.dir, place.folder), **options)
        if server is None:
            return
        others = place.on_remove
        place.on_remove = lambda: (server.end(), others())
        for name in ("begun", "go"):
            if os.path.exists(os.path.join(place.dir, name)):
                os.remove(os.path.join(place.dir, name))
        yield server
        place.on_remove = others
        server.end()


def in_time(run, place, began, bound=ANOTHER - 1):
    """Its end; its task's limit has held, long before its slot would get another shepherd."""
    out, err = end(run, place)
    took = time.monotonic() - began
    print(f"       {took:.1f} s")
    want(took < bound, f"{took} s: {err}")
    return out, err


def opened_by_us(run):
    """Whether a process is none of a task's: a shepherd of this run, or a process that it forked to open or close."""

    def is_ours(pid):
        try:
            with open(f"/proc/{pid}/status") as file:  # stat would wait for an exec that closes files
                status = file.read()
        except OSError:
            return False
        return "Name:\tspate-closer\n" in status or f"PPid:\t{run.pid}\n" in status
    return is_ours


WAITS = "touch begun; while ! test -e go; do sleep 0.01; done; exit 0"


def test_files_on_a_server_that_hangs(place: Place):
    for server in each_server(place):
        server.hang()
        file = f"{place.folder}/file"
        place.write("l", f"true {{check out exists {file}}}")
        cases = {"stdin": ("--stdin", file, "--", "cat"),
                 "stdout": ("--stdout", file, "--", "echo hi"),
                 "program": ("--", file, "1"),
                 "a check": ("l",)}
        for what, args in cases.items():
            run = place.start("-j", "1", "--time-limit", f"{LIMIT}s", *args)
            _, err = in_time(run, place, time.monotonic())
            want(run.returncode != 0 and "its file server" in err, f"{what}: {err}")
            wait(lambda: not openers_of(place), f"no opener is left: {what}")


# It hangs between two tasks, so the second one meets a server that has just answered.
def test_a_program_or_folder_whose_server_hangs_all_of_a_sudden(place: Place):
    for server in each_server(place, files={"program": f"#!/bin/sh\n{WAITS}\n".encode()}):
        program = f"{place.folder}/program"
        above = WAITS.replace("begun", "../begun").replace("go;", "../go;")
        by_folder = ("--cwd", place.folder, "--", "/bin/sh", "-c", above)
        place.write("script", f"#!{place.dir}/{program}\n")
        os.chmod(os.path.join(place.dir, "script"), 0o755)
        begun = os.path.join(place.dir, "begun")
        for args in (("--", program), ("--", "./script"), by_folder):
            server.hung = False
            if os.path.exists(begun):
                os.remove(begun)
                os.remove(os.path.join(place.dir, "go"))
            run = place.start("-j", "1", "--time-limit", f"{LIMIT}s", *args, ":::", "1", "2")
            wait(lambda: os.path.exists(begun), "the first task runs")
            server.hang()
            place.write("go", "")
            _, err = in_time(run, place, time.monotonic())
            want(run.returncode == 1 and "to start: its file server does not answer" in err, err)


def test_programs_and_folders_on_a_server_work(place: Place):
    for _ in each_server(place, files={"program": b"#!/bin/sh\necho $1 at $(basename $PWD); exit $2\n"}):
        out, _ = place.run("-k", "--cwd", place.folder, "--", "./program", "{}", "0", ":::", "1", "2", "3")
        want(out == "".join(f"{n} at {place.folder}\n" for n in (1, 2, 3)), out)
        place.run("--cwd", place.folder, "--", "./program", "1", "7", code=7)
        for command, code, why in (("./none", 127, "./none: No such file or directory"),
                                   (f"{place.dir}/{place.folder}", 126, "is a folder, not a program")):
            _, err = place.run("--cwd", place.folder, "--", command, "1", code=None)
            want(why in err and f"({code})" in err, err)


def test_what_is_on_a_server_goes_home(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1", "--cpus", "1")
    for server in each_server(place, files={"data": b"far away\n" * 10000}):
        makes = f"ln -s {place.dir}/{place.folder}/data out"
        cluster.submit("--wait", "--get", "out", "--", makes)
        want(place.read("out") == "far away\n" * 10000, "the whole file")
        os.remove(os.path.join(place.dir, "out"))
        place.run("--forward-file", f"out={place.folder}.all", "--", makes)
        want(place.read(f"{place.folder}.all") == "far away\n" * 10000, "the whole file")
        want(not os.path.lexists(os.path.join(place.dir, "out")), "it was removed")
        server.hang()
        run = place.start("-j", "1", "--time-limit", f"{LIMIT}s", "--forward-file", f"out={place.folder}.all", "--",
                          makes)
        _, err = in_time(run, place, time.monotonic())
        want(run.returncode != 0 and "still waiting for 'out': its file server does not answer" in err, err)
        os.remove(os.path.join(place.dir, "out"))
        began = time.monotonic()
        job = cluster.submit("--time-limit", f"{LIMIT}s", "--get", "out", "--", makes)
        cluster.submit("--wait", "--", "true")
        took = time.monotonic() - began
        print(f"       {took:.1f} s")
        out, _ = cluster.spate("task info", job, "--output", "json")
        last = json.loads(out.splitlines()[0])["ends"][-1]
        want(last["cause"] == "time" and "still waiting for 'out': its file server" in last["note"], last)
        want(took < ANOTHER - 1, took)


# Requests that the server has taken cannot be killed in FUSE, so the slot gets another shepherd, and the run's end
# waits for its cgroup for 5 s.
def test_what_is_written_and_closed_at_the_end(place: Place):
    for what, request, stream, command in (("words", WRITE, "--stderr", ("no-such-command", "1")),
                                           ("close", FLUSH, "--stdout", ("echo", "hi"))):
        ours = [lambda pid: False]
        for server in each_server(place, flushes=True, hangs=lambda asked, pid: asked == request and ours[0](pid)):
            run = place.start("-j", "1", "--time-limit", f"{LIMIT}s", stream, "{}", "--", *command, ":::",
                              f"{place.folder}/file", "plain")
            began = time.monotonic()
            ours[0] = opened_by_us(run)
            _, err = in_time(run, place, began, 2 * ANOTHER)
            want(run.returncode == 1 and "file' to be closed: its file server" in err, f"{what}: {err}")
            want(os.path.exists(os.path.join(place.dir, "plain")), "the task behind it has run")


if __name__ == "__main__":
    main(globals())
