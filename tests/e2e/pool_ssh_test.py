"""A pool over a real sshd on loopback. Skipped where there is none."""
import os
import pwd
import shutil
import subprocess
import sys

from harness import Place, main, wait, want
from cluster import cluster_of, free_port
from pool_test import pools

SSHD = "/usr/sbin/sshd"


def server(place: Place, port):
    """An sshd for this user alone, with keys of its own; what to add to ssh's words."""
    folder = os.path.join(place.dir, "sshd")
    os.mkdir(folder, 0o700)
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{key}"], check=True)
    shutil.copy(f"{folder}/user.pub", f"{folder}/authorized")
    with open(f"{folder}/host.pub") as key:
        kind, text = key.read().split()[:2]
    with open(f"{folder}/known", "w") as known:
        known.write(f"[127.0.0.1]:{port} {kind} {text}\n")
    with open(f"{folder}/config", "w") as config:
        config.write(f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
                     f"PidFile {folder}/pid\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n"
                     f"SetEnv HOME={place.env.get('HOME', place.dir)}\n")
    os.makedirs("/run/sshd", exist_ok=True)
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", f"{folder}/config"], stderr=open(f"{folder}/log", "w"))
    wait(lambda: "listening" in open(f"{folder}/log").read() or process.poll() is not None, "sshd listens")
    want(process.poll() is None, open(f"{folder}/log").read())
    words = ["-p", str(port), "-i", f"{folder}/user", "-o", f"UserKnownHostsFile={folder}/known", "-o", "IdentitiesOnly=yes"]
    return process, words


def test_nodes_over_ssh(place: Place):
    port = free_port()
    process, words = server(place, port)
    try:
        cluster = cluster_of(place)
        options = [word for each in words for word in ("--command-word", each)]
        user = pwd.getpwuid(os.geteuid()).pw_name
        slots = os.cpu_count() + 3
        _, err = cluster.spate("pool add", "ssh", "lab", "--hosts", f"{user}@127.0.0.1:{slots},no.such.host.invalid", *options, code=1)
        want("1 host added" in err and "no.such.host.invalid" in err, err)
        cluster.submit("--wait", "--pool", "lab", "--", "echo $SPATE_NODE >> who; sleep 0.1 # {}", ":::", *map(str, range(8)))
        want(len(place.lines("who")) == 8, place.lines("who"))
        # HOST:N is N tasks at once, however many cores the host has.
        job = cluster.submit("--pool", "lab", "--", "echo {} >> began; until [ -e go ]; do sleep 0.05; done", ":::",
                             *map(str, range(slots)))
        wait(lambda: len(place.lines("began")) == slots, "as many run at once as the host was given slots")
        place.write("go")
        cluster.spate("job wait", job)
        # The reason of a job that names the group is that of the group's pools.
        big = cluster.submit("--pool", "lab", "--cpus", "9999", "--", "true")
        why, _ = cluster.spate("task explain", f"{big}.1")
        want("pool lab-" in why and "removed" not in why, why)
        cluster.spate("job cancel", big)
        cluster.spate("pool remove", "lab", "--wait")
        want(not pools(cluster), "the pool is there")
        # A host that has other files: what a start needs is looked at before, and can be brought.
        here = ("--hosts", f"{user}@127.0.0.1:2", *options)
        _, err = cluster.spate("pool add", "ssh", "far", *here, "--program", "/no/spate", code=1)
        want("the host has no program /no/spate" in err and "--no-shared-files" in err, err)
        _, err = cluster.spate("pool add", "ssh", "far", *here, "--folder", "/proc/nowhere", code=1)
        want("pilots cannot write to /proc/nowhere" in err, err)
        cluster.spate("pool add", "ssh", "far", *here, "--no-shared-files")
        cluster.submit("--wait", "--pool", "far", "--", "echo $SPATE_NODE >far")
        want(place.read("far").startswith("far"), place.read("far"))
        cluster.spate("pool remove", "far", "--wait")
        left = subprocess.run(["pgrep", "-f", f"node start --pilot --access {place.dir}"], capture_output=True, text=True)
        wait(lambda: subprocess.run(["pgrep", "-f", f"node start --pilot --access {place.dir}"], capture_output=True).returncode == 1,
             f"no pilot is left ({left.stdout})")
        cluster.stop()
        place.on_remove = lambda: None
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    if not (os.path.exists(SSHD) and shutil.which("ssh") and os.geteuid() == 0):
        print("skipped: no sshd that this user may start (openssh-server)")
        sys.exit(77)
    main({name: function for name, function in globals().items() if name.startswith("test_nodes")})
