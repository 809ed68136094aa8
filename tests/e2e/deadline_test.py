"""Deadlines: what cannot end by then is refused, cancelled where it waits, and stopped where it runs."""
import json
import os
import signal
import time

from cluster import cluster_of
from harness import Place, main, wait, want


def explained(place, task, *options):
    out, _ = place.run(task, "--output", "json", *options, command="task explain")
    return json.loads(out)


def test_a_run_refuses_what_is_too_late(place: Place):
    for options, words in ((("--deadline", "2020-01-01T00:00"), ("--deadline", " ago; ", "such as +2h")),
                           (("--deadline", "+10s", "--time", "1h"), ("takes 1h00m", "--time", "10.0 s")),
                           (("--deadline", "soonish"), ("'soonish' is not a time", "18:00"))):
        _, err = place.run(*options, "--", "true", code=2)
        for word in words:
            want(word in err, f"{word}: {err}")
    want(place.jobs() == [], "nothing was made")


def test_a_run_ends_what_runs_and_what_waits(place: Place):
    begun = time.monotonic()
    out, err = place.run("-j1", "--retries", "5", "--deadline", "+3s", "--kill-grace", "1s", "--",
                         "echo {} > started.{}; exec sleep {}", ":::", "50", "51", "52", code=1)
    want(time.monotonic() - begun < 30, "it was stopped")
    want("3 cancelled" in err, err)
    want(sorted(name for name in os.listdir(place.dir) if name.startswith("started")) == ["started.50"],
         "only one was started, and once")
    first, second = explained(place, "1.1"), explained(place, "1.2")
    want((first["state"], first["reason"]) == ("cancelled", "deadline"), first)
    want("had not ended by its deadline" in first["text"], first)
    want((second["state"], second["reason"]) == ("cancelled", "deadline"), second)
    # It was given ahead, or not yet: nobody needs to know.
    want("deadline" in second["text"] and second["attempts"] == 0, second)
    want(abs(first["deadline"] - time.time()) < 60, first)


def test_a_task_that_is_in_time_succeeds(place: Place):
    place.run("--deadline", "tomorrow 23:59", "--time", "1m", "--bound", "cpu", "--", "true", ":::", "1", "2")
    task = json.loads(place.run("1.1", "--output", "json", command="task info")[0])
    want((task["bound"], task["gang"]) == ("cpu", None) and task["deadline"] > time.time(), task)
    out, _ = place.run("1.1", command="task info")
    want("deadline" in out and "bound by" in out, out)
    job = json.loads(place.run("1", "--output", "json", command="job info")[0])
    want(job["deadline"] == task["deadline"] and job["bound"] == "cpu", job)


def test_no_further_try_where_it_would_be_too_late(place: Place):
    place.run("--deadline", "+5s", "--time", "1s", "--retry-delay", "1h", "--retries", "3", "--", "exit 3",
              code=3)
    why = explained(place, "1.1")
    want((why["state"], why["reason"]) == ("failed", "deadline"), why)
    want("exit code 3" in why["text"] and "a retry could not" in why["text"], why)


def test_a_hub_keeps_deadlines_over_its_own_end(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "-j", "1", "--cpus", "1")
    _, err = place.run("--deadline", "+1s", "--time", "1m", "--", "true", command="submit", code=2)
    want("could not end by then" in err, err)
    job = cluster.submit("--deadline", "+3s", "--", "echo $$ > pid.{}; exec sleep {}", ":::", "600", "601")
    after = cluster.submit("--after", f"any:{job}", "--", "echo done > after")
    wait(lambda: place.lines("pid.600"), "the first task runs")
    cluster.kill_hub()
    # While it is away the deadline passes.
    passed = time.time() + 3
    wait(lambda: time.time() > passed, "the deadline")
    cluster.start_hub()
    wait(lambda: place.read("after") == "done\n", "the job ended, and what waited for it ran")
    for task in (1, 2):
        why = explained(place, f"{job}.{task}")
        want((why["state"], why["reason"]) == ("cancelled", "deadline"), why)
    want(not os.path.exists(os.path.join(place.dir, "pid.601")), "the second task never ran")
    cluster.spate("job wait", job, code=1)
    # What is tried again is too late at once, and what is added as well.
    cluster.spate("job retry", job)
    cluster.spate("job wait", job, code=1)
    want(explained(place, f"{job}.2")["reason"] == "deadline", "too late")
    node.send_signal(signal.SIGTERM)


def test_a_gang_that_no_set_of_nodes_holds_is_refused(place: Place):
    _, err = place.run("--nodes", "2", "--", "true", code=2)
    want("is a gang on 2 nodes" in err and "--hub" in err, err)
    _, err = place.run("--procs", "5000", "--", "true", code=2)
    want("is a gang of 5000 processes, which together needs" in err, err)
    _, err = place.run("--procs", "3", "--nodes", "2", "--", "true", code=2)
    want("--procs 3 with --nodes 2" in err and "--procs 4" in err, err)
    want(place.jobs() == [], "nothing was made")
    cluster = cluster_of(place)
    # Nodes may come: it waits, and says for what.
    _, err = place.run("--nodes", "3", "--", "true", command="submit")
    want("no node is connected" in err, err)
    cluster.spate("job cancel", "1")
    cluster.node("n1", "--cpus", "2")
    cluster.node("n2", "--cpus", "1")
    before = cluster.spate("job list", "--output", "json")[0]
    for shape, words in ((("--nodes", "3"), ("on each of 3 nodes", "2 of 2 hold so many")),
                         (("--nodes", "2", "--procs-per-node", "2"), ("2 processes", "1 of 2 holds")),
                         (("--procs", "4"), ("4 processes", "all nodes together hold 3"))):
        _, err = place.run(*shape, "--", "true", command="submit", code=2)
        for word in (*words, "no set of nodes has room", "n1 holds 2", "n2 holds 1", "spate node start"):
            want(word in err, f"{word}: {err}")
    want(cluster.spate("job list", "--output", "json")[0] == before, "nothing changed")


if __name__ == "__main__":
    main(globals(), at_once=4)
