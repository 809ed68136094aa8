"""-killTime in the folder of somebody else: root ends what runs for too long, others may not. A file of its own, as the least
-killTime is a minute, which passes beside other tests."""
import os
import pwd
import re
import subprocess
import time

from cluster import NOBODY, cluster_of
from harness import SPATE, Place, main, wait, want

MINUTE = 60


def para(place, user, *args, code=0, folder):
    done = subprocess.run([SPATE, "para", *args], cwd=os.path.join(place.dir, folder), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120, **user)
    want(done.returncode == code, f"exit code {done.returncode}, not {code}: para {args}\n{done.stdout}\n{done.stderr}")
    return done.stdout, done.stderr


def seconds_running(place, user, folder):
    time.sleep(0.5)  # to ask more often would only cost
    out, _ = para(place, user, "running", folder=folder)
    found = re.search(r"run time so far: (\d+) sec", out)
    return int(found.group(1)) if found else 0


def test_root_kills_what_hangs_for_others(place: Place):
    if os.geteuid() != 0:
        return print("only root has accounts to choose from")
    os.chmod(place.dir, 0o1777)
    cluster = cluster_of(place)
    nodes = cluster.access("--role", "node", "--user", "*", name="node.access")
    cluster.node("n1", "-j", "2", "--access", nodes)
    name = pwd.getpwuid(NOBODY).pw_name
    access = cluster.access("--role", "client", "--user", name, name="other.access")
    os.chown(access, NOBODY, NOBODY)
    env = dict(place.env, SPATE_HUB=access, HOME=place.dir)
    env.pop("SPATE_STATE")
    other = {"env": env, "user": NOBODY, "group": NOBODY, "extra_groups": []}
    root = {"env": place.env}
    owners = {"theirs": other, "ours": root}
    for folder, owner in owners.items():
        os.mkdir(os.path.join(place.dir, folder))
        os.chmod(os.path.join(place.dir, folder), 0o777)
        os.chown(os.path.join(place.dir, folder), owner.get("user", 0), -1)
        place.write(f"{folder}/job.lst", "sleep 600")
        para(place, owner, "create", "job.lst", folder=folder)
        para(place, owner, "push", folder=folder)
    for folder, owner in owners.items():
        wait(lambda: seconds_running(place, owner, folder) > MINUTE, "it runs for a minute", deadline=2 * MINUTE)
    _, err = para(place, root, "check", "-killTime=1", folder="theirs")
    want(re.search(r"^killed hung jobId: \d+$", err, re.M), err)
    wait(lambda: "running: " not in para(place, other, "check", folder="theirs")[0], "it ends")
    _, err = para(place, other, "check", "-killTime=1", code=255, folder="ours")
    want("belongs to root; only they and administrators may do that" in err, err)
    want("running: 1\n" in para(place, root, "check", folder="ours")[0], "it runs on")


if __name__ == "__main__":
    main(globals())
