"""Machines that fail everything at once: beside another one they cost a job a few attempts, and the user is told."""
import json
import os
import re
import shutil

from cluster import cluster_of
from harness import Place, main, wait, want

TASKS = 40
# Succeeds on the good machine, slowly; fails on the other one at once.
COMMAND = 'echo {} >> ran-$SPATE_NODE; test $SPATE_NODE = good && sleep 0.2'


def machines(place, slots=2):
    cluster = cluster_of(place)
    for name in ("good", "bad"):
        cluster.node(name, "-j", str(slots), "--cpus", str(slots))
    return cluster


def judge(place):
    good, bad = place.lines("ran-good"), place.lines("ran-bad")
    want(sorted(map(int, good)) == list(range(1, TASKS + 1)), f"each runs once where it can: {good}")
    # Three in a row, and what was under way on the other slot.
    want(0 < len(bad) <= 4, f"on the bad machine ran {bad}")
    for name in ("ran-good", "ran-bad"):
        os.remove(os.path.join(place.dir, name))


def test_a_machine_that_fails_everything_costs_no_task(place: Place):
    machines(place)
    values = [str(n) for n in range(1, TASKS + 1)]
    out, _ = place.run("--wait", "--retries", "3", "--", COMMAND, ":::", *values, command="submit")
    judge(place)
    info = json.loads(place.run("--output", "json", out.strip(), command="job info")[0])
    want((info["succeeded"], info["failed"]) == (TASKS, 0), info)

    place.run("--hub", "--retries", "3", "--", COMMAND, ":::", *values)
    judge(place)


def test_a_batch_of_parasol_is_made_beside_a_bad_machine(place: Place):
    os.chmod(place.dir, 0o1777)
    machines(place)
    place.write("task", COMMAND.format("$1"))
    place.write("job.lst", *(f"sh task {n}" for n in range(1, TASKS + 1)))
    _, err = place.run("make", "job.lst", command="para")
    want("Successful batch!" in err, err)
    judge(place)


def test_a_task_that_is_to_blame_fails(place: Place):
    """Its further try is on the other machine, and neither is set aside for it."""
    machines(place, slots=4)  # there is always one free on the other
    # The other tasks succeed only then: where one has succeeded, what fails has failed by itself.
    place.write("task", "echo $1 >> ran-$SPATE_NODE",
                "if test $1 = 1; then test -e once && touch twice; touch once; exit 1; fi",
                "until test -e twice; do sleep 0.02; done")
    _, err = place.run("--wait", "--retries", "1", "--", "sh task {}", ":::", "1", "2", "3",
                       command="submit", code=1)
    want("1 failed" in err and "none succeeded" not in err, err)
    runs = [place.read(f"ran-{name}").split().count("1") for name in ("good", "bad")]
    want(runs == [1, 1], runs)


def test_a_failing_command_runs_once(place: Place):
    """Nobody asked for a retry."""
    cluster = cluster_of(place)
    for name in ("n1", "n2", "n3"):
        cluster.node(name, "-j", "2", "--cpus", "2")
    place.run("--wait", "--array", "1-4", "--", "echo {} >> ran; exit 1", command="submit", code=1)
    want(sorted(place.lines("ran")) == ["1", "2", "3", "4"], place.lines("ran"))


def test_a_bad_machine_is_named(place: Place):
    """Without retries it costs a job a handful of tasks, and the job's end says which machine it was."""
    machines(place)
    values = [str(n) for n in range(1, TASKS + 1)]
    out, err = place.run("--wait", "--", COMMAND, ":::", *values, command="submit", code=1)
    job = out.strip()
    bad = place.lines("ran-bad")
    want(3 <= len(bad) <= 5, f"on the bad machine ran {bad}")
    blame = f"{len(bad)} of 40 tasks failed on bad, where none succeeded"
    retry = f"spate job retry {job} --not-on bad"
    want(f"spate: {blame}:  {retry}" in err, err)
    _, waited = place.run(job, command="job wait", code=1)
    want(f"{blame}:  {retry}" in waited, waited)
    page, _ = place.run(job, command="job info")
    want(blame in page and retry in page, page)
    info = json.loads(place.run("--output", "json", job, command="job info")[0])
    want(info["blamed"] == [{"node": "bad", "failed": len(bad)}], info)
    want(info["retry_elsewhere_command"] == retry, info)
    nodes, _ = place.run(command="node list")
    want(f"excluded for job {job}" in nodes, nodes)
    want(re.search(rf"Z node bad: \d+ tasks of job {job} failed here", place.read("hub.log")), place.read("hub.log"))
    # What it says to type works.
    place.run(job, "--not-on", "bad", command="job retry")
    place.run(job, command="job wait")
    want(len(place.lines("ran-bad")) == len(bad), place.lines("ran-bad"))
    # A success there ends it.
    place.run("--wait", "--on", "bad", "--", "true", command="submit")
    nodes, _ = place.run(command="node list")
    want("set aside" not in nodes, nodes)


