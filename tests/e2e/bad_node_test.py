"""Machines that fail everything at once: beside another one they cost a job a few attempts, and no task."""
import json
import os

from cluster import cluster_of
from harness import Place, main, want

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
    out, _ = place.run("--wait", "--", COMMAND, ":::", *values, command="submit")
    judge(place)
    info = json.loads(place.run("--output", "json", out.strip(), command="job info")[0])
    want((info["succeeded"], info["failed"]) == (TASKS, 0), info)

    place.run("--hub", "--", COMMAND, ":::", *values)
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
    """It is tried on both machines, and neither is set aside for it."""
    machines(place, slots=4)  # there is always one free on the other
    # The other tasks succeed only then: where one has succeeded, what fails has failed by itself.
    place.write("task", "echo $1 >> ran-$SPATE_NODE",
                "if test $1 = 1; then test -e once && touch twice; touch once; exit 1; fi",
                "until test -e twice; do sleep 0.02; done")
    _, err = place.run("--wait", "--", "sh task {}", ":::", "1", "2", "3", command="submit", code=1)
    want("1 failed" in err, err)
    runs = [place.read(f"ran-{name}").split().count("1") for name in ("good", "bad")]
    want(runs == [1, 1], runs)


if __name__ == "__main__":
    main(globals())
