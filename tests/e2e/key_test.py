"""A submission is made once, whoever does not hear of it, and an unknown outcome is told as unknown."""
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess

from cluster import cluster_of
from harness import DEADLINE, SPATE, Place, main, wait, want


def numbers(cluster):
    return cluster.spate("job list", "--all", "--quiet")[0].split()


def test_a_job_with_a_key_is_submitted_once(place: Place):
    cluster = cluster_of(place)
    want(cluster.submit("--key", "a b", "--", "true") == "1", "the first")
    out, err = place.run("--key", "a b", "--", "true", command="submit")
    want(out == "1\n" and err.startswith("spate: job 1 has this key already; nothing was submitted\n"), (out, err))
    out, err = place.run("--key", "a b", "--", "false", command="submit")
    want(out == "1\n" and "submitted by another command, and stays as it is: spate submit --key 'a b' -- true\n" in err, err)
    out, _ = place.run("--key", "a b", "--output", "json", "--", "true", command="submit")
    want(json.loads(out) == {"type": "submitted", "v": 2, "job": 1, "tasks": 1, "known": True}, out)
    want(cluster.submit("--", "true") == "2", "one without it is another")
    want(cluster.spate("job list", "--key", "a b", "--quiet")[0] == "1\n", "found by its key")
    _, err = cluster.spate("job list", "--key", "b", code=2)
    want("you have no job with the key 'b' on this hub" in err, err)
    want("--key: the key is empty" in place.run("--key", "", "--", "true", command="submit", code=2)[1], "empty")
    want("at most 256 bytes" in place.run("--key", "k" * 257, "--", "true", command="submit", code=2)[1], "long")
    _, err = place.run("list", "--local", "--key", "a b", command="job", code=2)
    want("only jobs of a hub have keys" in err, err)
    want(numbers(cluster) == ["1", "2"], numbers(cluster))


def test_a_run_on_a_hub_with_a_key_follows_the_one_job(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    for again in (False, True):
        out, err = place.run("--hub", "--key", "k", "--", "echo {}", ":::", "1", "2")
        want(sorted(out.split()) == ["1", "2"], out)
        want(("job 1 has this key already; nothing was submitted" in err) == again, err)
    want(numbers(cluster) == ["1"], numbers(cluster))
    _, err = place.run("--key", "k", "--", "true", code=2)
    want("--key: only jobs of a hub have keys" in err, err)


def test_tasks_are_added_once_by_their_key(place: Place):
    cluster = cluster_of(place)
    job = cluster.submit("--open", "--", "echo {}", ":::", "1", "2")
    for again in (False, True):
        _, err = place.run("add", job, "--key", "more", "--", "echo {}", ":::", "3", command="job")
        want(("none were added" in err) == again, err)
    # A hub that was killed remembers it.
    cluster.kill_hub()
    cluster.start_hub()
    want("none were added" in place.run("add", job, "--key", "more", "--", "echo {}", ":::", "3", command="job")[1],
         "after a restart")
    place.run("add", job, "--", "echo {}", ":::", "4", command="job")
    cluster.spate("job close", job)
    cluster.node("n1")
    cluster.spate("job wait", job)
    want(sorted(cluster.spate("job cat", job)[0].split()) == ["1", "2", "3", "4"], cluster.spate("job cat", job)[0])


def test_an_unknown_outcome_is_told_with_its_key(place: Place):
    cluster = cluster_of(place)
    lock = sqlite3.connect(os.path.join(cluster.hub_dir, "hub.db"), isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    submit = subprocess.Popen([SPATE, "submit", "--", "true"], cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=open(os.path.join(place.dir, "err"), "w"), text=True)
    wait(lambda: "the hub has not answered for 3 s" in place.read("err"), "it tells that it waits")
    # So does everybody who looks.
    wait(lambda: re.search(r"storage +nothing could be stored for ", cluster.spate("hub status")[0]), "hub status tells it")
    wait(lambda: json.loads(cluster.spate("hub status", "--json")[0])["stuck"] >= 3, "as JSON")
    want("nothing could be stored for" in cluster.spate("top", "--once")[0], "top")
    submit.send_signal(signal.SIGINT)
    want(submit.wait(DEADLINE) == 4, submit.returncode)
    want(submit.stdout.read() == "", "no number")
    said = place.read("err")
    want("it is not known whether the job was submitted: interrupted\n" in said, said)
    key = re.search(r"add to it: --key (\S+)\n", said)[1]
    want(f"To see whether it was: spate job list --key {key}\n" in said, said)
    lock.execute("ROLLBACK")
    lock.close()
    wait(lambda: cluster.spate("hub status")[0].count("storage") == 0, "it goes on")
    want(cluster.spate("job list", "--key", key, "--quiet")[0] == "1\n", "it was accepted")
    want(cluster.submit("--key", key, "--", "true") == "1", "and is not submitted again")
    want(numbers(cluster) == ["1"], numbers(cluster))


def test_what_a_hub_did_not_get_was_not_submitted(place: Place):
    cluster = cluster_of(place)
    cluster.kill_hub()
    hub = os.path.join(cluster.hub_dir, "socket")
    os.remove(hub)
    silent = socket.socket(socket.AF_UNIX)  # it accepts connections, and says nothing
    silent.bind(hub)
    silent.listen()
    submit = subprocess.Popen([SPATE, "submit", "--", "true"], cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # It has no handler of the signal before it calls the hub.
    silent.settimeout(DEADLINE)
    call, _ = silent.accept()
    submit.send_signal(signal.SIGINT)
    out, err = submit.communicate(timeout=DEADLINE)
    want((submit.returncode, out) == (130, "") and "nothing was submitted" in err, (submit.returncode, err))
    call.close()
    silent.close()
    os.remove(hub)
    cluster.start_hub()
    want(numbers(cluster) == [], numbers(cluster))


if __name__ == "__main__":
    main(globals())
