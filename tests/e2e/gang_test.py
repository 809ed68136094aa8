"""Gangs over a real hub and nodes of one machine: whole or not at all, whatever is killed."""
import json
import os
import re
import signal
import time

from cluster import cluster_of, free_port
from harness import Place, alive, main, wait, want


def nodes_of(cluster, *names, slots=4):
    return {name: cluster.node(name, "--slots", str(slots), "--cpus", str(slots)) for name in names}


def test_ranks_run_on_all_nodes_and_know_each_other(place: Place):
    cluster = cluster_of(place)
    nodes_of(cluster, "n1", "n2", slots=2)
    place.write("rank.sh", 'echo "$SPATE_RANK of $SPATE_RANKS on $SPATE_NODE, local '
                '$SPATE_LOCAL_RANK of $SPATE_LOCAL_RANKS"', "cat $SPATE_HOSTS >&2")
    job = cluster.submit("--wait", "--nodes", "2", "--procs-per-node", "2", "--time", "1m", "--",
                         "sh", "rank.sh").split()[0]
    out, err = cluster.spate("job cat", job)
    lines = out.splitlines()
    want(len(lines) == 4, out)
    want([line.split()[0] for line in lines] == ["0", "1", "2", "3"], out)
    want({line.split()[4].rstrip(",") for line in lines} == {"n1", "n2"}, out)
    out, _ = cluster.spate("job cat", "--rank", "3", job)
    want(out == lines[3] + "\n", out)
    want("n1 slots=2" in err and "n2 slots=2" in err, err)


def test_procs_are_placed_freely(place: Place):
    cluster = cluster_of(place)
    nodes_of(cluster, "n1", "n2", slots=3)
    job = cluster.submit("--wait", "--procs", "5", "--", "sh", "-c",
                         "echo $SPATE_RANK $SPATE_NODE").split()[0]
    out, _ = cluster.spate("job cat", job)
    want([line.split()[0] for line in out.splitlines()] == ["0", "1", "2", "3", "4"], out)


def test_a_rank_that_fails_ends_the_others(place: Place):
    cluster = cluster_of(place)
    nodes_of(cluster, "n1", "n2", slots=2)
    began = time.monotonic()
    job = cluster.submit("--wait", "--nodes", "2", "--procs-per-node", "2", "--", "sh", "-c",
                         'echo $$ >> pids; test $SPATE_RANK != 2 && exec sleep 600; '
                         'while test $(wc -l < pids) != 4; do sleep 0.05; done; exit 7', code=1).split()[0]
    want(time.monotonic() - began < 120, "the others go on")
    out, _ = cluster.spate("task info", f"{job}.1")
    want(re.search(r"rank 2 on node n[12] ended with exit code 7; the others were ended for it, failed for good", out), out)
    want("exit code 7, part of a gang, for which the others were ended" in out or "the last part" not in out, out)
    out, _ = cluster.spate("task explain", f"{job}.1")
    want(re.search(r"rank 2 on node n[12] ended with exit code 7", out), out)
    pids = [int(pid) for pid in place.read("pids").split()]
    want(len(pids) == 4, pids)
    wait(lambda: not any(map(alive, pids)), "the other ranks are gone")


