#!/usr/bin/env python3
"""Damaged journals, and folders of others: nothing is done over, begun anew or followed without a word."""
import json
import os
import shutil
import signal
import stat
import struct

from cluster import cluster_of
from harness import Place, main, want, wait

NOBODY = 65534


def killed_run(place: Place):
    """A run that was killed when half of its tasks had ended: its command, and its folder."""
    command = ("-j", "2", "--", "echo {} >> ran; test {} -le 30 || while ! test -e go; do sleep 0.01; done",
               ":::", *map(str, range(1, 61)))
    process = place.start(*command)
    wait(lambda: len(place.lines("ran")) >= 32, "half of them ran")
    wait(lambda: json.loads(place.run("1", "--json", command="job info")[0])["succeeded"] == 30, "these are durable")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    want(os.path.getsize(os.path.join(place.state, "jobs", "1", "job.db-wal")) > 4096, "it has a log")
    return command, os.path.join(place.state, "jobs", "1")


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def test_a_flipped_bit_in_the_log_of_a_run_is_found(place: Place):
    command, folder = killed_run(place)
    wal = os.path.join(folder, "job.db-wal")
    with open(wal, "rb") as file:
        whole = file.read()
    # In the first frames: SQLite would read none of the log.
    for at in (40, 32 + 24 + 100, 32 + 2 * (24 + 4096) + 500):
        flip(wal, at)
        _, err = place.run("--resume", *command, code=3)
        want("may be the run to resume, but it is damaged" in err, err)
        want(place.jobs() == ["1"], place.jobs())
        with open(wal, "wb") as file:
            file.write(whole)
    place.write("go")
    place.run("--resume", *command)
    want(len(place.lines("ran")) == 62, "what had ended was not done over")
    want({int(line) for line in place.lines("ran")} == set(range(1, 61)), place.read("ran"))


def cut_last_commit(wal):
    """Cut the newest transaction off the log, like a disk that lost what it had confirmed."""
    with open(wal, "rb") as file:
        log = file.read()
    page, salt = struct.unpack(">I", log[8:12])[0], log[16:24]
    ends = [0]
    for at in range(32, len(log) - 23 - page, 24 + page):
        if log[at + 8:at + 16] != salt:
            break  # of an earlier use
        if struct.unpack(">I", log[at + 4:at + 8])[0] > 0:
            ends.append(at + 24 + page)
    os.truncate(wal, ends[-2] or 32)
    return log


def test_a_run_whose_log_lost_its_last_commit_is_not_resumed(place: Place):
    command, folder = killed_run(place)
    wal = os.path.join(folder, "job.db-wal")
    whole = cut_last_commit(wal)
    _, err = place.run("--resume", *command, code=3)
    want("was durable: its end is lost" in err and f"remove {folder}/began" in err, err)
    out, _ = place.run("1", command="state check", code=1)
    want("its end is lost" in out, out)
    with open(wal, "wb") as file:
        file.write(whole)
    want("no damage" in "".join(place.run("1", command="state check")), "whole again")
    place.write("go")
    place.run("--resume", *command)
    want({int(line) for line in place.lines("ran")} == set(range(1, 61)), place.read("ran"))


def test_a_hub_whose_log_lost_its_last_commit_does_not_start(place: Place):
    cluster = cluster_of(place)
    cluster.submit("--", "true")
    cluster.submit("--", "true")  # this one is acknowledged as well
    cluster.kill_hub()
    wal = os.path.join(cluster.hub_dir, "hub.db-wal")
    whole = cut_last_commit(wal)
    want("its end is lost" in cluster.spate("state check", "hub", code=1)[0], "check")
    _, err = cluster.spate("hub start", "--allow-root", "--listen", "none", code=3)
    want("was durable: its end is lost" in err and "spate hub restore" in err, err)
    with open(wal, "wb") as file:
        file.write(whole)
    cluster.start_hub()
    want(len(cluster.spate("job list", "--quiet")[0].split()) == 2, "both jobs")


