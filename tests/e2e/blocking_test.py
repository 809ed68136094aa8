"""Paths that never answer hurt the task that names them, and nobody else."""
import json
import os
import signal
import subprocess
import time

from cluster import cluster_of
from harness import Place, alive, main, option, wait, want
from hung_server import hung_server

ROUNDS = option("--rounds", 20)
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
        run.kill()
        raise AssertionError(f"it hangs; openers: {openers_of(place)}")
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
        want(openers_of(place) == [], openers_of(place))


def test_ctrl_c_ends_a_task_that_waits_for_a_pipe(place: Place):
    named_pipe(place)
    for _ in range(ROUNDS):
        run = place.start("-j", "1", "--stdin", "pipe", "--", "cat")
        wait(lambda: openers_of(place), "it is being opened")
        # The first one lets running tasks end, as ever.
        while run.poll() is None and openers_of(place):
            run.send_signal(signal.SIGINT)
            time.sleep(0.05)
        _, err = end(run, place)
        want(run.returncode != 0, err)
        want(openers_of(place) == [], openers_of(place))


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


def test_a_file_server_that_hangs(place: Place):
    hung = hung_server(os.path.join(place.dir, "hung"))
    if hung is None:
        return
    place.on_remove = hung.end
    place.write("l", "true {check out exists hung/file}")
    cases = {"stdin": ("--stdin", "hung/file", "--", "cat"),
             "stdout": ("--stdout", "hung/file", "--", "echo hi"),
             "a check": ("l",)}
    for what, args in cases.items():
        run = place.start("-j", "1", "--time-limit", "500ms", *args)
        _, err = end(run, place)
        want(run.returncode != 0 and "its file server" in err, f"{what}: {err}")
        want(openers_of(place) == [], what)


if __name__ == "__main__":
    main(globals())