def test_where_members_of_a_gang_reach_a_node(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    port = str(free_port())
    for name, *words in (("n1", "--gang-port", port), ("n2", "--gang-port", "none"), ("n3",)):
        cluster.node(name, "--slots", "1", *words)
    job = cluster.submit("--wait", "--nodes", "3", "--start", "first", "--", "sh", "-c",
                         "cat $SPATE_REMOTE; $SPATE_RSH n3 'echo $SPATE_NODE'").split()[0]
    lines = cluster.spate("job cat", job)[0].splitlines()
    lobbies = {line.split()[1]: line.split()[2:] for line in lines if line.startswith("host ")}
    want(lobbies["n1"] == [f"127.0.0.1:{port}"], lobbies)
    want(lobbies["n2"] == [], lobbies)
    # A node beside its hub is for its own machine, as the hub is.
    want(re.fullmatch(r"127\.0\.0\.1:\d+", *lobbies["n3"]), lobbies)
    want(lines[-1] == "n3", lines)


def test_a_signal_reaches_the_command_of_a_part(place: Place):
    """Whose process is started by another one, which waits for members of the gang."""
    cluster = cluster_of(place)
    nodes_of(cluster, "n1")
    place.write("catch.sh", "trap 'echo caught; kill $!; exit 0' USR1", "sleep 30 & wait")
    for how in ("first", "node"):
        out, _ = place.run("--hub", "--nodes", "1", "--start", how, "--signal", "USR1@57s", "--time-limit", "60s",
                           "--", "sh", "catch.sh")
        want(out == "caught\n", (how, out))


def test_a_lost_node_has_all_parts_run_anew(place: Place):
    cluster = cluster_of(place, "--listen", "127.0.0.1:0", "--suspect-after", "1s", "--lost-after", "2s")
    nodes = nodes_of(cluster, "n1", "n2", "n3", slots=1)
    job = cluster.submit("--nodes", "2", "--procs-per-node", "1", "--", "sh", "-c",
                         "echo $SPATE_ATTEMPT $SPATE_NODE >> ran; test $SPATE_ATTEMPT = 1 && exec sleep 300; true")
    wait(lambda: len(place.read("ran").splitlines()) == 2, "both parts run")
    first = {line.split()[1] for line in place.read("ran").splitlines()}
    lost = sorted(first)[0]
    # The node and its shepherds are gone at once, as with a machine.
    os.killpg(nodes[lost].pid, signal.SIGKILL)
    out, _ = cluster.spate("job wait", job)
    out, _ = cluster.spate("task info", f"{job}.1")
    want(re.search(rf"its node was silent for .* \({lost}, rank [01]\)", out), out)
    lines = place.read("ran").splitlines()
    want(len(lines) == 4, lines)
    # Two attempts, of two parts each.
    want(json.loads(cluster.spate("job info", job, "--json")[0])["attempts"] == 2, "parts are no attempts")
    want({line.split()[1] for line in lines if line.startswith("2 ")} == {"n1", "n2", "n3"} - {lost}, lines)


def test_it_is_told_where_and_since_when_tasks_run(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    nodes_of(cluster, "n1", "n2", slots=4)
    gang = cluster.submit("--nodes", "2", "--procs-per-node", "2", "--", "sleep", "600")
    single = cluster.submit("--", "sleep", "600")

    def facts(what, *words):
        return json.loads(cluster.spate(what, *words, "--json")[0])

    began = time.time()
    wait(lambda: len(facts("task info", f"{gang}.1")["running"]) == 2, "both nodes have told of their part")
    for running in (facts("task info", f"{gang}.1")["running"], facts("task explain", f"{gang}.1")["running"],
                    facts("job info", gang)["running_tasks"]):
        want([(each["first_rank"], each["ranks"]) for each in running] == [(0, 2), (2, 2)], running)
        want({each["node"] for each in running} == {"n1", "n2"}, running)
        want(all(each["task"] == 1 and each["attempt"] == 1 and abs(each["since"] - began) < 60 for each in running),
             running)
    # Nodes are asked for their use when somebody looks.
    for running in (facts("task info", f"{gang}.1")["running"], facts("job info", gang)["running_tasks"],
                    facts("task explain", f"{gang}.1")["running"]):
        want(all(each["user"] + each["system"] < 60 and each["memory"] > 0 and each["peak_memory"] >= each["memory"]
                 for each in running), running)
    out, _ = cluster.spate("task info", f"{gang}.1")
    want(len(re.findall(r"on node n[12] since .*, CPU .*, memory .*, peak ", out)) == 2, out)
    out, _ = cluster.spate("job info", gang)
    want(re.search(r"running +task 1 ranks 0-1 on node n[12] since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d \(", out), out)
    want(re.search(r"\n +task 1 ranks 2-3 on node n[12] since ", out), out)
    out, _ = cluster.spate("task explain", f"{gang}.1")
    want("it has been running on node n" in out and "ranks 2-3 on node n" in out, out)
    wait(lambda: facts("task info", f"{single}.1")["running"], "its node has told of it")
    out, _ = cluster.spate("task info", f"{single}.1")
    want(re.search(r"attempt 1 +running on node n[12] since ", out), out)
    # The list and the page say so, too, while nothing of the job has ended.
    wait(lambda: facts("job info", single)["state"] == "running", "its page says that it runs")
    want("1 running" in cluster.spate("job info", single)[0], "its counts say so")
    cluster.spate("job cancel", gang, single)


def test_why_a_gang_starts_later_than_it_was_told(place: Place):
    cluster = cluster_of(place, "--listen", "none", "--policy", "easy")
    nodes_of(cluster, "n1", slots=1)
    first = cluster.submit("--procs", "1", "--time", "6s", "--time-limit", "10m", "--", "sh", "-c",
                           "until test -e go; do sleep 0.05; done")
    cluster.spate("task explain", f"{first}.1")
    gang = cluster.submit("--procs", "1", "--time", "1m", "--", "true")
    page, _ = cluster.spate("task explain", f"{gang}.1")
    want("it is the first waiting gang" in page, page)
    want(re.search(r"\n  start: expected by 20.* \(20.*: first in line\)\n", page), page)
    wait(lambda: "longer than estimated" in cluster.spate("task explain", f"{gang}.1")[0], "it is overdue")
    page, _ = cluster.spate("task explain", f"{gang}.1")
    want(re.search(rf"it starts as soon as task {first}\.1 on n1 ends: it runs \d.* longer than estimated", page), page)
    want("0.00 s" not in page, page)

    def news():
        return json.loads(cluster.spate("task info", f"{gang}.1", "--json")[0])["start_news"]

    # Another gang, so that there is a pass to find out.
    other = cluster.submit("--procs", "1", "--time", "1m", "--", "true")
    wait(lambda: len(news()) > 1, "that it is later is recorded")
    want(news()[0]["reason"] == "" and news()[0]["at"] <= news()[0]["start"], news())
    want(news()[1]["reason"] == f"task {first}.1 takes longer on n1 than its --time", news())
    # The journal has it: it survives the hub.
    before = news()
    cluster.kill_hub()
    cluster.start_hub()
    want(news()[:2] == before[:2], news())
    place.write("go", "")
    cluster.spate("job wait", gang, other)
    page, _ = cluster.spate("task info", f"{gang}.1")
    want(re.search(rf"\n  start +expected by 20.*first in line\)", page), page)
    want(re.search(rf"\n +.* \(20.*: task {first}\.1 takes longer on n1 than its --time\)", page), page)
    want(re.search(r"\n +started 20.*, .* later than first expected\n", page), page)
    page, _ = cluster.spate("task explain", f"{gang}.1")
    want("later than first expected" in page, page)
    want(re.search(r"start of 1 +expected by", cluster.spate("job info", gang)[0]), cluster.spate("job info", gang))


def test_files_of_each_rank_come_home(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    nodes_of(cluster, "n1", "n2", slots=4)
    cluster.submit("--wait", "--nodes", "2", "--procs-per-node", "2", "--get", "out.{#}.{rank}", "--get", "all.{#}",
                   "--", "sh", "-c", "echo $SPATE_RANK of {} > out.{#}.$SPATE_RANK; "
                   "test $SPATE_RANK != 0 || echo all > all.{#}", ":::", "a", "b")
    for number, value in ((1, "a"), (2, "b")):
        for rank in range(4):
            want(place.read(f"out.{number}.{rank}") == f"{rank} of {value}\n", (number, rank))
        want(place.read(f"all.{number}") == "all\n", number)
    # A rank that makes none fails the gang, as a task of one process does.
    cluster.submit("--wait", "--nodes", "2", "--get", "out.{rank}", "--", "sh", "-c",
                   "test $SPATE_RANK = 1 || echo > out.0", code=1)
    page, _ = cluster.spate("task info", "last.1")
    want("'out.1' does not exist" in page, page)
    for words, why in ((("--nodes", "2", "--get", "out.{rank}", "--", "true", ":::", "a", "b"), "a file of the same name"),
                       (("--procs", "20", "--get", "a.{#}{rank}", "--", "true", "{}", ":::", *"abcdefghijk"),
                        "tasks 1 and 11 would bring home the same file 'a.110'"),
                       (("--procs", "12", "--get", "a.1{rank}", "--get", "a.{rank}", "--", "true"),
                        "two ranks of task 1 would bring home the same file 'a.10'"),
                       (("--procs", "2", "--start", "first", "--get", "a.{rank}", "--", "true"), "--start first"),
                       (("--get", "a.{rank}", "--", "true"), "{rank} is for parallel jobs")):
        _, err = cluster.spate("submit", *words, code=2)
        want(why in err, err)


def test_a_gang_waits_for_a_node_that_is_away(place: Place):
    """As while its machine boots, or a moment after a restart of the hub; without it no set of nodes would do."""
    cluster = cluster_of(place, "--listen", "none", "--suspect-after", "1s", "--lost-after", "2s")
    nodes = nodes_of(cluster, "n1", "n2", slots=1)
    os.killpg(nodes["n2"].pid, signal.SIGKILL)
    cluster.kill_hub()
    cluster.start_hub()
    wait(lambda: "1 connected" in cluster.spate("hub status")[0], "one is away, and the hub knows its name alone")
    job = cluster.submit("--nodes", "2", "--procs-per-node", "1", "--", "echo", "both")
    why, _ = cluster.spate("task explain", f"{job}.1")
    want("n2" in why or "2 nodes" in why, why)
    nodes_of(cluster, "n2", slots=1)
    cluster.spate("job wait", job)
    want(cluster.spate("job cat", job)[0] == "both\nboth\n", "it has run on both")
    _, err = place.run("--nodes", "3", "--procs-per-node", "1", "--", "true", command="submit", code=2)
    want("3" in err, err)


def test_a_hub_that_is_killed_adopts_the_parts(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    nodes_of(cluster, "n1", "n2", slots=1)
    job = cluster.submit("--nodes", "2", "--procs-per-node", "1", "--", "sh", "-c",
                         "echo $SPATE_ATTEMPT >> ran; while ! test -e go; do sleep 0.05; done; echo done")
    wait(lambda: len(place.read("ran").splitlines()) == 2, "both parts run")
    cluster.kill_hub()
    cluster.start_hub()
    wait(lambda: "2 connected" in cluster.spate("hub status")[0], "the nodes are back")
    place.write("go")
    cluster.spate("job wait", job)
    want(place.read("ran") == "1\n1\n", place.read("ran"))
    out, _ = cluster.spate("job cat", job)
    want(out == "done\ndone\n", out)


def test_the_first_that_waits_keeps_its_nodes(place: Place):
    """Small tasks without a known time do not take what a gang waits for, where that is known to end."""
    cluster = cluster_of(place, "--listen", "none")
    nodes_of(cluster, "n1", "n2", slots=1)
    cluster.submit("--time", "10m", "--", "sh", "-c", "touch began; while ! test -e go; do sleep 0.05; done")
    wait(lambda: os.path.exists(os.path.join(place.dir, "began")), "a small task runs")
    large = cluster.submit("--nodes", "2", "--procs-per-node", "1", "--", "sh", "-c", "echo $SPATE_RANK")
    small = cluster.submit("--", "echo", "small")
    wait(lambda: "first waiting gang" in cluster.spate("task explain", f"{large}.1")[0], "it has nodes")
    out, _ = cluster.spate("task explain", f"{small}.1")
    want(re.search(rf"n[12] is kept for task {large}\.1, a gang of user \S+, which starts within", out), out)
    want("small" not in cluster.spate("job cat", small)[0], out)
    place.write("go")
    cluster.spate("job wait", large)
    cluster.spate("job wait", small)


def test_a_gang_that_waits_for_what_never_ends_stops_nobody(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    nodes_of(cluster, "n1", "n2", "n3", slots=2)
    cluster.submit("--on", "n1", "--cpus", "0.1", "--", "sh", "-c",
                   "touch began; while ! test -e go; do sleep 0.05; done")
    wait(lambda: os.path.exists(os.path.join(place.dir, "began")), "it runs")
    large = cluster.submit("--nodes", "3", "--whole-nodes", "--time", "1h", "--", "true")
    out = cluster.spate("task explain", f"{large}.1")[0]
    want(re.search(r"it needs n\d, n\d, n\d, and the end of tasks there is unknown", out), out)
    want("job 1 of the same user; no node is kept for it meanwhile" in " ".join(out.split()), out)
    for node in ("n1", "n2", "n3"):
        cluster.submit("--wait", "--on", node, "--", "true")
    place.write("go")
    cluster.spate("job wait", large)


def test_a_node_that_is_started_again_adopts_its_part(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    nodes = nodes_of(cluster, "n1", "n2", slots=1)
    job = cluster.submit("--nodes", "2", "--procs-per-node", "1", "--", "sh", "-c",
                         "echo $SPATE_ATTEMPT >> ran; while ! test -e go; do sleep 0.05; done; echo done")
    wait(lambda: len(place.lines("ran")) == 2, "both parts run")
    nodes["n1"].kill()  # its shepherds go on
    nodes["n1"].wait()
    cluster.node("n1", "--slots", "1", "--cpus", "1", join=False)
    wait(lambda: place.read("n1.log").count("joined the hub") == 2, "n1 is back")
    place.write("go")
    cluster.spate("job wait", job)
    want(place.read("ran") == "1\n1\n", place.read("ran"))
    out, _ = cluster.spate("job cat", job)
    want(out == "done\ndone\n", out)


def test_cancel_and_time_limits_end_all_parts(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    nodes_of(cluster, "n1", "n2", slots=1)
    sleeps = ("--", "sh", "-c", "echo $$ >> pids; exec sleep 601")
    job = cluster.submit("--nodes", "2", *sleeps)
    wait(lambda: len(place.lines("pids")) == 2, "both parts run")
    cluster.spate("job cancel", job)
    cluster.spate("job wait", job, code=1)
    wait(lambda: not any(alive(int(pid)) for pid in place.lines("pids")), "all are gone")
    job = cluster.submit("--wait", "--nodes", "2", "--time-limit", "1s", *sleeps, code=1).split()[0]
    out, _ = cluster.spate("task info", f"{job}.1")
    want("time limit" in out, out)
    wait(lambda: not any(alive(int(pid)) for pid in place.lines("pids")), "all are gone")


def test_a_drained_node_gets_no_part(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    nodes_of(cluster, "n1", "n2", "n3", slots=1)
    cluster.spate("node drain", "n2")
    job = cluster.submit("--wait", "--nodes", "2", "--", "sh", "-c", "echo $SPATE_NODE").split()[0]
    out, _ = cluster.spate("job cat", job)
    want(sorted(out.split()) == ["n1", "n3"], out)
    job = cluster.submit("--nodes", "3", "--", "true")
    out, _ = cluster.spate("task explain", f"{job}.1")
    want("needs 3 nodes" in out and "2 are there" in out, out)
    cluster.spate("node resume", "n2")
    cluster.spate("job wait", job)


def test_once_means_once_for_gangs_too(place: Place):
    """A gang of which a part was lost may have run: it is not repeated."""
    cluster = cluster_of(place, "--listen", "127.0.0.1:0", "--suspect-after", "1s", "--lost-after", "2s")
    nodes = nodes_of(cluster, "n1", "n2", slots=1)
    job = cluster.submit("--once", "--nodes", "2", "--", "sh", "-c", "echo x >> ran; exec sleep 300")
    wait(lambda: len(place.lines("ran")) == 2, "both parts run")
    os.killpg(nodes["n2"].pid, signal.SIGKILL)
    cluster.spate("job wait", job, code=1)
    want(len(place.lines("ran")) == 2, place.read("ran"))
    out, _ = cluster.spate("task info", f"{job}.1")
    want("unknown" in out, out)


def test_the_policy_is_remembered(place: Place):
    cluster = cluster_of(place, "--listen", "none", "--policy", "easy")
    want("easy" in cluster.spate("hub status")[0], "it was set at the start")
    _, err = cluster.spate("hub set", "--policy", "conservative")
    want("conservative" in err, err)
    cluster.kill_hub()
    cluster.hub_options = ("--listen", "none")
    cluster.start_hub()
    want("conservative" in cluster.spate("hub status")[0], "it is remembered")
    _, err = cluster.spate("hub set", "--policy", "random", code=2)
    want("is not a policy" in err, err)


def test_a_gang_of_one_machine_runs_without_a_hub(place: Place):
    out, _ = place.run("-j", "2", "--procs", "2", "--", "sh", "-c", "echo $SPATE_RANK/$SPATE_RANKS")
    want(out == "0/2\n1/2\n", out)


if __name__ == "__main__":
    main(globals(), at_once=4)
