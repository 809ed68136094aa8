"""A hub that stops, stands still or is gone: whoever waits for it or changes something learns what has become of it."""
import contextlib
import fcntl
import os
import shutil
import signal
import sqlite3
import subprocess

from cluster import Proxy, cluster_of, free_port
from harness import DEADLINE, SPATE, Place, main, stop, wait, want
from waiting_test import Waiting


def test_files_that_come_home_are_taken_up_again(place: Place):
    files, size = 40, 200_000
    port = free_port()
    cluster = cluster_of(place, "--listen", f"127.0.0.1:{port}")
    cluster.node("n1", "-j", "4")
    proxy = Proxy(port)
    stop_cluster = place.on_remove
    place.on_remove = lambda: (proxy.close(), stop_cluster())
    text = place.read(os.path.basename(cluster.access("--role", "client", name="near")))
    with open(os.open(os.path.join(place.dir, "far"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(text.replace(f":{port}", f":{proxy.port}"))
    values = [str(n) for n in range(1, files + 1)]
    for name, words in (("submit", ["submit", "--wait"]), ("run", ["run", "--hub"])):
        go = f"go-{name}"
        waiting = Waiting(place, *words, "--access", "far", "--get", f"{name}.{{}}", "--",
                          f"until test -e {place.dir}/{go}; do sleep 0.05; done; head -c {size} /dev/zero > {name}.{{}}",
                          ":::", *values, log=name)
        wait(lambda: "running" in cluster.spate("job list", "--all")[0], "it runs")
        proxy.delay = 0.05  # the files take a while
        place.write(go)
        wait(lambda: os.path.exists(os.path.join(place.dir, f"{name}.1")), "the first is home")
        cluster.kill_hub()
        waiting.says("the hub is unreachable")
        want(not all(os.path.exists(os.path.join(place.dir, f"{name}.{n}")) for n in values), "some are to come")
        proxy.delay = 0
        cluster.start_hub()
        waiting.ended(0)
        for n in values:
            want(os.path.getsize(os.path.join(place.dir, f"{name}.{n}")) == size, n)


@contextlib.contextmanager
def locked(cluster):
    lock = sqlite3.connect(os.path.join(cluster.hub_dir, "hub.db"), isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        lock.execute("ROLLBACK")
        lock.close()


def test_changes_of_unknown_outcome_are_told_as_such(place: Place):
    cluster = cluster_of(place)
    job = cluster.submit("--", "true")
    changes = {"hub user ann --weight 3": "hub user", "hub access add --file new": "hub access list",
               "pool add local later --slots 1": "pool list",
               "pool add ssh farm --hosts localhost --no-test": "pool list",
               f"job set {job} --priority 5": "job list", f"job cancel {job}": "job list"}
    with locked(cluster):
        sent = {words: Waiting(place, *words.split(), log=words) for words in changes}
        by_hand = Waiting(place, "job", "hold", job, log="by hand")
        for each in (*sent.values(), by_hand):
            each.says("the hub has not answered for 3 s")
        by_hand.process.send_signal(signal.SIGINT)
        want("it is not known whether this was done: interrupted\n" in by_hand.ended(4), place.read("by hand"))
        cluster.hub.send_signal(signal.SIGTERM)
        for words, look in changes.items():
            said = sent[words].ended(4)
            want("it is not known whether this was done: " in said and f"\nTo see: spate {look}\n" in said, said)
    want(cluster.hub.wait(DEADLINE) == 0, "it ends")
    cluster.start_hub()
    want(" 3 " in cluster.spate("hub user", "ann")[0], "each was done")


def test_a_stopping_hub_is_called_stopping(place: Place):
    cluster = cluster_of(place)
    job = cluster.submit("--", "true")
    waits = Waiting(place, "job", "wait", job)
    waits.says("no node is connected")
    want(place.read("waiting").count("no node is connected") == 1, place.read("waiting"))
    with locked(cluster):
        change = Waiting(place, "job", "set", job, "--priority", "5", log="change")
        change.says("the hub has not answered for 3 s")
        cluster.hub.send_signal(signal.SIGTERM)
        stops = f"is stopping (process {cluster.hub.pid})"
        waits.says(stops)
        change.ended(4)
        for words in (["job list"], ["job wait", job], ["hub status"], ["hub start", "--allow-root"]):
            _, err = cluster.spate(*words, code=3)
            want(stops in err, (words, err))
    want(cluster.hub.wait(DEADLINE) == 0, "it ends")
    _, err = cluster.spate("job list", code=3)
    want("your hub does not run" in err, err)
    cluster.start_hub()
    cluster.node("n1")
    waits.ended(0)


def test_to_stop_a_hub_waits_until_it_has_ended(place: Place):
    """The next one may be started at once."""
    cluster = cluster_of(place)
    job = cluster.submit("--", "true")
    with locked(cluster):
        change = Waiting(place, "job", "set", job, "--priority", "5", log="change")
        change.says("the hub has not answered for 3 s")
        stops = Waiting(place, "hub", "stop", log="stops")
        stops.says("hub stopping; nodes continue their tasks")
        wait(lambda: os.path.exists(os.path.join(cluster.hub_dir, "stopping")), "it is stopping")
        want(stops.process.poll() is None, "it waits for the hub")
    want(stops.process.wait(DEADLINE) == 0, place.read("stops"))
    with open(os.path.join(cluster.hub_dir, "lock"), encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    change.process.wait(DEADLINE)


def test_a_wait_names_the_signal_that_stopped_its_hub(place: Place):
    cluster = cluster_of(place)
    job = cluster.submit("--", "true")
    waits = Waiting(place, "job", "wait", job)
    waits.says("no node is connected")
    stop(cluster.hub)
    try:
        waits.says(f"to let it continue: kill -CONT {cluster.hub.pid}")
    finally:
        cluster.hub.send_signal(signal.SIGCONT)
    cluster.node("n1")
    waits.ended(0)


def test_a_node_that_a_signal_has_stopped_is_not_waited_for(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1")
    stop(node)
    try:
        _, err = place.run("n1", command="node stop", code=3)
        want(f"n1 (pid {node.pid}) is stopped by a signal and cannot end; to let it continue: kill -CONT {node.pid}\n" in err, err)
    finally:
        node.send_signal(signal.SIGCONT)
    place.run("n1", command="node stop")


def test_orders_to_jobs_that_have_ended(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    ended = cluster.submit("--wait", "--", "true").split()[0]
    for words in (["job set", ended, "--priority", "5"], ["job hold", ended], ["job release", ended],
                  ["job close", ended], ["job add", ended, "--", "true"]):
        _, err = cluster.spate(*words, code=3)
        want(f"job {ended} has already ended\n" in err or f"job {ended} has ended; only jobs" in err, (words, err))
    cluster.spate("job cancel", ended)
    _, err = cluster.spate("job get", ended)
    want("no files have been copied back yet (--get and --forward copy them when a task ends)" in err, err)
    runs = cluster.submit("--", "until test -e go; do sleep 0.05; done")
    _, err = cluster.spate("job release", runs, code=3)
    want(err == f"spate: job {runs} is not held\n", err)
    out, _ = cluster.spate("job release", runs, "--json", code=3)
    want('"change":"none"' in out, out)
    cluster.spate("job hold", runs)
    cluster.spate("job release", runs)
    place.write("go")
    cluster.spate("job wait", runs)


def test_a_hub_without_its_folder_ends_and_so_do_waits(place: Place):
    for how in ("removed", "moved"):
        cluster = cluster_of(place)
        job = cluster.submit("--", "true")
        waits = [Waiting(place, "job", "wait", job, log=f"wait-{how}"),
                 Waiting(place, "run", "--hub", "--", "true", log=f"run-{how}"),
                 Waiting(place, "job", "tail", "-f", job, log=f"tail-{how}")]
        for each in waits:
            each.says("start one")
        if how == "moved":
            os.rename(place.state, place.state + ".away")
        else:
            # The hub may just be making a file.
            wait(lambda: shutil.rmtree(place.state, ignore_errors=True) or not os.path.exists(place.state), "it is gone")
        for each in waits:
            said = each.ended(3)
            want(f"the hub's folder '{cluster.hub_dir}' was removed or moved away" in said, said)
        want(cluster.hub.wait(DEADLINE) == 3, "the hub has ended")
        want(f"the hub's folder {cluster.hub_dir} was removed or moved away" in place.read("hub.log"), "and says so")
        os.remove(os.path.join(place.dir, "hub.log"))


def test_ctrl_c_ends_the_reading_of_a_list(place: Place):
    cluster = cluster_of(place)
    job = cluster.submit("--open", "--", "echo {}", ":::", "1")
    os.mkfifo(os.path.join(place.dir, "fifo"))
    for words in (["submit", "--", "echo", "{}"], ["submit", "-"], ["submit", "-a", "-", "--", "echo", "{}"],
                  ["submit", "--json-lines", "-", "--", "echo", "{a}"], ["job", "add", job, "--", "echo", "{}"],
                  ["run", "--hub", "-"], ["submit", "fifo"]):
        process = subprocess.Popen([SPATE, *words], cwd=place.dir, env=place.env, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=open(os.path.join(place.dir, "err"), "w"), text=True)
        # From here on it has a handler, and reads.
        wait(lambda: int(next(line for line in open(f"/proc/{process.pid}/status") if line.startswith("SigCgt"))
                         .split()[1], 16) & 1 << (signal.SIGINT - 1), "it is about to read")
        process.send_signal(signal.SIGINT)
        want(process.wait(DEADLINE) == 130, (words, process.returncode))
        want(process.stdout.read() == "" and place.read("err").endswith("spate: interrupted; nothing was submitted\n"),
             (words, place.read("err")))
        process.stdin.close()
        process.stdout.close()
    want(cluster.spate("job list", "--all", "--quiet")[0].split() == [job], "no job, no task")


if __name__ == "__main__":
    main(globals(), at_once=3)
