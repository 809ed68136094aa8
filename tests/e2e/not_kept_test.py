"""Output that was not kept: each way to wait for output, to read it and to fetch it states the true cause."""
import json
import os
import pwd
import subprocess

from cluster import cluster_of
from harness import Place, main, mounted, wait, want
from keep_test import fill_to

# The word in JSON; the cause as people read it; options of the job; it is a failure; bytes of a task.
DISK = ("disk", "because the hub's disk had too little free space", (), True, 3_000)
SHARE = ("share", "because the hub keeps no more output of this user", (), True, 120_000)
BOUND = ("keep-output", "because of --keep-output", ("--keep-output", "100K"), False, 120_000)
TASKS = "2"


def task(size, more=""):
    return f"head -c {size} /dev/zero | tr '\\0' x; : {{}}{more}"


def job_of(out):
    return out.split()[0]


def wait_ways(cluster, cause):
    """Each waits for a job of its own: words, and whether the output is the result."""
    word, text, options, loses, size = cause
    told = f"output of {TASKS} tasks was not kept, {text}"
    values = (":::", "1", "2")
    place = cluster.place
    out, err = place.run("--wait", *options, "--", task(size), *values, command="submit")
    want(told in err, (word, "submit --wait", err))
    job = job_of(out)
    _, err = cluster.spate("job wait", job)
    want(told in err, (word, "job wait", err))
    lost = 1 if loses else 0
    out, err = place.run("--hub", *options, "--", task(size), *values, code=lost)
    want(told in err and "xxx" not in out, (word, "run --hub", err))
    out, err = place.run("--hub", "--json", *options, "--", task(size), *values, code=lost)
    lines = [json.loads(line) for line in out.splitlines()]
    ends = [line["not_kept"] for line in lines if line["type"] == "end"]
    want(ends == [word, word] and any(told in line.get("text", "") for line in lines), (word, "--json", out, err))
    results = f"{word}.csv"
    _, err = place.run("--hub", "--results", results, *options, "--", task(size), *values, code=lost)
    want(told in err and "xxx" not in place.read(results), (word, "--results", err))
    if word == "disk":
        return job  # what a task brings home is still kept, and what it prints with it
    get = task(size, "; echo home > got.{}")
    out, err = place.run("--wait", "--get", "got.{}", *options, "--", get, *values, command="submit", code=lost)
    want(told in err and place.read("got.1") == "home\n", (word, "--get", err))
    _, err = cluster.spate("job get", job_of(out), "again", code=lost)
    want(told in err and place.read("again/got.2") == "home\n", (word, "job get", err))
    forward = task(size, "; echo home >&$OUT")
    name = f"{word}.forwarded"
    forwards = ("--forward", f"OUT={name}")
    _, err = place.run("--wait", *forwards, *options, "--", forward, *values, command="submit", code=lost)
    want(told in err and place.read(name) == "home\nhome\n", (word, "--forward", err))
    return job


def look_ways(cluster, cause, job):
    word, text, _, loses, size = cause
    told = f"job {job}: output of {TASKS} tasks was not kept, {text}"
    out, err = cluster.spate("job tail", job, code=1 if loses else 0)
    want(out == "" and told in err and "printed anything" not in err, (word, "job tail", err))
    _, err = cluster.spate("job tail", "-f", job, code=1 if loses else 0)
    want(told in err, (word, "job tail -f", err))
    out, err = cluster.spate("job cat", job, code=1)
    none = f"none of the {size:,} bytes of its standard output were kept, {text}"
    want(out == "" and none in err, (word, "job cat", err))
    _, err = cluster.spate("job tail", f"{job}.1", code=1)
    want(text in err, (word, "job tail of a task", err))
    out, _ = cluster.spate("job info", job)
    want(f"output of {TASKS} tasks was not kept" in " ".join(out.split()), (word, "job info", out))
    facts = [{"why": word, "tasks": 2}]
    for command in "job info", "job list":
        line = json.loads(cluster.spate(command, job, "--json")[0])
        want(line["not_kept"] == facts, (word, command, line))
    out, err = cluster.spate("job list", job)
    want("succeeded*" in out and "* output was not kept; to see why: spate job info" in err, (word, out, err))
    for line in cluster.spate("job tasks", job, "--json")[0].splitlines():
        want(json.loads(line)["not_kept"] == word and json.loads(line)["stdout_kept"] == 0, (word, line))
    out, _ = cluster.spate("task info", f"{job}.1")
    want("(not kept), because" in " ".join(out.split()), (word, "task info", out))
    events = [json.loads(line) for line in cluster.spate("events", "--json")[0].splitlines()]
    ends = [each for each in events if each["type"] == "end" and each["job"] == int(job)]
    want([each["not_kept"] for each in ends] == [word, word], (word, "events", ends))
    out, _ = cluster.spate("events")
    want(f"its output was not kept, {text}" in out, (word, "events", out))


def test_each_way_names_a_typed_bound_and_a_share(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    look_ways(cluster, BOUND, wait_ways(cluster, BOUND))
    user = pwd.getpwuid(os.geteuid()).pw_name
    cluster.spate("hub user", user, "--max-output", "100K")
    look_ways(cluster, SHARE, wait_ways(cluster, SHARE))


def test_each_way_names_a_full_disk(place: Place):
    disk = os.path.join(place.dir, "disk")
    if os.geteuid() != 0 or not mounted(disk, "size=200m"):
        return
    try:
        place.state = place.env["SPATE_STATE"] = os.path.join(disk, "state")
        cluster = cluster_of(place)
        access = cluster.access("--role", "node", name="node.access")
        cluster.node("n1", "-j", "2", "--cpus", "2", "--tmp", os.path.join(place.dir, "tmp-n1"), "--access", access,
                     env=dict(place.env, SPATE_STATE=os.path.join(place.dir, "far")))
        fill_to(disk, 22 << 20)
        wait(lambda: "output of tasks is not kept until there is more" in place.read("hub.log"), "it is low")
        job = wait_ways(cluster, DISK)
        look_ways(cluster, DISK, job)
        os.remove(os.path.join(disk, "fill"))
        wait(lambda: json.loads(cluster.spate("hub status", "--json")[0])["disk"] == "", "there is room")
        cluster.spate("job retry", "--succeeded", f"{job}.1-2")
        _, err = cluster.spate("job wait", job)
        want("not kept" not in err, "what has run again was kept: " + err)
        out, _ = cluster.spate("job cat", job)
        want(len(out) == 6_000, len(out))
    finally:
        place.on_remove()
        subprocess.run(["umount", "-l", disk], check=False)


def test_a_torn_file_is_named(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    command = task(3_000, "; echo home > got.{}")
    job = job_of(cluster.submit("--wait", "--get", "got.{}", "--", command, ":::", "1", "2"))
    os.truncate(os.path.join(cluster.hub_dir, "output", job), 100)
    for command in ("job cat", job), ("job tail", job), ("job tail", f"{job}.1"), ("job get", job, "again"):
        _, err = cluster.spate(*command, code=None)
        want("is shorter than the journal states" in err, (command, err))


if __name__ == "__main__":
    main(globals(), at_once=2)
