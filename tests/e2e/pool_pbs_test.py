"""A pool in a PBS that is a fake of its commands (tests/batch/fake_pbs.py), over real processes."""
from harness import Place, main, option, wait, want
import pool_cluster
from pool_cluster import add, pbs

OWN = ("-q", "short", "-l", "mem=1gb")
ROUNDS = option("--rounds", 2)


def test_a_held_pilot_is_told(place: Place):
    batch = pbs(place)
    pool_cluster.tells_a_hold(place, batch.cluster(), batch, "pbs",
                              "Job held by an operator, who wants to know first what it is for, and why",
                              lambda job: batch.call("qrls", job + ".pbs1"), own=OWN)


def test_up_and_down(place: Place):
    batch = pbs(place)
    pool_cluster.comes_and_goes(place, batch.cluster(), batch, "pbs", own=OWN, variable="PBS_JOBID")
    script = batch.read("1", "script")
    want(batch.read("1", "output") and "SPATE_PILOT=" + batch.names()[0] in script, script)


def test_what_qsub_refuses_is_told_when_the_pool_is_added(place: Place):
    """There is no dry run: a batch job that is held is submitted, and deleted at once."""
    batch = pbs(place)
    cluster = batch.cluster()
    cluster.spate("pool add", "pbs", "p", "--", "-q", "short", "-l", "mem=1gb")
    want(batch.names() == ["spate-test"] and batch.states() == ["ended"], (batch.names(), batch.states()))
    out, err = cluster.spate("pool add", "pbs", "q", "--", "-q", "nowhere", code=2)
    want("qsub failed" in err and "Unknown queue" in err, err)
    want(len(batch.names()) == 1, batch.names())


def test_a_pilot_whose_node_is_killed(place: Place):
    batch = pbs(place)
    cluster = batch.cluster(*pool_cluster.PATIENT)
    pool_cluster.replaces_a_killed_node(place, cluster, lambda: add(cluster, "pbs", "p", own=OWN), batch.alive)


def test_a_pilot_that_fails_names_its_host(place: Place):
    batch = pbs(place)
    pool_cluster.names_a_bad_host(place, batch.cluster(), "pbs", own=OWN)


def test_a_pilot_that_fails_where_ended_jobs_are_not_listed(place: Place):
    """Its output shows that it has ended."""
    batch = pbs(place)
    batch.set("forgets")
    pool_cluster.names_a_bad_host(place, batch.cluster(), "pbs", own=OWN)


def test_a_pilot_that_is_queued_again_while_its_node_is_silent(place: Place):
    """The hub would wait for the node for an hour; PBS says that it does not run, so its tasks run elsewhere."""
    batch = pbs(place)
    cluster = batch.cluster(*pool_cluster.PATIENT)
    add(cluster, "pbs", "p", "--max-pilots", "1", own=OWN)
    job = cluster.submit("--", pool_cluster.CAREFUL, ":::", "0", "1")
    wait(lambda: len(place.lines("began")) == 2, "both tasks run")
    batch.set("hold", "no job starts for now")
    batch.call("qrerun", batch.jobs()[0] + ".pbs1")
    wait(lambda: "queued again" in cluster.spate("pool log", "p")[0], "the pilot waits again")
    cluster.spate("pool add", "local", "here", "--slots", "2")
    wait(lambda: len(place.lines("began")) == 4, "both run elsewhere")
    place.write("go")
    cluster.spate("job wait", job)
    pool_cluster.all_done(place, 2)
    wait(lambda: not batch.alive(), "the pilot, for which there is no work, is cancelled")


def test_a_kill_of_the_hub_doubles_no_pilot(place: Place):
    batch = pbs(place)
    pool_cluster.survives_a_lost_answer(place, batch.cluster(), batch, "pbs", own=OWN)


def test_an_answer_that_comes_after_the_hub(place: Place):
    batch = pbs(place)
    pool_cluster.survives_a_late_answer(place, batch.cluster(), batch, "pbs", own=OWN)


def test_a_server_that_does_not_answer(place: Place):
    batch = pbs(place)
    pool_cluster.bears_silence(place, batch.cluster(), batch, "pbs", own=OWN)


def test_a_server_without_a_history(place: Place):
    batch = pbs(place)
    pool_cluster.bears_forgetting(place, batch.cluster(), batch, "pbs", own=OWN)


def test_a_refusal_is_told(place: Place):
    batch = pbs(place)
    pool_cluster.tells_a_refusal(place, batch.cluster(), batch, "pbs", "would exceed queue generic's per-user limit", own=OWN)


def test_a_pilot_that_is_deleted(place: Place):
    batch = pbs(place)
    pool_cluster.gives_tasks_back(place, batch.cluster(), batch, "pbs", lambda job: batch.call("qdel", job + ".pbs1"), own=OWN)


def test_a_pilot_that_is_run_again(place: Place):
    batch = pbs(place)
    pool_cluster.gives_tasks_back(place, batch.cluster(), batch, "pbs", lambda job: batch.call("qrerun", job + ".pbs1"), own=OWN)


def test_what_was_cut_off_has_not_ended(place: Place):
    """A pilot's processes are signalled one after another, children first: shells go on, and end, before their node knows.
    By hand, more often: pool_pbs_test.py test_what_was_cut_off_has_not_ended --rounds 20"""
    batch = pbs(place)
    batch.set("leaves", "0.02")

    def cancel():
        job = batch.jobs()[-1]
        batch.call("qdel", job + ".pbs1")
        wait(lambda: batch.read(job, "state") == "ended", "the pilot has ended")

    pool_cluster.believes_no_cut_off(place, batch.cluster(), "pbs", ROUNDS, cancel, own=OWN)


def test_wrong_options(place: Place):
    """Nothing tries them but a submit: then qsub's own words are told."""
    batch = pbs(place)
    cluster = batch.cluster()
    for name, own, words in (("q", ("-q", "nosuch"), "qsub: Unknown queue"),
                             ("o", ("-Y",), "invalid option -- 'Y'"),
                             ("r", ("-l", "nosuch=3"), "Unknown resource Resource_List.nosuch"),
                             ("w", ("-l", "cput=long"), "Illegal attribute or resource value Resource_List.cput"),
                             ("s", ("-l", "select=2:ncpus=1,mem=1gb"), '"-lresource=" cannot be used with "select" or "place"')):
        add(cluster, "pbs", name, own=own)
        job = cluster.submit("--pool", name, "--", "true")
        wait(lambda: words in cluster.spate("task explain", f"{job}.1")[0].replace("\n", " "), f"{words}: is told")
    for own in (("-N", "x"), ("-J", "1-3"), ("-W", "block=true")):
        _, err = cluster.spate("pool add", "pbs", "p", "--", *own, code=2)
        want(own[0] in err or own[1] in err, err)
    want(not batch.jobs(), batch.jobs())


if __name__ == "__main__":
    main(globals(), at_once=4)
