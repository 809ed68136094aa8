"""Who waits for a job that cannot go on is told at once, and who names a job means that one."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import time

from cluster import cluster_of
from harness import DEADLINE, SPATE, Place, main, wait, want


class Waiting:
    """A command that goes on until something happens."""

    def __init__(self, place, *words, log="waiting", env=None, stderr=None, **how):
        self.place, self.log = place, log
        with open(os.path.join(place.dir, log), "w") as out:
            self.process = subprocess.Popen([SPATE, *words], cwd=place.dir, env=env or place.env,
                                            stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=out if stderr is None else stderr, **how)

    def says(self, text):
        wait(lambda: text in self.place.read(self.log) or self.process.poll() is not None, text)
        want(text in self.place.read(self.log), self.place.read(self.log))
        want(self.process.poll() is None, "it waits no more")

    def ended(self, code):
        want(self.process.wait(DEADLINE) == code,
             f"{self.process.returncode}: {self.place.read(self.log)}")
        return self.place.read(self.log)


class OnTerminal(Waiting):
    """Its standard error is a terminal of 100 columns."""

    def __init__(self, place, *words, log="waiting"):
        self.master, slave = pty.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.seen = ""
        super().__init__(place, *words, log=log, env=dict(place.env, TERM="xterm", NO_COLOR="1"), stderr=slave,
                         start_new_session=True, preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0))
        os.close(slave)

    def shows(self, pattern):
        def shown():
            try:
                while select.select([self.master], [], [], 0)[0]:
                    self.seen += os.read(self.master, 65536).decode()
            except OSError:  # all was read, and the process has ended
                want(re.search(pattern, self.seen), f"{pattern} not in: {self.seen}")
            return re.search(pattern, self.seen)

        wait(shown, f"the terminal shows {pattern}")

    def ended(self, code):
        told = super().ended(code)
        os.close(self.master)
        return told


def test_a_job_whose_tasks_all_fail_is_waited_for_no_longer(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "4")
    values = [str(n) for n in range(1, 101)]
    out, err = place.run("--wait", "--", "echo no {} >&2; false", ":::", *values, command="submit", code=1)
    want(out == "1\n", out)
    want("job 1 is held" in err and "in a row" in err, err)
    want("spate job release 1;" in err and "spate job cancel 1" in err, err)
    want(re.search(r"spate: \d+ tasks failed:\n  task 1: exit code 1 after .*: echo no 1 >&2; false\n"
                   r"      no 1\n  task 2: ", err), err)
    want(re.search(r"  and \d+ more: spate job tasks 1 --filter failed\n", err), err)
    want(re.search(r"0 of 100 tasks succeeded, \d+ failed, \d+ not done\n", err), err)
    # On the screen it is as `run` shows it.
    out, err = place.run("--hub", "--", "there-is-no-such-program", "{}", ":::", *values, code=1)
    want("no more tasks start" in err and "there-is-no-such-program" in err, err)
    want("to run the remaining tasks:  spate job release 2\n" in err, err)
    want("--resume" not in err, err)
    lines = [json.loads(line) for line in
             place.run("--hub", "--output", "json", "--", "false", ":::", *values, code=1)[0].splitlines()]
    (finish,) = [line for line in lines if line["type"] == "finish"]
    want((finish["how"], finish["resume_command"]) == ("halted", "spate job release 3"), finish)
    want(finish["failed"] == len([line for line in lines if line["type"] == "end"]), "every end is told")


def test_a_late_look_shows_the_pace_of_now(place: Place):
    """Tasks that ended before the look began say nothing about it."""
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "4")
    quick, slow = 300, 40
    job = cluster.submit("--", f"test {{}} -le {quick} || until test -e go{{}}; do sleep 0.05; done", ":::",
                         *(str(n) for n in range(1, quick + slow + 1)))
    wait(lambda: json.loads(cluster.spate("job info", job, "--json")[0])["succeeded"] == quick, "the quick ones have ended")
    bar = OnTerminal(place, "job", "progress", job)
    bar.shows(f"{quick}/{quick + slow}")
    for n in range(quick + 1, quick + slow + 1):
        place.write(f"go{n}")
        if n < quick + slow:
            bar.shows(f"{n}/{quick + slow}")
    bar.ended(0)
    paces = [float(pace) for pace in re.findall(r"([0-9.]+)/s", bar.seen)]
    want(paces and max(paces) < 60, paces)


def test_what_a_task_waits_for_after_its_command_is_shown(place: Place):
    """--leftovers wait, on a hub: whoever waits knows for what."""
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "4")
    words = ["--leftovers", "wait=60s", "--", "until [ -e go ]; do sleep 0.05; done & true"]
    left = r"bash \(pid \d+\)(, (?:bash|sleep) \(pid \d+\))?"
    waiting = Waiting(place, "submit", "--wait", *words)
    waiting.says("task 1 has ended but left processes running on node n1: bash (pid ")
    # All start before the first is read: each hears of it after a while only.
    on_hub = Waiting(place, "run", "--hub", *words, log="on-hub")
    as_json = Waiting(place, "run", "--hub", "--output", "json", *words, log="json")
    bars = [OnTerminal(place, *command, log=f"bar{n}") for n, command in enumerate(
        (["job", "progress", "1"], ["run", "--hub", *words]))]
    on_hub.says("task 1 has ended but left processes running: bash (pid ")
    as_json.says('"type":"left_running"')
    out, _ = cluster.spate("job info", "1")
    want(re.search(rf"waits for +task 1: {left} on node n1, left running by its command\n", out), out)
    out, _ = cluster.spate("job info", "1", "--output", "json")
    (told,) = json.loads(out)["left_running"]
    want((told["task"], told["attempt"], told["node"]) == (1, 1, "n1"), told)
    out, _ = cluster.spate("task info", "1.1")
    want(re.search(rf"waits for +{left} on node n1, left running by the command\n", out), out)
    out, _ = cluster.spate("task explain", "1.1")
    want(re.search(rf"1.1: its command has ended but left processes running: {left} on node n1; the task waits", out), out)
    out, _ = cluster.spate("node info", "n1")
    want(re.search(rf"1.1 since .*, waits for processes that it left running: {left}\n", out), out)
    out, _ = cluster.spate("top", "--once")
    want(re.search(rf"job 1 waits for processes that its commands left running: {left} on n1\n", out), out)
    for bar in bars:
        bar.shows(r"left running: bash \(pid \d+\)")
    place.write("go")
    for each in waiting, on_hub, as_json, *bars:
        each.ended(0)
    lines = [json.loads(line) for line in place.read("json").splitlines()]
    news = [line for line in lines if line["type"] == "left_running"]
    want(news and all(re.fullmatch(f"{left} on n1", line["processes"]) for line in news), news)
    out, _ = cluster.spate("job info", "1", "--output", "json")
    want(json.loads(out)["left_running"] == [], "nothing runs any more")


def test_the_jobs_own_rules_end_the_waiting(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    values = [str(n) for n in range(1, 21)]
    for way in (["submit", "--wait"], ["run", "--hub"]):
        _, err = place.run(*way[1:], "--max-failures", "2", "--", "false", ":::", *values,
                           command=way[0], code=1)
        want("--max-failures" in err and "spate job retry" in err, err)
        _, err = place.run(*way[1:], "--halt", "now,fail=1", "--", "test {} -lt 3 || false", ":::",
                           *values, command=way[0], code=1)
        want("--halt" in err and "spate job release" in err, err)
        # As asked, so this is a success.
        _, err = place.run(*way[1:], "--halt", "soon,success=1", "--", "true", ":::", *values,
                           command=way[0])
        want("--halt" in err, err)


def test_a_command_whose_input_takes_its_time(place: Place):
    """`job add` asks the hub of the job, reads its values, and asks again: the hub has cut it off meanwhile."""
    cluster = cluster_of(place, "--listen", "127.0.0.1:0", "--suspect-after", "1s")
    cluster.node()
    job = cluster.submit("--open", "--", "echo {} >> ran", ":::", "1")
    add = subprocess.Popen([SPATE, "job", "add", job, "--", "echo {} >> ran"], cwd=place.dir, env=place.env,
                           stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    add.stdin.write(b"2\n")
    add.stdin.flush()
    time.sleep(3)
    _, err = add.communicate(b"3\n", DEADLINE)
    want(add.returncode == 0, err)
    cluster.spate("job close", job)
    cluster.spate("job wait", job)
    want(sorted(place.lines("ran")) == ["1", "2", "3"], place.lines("ran"))


def test_who_follows_a_held_job_is_told(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--after", cluster.submit("--open", "--", "true", ":::", "x"), "--", "echo {}",
                         ":::", "a", "b")
    cluster.spate("job hold", job)
    for verb in ("tail", "cat"):
        follow = Waiting(place, "job", verb, "-f", job, log=verb)
        follow.says(f"spate: job {job} is held: a user held it\nto continue: spate job release {job}; "
                    f"to cancel: spate job cancel {job}\n")
    # It waits for nothing else when it is released, so no other reason is told.
    cluster.spate("job close", "1")
    cluster.spate("job wait", "1")
    cluster.spate("job release", job)
    cluster.spate("job wait", job)
    want(sorted(follow.ended(0).splitlines()[2:]) == ["a", "b"], place.read("cat"))


def test_ctrl_c_leaves_a_hubs_job_in_one_word(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    for times in (1, 2):
        run = Waiting(place, "run", "--hub", "--", "test {} = 1 || sleep 100; echo did {}", ":::", "1", "2", "3",
                      start_new_session=True)
        run.says("did 1")
        run.process.send_signal(signal.SIGINT)
        goes_on = (f"spate: job {times} continues without this terminal, 1 of 3 tasks ended; to watch it: spate "
                   f"job progress {times}; to end it: spate job cancel {times}, or Ctrl-C within 2 s\n")
        run.says(goes_on)
        if times == 2:
            run.process.send_signal(signal.SIGINT)
        said = run.ended(130)
        want(said == "did 1\n" + goes_on + ("spate: job 2 is cancelled\n" if times == 2 else ""), said)
        # A list is up to a second old.
        wait(lambda: json.loads(cluster.spate("job list", "--json", str(times))[0])["state"]
             == ("running" if times == 1 else "cancelled"), "its state")
        cluster.spate("job cancel", str(times))
        cluster.spate("job wait", str(times), code=1)


def test_who_waits_for_a_held_job_is_told(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1")
    job = cluster.submit("--", "while ! test -e go{}; do sleep 0.05; done", ":::", "1", "2")
    waits = Waiting(place, "job", "wait", job)
    wait(lambda: json.loads(cluster.spate("node list", "--output", "json")[0])["tasks"] > 0, "it runs")
    cluster.spate("job hold", job)
    waits.says(f"job {job} is held: a user held it\nto continue: spate job release {job}; "
               f"to cancel: spate job cancel {job}\n")
    place.write("go1")
    place.write("go2")
    # One that begins to wait hears it, too; a person may change it, so both go on.
    other = Waiting(place, "submit", "--wait", "--after", job, "--", "true", log="other")
    other.says(f"it waits for job {job}, and job {job} is held")
    cluster.spate("job release", job)
    waits.ended(0)
    other.ended(0)


def test_needs_that_no_node_has_are_told(place: Place):
    cluster = cluster_of(place)
    nowhere = Waiting(place, "run", "--hub", "--", "true", log="nowhere")
    nowhere.says("no node is connected")
    cluster.node("n1", "-j", "2", "--gpus", "none")
    nowhere.ended(0)
    out, err = place.run("--gpus", "2", "--", "true", command="submit")
    job = out.strip()
    want(re.search(rf"job {job} waits: no node fits: it needs 2 .*gpus.*n1", err), err)
    info, _ = cluster.spate("job info", job)
    want(re.search(r"waits +no node fits: it needs 2", info), info)
    info = json.loads(cluster.spate("job info", job, "--output", "json")[0])
    why = json.loads(cluster.spate("task explain", f"{job}.1", "--output", "json")[0])["why"]
    want(info["waits"] == why, info)
    waits = Waiting(place, "job", "wait", job)
    runs = Waiting(place, "run", "--hub", "--gpus", "2", "--", "echo", "ran", log="runs")
    for each in (waits, runs):
        each.says("no node fits: it needs 2")
    mixed = place.write("mixed.lst", "true", "true # spate: gpus=2")
    cluster.node("n2", "-j", "2", "--gpus", "0,1")
    waits.ended(0)
    want("ran\n" in runs.ended(0), "its output")
    want(json.loads(cluster.spate("job info", job, "--output", "json")[0])["waits"] is None, "it ended")


def test_the_bar_says_why_nothing_runs(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "1", "--gpus", "none")
    for words in (["submit", "--progress"], ["run", "--hub"]):
        waits = OnTerminal(place, *words, "--gpus", "2", "--", "true")
        waits.shows(r"0/1.*waiting: no node fits: it needs 2")
        cluster.spate("job cancel", "last")
        waits.ended(1)


def test_a_hub_that_is_away_is_not_taken_for_this_machine(place: Place):
    place.run("--", "true")
    cluster = cluster_of(place)
    cluster.node()
    cluster.submit("--wait", "--", "false", code=1)
    this, hub = f"this machine\n", f"hub {socket.gethostname().split('.')[0]}"
    want(cluster.spate("job list", "--local")[0].startswith(this), "whose jobs they are")
    want(cluster.spate("job tasks", "--local", "1")[0].startswith(this), "whose tasks they are")
    for verb in (["job list"], ["job tasks", "1"], ["report"]):
        out, _ = cluster.spate(*verb)
        want(out.startswith(hub), out)
    want(not cluster.spate("job list", "--output", "quiet")[0].startswith(hub), "data is data")

    def refused():
        for verb in (["job forget", "1"], ["job retry", "1"], ["job list"], ["job info", "1"],
                     ["task info", "1.1"], ["job wait", "1"], ["job cancel", "1"]):
            _, err = cluster.spate(*verb, code=3)
            want("Start it: spate hub start --allow-root --listen=127.0.0.1:0\n" in err, err)
            want("--local" in err, err)

    cluster.kill_hub()
    refused()
    cluster.start_hub()
    cluster.submit("--label", "nowhere", "--", "true")
    cluster.spate("hub stop")
    cluster.hub.wait(DEADLINE)
    refused()
    out, _ = cluster.spate("job list", "--local", "--output", "quiet")
    want(out == "1\n", out)
    _, err = place.run("--", "false", code=1)
    want("spate job retry --local 2" in err, err)
    cluster.spate("job forget", "--local", "1")
    cluster.start_hub()
    out, _ = cluster.spate("job list", "--output", "quiet")
    want(sorted(out.split()) == ["1", "2"], "the hub's jobs are there")


def test_hints_mean_the_same_job(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    access = cluster.access("--role", "client", "--user", "root", name="own.access")
    far = dict(place.env, SPATE_STATE=os.path.join(place.dir, "far"), HOME=place.dir)
    near, place.env = place.env, far
    for reach in (f"--access {access}", f"--hub --state {place.state}"):
        typed = reach.removeprefix("--hub ").split()
        out, err = place.run(*typed, "--wait", "--", "echo printed; false", command="submit", code=1)
        job = out.strip()
        hint = f"spate job retry {reach} {job}"
        want(hint in err, err)
        _, err = place.run(*hint.split()[3:], command="job retry")
        want(f"spate job wait {reach} {job}" in err, err)
        place.run(*typed, job, command="job wait", code=1)
        out, _ = place.run(*reach.split(), job, command="job info")
        for verb in ("retry", "tasks", "cat"):
            want(f"spate job {verb} {reach} {job}" in out, out)
        _, err = place.run("--hub", *typed, "--", "false", code=1)
        want(f"spate job retry {reach} " in err, err)
        out, _ = place.run(*typed, "--open", "--", "true", command="submit")
        place.run(*typed, out.strip(), command="job hold")
        out, _ = place.run(*reach.split(), f"{out.strip()}.1", command="task explain")
        want(f"spate job release {reach} " in out or "succeeded" in out, out)
    place.env = near


def test_a_user_database_that_hangs_stops_nobody_else(place: Place):
    """The hub of root looks for the home folder of who adds a pool, beside its loop."""
    if os.geteuid() != 0:
        return print("       (skipped: needs a hub of root)")
    place.write("getent", "#!/bin/sh", f"echo $$ > {place.dir}/asked", "exec sleep 100")
    os.chmod(os.path.join(place.dir, "getent"), 0o755)
    cluster = cluster_of(place, inside=["unshare", "--mount", "sh", "-c",
                                        f"mount --bind {place.dir}/getent /usr/bin/getent && exec \"$@\"", "sh"])
    access = cluster.access("--role", "client", "--user", "ghost", name="ghost.access")
    _, err = cluster.spate("pool add", "local", "here", "--access", access, code=3)
    want("user ghost may not add pools" in err and "hub user ghost --may pools" in err, err)
    cluster.spate("hub user", "ghost", "--may", "pools")
    adds = Waiting(place, "pool", "add", "local", "here", "--access", access, log="adds")
    wait(lambda: place.read("asked").strip(), "the hub asks")
    cluster.spate("hub status")
    want(adds.process.poll() is None, "it still waits")
    os.kill(int(place.read("asked")), signal.SIGKILL)
    said = adds.ended(2)
    want("a pool needs a folder of its user (--folder names one)" in said, said)
    want("this machine has no user 'ghost'" in said, said)


def test_a_node_that_looks_up_a_user_says_so(place: Place):
    """Its task has a slot, and does not start before the name service has answered."""
    if os.geteuid() != 0:
        return print("       (skipped: needs a node of root)")
    getent = os.path.join(place.dir, "getent")
    place.write("getent", "#!/bin/sh", f"echo $$ > {place.dir}/asked", "exec sleep 100")
    os.chmod(getent, 0o755)
    cluster = cluster_of(place)
    cluster.node("n1", inside=["unshare", "--mount", "sh", "-c",
                               f'mount --bind {getent} /usr/bin/getent && exec "$@"', "sh"])
    access = cluster.access("--role", "client", "--user", "ghost", name="ghost.access")
    job = cluster.submit("--access", access, "--", "true")
    why = "node n1 waits for its name service to find the account of user ghost"
    waits = Waiting(place, "job", "wait", "--access", access, job)
    waits.says(why)
    waits.says("getent passwd ghost")
    out, _ = cluster.spate("task explain", f"{job}.1")
    want(why in out, out)
    want(why in json.loads(cluster.spate("job info", job, "--json")[0])["waits"], "the same in JSON")
    wait(lambda: place.read("asked").strip(), "the name service is asked")
    os.kill(int(place.read("asked")), signal.SIGKILL)
    waits.ended(1)
    want("cannot run tasks of 'ghost'" in cluster.spate("task explain", f"{job}.1")[0], "why it failed")


def test_nobody_is_taken_for_a_user_without_a_name(place: Place):
    """Somebody who is not in /etc/passwd, beside a name service that hangs."""
    if os.geteuid() != 0:
        return print("       (skipped: needs to be another user)")
    getent = os.path.join(place.dir, "getent")
    place.write("getent", "#!/bin/sh", "exec sleep 100")
    os.chmod(getent, 0o755)
    cluster = cluster_of(place, inside=["unshare", "--mount", "sh", "-c",
                                        f'mount --bind {getent} /usr/bin/getent && exec "$@"', "sh"])
    for folder in (place.dir, place.state, cluster.hub_dir):
        os.chmod(folder, 0o711)
    done = subprocess.run([SPATE, "hub", "status"], cwd="/", env=place.env, capture_output=True, text=True,
                          timeout=DEADLINE, user=54321, group=54321, extra_groups=[])
    want(done.returncode == 3, done)
    want("cannot look up your user name: its user database has not answered for 5" in done.stderr, done)
    cluster.spate("hub status")


if __name__ == "__main__":
    main(globals(), at_once=4)
