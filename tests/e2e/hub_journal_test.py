"""A hub's journal: it outlives kills of the hub, older versions, damage, and moves to other places."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time

from cluster import Cluster, cluster_of, free_port
from harness import DEADLINE, SPATE, Place, main, wait, want


def journal_of(place):
    return sqlite3.connect(f"file:{place.state}/hub/hub.db?mode=ro", uri=True)


def test_a_killed_hub_loses_nothing(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "4")
    tasks = 400
    job = cluster.submit("--array", f"1-{tasks}", "--", "echo {} >> ran; sleep 0.02; echo {} >> done")
    for goal in (40, 120, 250):
        wait(lambda: len(place.lines("done")) >= goal, "progress")
        cluster.kill_hub()
        cluster.start_hub()
    cluster.spate("job wait", job)
    counts = {}
    for line in place.lines("ran"):
        counts[line] = counts.get(line, 0) + 1
    want(len(counts) == tasks and len(set(place.lines("done"))) == tasks, f"{len(counts)} ran")
    want(all(count == 1 for count in counts.values()), "the hub's death repeated a task")


def test_events_go_on_over_a_hubs_death(place: Place):
    """Who follows them has each once, and who reads them later has the same."""
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2", "--cpus", "2")
    cluster.submit("--", "true")
    cluster.spate("job wait", "1")
    follow = subprocess.Popen([SPATE, "events", "--json", "--follow", "--since", "0"], cwd=place.dir, env=place.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = [json.loads(follow.stdout.readline()) for _ in range(3)]
    want([event["type"] for event in first] == ["accepted", "end", "finished"], first)
    job = cluster.submit("--open", "--", "echo {}; test {} != 2", ":::", "1", "2")
    cluster.kill_hub()
    cluster.start_hub()
    cluster.spate("job hold", job)
    cluster.spate("job release", job)
    cluster.spate("job close", job)
    cluster.spate("job wait", job, code=1)
    events = first
    while (events[-1]["type"], events[-1]["job"]) != ("finished", 2):
        events.append(json.loads(follow.stdout.readline()))
    follow.send_signal(signal.SIGINT)
    _, err = follow.communicate(timeout=DEADLINE)
    want(b"the hub is unreachable" in err or err == b"", err)
    of_two = [event["type"] for event in events if event["job"] == 2]
    want(of_two[0] == "accepted" and of_two[-1] == "finished", of_two)
    want(sorted(of_two[1:-1]) == ["closed", "end", "end", "held", "released"], of_two)
    ends = {event["task"]: event for event in events if event["type"] == "end" and event["job"] == 2}
    want(ends[1]["verdict"] == "succeeded" and ends[2]["status"] == 1 and ends[2]["node"] == "n1", ends)
    users = {event["user"] for event in events}
    want(users == {events[0]["user"]} and isinstance(events[0]["user"], str), "all are of one user's jobs")
    want(ends[1]["user_time"] + ends[1]["system_time"] >= 0, ends)
    want(events[-1]["failed"] == 1 and events[-1]["total"] == 2, events[-1])
    positions = [event["position"] for event in events]
    want(positions == sorted(set(positions)), positions)
    later = [json.loads(line) for line in cluster.spate("events", "--json")[0].splitlines()]
    want(later == events, (later, events))
    rest = cluster.spate("events", "--since", str(positions[-2]))[0].splitlines()
    want(len(rest) == 1 and rest[0].endswith("job 2 finished: 1 of 2 tasks succeeded"), rest)
    _, err = cluster.spate("events", "--since", str(positions[-1] + 1000), code=2)
    want("read from the beginning; see: spate events" in err, err)


def test_a_hub_killed_at_a_jobs_end_knows_of_it(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "4", "--cpus", "4")
    tasks = 20
    for _ in range(4):
        job = cluster.submit("--array", f"1-{tasks}", "--", "true")
        journal = journal_of(place)
        ended = "SELECT 1 FROM job WHERE id = ? AND last_seq IS NOT NULL"
        deadline = time.monotonic() + DEADLINE
        # No pause between two looks: the moment after the job's last record is the one to meet.
        while not journal.execute(ended, [job]).fetchone():
            want(time.monotonic() < deadline, "the job ends")
        cluster.kill_hub()
        journal.close()
        cluster.start_hub()
        cluster.spate("job wait", job)
        line = json.loads(cluster.spate("job list", "--output", "json", job)[0])
        want((line["state"], line["succeeded"]) == ("succeeded", tasks), line)
        after = cluster.submit("--after", f"ok:{job}", "--", f"echo {job} >> after")
        cluster.spate("job wait", after)
        want(place.lines("after")[-1:] == [job], place.read("after"))
        cluster.spate("job forget", job)


def test_a_submission_is_one_job(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    tasks = 30_000
    client = subprocess.Popen([SPATE, "submit", "--array", f"1-{tasks}", "--", "true"],
                              cwd=place.dir, env=place.env, stdout=subprocess.PIPE)
    cluster.kill_hub()
    cluster.start_hub()
    out, _ = client.communicate(timeout=DEADLINE)
    want(client.returncode in (0, 3), client.returncode)
    listed, _ = cluster.spate("job list", "--output", "json")
    jobs = [json.loads(line) for line in listed.splitlines()]
    want(len(jobs) <= 1 and all(job["total"] == tasks for job in jobs), listed)
    want(client.returncode != 0 or out.decode().strip() == str(jobs[0]["job"]), out)


def test_a_hub_moves_to_another_place(place: Place):
    old, new = free_port(), free_port()
    cluster = cluster_of(place, "--listen", f"127.0.0.1:{old}")
    access = cluster.access("--role", "node", name="node.access")
    far = dict(place.env, SPATE_STATE=os.path.join(place.dir, "far"))
    cluster.node("far", "-j", "2", "--access", access, env=far)
    job = cluster.submit("--array", "1-4", "--", "echo {} >> ran; while ! test -e go; do sleep 0.05; done")
    wait(lambda: len(place.lines("ran")) >= 2, "tasks run")
    cluster.kill_hub()
    elsewhere = os.path.join(place.dir, "elsewhere")
    shutil.copytree(place.state, elsewhere, ignore=lambda _, names: {"socket", "lock"} & set(names))
    shutil.rmtree(place.state)
    place.env["SPATE_STATE"] = place.state = elsewhere
    cluster.hub_options = ("--listen", f"127.0.0.1:{new}")
    cluster.start_hub()
    text = place.read("node.access")
    want(f":{old}" in text, text)
    with open(access, "w") as file:
        file.write(text.replace(f":{old}", f":{new}"))
    place.write("go")
    cluster.spate("job wait", job)
    want(sorted(place.lines("ran")) == ["1", "2", "3", "4"], place.lines("ran"))


def test_an_older_journal_is_upgraded(place: Place):
    """Job 1 has ended, job 2 is held with five tasks."""
    cluster = cluster_of(place)
    cluster.node()
    cluster.submit("--wait", "--", "true", ":::", "a", "b")
    cluster.spate("node drain", "n1")
    held = cluster.submit("--array", "1-5", "--", "echo {}")
    cluster.spate("job hold", held)
    cluster.kill_hub()
    hub = os.path.join(place.state, "hub", "hub.db")
    with sqlite3.connect(hub) as journal:
        journal.execute("ALTER TABLE attempt DROP COLUMN output_sums")
        journal.execute("PRAGMA user_version = 0")
    journal.close()
    cluster.start_hub()
    out, _ = cluster.spate("job list", "--output", "json")
    states = {job["job"]: job["state"] for job in map(json.loads, out.splitlines())}
    want(states == {1: "succeeded", 2: "held"}, out)
    for path, version in ((hub + "-v0", 0), (hub, 1)):
        def found():
            try:
                with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
                    return db.execute("PRAGMA user_version").fetchone()[0]
            except sqlite3.OperationalError:  # the hub is at its log in this moment
                return None
        wait(lambda: found() == version, f"{path} has version {version}")
    cluster.spate("job release", held)
    cluster.spate("node resume", "n1")
    cluster.spate("job wait", held)
    out, _ = cluster.spate("job cat", held)
    want(sorted(out.splitlines()) == [str(i) for i in range(1, 6)], out)


def test_damage_of_one_job_stays_that_jobs(place: Place):
    cluster = cluster_of(place)
    jobs = [cluster.submit("--array", "1-3", "--", f"echo {name}{{}} >> ran") for name in "abc"]
    cluster.kill_hub()
    with sqlite3.connect(os.path.join(place.state, "hub", "hub.db")) as journal:
        journal.execute("UPDATE job_text SET settings = replace(settings, 'ran', 'run') "
                        "WHERE job = ?", [jobs[0]])
        journal.execute("UPDATE log SET data = x'00' WHERE job = ?", [jobs[1]])
    journal.close()
    cluster.start_hub()
    cluster.node()
    cluster.spate("job wait", jobs[2])

    def state(job):
        return json.loads(cluster.spate("job list", "--output", "json", job)[0])["state"]
    wait(lambda: state(jobs[0]) == "held", "no task runs with damaged settings")
    cancel = f"spate job cancel --hub --state {place.state} {jobs[0]}"
    wait(lambda: f"nothing of it can run; to end it: {cancel}\n" in place.read("hub.log"), "the log says so")
    want("job release" not in place.read("hub.log"), place.read("hub.log"))
    want(state(jobs[1]) == "damaged", state(jobs[1]))
    want(sorted(place.lines("ran")) == ["c1", "c2", "c3"], place.lines("ran"))
    cluster.kill_hub()
    out, _ = place.run("hub", command="state check", code=1)
    for job in jobs[:2]:
        want(f"job {job}" in out, out)
    _, err = place.run(command="state salvage")
    want("1 job without damage stays as it was;" in err, err)
    place.run("hub", command="state check")
    cluster.start_hub()
    lines = [json.loads(line) for line in cluster.spate("job list", "--output", "json")[0].splitlines()]
    want({str(line["job"]): line["state"] for line in lines}[jobs[2]] == "succeeded", lines)
    after = cluster.submit("--wait", "--after", f"ok:{jobs[2]}", "--", "true")
    want(int(after.split()[0]) > int(jobs[2]), after)


def test_a_backup_makes_the_hub_again(place: Place):
    """Taken while it works; nodes and access files of the old hub are good for the new one."""
    port = free_port()
    cluster = cluster_of(place, "--listen", f"127.0.0.1:{port}")
    access = cluster.access("--role", "client", "--user", "ada", name="ada.access")
    node = cluster.access("--role", "node", name="node.access")
    cluster.node("n1", "--access", node)
    done = cluster.submit("--wait", "--", "echo {} >> done", ":::", "a", "b").split()[0]
    job = cluster.submit("--", "while ! test -e go; do sleep 0.05; done; echo {} >> ran", ":::", "a", "b", "c")
    backup = os.path.join(place.dir, "hub.backup")
    cluster.spate("hub backup", backup)
    want(os.stat(backup).st_mode & 0o777 == 0o600, "others read the key")
    place.write("other", "x")
    _, err = cluster.spate("hub backup", "other", code=2)
    want("is not a backup of a hub" in err and place.read("other") == "x\n", err)
    _, err = cluster.spate("hub backup", backup)
    want("was replaced" in err and "does not contain" in err, err)
    late = cluster.submit("--", "echo late >> ran")
    _, err = cluster.spate("hub restore", backup, code=3)
    want("runs in" in err, err)
    cluster.kill_hub()
    _, err = cluster.spate("hub restore", backup, code=2)
    want("a journal already exists" in err, err)
    os.remove(os.path.join(cluster.hub_dir, "hub.db"))
    _, err = cluster.spate("hub start", "--allow-root", "--listen", "none", code=3)
    want("is missing" in err and "spate hub restore" in err, err)
    os.rename(cluster.hub_dir, cluster.hub_dir + ".old")
    place.write("none", "x")
    cluster.spate("hub restore", "none", code=3)
    # What was refused, or cut off, does not begin as a new hub.
    _, err = cluster.spate("hub start", "--allow-root", "--listen", "none", code=3)
    want("is missing" in err and "spate hub restore" in err, err)
    want(not os.path.exists(os.path.join(cluster.hub_dir, "key.pem")), "no new key")
    cluster.spate("hub restore", backup)
    cluster.start_hub()
    lines = [json.loads(line) for line in cluster.spate("job list", "--output", "json")[0].splitlines()]
    want([line["job"] for line in lines] == [int(done), int(job)], lines)
    cluster.spate("job list", "--access", access)
    place.write("go")
    cluster.spate("job wait", job)
    want(set(place.lines("ran")) - {"late"} == {"a", "b", "c"}, place.read("ran"))
    new = cluster.submit("--wait", "--", "true").split()[0]
    want(int(new) > int(late) + 500, f"{new} after {late}")
    cluster.spate("state check", "hub")


def test_a_backup_of_others_is_no_backup(place: Place):
    cluster = cluster_of(place)
    cluster.submit("--", "true")
    backup = os.path.join(place.dir, "hub.backup")
    cluster.spate("hub backup", backup)
    cluster.kill_hub()
    os.rename(cluster.hub_dir, cluster.hub_dir + ".old")
    os.chmod(backup, 0o666)
    _, err = cluster.spate("hub restore", backup, code=3)
    want("is not a file that only this user writes" in err, err)
    os.chmod(backup, 0o600)
    os.chmod(place.dir, 0o777)
    _, err = cluster.spate("hub restore", backup, code=3)
    want("may be changed" in err and place.dir in err, err)
    os.chmod(place.dir, 0o700)
    if os.geteuid() == 0:
        os.chown(backup, 65534, 65534)
        _, err = cluster.spate("hub restore", backup, code=3)
        want("is not a file that only this user writes" in err, err)
        os.chown(backup, 0, 0)
    want(not os.path.exists(cluster.hub_dir), "nothing was made")
    cluster.spate("hub restore", backup)
    cluster.start_hub()


def test_a_hub_has_its_own_key_or_does_not_start(place: Place):
    """A new key would lock out all nodes and clients without notice."""
    listen = f"127.0.0.1:{free_port()}"
    cluster = cluster_of(place, "--listen", listen)
    old = cluster.access("--role", "client", name="old.access")
    cluster.spate("job list", "--access", old)
    cluster.kill_hub()
    key = os.path.join(cluster.hub_dir, "key.pem")

    def refused(why):
        _, err = cluster.spate("hub start", "--allow-root", "--listen", listen, code=3)
        want(why in err and "key.pem" in err and "--new-key" in err, err)
    os.rename(key, key + ".kept")
    refused("is missing")
    want(not os.path.exists(key), "no other key was made")
    # A journal of a release that did not store the key.
    with sqlite3.connect(os.path.join(cluster.hub_dir, "hub.db")) as db:
        known, = db.execute("SELECT value FROM meta WHERE key = 'key_pin'").fetchone()
        row = db.execute("SELECT * FROM meta WHERE key = 'key_pin'").fetchone()
        db.execute("DELETE FROM meta WHERE key = 'key_pin'")
    refused("is missing")
    with sqlite3.connect(os.path.join(cluster.hub_dir, "hub.db")) as db:
        db.execute("INSERT INTO meta VALUES(?, ?, ?)", row)
    other = Place()
    try:
        Cluster(other).stop()
        shutil.copy(os.path.join(other.state, "hub", "key.pem"), key)
    finally:
        other.remove()
    refused("is not the one that its journal records")
    # With its own key nothing has changed, and the option makes no other one.
    os.rename(key + ".kept", key)
    cluster.hub_options += ("--new-key",)
    cluster.start_hub()
    cluster.spate("job list", "--access", old)
    cluster.kill_hub()
    os.remove(key)
    cluster.start_hub()
    want("has a new key" in place.read("hub.log"), place.read("hub.log"))
    _, err = cluster.spate("job list", "--access", old, code=3)
    want("pin" in err or "key" in err, err)
    new = cluster.access("--role", "client", name="new.access")
    cluster.spate("job list", "--access", new)
    cluster.spate("job list", "--access", os.path.join(cluster.hub_dir, "admin.access"))
    cluster.node("n1", "--access", os.path.join(cluster.hub_dir, "node.access"))
    with sqlite3.connect(os.path.join(cluster.hub_dir, "hub.db")) as db:
        want((known,) != db.execute("SELECT value FROM meta WHERE key = 'key_pin'").fetchone(), "the journal knows it")


def test_a_hub_keeps_as_much_as_it_was_told(place: Place):
    cluster = cluster_of(place, "--listen", "none", "--keep", "6M", "--forget-nodes", "1s")
    cluster.node("n1")
    for _ in range(6):
        cluster.submit("--wait", "--", "head -c 2000000 /dev/urandom")

    def jobs():
        return [json.loads(line)["job"] for line in cluster.spate("job list", "--output", "json")[0].splitlines()]
    wait(lambda: len(jobs()) < 4, "the oldest are forgotten")
    want(6 in jobs() and 1 not in jobs(), jobs())


if __name__ == "__main__":
    main(globals())
