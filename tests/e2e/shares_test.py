"""Three users with endless work of different shapes share the nodes of one hub (--policy fair): over ten mean run times
each has used as much as any other. The simulator and core_engine_fair_test judge more shapes; here real tasks run."""
import json
import os
import signal
import subprocess
import time

from cluster import cluster_of
from harness import Place, main, stop, wait, want

NODES, SLOTS = 16, 2
USERS = {"ann": [], "bob": ["--nodes", "1", "--procs-per-node", "2"], "eve": ["--nodes", "4", "--procs-per-node", "2"]}
MEAN = 1.5  # seconds, of a task; each takes 1.0 to 1.9


def with_accounts(place):
    """Words before a node's command: for it alone /etc/passwd has the users too. None: not allowed."""
    with open("/etc/passwd", encoding="utf-8") as file:
        accounts = file.read().splitlines()
    for number, user in enumerate(USERS, 58201):
        accounts.append(f"{user}:x:{number}:{number}::/:/bin/sh")
    file = os.path.join(place.dir, place.write("passwd", *accounts))
    os.chmod(file, 0o644)
    words = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', file]
    return words if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0 else None


def used(cluster):
    """Processor seconds by user, as they count for shares: what is kept free for one's gangs too."""
    lines = [json.loads(line) for line in cluster.spate("hub user", "--json")[0].splitlines()]
    return {line["user"]: line["use_s"] for line in lines if line.get("user") in USERS}


def test_three_shapes_of_work_get_equal_shares(place: Place):
    inside = with_accounts(place)
    if inside is None:
        return print("       (skipped: no mount namespaces, or not root)")
    cluster = cluster_of(place)
    for folder in (place.dir, place.state, cluster.hub_dir):
        os.chmod(folder, 0o711)
    cluster.spate("hub set", "--policy", "fair")
    nodes = [f"n{number}" for number in range(NODES)]
    for name in nodes:
        cluster.node(name, "--slots", str(SLOTS), "--cpus", str(SLOTS), join=False, inside=inside)
    wait(lambda: json.loads(cluster.spate("hub status", "--json")[0])["nodes"] == NODES, "all nodes are there")
    for user, shape in USERS.items():
        access = cluster.access("--role", "client", "--user", user, name=f"{user}.access")
        cluster.submit("--access", access, "--array", "1-100000", *shape, "--cwd", "/",
                       "--", "sleep 1.$(({} * 7 % 10))")
    wait(lambda: len(used(cluster)) == len(USERS) and min(used(cluster).values()) > 0, "all of them run tasks")
    time.sleep(5 * MEAN)  # not for anything: until each has had a turn
    before = used(cluster)
    time.sleep(10 * MEAN)
    after = used(cluster)
    shares = {user: after[user] - before[user] for user in USERS}
    mean = sum(shares.values()) / len(shares)
    print("       used, in seconds:", {user: round(share, 1) for user, share in shares.items()})
    want(mean > 5 * MEAN * NODES * SLOTS / len(USERS), f"half of the nodes' time at least: {shares}")
    # One task of four nodes is the least that can be given.
    least = 4 * SLOTS * MEAN
    for user, share in shares.items():
        want(abs(share - mean) <= 0.05 * mean + least, f"{user}: {shares}")
    for user in USERS:
        cluster.spate("job cancel", "--user", user)


def are_not_delayed(cluster, access, quiet):
    """Not in each of three tries, since the machine may be busy meanwhile."""
    return any(time_of_short_tasks(cluster, access) < 5 * quiet for _ in range(3))


def time_of_short_tasks(cluster, access):
    """Seconds until the user's short tasks have run: seven jobs, one after the other."""
    begun = time.monotonic()
    for _ in range(7):
        cluster.submit("--wait", "--access", access, "--cwd", "/", "--array", "1-3", "--", "sleep", "0.0{}")
    return time.monotonic() - begun


def test_who_lies_about_times_or_has_silent_nodes_delays_nobody(place: Place):
    inside = with_accounts(place)
    if inside is None:
        return print("       (skipped: no mount namespaces, or not root)")
    cluster = cluster_of(place)
    for folder in (place.dir, place.state, cluster.hub_dir):
        os.chmod(folder, 0o711)
    for name in ("m1", "m2", "m3"):
        cluster.node(name, "--slots", "4", "--cpus", "4", inside=inside)
    ann, bob = (cluster.access("--role", "client", "--user", user, name=f"{user}.access") for user in ("ann", "bob"))
    whole = ("--access", ann, "--cwd", "/", "--whole-nodes", "--time", "1s")
    quiet = time_of_short_tasks(cluster, bob)
    lie = cluster.submit("--access", ann, "--cwd", "/", "--on", "m1", "--cpus", "0.1", "--time", "1s", "--",
                         "sleep", "3600").split()[0]
    gang = cluster.submit("--nodes", "3", *whole, "--", "true").split()[0]
    wait(lambda: "longer than estimated" in cluster.spate("task explain", f"{gang}.1")[0], "the lie has come out")
    for policy in ("fair", "easy", "easy-sjbf", "fcfs"):
        cluster.spate("hub set", "--policy", policy)
        want(are_not_delayed(cluster, bob, quiet), f"{policy}: others wait for a gang whose user lies about times")
    cluster.spate("job cancel", lie)
    cluster.spate("job wait", gang)
    access = cluster.access("--role", "node", "--user", "ann", name="own.access")
    state = os.path.join(place.dir, "own")
    os.mkdir(state)
    own = cluster.node("own", "--access", access, "--slots", "1", env=dict(place.env, SPATE_STATE=state), inside=inside)
    stop(own)
    gang = cluster.submit("--nodes", "4", *whole, "--", "true").split()[0]
    want(are_not_delayed(cluster, bob, quiet), "others wait for a node that never answers")
    own.send_signal(signal.SIGCONT)
    cluster.spate("job wait", gang)


if __name__ == "__main__":
    main(globals())
