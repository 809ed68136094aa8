#!/usr/bin/env python3
"""Damaged journals, and folders of others: nothing is done over, begun anew or followed without a word."""
import json
import os
import signal
import stat

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


def test_a_squatted_folder_of_a_node_does_not_stop_its_tasks(place: Place):
    if os.geteuid() != 0:
        print("       (skipped: only root can be another user)")
        return
    tmp = os.path.join(place.dir, "tmp")
    os.mkdir(tmp)
    os.chmod(tmp, 0o1777)
    cluster = cluster_of(place)
    node = cluster.node("n1", "--tmp", tmp)
    cluster.submit("--wait", "--put", place.write("file", "x"), "--", "cat file")
    own = [name for name in os.listdir(tmp) if name.startswith("spate-")]
    want(len(own) == 1, own)
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


if __name__ == "__main__":
    main(globals())
