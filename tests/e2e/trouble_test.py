"""What a hub and its nodes answer to full disks and to two that want to be one."""
import json
import os
import subprocess

from cluster import Cluster, cluster_of, free_port
from harness import Place, main, mounted, wait, want


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


def test_a_full_disk_of_the_hub_fails_tasks_and_loses_nothing(place: Place):
    """Its journal has room while output is refused; a task whose output is lost says so, and a retry repeats it."""
    small = small_disk(place, "small", "4m")
    if small is None:
        return
    place.state = os.path.join(small, "state")
    place.env["SPATE_STATE"] = place.state
    cluster = cluster_of(place, "--listen", f"127.0.0.1:{free_port()}")
    unmounted_at_the_end(place, small)
    far = dict(place.env, SPATE_STATE=os.path.join(place.dir, "far"))
    access = cluster.access("--role", "node", "--user", "*", name="node.access")
    cluster.node("n1", "--access", access, "-j", "2", "--cpus", "2", env=far)
    tasks = 300
    job = cluster.submit("--keep-output", "1G", "--array", f"1-{tasks}", "--",
                         "echo {} >> ran; head -c 20000 /dev/urandom | od")
    wait(lambda: cluster.hub.poll() is not None or " failed " in cluster.spate("job list", code=None)[0], "the disk fills up")
    stopped = cluster.hub.poll() is not None
    if stopped:  # its journal had no room either
        want(cluster.hub.returncode == 3 and "nothing that was acknowledged is lost" in place.read("hub.log"), place.read("hub.log"))
    subprocess.run(["mount", "-o", "remount,size=256m", small], check=True)
    if stopped:
        cluster.start_hub()
    out, err = cluster.spate("job wait", job, code=None)
    want(stopped or "stdout is not whole: no room to keep it" in err, err)
    if "not whole" in err:
        cluster.spate("job retry", job)
        cluster.spate("job wait", job)
    ran = counted(place, "ran")
    want(set(ran) == {str(i) for i in range(1, tasks + 1)} and set(ran.values()) <= {1, 2}, ran)


def test_a_full_disk_of_a_node_costs_output_and_is_told(place: Place):
    small = small_disk(place, "small", "2m")
    if small is None:
        return
    cluster = cluster_of(place)
    unmounted_at_the_end(place, small)
    full = dict(place.env, SPATE_STATE=os.path.join(small, "state"))
    access = cluster.access("--role", "node", "--user", "*", name="node.access")
    cluster.node("full", "--access", access, "-j", "1", "--cpus", "1", env=full)
    job = cluster.submit("--wait", "--", "head -c 8000000 /dev/zero; echo {} >> ran", ":::", "a", "b", code=1)
    out, _ = cluster.spate("task info", job.split()[0], "--output", "json")
    for line in map(json.loads, out.splitlines()):
        want(line["state"] == "failed" and "a part of the output is lost" in line["ends"][0]["note"], line)
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
    for name in ("n1", "n2"):
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


if __name__ == "__main__":
    main(globals(), at_once=4)