def test_a_flipped_bit_in_kept_output_is_found(place: Place):
    place.run("-q", "--keep-output=1M", "--", "echo out {}; echo err {} >&2", ":::", "1", "2", "3")
    cluster = cluster_of(place)
    cluster.node("n1")
    cluster.submit("--wait", "--", "echo out {}", ":::", "1", "2", "3")
    for path, options, check in ((f"{place.state}/jobs/1/output", ("--local",), "1"),
                                 (f"{cluster.hub_dir}/output/1", (), "hub")):
        want("out 2" in cluster.spate("job cat", *options, "1")[0], path)
        cluster.spate("state check", check)
        with open(path, "rb") as file:
            at = file.read().index(b"out 2")
        flip(path, at)
        out, err = cluster.spate("job cat", *options, "1", code=None)
        want("the output of task 2 is not what it wrote" in err and "nut 2" not in out, (out, err))
        out, _ = cluster.spate("state check", check, code=1)
        want("the output of task 2 is not what it wrote" in out and "salvage" not in out, out)
        flip(path, at)
        cluster.spate("state check", check)


def durable(cluster):
    with open(os.path.join(cluster.hub_dir, "began"), encoding="utf-8") as file:
        return int(file.read() or 0)


def test_a_hub_whose_journal_lost_its_end_does_not_start(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1")
    cluster.submit("--wait", "--", "true")
    before = durable(cluster)
    wait(lambda: cluster.submit("--wait", "--", "true") and durable(cluster) > before + 5, "it notes what is durable")
    cluster.kill_hub()
    wal = os.path.join(cluster.hub_dir, "hub.db-wal")
    with open(wal, "rb") as file:
        whole = file.read()
    os.truncate(wal, 0)
    _, err = cluster.spate("hub start", "--allow-root", "--listen", "none", code=3)
    want("is empty" in err and "spate hub restore" in err, err)
    # Cut behind some whole commits.
    with open(wal, "wb") as file:
        file.write(whole[:32 + (len(whole) - 32) // (24 + 4096) // 2 * (24 + 4096)])
    _, err = cluster.spate("hub start", "--allow-root", "--listen", "none", code=3)
    want("was durable: its end is lost" in err and "spate hub restore" in err, err)
    with open(wal, "wb") as file:
        file.write(whole)
    # An empty journal is as good as none.
    hub_db = os.path.join(cluster.hub_dir, "hub.db")
    os.rename(hub_db, hub_db + ".kept")
    with open(hub_db, "wb"):
        pass
    _, err = cluster.spate("hub start", "--allow-root", "--listen", "none", code=3)
    want("is empty" in err and "spate hub restore" in err, err)
    os.rename(hub_db + ".kept", hub_db)
    # Nor is another key made in place of an empty one: all who know the hub would be shut out.
    key = os.path.join(cluster.hub_dir, "key.pem")
    with open(key, "rb") as file:
        kept = file.read()
    os.truncate(key, 0)
    _, err = cluster.spate("hub start", "--allow-root", "--listen", "none", code=3)
    want("key.pem" in err, err)
    want(os.path.getsize(key) == 0, "no other key was made")
    with open(key, "wb") as file:
        file.write(kept)
    cluster.start_hub()
    cluster.submit("--wait", "--", "true")


def test_forwarded_data_follows_no_link_of_another_user(place: Place):
    if os.geteuid() != 0:
        print("       (skipped: only root can be another user)")
        return
    os.chmod(place.dir, 0o777)
    target = os.path.join(place.dir, "precious")
    place.write("precious", "as it was")
    link = os.path.join(place.dir, "out")
    os.symlink(target, link)
    os.lchown(link, NOBODY, NOBODY)
    _, err = place.run("--forward", "DATA=out", "--", "echo x >&$DATA", code=None)
    want("is a link of" in err and "not followed" in err, err)
    want(place.read("precious") == "as it was\n", place.read("precious"))
    # One's own is.
    os.lchown(link, 0, 0)
    place.run("--forward", "DATA=out", "--", "echo y >&$DATA")
    want(place.read("precious").endswith("y\n"), place.read("precious"))


def test_nothing_is_written_over_a_link_of_another_user(place: Place):
    if os.geteuid() != 0:
        print("       (skipped: only root can be another user)")
        return
    os.chmod(place.dir, 0o777)
    place.write("precious", "as it was")
    os.mkdir(os.path.join(place.dir, "elsewhere"))
    for name, to in (("log", "precious"), ("o.csv", "precious"), ("out", "precious"), ("dir", "elsewhere")):
        os.symlink(os.path.join(place.dir, to), os.path.join(place.dir, name))

    def owned_by(user):
        for name in ("log", "o.csv", "out", "dir"):
            os.lchown(os.path.join(place.dir, name), user, user)
    ways = (("--joblog", "log"), ("--joblog", "dir/log"), ("--results", "o.csv"), ("--results", "dir/o.json"),
            ("--results", "dir/tree"), ("--stdout", "out"), ("--stderr", "out"), ("--stdout", "dir/new/out"),
            ("--stdout", os.path.join(place.dir, "dir", "out")))
    owned_by(NOBODY)
    for option, name in ways:
        out, err = place.run(option, name, "--", "sh -c 'echo x; echo y >&2'", ":::", "1", code=None)
        want("not followed" in err or "Permission denied" in err, f"{option} {name}: {out} {err}")
        want(place.read("precious") == "as it was\n" and not os.listdir(os.path.join(place.dir, "elsewhere")),
             f"{option} {name}: {place.read('precious')} {os.listdir(os.path.join(place.dir, 'elsewhere'))}")
    owned_by(0)
    for option, name in ways:
        place.run(option, name, "--", "sh -c 'echo x; echo y >&2'", ":::", "1")
    want(len(os.listdir(os.path.join(place.dir, "elsewhere"))) == 5, os.listdir(os.path.join(place.dir, "elsewhere")))


def test_a_squatted_folder_of_a_node_does_not_stop_its_tasks(place: Place):
    if os.geteuid() != 0:
        print("       (skipped: only root can be another user)")
        return
    tmp = os.path.join(place.dir, "tmp")
    os.mkdir(tmp)
    os.chmod(tmp, 0o1777)
    cluster = cluster_of(place)
    node = cluster.node("n1", "--tmp", tmp)
    own = [name for name in os.listdir(tmp) if name.startswith("spate-")]
    want(len(own) == 1, f"it is made at once: {own}")
    cluster.submit("--wait", "--put", place.write("file", "x"), "--", "cat file")
    node.terminate()
    node.wait(20)
    wait(lambda: not os.path.exists(os.path.join(tmp, own[0])), "the node removed its folder")
    os.mkdir(os.path.join(tmp, own[0]))
    os.chown(os.path.join(tmp, own[0]), NOBODY, NOBODY)
    cluster.node("n1", "--tmp", tmp)
    cluster.submit("--wait", "--put", "file", "--", "cat file")
    want(os.stat(os.path.join(tmp, own[0])).st_uid == NOBODY, "it is left alone")
    now = [name for name in os.listdir(tmp) if name not in own]
    want(len(now) == 1 and os.stat(os.path.join(tmp, now[0])).st_uid == 0, now)
    want(stat.S_IMODE(os.stat(os.path.join(tmp, now[0])).st_mode) & 0o22 == 0, "nobody else may write there")


def test_a_node_that_loses_its_folder_makes_another(place: Place):
    tmp = os.path.join(place.dir, "tmp")
    os.mkdir(tmp)
    os.chmod(tmp, 0o1777)
    cluster = cluster_of(place)
    cluster.node("n1", "--tmp", tmp, "--slots", "2")
    place.write("file", "x")

    def lose(squatted):
        own, = (name for name in os.listdir(tmp) if name.startswith("spate-") and os.stat(os.path.join(tmp, name)).st_uid != NOBODY)
        shutil.rmtree(os.path.join(tmp, own))
        if squatted:
            os.mkdir(os.path.join(tmp, own))
            os.chown(os.path.join(tmp, own), NOBODY, NOBODY)

    def tries(job):
        return [json.loads(line)["attempt"] for line in cluster.spate("task list", job, "--output", "json")[0].splitlines()]
    cluster.submit("--wait", "--put", "file", "--", "cat file")
    for squatted in (False, True) if os.geteuid() == 0 else (False,):
        lose(squatted)
        cluster.submit("--wait", "--put", "file", "--get", "out", "--", "cat file > out")
        lose(squatted)
        cluster.submit("--wait", "--nodes", "1", "--", "true")
        # A job that the node's shepherds know already.
        mark = os.path.join(place.dir, f"go-{squatted}")
        job = cluster.submit("--max-running", "1", "--put", "file", "--",
                             f"cat file && echo >> {mark}.began && until test -e {mark}; do sleep 0.02; done; : {{}}", ":::", "1", "2")
        wait(lambda: place.lines(os.path.basename(mark) + ".began"), "the first runs")
        lose(squatted)
        place.write(os.path.basename(mark))
        cluster.spate("job wait", job)
    for each in range(1, int(job) + 1):
        want(set(tries(str(each))) == {1}, f"{each}: {tries(str(each))}")


if __name__ == "__main__":
    main(globals())
