"""A pool in a Grid Engine of its own. Skipped where it is not installed."""
import os
import shutil
import subprocess
import sys

from harness import DEADLINE, Place, main, wait, want
from cluster import cluster_of, free_port
from pool_test import pools

SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
SCRIPTS = os.path.abspath(os.path.join(SOURCE, "tests", "gridengine"))


def test_up_and_down(place: Place):
    folder = os.path.join(place.dir, "ge")
    call = lambda *args: subprocess.run(args, env=place.env, cwd=place.dir, timeout=DEADLINE, text=True, capture_output=True)
    up = call("bash", os.path.join(SCRIPTS, "up.sh"), folder, "8", str(free_port()))
    cluster = None
    try:
        want(up.returncode == 0, up.stdout + up.stderr)
        with open(os.path.join(folder, "env")) as file:
            place.env = dict(place.env, **dict(word.split("=", 1) for word in file.read().split() if "=" in word))
        cluster = cluster_of(place)
        _, err = cluster.spate("pool add", "gridengine", "ge", "--", "-q", "no-such-queue", code=2)
        want("no-such-queue" in err, err)
        cluster.spate("pool add", "gridengine", "ge", "--max-pilots", "3", "--slots", "2", "--cpus", "2", "--idle-exit", "1s",
                      "--submit-rate", "20", "--", "-l", "h_rt=1h")
        cluster.submit("--wait", "--pool", "ge", "--", "echo $SPATE_NODE $JOB_ID >> who; sleep 0.1 # {}", ":::", *map(str, range(20)))
        want(len(place.lines("who")) == 20, place.lines("who"))
        wait(lambda: not call("qstat").stdout, "the queue is empty")
        cluster.spate("pool remove", "ge", "--wait")
        want(not pools(cluster), "the pool is there")
    finally:
        if cluster is not None:
            cluster.stop()
            place.on_remove = lambda: None
        call("bash", os.path.join(SCRIPTS, "down.sh"), folder)


if __name__ == "__main__":
    if not (shutil.which("qsub") and os.path.exists("/usr/sbin/sge_qmaster") and shutil.which("bc")):
        print("skipped: Grid Engine is not installed (gridengine-master, gridengine-exec, gridengine-client, bc)")
        sys.exit(77)
    main({name: function for name, function in globals().items() if name.startswith("test_up")})
