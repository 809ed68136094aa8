"""para: what a batch is kept from, by its failures or by hand, and until when."""
import os

from harness import Place, main, wait, want
from para_test import counts, para, results, site


def test_all_in_flight_fail_and_the_batch_is_sick(place: Place):
    """All of a batch at once on the only machine, and nothing waits: sick until clearSickNodes."""
    cluster = site(place, nodes=1, slots=40)
    place.write("job.lst", *["sh bad"] * 40)
    place.write("bad", "while test -e hold; do sleep 0.05; done; exit 1")
    place.write("hold")
    para(place, "create", "job.lst")
    para(place, "push")
    wait(lambda: counts(place).get("running") == 40, "forty run")
    os.remove(os.path.join(place.dir, "hold"))
    wait(lambda: len(results(place)) == 40, "they have failed")
    out, err = para(place, "check", code=255)
    want("crashed: 40\n" in out and "total sick machines: 1 failures: 40\n" in out, out)
    want("Sick batch! Correct problem and then run para clearSickNodes." in err, err)
    want("\nSick Batch: consecutive crashes (40) >= sick batch threshold (25)\n" in err, err)
    want(para(place, "showSickNodes")[0] == "n1 40\ntotal sick machines: 1 failures: 40\n", "count")
    want(len(cluster.spate("parasol", "list", "batches")[0].splitlines()) == 1, "none is active")
    cluster.kill_hub()
    cluster.start_hub()
    _, err = para(place, "push", code=255)
    want("Pushed Jobs" not in err and "Sick batch!" in err, err)
    place.write("job.lst", "true")
    para(place, "create", "job.lst")
    para(place, "push", code=255)
    want(len(results(place)) == 40, "jobs were sent")
    para(place, "clearSickNodes")
    want(counts(place) == {"unsubmitted jobs": 1, "total jobs in batch": 1}, counts(place))
    para(place, "shove")
    want(counts(place) == {"ranOk": 1, "total jobs in batch": 1}, counts(place))


def test_a_sick_batch_is_freed(place: Place):
    site(place, nodes=1, slots=8)
    place.write("job.lst", *["false"] * 25)
    para(place, "create", "job.lst")
    para(place, "push")
    wait(lambda: len(results(place)) == 25, "they have failed")
    para(place, "check", code=255)
    _, err = para(place, "freeBatch")
    want(err.endswith("Batch freed.\n"), err)
    want(counts(place) == {"crashed": 25, "total jobs in batch": 25}, counts(place))


def test_a_bad_machine_is_remembered(place: Place):
    """Also after all of the batch has ended, until clearSickNodes."""
    site(place, nodes=2, slots=4)
    place.write("job.lst", *["sh job"] * 8)
    place.write("job", "echo $HOST >> hosts; test $HOST = n2 || exit 1")
    para(place, "create", "job.lst")
    para(place, "-retries=1", "push")
    wait(lambda: len(results(place)) == 8, "all have ended")
    out, _ = para(place, "check")
    want("crashed: 4\n" in out and "total sick machines: 1 failures: 3\n" in out, out)
    os.remove(os.path.join(place.dir, "hosts"))
    para(place, "shove")
    want(set(place.lines("hosts")) == {"n2"}, place.lines("hosts"))
    want(para(place, "showSickNodes")[0].startswith("n1 "), "n1 is sick still")
    para(place, "clearSickNodes")
    want(para(place, "showSickNodes")[0] == "total sick machines: 0 failures: 0\n", "cleared")


def test_no_job_at_a_time(place: Place):
    """maxJob 0 counts from before the first push on, and for each push, until another number."""
    cluster = site(place, nodes=1)
    place.write("job.lst", "true", "true")
    para(place, "create", "job.lst")
    para(place, "-maxJob=0", "-maxPush=1", "push")
    para(place, "push")
    row = cluster.spate("parasol", "list", "batches")[0].splitlines()[1].split()
    want(row[1:3] == ["0", "2"] and row[6] == "0", row)
    out, _ = cluster.spate("parasol", "list", "users")
    want(" 2 waiting, 0 finished, 1 of 1 batches active, priority=10, maxJob=0\n" in out, out)
    para(place, "maxJob", "2")
    out, _ = cluster.spate("parasol", "list", "users")
    want("0 of 1" in out or out.endswith(" maxJob=2\n"), out)
    wait(lambda: counts(place).get("ranOk") == 2, "they run")
    out, _ = cluster.spate("parasol", "list", "users")
    want(out.endswith(" 0 jobs running, 0 waiting, 2 finished, 0 of 1 batches active, "
                      "priority=10000, maxJob=0\n"), out)
    para(place, "maxJob", "0")
    place.write("job.lst", "true")
    para(place, "create", "job.lst")
    para(place, "push")
    want(counts(place) == {"queued and waiting": 1, "total jobs in batch": 1}, counts(place))
    para(place, "maxJob", "unlimited")
    para(place, "shove")


if __name__ == "__main__":
    main(globals())
