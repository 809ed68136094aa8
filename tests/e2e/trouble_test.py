"""What a hub and its nodes answer to full disks and to two that want to be one."""
import json
import os
import subprocess

from cluster import Cluster, cluster_of, free_port
from harness import DEADLINE, SPATE, Place, main, mounted, wait, want
from waiting_test import OnTerminal, Waiting
from waits_test import told_everywhere


def small_disk(place, name, size):
    """A file system of its own, or None where that is not allowed. The cluster must end before it."""
    path = os.path.join(place.dir, name)
    return path if mounted(path, f"size={size}") else None


def unmounted_at_the_end(place, path):
    stop = place.on_remove
    def end():
        try:
            stop()
        finally:
            subprocess.run(["umount", "-l", path], check=True)
    place.on_remove = end


def counted(place, name):
    counts = {}
    for line in place.lines(name):
        counts[line] = counts.get(line, 0) + 1
    return counts


def leave(disk, free):
    """Somebody else's file takes all but so many bytes."""
    with open(os.path.join(disk, "fill"), "wb") as fill:
        os.posix_fallocate(fill.fileno(), 0, os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - free)


def one(text):
    return json.loads(text.splitlines()[0])


def ends_of(cluster, task):
    return one(cluster.spate("task info", task, "--output", "json")[0])["ends"]


def state_of(cluster, node):
    return one(cluster.spate("node info", node, "--json")[0])["state"]


def hub_on(place, size):
    """A hub with its state on a small disk, and its node n1 elsewhere; or None where that is not allowed."""
    small = small_disk(place, "small", size)
    if small is None:
        return None, None
    place.state = os.path.join(small, "state")
    place.env["SPATE_STATE"] = place.state
    cluster = cluster_of(place, "--listen", f"127.0.0.1:{free_port()}")
    unmounted_at_the_end(place, small)
    far = dict(place.env, SPATE_STATE=os.path.join(place.dir, "far"))
    access = cluster.access("--role", "node", "--user", "*", name="node.access")
    cluster.node("n1", "--access", access, "-j", "2", "--cpus", "2", env=far)
    return cluster, small


def node_on(place, size, *options):
    """A hub, and its node "small" with its state on a small disk; or None where that is not allowed."""
    small = small_disk(place, "small", size)
    if small is None:
        return None, None
    cluster = cluster_of(place)
    unmounted_at_the_end(place, small)
    there = dict(place.env, SPATE_STATE=os.path.join(small, "state"))
    access = cluster.access("--role", "node", "--user", "*", name="node.access")
    cluster.node("small", "--access", access, *options, env=there)
    return cluster, small


def test_a_full_disk_of_the_hub_fails_no_task(place: Place):
    """Its journal has room while output is not kept, or waits on the node."""
    cluster, small = hub_on(place, "4m")
    if cluster is None:
        return
    tasks = 300
    job = cluster.submit("--keep-output", "1G", "--array", f"1-{tasks}", "--",
                         "echo {} >> ran; head -c 20000 /dev/urandom | od")

    def meets_it():
        log = place.read("hub.log")
        return "the disk has only" in log or "has written until" in log or cluster.hub.poll() is not None

    wait(meets_it, "the disk fills up")
    stopped = cluster.hub.poll() is not None
    if stopped:  # its journal had no room either
        want(cluster.hub.returncode == 3 and "nothing that was acknowledged is lost" in place.read("hub.log"), place.read("hub.log"))
    subprocess.run(["mount", "-o", "remount,size=256m", small], check=True)
    if stopped:
        cluster.start_hub()
    cluster.spate("job wait", job, code=None)
    info = one(cluster.spate("job info", job, "--json")[0])
    want((info["succeeded"], info["failed"]) == (tasks, 0), info)
    ran = counted(place, "ran")
    want(set(ran) == {str(i) for i in range(1, tasks + 1)} and set(ran.values()) <= ({1, 2} if stopped else {1}), ran)


def test_files_wait_on_the_node_until_the_hub_has_room(place: Place):
    cluster, small = hub_on(place, "24m")
    if cluster is None:
        return
    go = os.path.join(place.dir, "go")
    job = cluster.submit("--get", "f.{}", "--", f"until test -e {go}; do sleep 0.05; done; head -c 400000 /dev/urandom > f.{{}}",
                         ":::", "1", "2", "3", "4")
    wait(lambda: one(cluster.spate("node info", "n1", "--json")[0])["tasks"] >= 2, "two of them run")
    leave(small, 560_000)
    place.write("go")
    wait(lambda: "node n1 keeps its tasks' output until the hub's disk has room" in place.read("hub.log"), "it is told")
    why = "node n1 keeps its tasks' output until the hub's disk has room"
    wait(lambda: why in (one(cluster.spate("job info", job, "--json")[0])["waits"] or ""), "the job waits for that")
    os.remove(os.path.join(small, "fill"))
    cluster.spate("job wait", job)
    want("node n1 continues: the hub's disk has room" in place.read("hub.log"), place.read("hub.log"))
    want([len(ends_of(cluster, f"{job}.{task}")) for task in range(1, 5)] == [1] * 4, "each ran once")
    cluster.spate("job get", job, "home")
    files = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(place.dir, "home")) for name in names]
    want([os.path.getsize(file) for file in files] == [400_000] * 4, files)