def nodes_of(place):
    out, _ = place.run("--output", "json", command="node list")
    return {node["node"]: node for node in map(json.loads, out.splitlines())}


def why_of(place, name):
    nodes = nodes_of(place)
    page, _ = place.run(command="node list")
    want(all(node["why"] in page for node in nodes.values()), f"{nodes}: {page}")
    return nodes[name]["why"]


def start_hub_again(cluster):
    cluster.kill_hub()
    cluster.start_hub()


def test_the_next_hub_remembers_a_bad_machine(place: Place):
    """After a kill -9, too, until something succeeds there or somebody clears it; and that is remembered as well."""
    os.chmod(place.dir, 0o1777)
    cluster = machines(place)
    place.write("task", COMMAND.format("$1"))
    values = [str(n) for n in range(1, TASKS + 1)]
    place.write("job.lst", *(f"sh task {n}" for n in values))

    def sick_of_batch():
        return place.run("showSickNodes", command="para")[0]

    place.run("-retries=1", "make", "job.lst", command="para", code=255)
    want("bad " in sick_of_batch() and "total sick machines: 1" in sick_of_batch(), sick_of_batch())
    place.run("--wait", "--", "sh task {}", ":::", *values, command="submit", code=1)
    want(why_of(place, "bad") == "excluded for job 1, 2", why_of(place, "bad"))
    start_hub_again(cluster)
    want(why_of(place, "bad") == "excluded for job 1, 2", why_of(place, "bad"))
    want(why_of(place, "good") == "", why_of(place, "good"))
    want("bad " in sick_of_batch() and "total sick machines: 1" in sick_of_batch(), sick_of_batch())

    # A forgotten job may still be named, also by a hub that is made of a backup.
    place.run("2", command="job forget")
    start_hub_again(cluster)
    want(why_of(place, "bad") == "excluded for job 1, 2", why_of(place, "bad"))
    place.run("hub.backup", command="hub backup")
    cluster.kill_hub()
    shutil.rmtree(cluster.hub_dir)
    place.run("hub.backup", command="hub restore")
    cluster.start_hub()
    want(why_of(place, "bad") == "excluded for job 1, 2", why_of(place, "bad"))

    # A success ends it.
    place.run("--wait", "--on", "bad", "--", "true", command="submit")
    want(why_of(place, "bad") == "", why_of(place, "bad"))
    start_hub_again(cluster)
    want(why_of(place, "bad") == "", why_of(place, "bad"))
    want("total sick machines: 0" in sick_of_batch(), sick_of_batch())

    # And so does an administrator.
    wait(lambda: [node["state"] for node in nodes_of(place).values()] == ["ready"] * 2, "both are back")
    cluster.submit("--wait", "--", "sh task {}", ":::", *values, code=1)
    want("excluded for job" in why_of(place, "bad"), why_of(place, "bad"))
    place.run("bad", command="node resume")
    want(why_of(place, "bad") == "", why_of(place, "bad"))
    start_hub_again(cluster)
    want(why_of(place, "bad") == "", why_of(place, "bad"))
    cluster.kill_hub()
    place.run("hub", command="state check")


def test_retries_of_parasol_are_all_its_tries(place: Place):
    """`-retries=1` is one run of each job, as in Parasol."""
    os.chmod(place.dir, 0o1777)
    cluster = cluster_of(place)
    for name in ("n1", "n2", "n3"):
        cluster.node(name, "-j", "2", "--cpus", "2")
    place.write("task", "echo $1 >> ran; exit 1")
    place.write("job.lst", *(f"sh task {n}" for n in range(1, 5)))
    place.run("-retries=1", "make", "job.lst", command="para", code=255)
    want(sorted(place.lines("ran")) == ["1", "2", "3", "4"], place.lines("ran"))


def test_a_run_of_one_task_ends_with_its_code(place: Place):
    place.run("--", "exit 7", code=7)
    place.run("--", "exit {}", ":::", "7", "8", code=1)
    place.run("--retries", "1", "--", "exit 7", code=7)
    place.run("--", "kill -9 $$", code=1)
    cluster_of(place).node("n1")
    place.run("--hub", "--", "exit 9", code=9)


if __name__ == "__main__":
    main(globals(), at_once=4)
