"""What a hub keeps of ended jobs, and what it does when its disk fills up."""
import json
import os
import subprocess

from cluster import cluster_of
from harness import SPATE, Place, main, mounted, wait, want
from waiting_test import Waiting

JOBS = 150


def submit_many(cluster, *words):
    """Many small jobs, four at a time."""
    place = cluster.place
    script = f"seq {JOBS} | xargs -P 4 -I % {SPATE} submit -- {' '.join(words)}"
    subprocess.run(["sh", "-c", script], cwd=place.dir, env=place.env, check=True, capture_output=True)


def ended(cluster):
    out, _ = cluster.spate("job list", "--filter", "finished", "--limit", "1000", "--output", "quiet")
    return len(out.split())


def kept(cluster):
    return json.loads(cluster.spate("hub status", "--json")[0])["kept_bytes"]


def test_jobs_that_are_too_old_go_together(place: Place):
    """Not a few each minute."""
    cluster = cluster_of(place, "--listen", "127.0.0.1:0", "--keep", "1h")
    cluster.node("n1", "-j", "4", "--cpus", "4")
    submit_many(cluster, "echo", "%")
    wait(lambda: ended(cluster) == JOBS, "all have ended")
    want(len(os.listdir(os.path.join(cluster.hub_dir, "output"))) == JOBS, "each has its output")
    cluster.spate("hub stop")
    cluster.hub.wait(60)
    cluster.hub_options = ("--listen", "127.0.0.1:0", "--keep", "1s", "--forget-nodes", "1s")
    cluster.start_hub()
    wait(lambda: cluster.spate("job list", "--output", "quiet", code=None)[0] == "", "all are gone")
    wait(lambda: os.listdir(os.path.join(cluster.hub_dir, "output")) == [], "and what they wrote")


def test_the_oldest_go_when_there_is_too_much(place: Place):
    """The bound is of blocks on disk, holds between the looks at what is old, and is not undercut by much."""
    cluster = cluster_of(place, "--listen", "127.0.0.1:0", "--keep", "1d,20M")
    cluster.node("n1", "-j", "4", "--cpus", "4")
    for _ in range(30):
        cluster.submit("--", "head -c 1500000 /dev/urandom | base64")
    cluster.spate("job wait", "30")
    wait(lambda: 0 < kept(cluster) <= 20 << 20, "it fits", deadline=20)
    left = [int(job) for job in cluster.spate("job list", "--output", "quiet")[0].split()]
    want(30 in left and 1 not in left and len(left) >= 5, left)
    out, _ = cluster.spate("hub status")
    want("at most 20 MB; ended jobs for 1d00h" in out, out)


def test_the_status_has_the_sum_of_now(place: Place):
    """Not that of the last look."""
    cluster = cluster_of(place, "--listen", "127.0.0.1:0", "--keep", "1d,1G")
    cluster.node("n1", "-j", "2", "--cpus", "2")
    wait(lambda: kept(cluster) > 0, "it has looked")
    cluster.submit("--wait", "--", "head -c 3000000 /dev/urandom | base64")
    wait(lambda: kept(cluster) > 4_000_000, "what was written is in it", deadline=20)


def fill_to(disk, free):
    """Leaves so many bytes free."""
    with open(os.path.join(disk, "fill"), "ab") as fill:
        while os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize > free:
            fill.write(bytes(1 << 19))
            fill.flush()


def test_a_full_disk_stops_output_then_submissions_never_the_hub(place: Place):
    disk = os.path.join(place.dir, "disk")
    if os.geteuid() != 0 or not mounted(disk, "size=80m"):
        return
    try:
        place.state = place.env["SPATE_STATE"] = os.path.join(disk, "state")
        cluster = cluster_of(place)
        tmp = os.path.join(place.dir, "tmp-n1")
        access = cluster.access("--role", "node", name="node.access")
        cluster.node("n1", "-j", "2", "--cpus", "2", "--tmp", tmp, "--access", access,
                     env=dict(place.env, SPATE_STATE=os.path.join(place.dir, "far")))
        want(os.path.exists(os.path.join(cluster.hub_dir, "reserve")), "the journal has a reserve")
        fill_to(disk, 8 << 20)  # somebody else's file
        wait(lambda: "output of tasks is not kept until there is more" in place.read("hub.log"), "it is low")
        job = cluster.submit("--", "echo lost {}", ":::", *[str(n) for n in range(20)])
        cluster.spate("job wait", job)
        why = [json.loads(line)["not_kept"] for line in cluster.spate("job tasks", job, "--json")[0].splitlines()]
        want(why == ["disk"] * 20, why)
        out, err = cluster.spate("job cat", job, code=None)
        want(out == "" and "none of the 7 bytes" in err, (out, err))
        out, _ = cluster.spate("hub status")
        want("output of tasks is not kept" in out, out)
        fill_to(disk, 1 << 20)
        wait(lambda: "no jobs are accepted" in place.read("hub.log"), "it is full")
        _, err = cluster.spate("submit", "--", "true", code=3)
        want("the hub's disk has only" in err and "spate job forget" in err, err)
        cluster.spate("job list")
        os.remove(os.path.join(disk, "fill"))
        wait(lambda: json.loads(cluster.spate("hub status", "--json")[0])["disk"] == "", "there is room")
        job = cluster.submit("--wait", "--", "echo kept").split()[0]
        want(cluster.spate("job cat", job)[0] == "kept\n", "output is kept again")
    finally:
        place.on_remove()
        subprocess.run(["umount", "-l", disk], check=False)


def test_a_hub_short_of_descriptors_is_waited_for(place: Place):
    """Its clients are not told of a limit of theirs, and no output stops it."""
    cluster = cluster_of(place, files=48)
    cluster.node("n1", "-j", "4", "--cpus", "4")
    open_jobs = [cluster.submit("--open", "--", "echo one") for _ in range(20)]
    follow = [Waiting(place, "run", "--hub", "--", "echo {}", ":::", "1", "2", "3", log=f"follow{n}") for n in range(10)]
    for each in follow:
        said = each.ended(0)
        want(sorted(said.split()[:3]) == ["1", "2", "3"] and "3 succeeded" in said, said)
    for job in open_jobs:
        cluster.spate("job close", job)
        cluster.spate("job wait", job)
    want(cluster.hub.poll() is None, place.read("hub.log"))


if __name__ == "__main__":
    main(globals(), at_once=4)
