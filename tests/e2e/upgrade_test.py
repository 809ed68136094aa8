#!/usr/bin/env python3
"""An upgrade of hub and nodes in both orders, and the way back, with 200 tasks running.

SPATE_LAST_RELEASE is a folder with the `spate` of the release before. Without it, a copy of this program takes its place: then
the test covers restarts and the way back, and no difference between releases.
"""
import json
import os
import shutil
import signal
import sqlite3
import subprocess

from cluster import Cluster
from harness import DEADLINE, SPATE, Place, main, wait, want

TASKS = 200
NODES = ("n1", "n2")


class Site:
    """A hub and two nodes, each of which runs one of two programs."""

    def __init__(self, place):
        self.place = place
        self.old = os.path.join(place.dir, "old", "spate")
        os.mkdir(os.path.dirname(self.old))
        given = os.environ.get("SPATE_LAST_RELEASE")
        self.differs = given is not None
        shutil.copy(os.path.join(given, "spate") if given else SPATE, self.old)
        self.cluster = Cluster(place, program=self.old)
        place.on_remove = self.cluster.stop
        self.nodes = {}
        for name in NODES:
            self.start_node(name, self.old)

    def start_node(self, name, program):
        self.cluster.program = program
        # A node that the hub refuses for its protocol does not join.
        self.nodes[name] = self.cluster.node(name, "-j", str(TASKS // len(NODES)), "--cpus", str(TASKS), join=False)

    def replace_nodes(self, program):
        """The new processes adopt all tasks of the old ones."""
        def adopted(name):
            return self.place.read(f"{name}.log").count(f"took over {TASKS // len(NODES)} tasks")
        before = {name: adopted(name) for name in NODES}
        for name, process in self.nodes.items():
            process.send_signal(signal.SIGQUIT)
            want(process.wait(DEADLINE) == 0, self.place.read(f"{name}.log"))
            self.start_node(name, program)
        wait(lambda: all(adopted(name) > before[name] for name in NODES), "the tasks are adopted")

    def replace_hub(self, program):
        self.cluster.kill_hub()
        self.start_hub(program)

    def start_hub(self, program):
        self.cluster.program = program
        self.cluster.start_hub()

    def by(self, program, *words, code=0):
        """What a command of `program` prints."""
        done = subprocess.run([program, *words], cwd=self.place.dir, env=self.place.env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=DEADLINE)
        want(done.returncode == code, f"exit code {done.returncode}: {words}\n{done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def running_tasks(self, job):
        out, _ = self.cluster.spate("job info", job, "--json")
        return json.loads(out.splitlines()[0])["running"]

    def see_all(self, job):
        """All nodes are back, and nothing was given up."""
        def ready():
            out, _ = self.cluster.spate("node list", "--json")
            return [json.loads(line)["state"] for line in out.splitlines()].count("ready") == len(NODES)
        wait(ready, "the nodes are back")
        wait(lambda: self.running_tasks(job) == TASKS, "they report their tasks")

    def begun(self):
        return sorted(name for name in os.listdir(self.place.dir) if name.startswith("ran."))

    def submit(self):
        """By the old program; all tasks run."""
        job = self.by(self.old, "submit", "--array", f"1-{TASKS}", "--",
                      "echo {} >> ran.{}; while ! test -e go; do sleep 0.5; done").strip()
        wait(lambda: len(self.begun()) == TASKS, "all run")
        return job

    def finish(self, job, program=SPATE):
        self.place.write("go")
        self.by(program, "job", "wait", job)
        for name in self.begun():
            want(len(self.place.lines(name)) == 1, f"{name} ran again")


def upgrade(place, *parts):
    site = Site(place)
    job = site.submit()
    for replace in parts:
        replace(site, SPATE)
    site.see_all(job)
    site.finish(job)


def test_the_hub_first(place: Place):
    upgrade(place, Site.replace_hub, Site.replace_nodes)


def test_the_nodes_first(place: Place):
    upgrade(place, Site.replace_nodes, Site.replace_hub)


def test_the_way_back(place: Place):
    """By a backup made before the upgrade (docs/user/admin.md); its tasks run on."""
    site = Site(place)
    job = site.submit()
    site.by(site.old, "hub", "backup", "before.backup")
    site.replace_hub(SPATE)
    site.replace_nodes(SPATE)
    site.see_all(job)
    later = site.cluster.submit("--", "true")  # all slots are taken
    site.cluster.kill_hub()
    hub = site.cluster.hub_dir
    if site.differs:
        version = version_of(hub)
        err = site.by(site.old, "hub", "start", "--allow-root", "--listen", "none", code=3)
        want(version_of(hub) == version and "newer" in err, err)
    os.rename(hub, os.path.join(place.dir, "of-the-upgrade"))
    site.by(site.old, "hub", "restore", "before.backup")
    site.start_hub(site.old)
    site.replace_nodes(site.old)
    wait(lambda: site.by(site.old, "node", "list").count("ready") == len(NODES), "the nodes are back")
    want(later not in [line.split()[0] for line in site.by(site.old, "job", "list").splitlines()],
         "what was submitted after the backup is not in it")
    site.finish(job, site.old)


def version_of(hub):
    with sqlite3.connect(f"file:{hub}/hub.db?mode=ro", uri=True) as db:
        return db.execute("PRAGMA user_version").fetchone()


if __name__ == "__main__":
    main(globals())