def test_a_node_without_room_takes_no_task_until_there_is_some(place: Place):
    cluster, small = node_on(place, "32m", "-j", "2", "--cpus", "2")
    if cluster is None:
        return
    leave(small, 1_000_000)
    wait(lambda: state_of(cluster, "small") == "full", "it says so")
    page, _ = cluster.spate("node list")
    want("full" in page and "no room on the disk" in page, page)
    wait(lambda: "node small gets no tasks: no room on the disk" in place.read("hub.log"), "so does the hub's log")
    job = cluster.submit("--", "echo {} >> ran", ":::", "a", "b")
    waiting = Waiting(place, "job", "wait", job, log="wait-full")
    bar = OnTerminal(place, "job", "progress", job, log="bar-full")
    told_everywhere(cluster, job, r"the only nodes that can run it accept no tasks: small \(no room on its disk\)", waiting, bar)
    os.remove(os.path.join(small, "fill"))
    waiting.ended(0)
    bar.ended(0)
    want(counted(place, "ran") == {"a": 1, "b": 1} and state_of(cluster, "small") == "ready", place.read("ran"))
    wait(lambda: "node small has room on its disk again" in place.read("hub.log"), "the log says so")


def test_what_met_a_full_disk_runs_elsewhere_at_no_try(place: Place):
    cluster, small = node_on(place, "32m", "-j", "1", "--cpus", "1")
    if cluster is None:
        return
    job = cluster.submit("--", "echo $SPATE_NODE >> ran; until test -e go; do sleep 0.05; done; head -c 1000000 /dev/zero | tr '\\0' x")
    wait(lambda: place.lines("ran") == ["small"], "it runs there")
    leave(small, 500_000)
    cluster.node("good", "-j", "1", "--cpus", "1")
    place.write("go")
    cluster.spate("job wait", job)
    want(place.lines("ran") == ["small", "good"], place.read("ran"))
    lost, good = ends_of(cluster, f"{job}.1")
    want((lost["cause"], lost["verdict"], good["verdict"]) == ("node", "retry", "succeeded"), (lost, good))
    want("no room on the disk for the 977 KB that it wrote" in lost["note"], lost)
    want(len(cluster.spate("job cat", job)[0]) == 1_000_000, "its output is whole")


def test_a_task_meets_a_full_disk_five_times(place: Place):
    """Each time there is room again when it has ended."""
    cluster, small = node_on(place, "32m", "-j", "1", "--cpus", "1")
    if cluster is None:
        return
    hog = os.path.join(small, "hog")
    job = cluster.submit("--wait", "--", f"echo >> ran; cat /dev/zero > {hog}; head -c 300000 /dev/zero | tr '\\0' x; rm {hog}",
                         code=1).split()[0]
    ends = ends_of(cluster, f"{job}.1")
    want([end["cause"] for end in ends] == ["node"] * 5 and ends[-1]["verdict"] == "failed", ends)
    want("for the 293 KB that it wrote" in ends[-1]["note"] and "its node was lost or had a full disk 5 times" in ends[-1]["note"], ends[-1])
    want(len(place.lines("ran")) == 5, place.read("ran"))
    _, err = cluster.spate("job wait", job, code=1)
    want("its node's disk was full" in err, err)


def test_a_task_that_fills_the_disk_by_itself_fails(place: Place):
    """It wrote more than half of what was free."""
    cluster, small = node_on(place, "2m", "-j", "1", "--cpus", "1")
    if cluster is None:
        return

    def free():
        return os.statvfs(small).f_bavail * os.statvfs(small).f_frsize
    before = free()
    for word in ("a", "b"):
        # An idle node has nothing left of the task before.
        wait(lambda: free() >= before - 65_536, "there is room again")
        job = cluster.submit("--wait", "--", "head -c 8000000 /dev/zero; echo {} >> ran", ":::", word, code=1)
        out, _ = cluster.spate("task info", job.split()[0], "--output", "json")
        line = one(out)
        want(line["state"] == "failed" and "a part of the output is lost" in line["ends"][0]["note"], line)
        want("no room on the disk for the 7.6 MB that it wrote" in line["ends"][0]["note"], line)
    want(counted(place, "ran") == {"a": 1, "b": 1}, place.read("ran"))


