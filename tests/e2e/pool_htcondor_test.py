"""A pool in an HTCondor that is a fake of its commands (tests/batch/fake_htcondor.py), over real processes."""
import os

from harness import Place, main, wait, want
import pool_cluster
from pool_cluster import add, gone, htcondor, pools

OWN = ("request_memory=1GB", "+ProjectName=\"tests\"")


def test_a_held_pilot_is_told(place: Place):
    batch = htcondor(place)
    pool_cluster.tells_a_hold(place, batch.cluster(), batch, "htcondor", "Error from slot1@ep1: the disk\nis full",
                              lambda job: batch.call("condor_release", job + ".0"), own=OWN)


def test_up_and_down(place: Place):
    batch = htcondor(place)
    pool_cluster.comes_and_goes(place, batch.cluster(), batch, "htcondor", own=OWN, variable="_CONDOR_SLOT")
    want(not batch.call("condor_q", "-af", "ClusterId", "-constraint", "JobStatus != 4"), "jobs are left")


def test_a_run_with_a_pool_of_its_own(place: Place):
    """Its pool is tried before the pool's folder is there, and condor_submit looks for a script that is transferred."""
    htcondor(place)
    place.run("--pool", "htcondor:request_memory=1GB", "-j", "2", "--", "echo {} >> done", ":::", "1", "2", "3")
    want(sorted(place.lines("done")) == ["1", "2", "3"], place.lines("done"))


def test_the_description_is_shown(place: Place):
    batch = htcondor(place)
    out, _ = batch.cluster().spate("pool add", "htcondor", "p", "--dry-run", "--", *OWN)
    want("Description\n" in out and "  request_memory=1GB\n" in out and "  transfer_executable = true\n" in out, out)
    want("Script\n" in out and "Test: passed" in out and not batch.jobs(), out)


def test_nodes_that_share_no_files(place: Place):
    """HTCondor brings the program and the credential, and nothing comes back but what the pilot wrote."""
    batch = htcondor(place)
    batch.set("filesystem", "none is shared")
    cluster = batch.cluster()
    add(cluster, "htcondor", "far", "--no-shared-files", "--prologue", "touch left-here; pwd", "--max-pilots", "1", own=OWN)
    cluster.submit("--wait", "--pool", "far", "--", "true")
    gone(cluster, batch, "far")
    home = os.listdir(os.path.join(place.dir, "home"))
    want("left-here" not in home and "access" not in str(home), home)


def test_a_pilot_whose_node_is_killed(place: Place):
    batch = htcondor(place)
    cluster = batch.cluster(*pool_cluster.PATIENT)
    pool_cluster.replaces_a_killed_node(place, cluster, lambda: add(cluster, "htcondor", "p", own=OWN), batch.alive)


def test_a_kill_of_the_hub_doubles_no_pilot(place: Place):
    batch = htcondor(place)
    pool_cluster.survives_a_lost_answer(place, batch.cluster(), batch, "htcondor", own=OWN)


def test_an_answer_that_comes_after_the_hub(place: Place):
    batch = htcondor(place)
    pool_cluster.survives_a_late_answer(place, batch.cluster(), batch, "htcondor", own=OWN)


def test_a_schedd_that_does_not_answer(place: Place):
    batch = htcondor(place)
    pool_cluster.bears_silence(place, batch.cluster(), batch, "htcondor", own=OWN)


def test_ended_jobs_that_do_not_stay_in_the_queue(place: Place):
    batch = htcondor(place)
    pool_cluster.bears_forgetting(place, batch.cluster(), batch, "htcondor", own=OWN)


def test_a_refusal_is_told(place: Place):
    batch = htcondor(place)
    pool_cluster.tells_a_refusal(place, batch.cluster(), batch, "htcondor",
                                 "Number of submitted jobs would exceed MAX_JOBS_PER_OWNER", own=OWN)


def test_a_pilot_that_is_removed(place: Place):
    batch = htcondor(place)
    pool_cluster.gives_tasks_back(place, batch.cluster(), batch, "htcondor",
                                  lambda job: batch.call("condor_rm", job + ".0"), own=OWN)


def test_a_pilot_that_is_vacated(place: Place):
    batch = htcondor(place)
    pool_cluster.gives_tasks_back(place, batch.cluster(), batch, "htcondor",
                                  lambda job: batch.call("condor_vacate_job", job + ".0"), own=OWN)


def test_a_request_that_no_machine_meets(place: Place):
    """It waits without a word of HTCondor's; what tells why is named."""
    batch = htcondor(place)
    cluster = batch.cluster()
    add(cluster, "htcondor", "large", own=("request_cpus=65",))
    job = cluster.submit("--pool", "large", "--", "true")
    ask = "condor_q -better-analyze 1.0"
    wait(lambda: ask in cluster.spate("task explain", f"{job}.1")[0], "the command that tells why is named")
    want(ask in cluster.spate("pool info", "large")[0] and batch.states() == ["queued"], batch.states())


def test_wrong_options(place: Place):
    """condor_submit tries them before the pool is there."""
    batch = htcondor(place)
    cluster = batch.cluster()
    for own, words in ((("rank = (",), "Parse error in expression"),
                       (("notification = sometimes",), "Notification must be"),
                       (("-nosuch",), "Usage: condor_submit"),
                       (("-name", "elsewhere"), "Can't find address of schedd elsewhere"),
                       (("-q", "5"), "a pilot is one batch job"),
                       (("request_cpus=abc",), "'abc' is not a number"),
                       (("request_memory=",), "a value is missing"),
                       (("request_cpu=4",), "Is it a typo?; correct the line"),
                       (("executable = /bin/ls",), "the pool sets it")):
        _, err = cluster.spate("pool add", "htcondor", "p", "--", *own, code=2)
        want(words in err, err)
    want(not pools(cluster) and not batch.jobs(), pools(cluster))


if __name__ == "__main__":
    main(globals(), at_once=4)
