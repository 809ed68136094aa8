"""Output that was not kept: each way to wait for output, to read it and to fetch it states the true cause.

The table has each cause by each way: WAYS wait for a job, look_ways look at one that has ended, and what only reads
(`job cat`, a wait with the same --key) meets a file of the hub that is torn."""
import json
import os
import pwd
import subprocess
import time

from cluster import cluster_of
from harness import DEADLINE, SPATE, Place, main, mounted, stop, wait, want
from keep_test import fill_to
from waiting_test import Waiting

# The word in JSON; the cause as people read it; options of the job; it is a failure; bytes of a task.
DISK = ("disk", "because the hub's disk had too little free space", (), True, 3_000)
SHARE = ("share", "because the hub keeps no more output of this user", (), True, 120_000)
BOUND = ("keep-output", "because of --keep-output", ("--keep-output", "100K"), False, 120_000)
SPOOL = ("spool", "because its node could not store or send it", (), True, 120_000)
TORN = ("damaged", "because its file on the hub is damaged", (), True, 3_000)
TASKS = "2"
# Commands that wait for a job: their words, what its tasks do besides, and whether its output is their result.
WAYS = {
    "wait": (("submit", "--wait"), "", False),
    "run": (("run", "--hub"), "", True),
    "json": (("run", "--hub", "--json"), "", True),
    "results": (("run", "--hub", "--results", "WORD.csv"), "", True),
    "get": (("submit", "--wait", "--get", "WORD.{}"), "; echo home > WORD.{}", True),
    "forward": (("submit", "--wait", "--forward", "OUT=WORD.forwarded"), "; echo home >&$OUT", True),
}


def task(size, more=""):
    return f"head -c {size} /dev/zero | tr '\\0' x; : {{}}{more}"


def job_of(out):
    return out.split()[0]


def words_of(cause, way, gate="", key=False):
    word, _, options, _, size = cause
    words, more, _ = WAYS[way]
    words = [each.replace("WORD", word) for each in words]
    again = ("--key", f"{word}-{way}") if key else ()
    return [*words, *again, *options, "--", gate + task(size, more.replace("WORD", word)), ":::", "1", "2"]


def check_way(place, cause, way, out, err):
    """What the command printed; its exit code was right."""
    word, text, _, _, _ = cause
    told = f"output of {TASKS} tasks was not kept, {text}"
    if way == "json":
        lines = [json.loads(line) for line in out.splitlines()]
        ends = [line["not_kept"] for line in lines if line["type"] == "end"]
        return want(ends == [word, word] and any(told in line.get("text", "") for line in lines), (word, way, out, err))
    want(told in err and "xxx" not in out, (word, way, err))
    if way == "results":
        want("xxx" not in place.read(f"{word}.csv"), (word, way))
    if way == "get":
        want(place.read(f"{word}.1") == "home\n" == place.read(f"{word}.2"), (word, way))
    if way == "forward":
        want(place.read(f"{word}.forwarded") == "home\nhome\n", (word, way))


def wait_ways(cluster, cause, gate="", between=lambda: None, less=()):
    """All at once; `between` is called when they wait. Returns a job that has ended."""
    place = cluster.place
    word, _, _, loses, _ = cause
    told = f"output of {TASKS} tasks was not kept, {cause[1]}"
    how = {"cwd": place.dir, "env": place.env, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
           "stderr": subprocess.PIPE, "text": True}
    ways = {way: subprocess.Popen([SPATE, *words_of(cause, way, gate)], **how) for way in WAYS if way not in less}
    between()
    jobs = {}
    for way, process in ways.items():
        out, err = process.communicate(timeout=DEADLINE)
        code = 1 if loses and WAYS[way][2] else 0
        want(process.returncode == code, (word, way, process.returncode, out, err))
        check_way(place, cause, way, out, err)
        jobs[way] = out.split()[0] if WAYS[way][0][0] == "submit" else ""
    _, err = cluster.spate("job wait", jobs["wait"])
    want(told in err, (word, "job wait", err))
    if "get" in jobs:
        _, err = cluster.spate("job get", jobs["get"], f"{word}-again", code=1 if loses else 0)
        want(told in err and place.read(f"{word}-again/{word}.2") == "home\n", (word, "job get", err))
    return jobs["wait"]


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
        # What a task brings home is still kept, and what it prints with it.
        job = wait_ways(cluster, DISK, less=("get", "forward"))
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