def test_one_folder_is_one_node(place: Place):
    cluster = cluster_of(place)
    first = cluster.node("n1")
    access = cluster.access("--role", "node", name="node.access")
    second = cluster.node("n1", "--access", access, join=False)
    wait(lambda: second.poll() is not None, "the second gives up")
    want(second.returncode == 3 and str(first.pid) in place.read("n1.log"), place.read("n1.log"))


def test_a_machine_serves_two_hubs_by_two_nodes(place: Place):
    one = cluster_of(place)
    own, other = place.env, dict(place.env, SPATE_STATE=os.path.join(place.dir, "other"))
    place.state = other["SPATE_STATE"]
    place.env = other
    two = Cluster(place, "--listen", "127.0.0.1:0", log="hub2.log")
    def end():
        two.stop()
        one.stop()
    place.on_remove = end
    two.node("n1")
    place.env = own
    one.node("n1b", "--name", "n1")
    for env in (own, other):
        place.env = env
        one.submit("--wait", "--", "echo $SPATE_NODE >> ran")
    want(place.lines("ran") == ["n1", "n1"], place.read("ran"))


def test_a_node_in_the_background_says_whether_it_has_joined(place: Place):
    cluster = cluster_of(place, "--listen", f"127.0.0.1:{free_port()}")
    access = cluster.access("--role", "node", "--user", "*", name="node.access")
    start = ("node start", "--daemon", "-j", "1", "--access", access, "--name")
    # A job may follow at once: the hub knows its node.
    _, joined = cluster.spate(*start, "n1")
    want("node n1 serves with 1 slot" in joined, joined)
    node = json.loads(cluster.spate("node list", "--json")[0])
    want(node["state"] == "ready", node)
    cluster.kill_hub()
    _, waits = cluster.spate(*start, "n2")
    want("node n2 waits for its hub" in waits, waits)
    # What it has to say before that is a message as well, and a line of its log.
    place.env["TMPDIR"] = "/no/such/folder"
    _, told = cluster.spate(*start, "n3")
    missing = "$TMPDIR '/no/such/folder' is missing; using /tmp\n"
    want(told.startswith(f"spate: {missing}spate: node n3 waits"), told)
    log = told.split("its log is ")[1].strip()
    wait(lambda: any(line.endswith(f"Z {missing}") for line in open(log, encoding="utf-8")), "the log has it, too")
    for name in ("n1", "n2", "n3"):
        cluster.spate("node stop", name)


def test_duplicate_names_one_serves_the_other_waits(place: Place):
    cluster = cluster_of(place)
    first = cluster.node("n1")
    far = dict(place.env, SPATE_STATE=os.path.join(place.dir, "far"))
    access = cluster.access("--role", "node", "--user", "*", name="node.access")
    second = cluster.node("n1b", "--name", "n1", "--access", access, env=far, join=False)
    wait(lambda: "already connected" in place.read("n1b.log"), "the second is told")
    want(second.poll() is None and "another name" in place.read("n1b.log"), place.read("n1b.log"))
    cluster.submit("--wait", "--", "true")
    # It takes over when the first one leaves.
    first.terminate()
    wait(lambda: "joined the hub" in place.read("n1b.log"), "the second serves now")
    cluster.submit("--wait", "--", "true")


def test_a_state_folder_that_is_a_dangling_link(place: Place):
    os.symlink("gone", place.state)
    _, err = place.run("--", "true", code=2)
    want(f"'{place.state}': it is a symbolic link to 'gone', which is missing; make that folder" in err, err)


def test_a_home_of_another_user_is_left_alone(place: Place):
    if os.geteuid() != 0:
        return print("       (skipped: is not root)")
    home = os.path.join(place.dir, "home")
    os.mkdir(home)
    os.chown(home, 65534, 65534)
    state = place.env.pop("SPATE_STATE")
    place.env.pop("XDG_STATE_HOME", None)
    place.env["HOME"] = home
    for words, command in ((["--", "true"], "run"), (["--fg", "--", "true"], "sem")):
        _, err = place.run(*words, command=command, code=3)
        want(f"the home folder {home} belongs to " in err and "--state DIR" in err, err)
    place.run("--dry-run", "--", "true")
    want(os.listdir(home) == [], os.listdir(home))
    place.run("--state", state, "--", "true")


def test_a_folder_too_deep_for_the_system(place: Place):
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(place.dir)
        for _ in range(25):
            os.mkdir("d" * 200)
            os.chdir("d" * 200)
        run = subprocess.run([SPATE, "run", "--", "true"], env=place.env, capture_output=True, timeout=DEADLINE)
    finally:
        os.fchdir(before)
        os.close(before)
    err = run.stderr.decode()
    want(run.returncode == 2 and "--cwd" not in err and "a path may have 4,095 bytes" in err, err)


if __name__ == "__main__":
    main(globals(), at_once=4)
