"""Access files of a hub, names that enter it, and what a user sees of others."""
import os
import re
import subprocess

from cluster import cluster_of
from harness import DEADLINE, SPATE, Place, main, wait, want


def test_other_machines_come_by_access_files(place: Place):
    cluster = cluster_of(place)
    node_access = cluster.access("--role", "node", name="node.access")
    client_access = cluster.access("--role", "client", "--user", "ada", name="ada.access")
    ada_node = cluster.access("--role", "node", "--user", "ada", name="adanode.access")
    far = dict(place.env, SPATE_STATE=os.path.join(place.dir, "far"), HOME=place.dir)
    cluster.node("far", "--access", node_access, env=far)
    own, place.env = place.env, dict(far, SPATE_HUB=client_access)
    job = cluster.submit("--", "true")
    out, _ = cluster.spate("job list")
    want("ada" in out, out)
    # Ada's tasks are not for the node of another user.
    out, _ = cluster.spate("task explain", f"{job}.1")
    want("node" in out and "ada" in out, out)
    place.env = own
    cluster.ordinary_node("ada", ada_node)
    place.env = dict(far, SPATE_HUB=client_access)
    cluster.spate("job wait", job)
    _, err = cluster.spate("hub access", "list", code=3)
    want("administrators" in err, err)


def test_a_revoked_access_is_no_access(place: Place):
    cluster = cluster_of(place)
    path = cluster.access("--role", "client", "--user", "ada", name="ada.access")
    serial = re.search(r"serial = (\d+)", place.read("ada.access")).group(1)
    cluster.spate("job list", "--access", path)
    cluster.spate("hub access", "revoke", serial)
    _, err = cluster.spate("job list", "--access", path, code=3)
    want("revoked" in err and "hub access add" in err, err)
    text = place.read("ada.access")
    place.write("forged.access", re.sub(r"secret = ..", "secret = 00", text).rstrip("\n"))
    os.chmod(os.path.join(place.dir, "forged.access"), 0o600)
    _, err = cluster.spate("job list", "--access", "forged.access", code=3)
    want("does not know this access" in err, err)
    os.chmod(path, 0o644)
    _, err = cluster.spate("job list", "--access", path, code=3)
    want("chmod" in err, err)


def test_an_access_file_is_for_its_owner_alone(place: Place):
    cluster = cluster_of(place)
    add = [SPATE, "hub", "access", "add", "--role", "client", "--user", "ada"]

    def known():
        return len(cluster.spate("hub access", "list")[0].splitlines())

    def written(mode, expected):
        path = os.path.join(place.dir, f"out.{mode:o}")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT), "w") as out:
            os.fchmod(out.fileno(), mode)
            done = subprocess.run(add, stdout=out, stderr=subprocess.PIPE, text=True, env=place.env, cwd=place.dir)
        want(done.returncode == expected, f"mode {mode:o}: {done}")
        return done.stderr, place.read(path)

    before = known()
    for mode in (0o644, 0o640, 0o604):
        err, text = written(mode, 2)
        want("--file FILE" in err and text == "", err)
    place.write("there", "mine")
    os.symlink("nowhere", os.path.join(place.dir, "link"))
    for name in ("there", "link", "missing/file"):
        _, err = cluster.spate("hub access", "add", "--file", name, code=2)
        want(name in err, err)
    want(place.read("there") == "mine\n" and not os.path.exists(os.path.join(place.dir, "nowhere")), "nothing is written")
    want(known() == before, "a refused access is no access")
    want("secret" in written(0o600, 0)[1], "a private file")
    old = os.umask(0)
    _, err = cluster.spate("hub access", "add", "--role", "client", "--user", "ada", "--file", "ada.access")
    os.umask(old)
    want(os.stat(os.path.join(place.dir, "ada.access")).st_mode & 0o777 == 0o600 and "ada.access" in err, err)
    cluster.spate("job list", "--access", "ada.access")
    # A hub that refuses leaves no file.
    cluster.spate("hub access", "add", "--access", "ada.access", "--file", "more.access", code=3)
    want(not os.path.exists(os.path.join(place.dir, "more.access")), "no file of an access that was refused")
    _, err = cluster.spate("hub access", "list", "--file", "x", code=2)
    want("--file" in err, err)


def test_names_that_a_shell_would_run_do_not_enter(place: Place):
    cluster = cluster_of(place)
    for name in ("evil$(touch${IFS}/x)x", "a/b", "..", "-n", "a b", "a:b"):
        _, err = cluster.spate("node start", f"--name={name}", code=2)
        want("is not a valid node name" in err, err)
        _, err = cluster.spate("hub user", f"@{name}", "--weight", "2", code=2)
        want("is not a valid name of a group" in err, err)
        if not name.startswith("-"):
            _, err = cluster.spate("pool add", "local", name, code=2)
            want("is not a valid name for a pool" in err, err)
    _, err = cluster.spate("node start", "--name", "n", "--label", "gpu=$(x)", code=2)
    want("is not a valid label" in err, err)
    cluster.spate("hub user", "@lab.1", "--weight", "2")
    node = cluster.node("a.b-c_1", "--label", "site:a")
    want(os.listdir(f"{place.state}/nodes")[0].startswith("a.b-c_1@"), os.listdir(f"{place.state}/nodes"))
    want(cluster.spate("node stop", "a.b-c_1")[0] == "a.b-c_1: stopped\n", "stopped")
    node.wait(DEADLINE)


def test_users_see_their_own_jobs_only(place: Place):
    cluster = cluster_of(place)
    ada = cluster.access("--role", "client", "--user", "ada", name="ada.access")
    bob = cluster.access("--role", "client", "--user", "bob", name="bob.access")
    job = cluster.submit("--access", ada, "--", "echo", "secret words")
    for verb in ("job cancel", "job hold", "job cat", "job tasks", "job info", "job retry"):
        _, err = cluster.spate(verb, "--access", bob, job, code=3)
        want("belongs to ada" in err, f"{verb}: {err}")
    out, _ = cluster.spate("job list", "--access", bob)
    want("ada" in out and "secret" not in out, out)
    out, _ = cluster.spate("job info", job)  # the hub's owner is an administrator
    want("secret words" in out, out)


if __name__ == "__main__":
    main(globals())