def spooled(place, kind):
    """Files of a kind that nodes here keep until they are sent."""
    names = ((folder, name) for folder, _, files in os.walk(f"{place.state}/nodes") for name in files)
    return [os.path.join(*name) for name in names if name[1].endswith(kind)]


def test_each_way_names_a_nodes_spool(place: Place):
    """Files of output vanish on a node that has not sent them, and that takes its shepherds over as a new process."""
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "12", "--cpus", "12")

    def lose():
        wait(lambda: len(place.lines("begun")) == 12, "all run")
        stop(node)
        place.write("go")
        wait(lambda: len(place.lines("done")) == 12, "all have ended")
        wait(lambda: [os.path.getsize(file) for file in spooled(place, ".out")] == [120_000] * 12, "all was written")
        time.sleep(0.5)  # their shepherds have seen them end
        for file in spooled(place, ".out"):
            os.remove(file)
        node.kill()
        node.wait()
        cluster.node("n1", "-j", "12", "--cpus", "12")

    gate = (f"echo >> {place.dir}/begun; until test -e {place.dir}/go; do sleep 0.05; done; "
            f"trap 'echo >> {place.dir}/done' EXIT; ")
    look_ways(cluster, SPOOL, wait_ways(cluster, SPOOL, gate, lose))


def test_a_task_whose_files_a_node_has_lost_runs_again(place: Place):
    """It was reported to have succeeded, without a word on its files."""
    cluster = cluster_of(place)
    node = cluster.node("n1")
    command = (f"echo >> {place.dir}/begun; until test -e {place.dir}/go; do sleep 0.05; done; "
               f"head -c 200000 /dev/zero > big.{{}}; echo >> {place.dir}/done")
    waiting = Waiting(place, "submit", "--wait", "--get", "big.{}", "--", command, ":::", "1")
    wait(lambda: place.lines("begun"), "it runs")
    stop(node)
    place.write("go")
    wait(lambda: [os.path.getsize(file) > 200_000 for file in spooled(place, ".files")] == [True], "they are packed")
    time.sleep(0.5)  # its shepherd has seen it end
    os.remove(spooled(place, ".files")[0])
    node.kill()
    node.wait()
    cluster.node("n1")
    waiting.ended(0)
    want(os.path.getsize(os.path.join(place.dir, "big.1")) == 200_000 and len(place.lines("begun")) == 2, "it ran again")


def test_each_way_names_a_torn_file(place: Place):
    """What waits a second time, with the same key, reads what the hub has kept."""
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "4")
    for way, (words, _, is_result) in WAYS.items():
        if not is_result:
            continue
        line = words_of(TORN, way, key=True)
        place.run(*[word for word in line[1:] if word != "--wait"], command=line[0])
        job = cluster.spate("job list", "--key", f"damaged-{way}", "--output", "quiet")[0].split()[0]
        cluster.spate("job wait", job)
        os.truncate(os.path.join(cluster.hub_dir, "output", job), 100)
        if way in ("get", "forward"):  # files cannot be brought, so the command has failed
            _, err = place.run(*line[1:], command=line[0], code=3)
            want("is shorter than the journal states" in err, (way, err))
            continue
        out, err = place.run(*line[1:], command=line[0], code=1)
        check_way(place, TORN, way, out, err)
    job = job_of(cluster.submit("--wait", "--get", "got.{}", "--", task(3_000, "; echo home > got.{}"), ":::", "1", "2"))
    os.truncate(os.path.join(cluster.hub_dir, "output", job), 100)
    for *command, code in (("job cat", job, 3), ("job cat", f"{job}.2", 3), ("job tail", job, 3),
                           ("job tail", "-f", job, 3), ("job tail", f"{job}.1", 1), ("job get", job, "again", 3)):
        _, err = cluster.spate(*command, code=code)
        want("is shorter than the journal states" in err, (command, err))


if __name__ == "__main__":
    main(globals(), at_once=2)
