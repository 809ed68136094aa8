#!/usr/bin/env python3
"""`spate remote` between parts of a gang, which are servers that the test starts itself."""
import os
import secrets
import signal
import subprocess
import time

import mpi_place
from harness import DEADLINE, SPATE, Place, alive, main, wait, want


class Gang:
    """Parts on nodes of these names, all on this machine."""

    def __init__(self, place, *nodes):
        self.place, self.nodes = place, nodes
        self.secret = secrets.token_hex(32)
        self.agent = os.path.join(place.dir, "spate-remote")
        os.symlink(SPATE, self.agent)
        place.write("hosts", *(f"{node} slots=2" for node in nodes))
        place.write("machines", *(f"{node}:2" for node in nodes))
        self.env = {node: self.environment(node) for node in nodes}
        self.parts = {}
        for node in nodes:
            self.serve(node)
        place.on_remove = self.stop

    def environment(self, node):
        ticket = os.path.join(self.place.dir, f"ticket.{node}")
        with open(os.open(ticket, os.O_WRONLY | os.O_CREAT, 0o600), "w") as out:
            out.write(f"spate-remote 1\nsecret {self.secret}\nself {node}\n")
            out.writelines(f"host {each}\n" for each in self.nodes)
        hosts, machines = (os.path.join(self.place.dir, name) for name in ("hosts", "machines"))
        # As a node gives it to parts that share a machine: two daemons of Open MPI in one folder
        # for temporary files damage each other, and mpirun waits without end for the one that died.
        temporary = os.path.join(self.place.dir, f"tmp.{node}")
        os.makedirs(temporary, exist_ok=True)
        return dict(mpi_place.environment(self.place.env), SPATE_REMOTE=ticket, SPATE_NODE=node,
                    TMPDIR=temporary,
                    OMPI_MCA_plm_rsh_agent=self.agent, OMPI_MCA_plm_rsh_no_tree_spawn="1",
                    OMPI_MCA_orte_default_hostfile=hosts, OMPI_MCA_btl="^vader,sm",
                    HYDRA_LAUNCHER="ssh", HYDRA_LAUNCHER_EXEC=self.agent, HYDRA_HOST_FILE=machines)

    def serve(self, node, *command):
        out = open(os.path.join(self.place.dir, f"{node}.log"), "a")
        self.parts[node] = subprocess.Popen([SPATE, "__remote", *command], cwd=self.place.dir,
                                            env=self.env[node], stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=out, start_new_session=True)
        return self.parts[node]

    def call(self, *words, node="n1", program=(SPATE, "remote"), code=0, stdin=b""):
        done = subprocess.run([*program, *words], env=self.env[node], cwd=self.place.dir,
                              input=stdin, capture_output=True, timeout=DEADLINE)
        out, err = done.stdout.decode(), done.stderr.decode()
        want(done.returncode == code, f"exit code {done.returncode}, not {code}\n{out}\n{err}")
        return out, err

    def begin(self, *words, node="n1"):
        return subprocess.Popen([SPATE, "remote", *words], env=self.env[node], cwd=self.place.dir,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def stop(self):
        for part in self.parts.values():
            part.terminate()
        for part in self.parts.values():
            part.wait(DEADLINE)


def test_as_ssh_would(place: Place):
    gang = Gang(place, "n1", "n2.site.org")
    out, _ = gang.call("n2.site.org", "echo $SPATE_NODE; pwd; echo $1; exit 3", code=3)
    want(out.splitlines() == ["n2.site.org", os.path.realpath(place.dir), ""], out)
    # Short names, users, options; words are text for a shell.
    out, _ = gang.call("-x", "-l", "ann", "n2", "echo", "a   b", "'c   d'")
    want(out == "a b c   d\n", out)
    out, _ = gang.call("ann@n1", "echo here", node="n2.site.org", program=(gang.agent,))
    want(out == "here\n", out)
    out, err = gang.call("n2", "cat; echo problem >&2", stdin=b"input" * 100000)
    want(out == "input" * 100000 and err == "problem\n", err)
    gang.call("n2", "kill -9 $$", code=137)
    _, err = gang.call("n3", "true", code=255)
    want("n3 is not a node of this gang; its nodes are n1, n2.site.org" in err, err)


def test_outside_of_a_gang(place: Place):
    done = subprocess.run([SPATE, "remote", "n1", "true"], env=place.env, capture_output=True)
    want(done.returncode == 255 and b"within" in done.stderr and b"spate submit --nodes" in done.stderr, done.stderr)
    out, _ = place.run("remote", command="help")
    want("in place of ssh" in out, out)


def test_what_others_may_read_is_no_ticket(place: Place):
    gang = Gang(place, "n1", "n2")
    os.chmod(gang.env["n1"]["SPATE_REMOTE"], 0o644)
    _, err = gang.call("n2", "true", code=255)
    want("ticket.n1" in err, err)


def test_signals_go_there(place: Place):
    gang = Gang(place, "n1", "n2")
    caller = gang.begin("n2", "trap 'echo told; exit 5' TERM; echo up; while :; do sleep 0.02; done")
    want(caller.stdout.readline() == b"up\n", "it runs")
    caller.terminate()
    out, _ = caller.communicate(timeout=DEADLINE)
    want(out == b"told\n" and caller.returncode == 5, (out, caller.returncode))


def test_a_killed_client_ends_its_command(place: Place):
    gang = Gang(place, "n1", "n2")
    caller = gang.begin("n2", "echo $$; exec sleep 1000")
    pid = int(caller.stdout.readline())
    caller.kill()
    caller.wait()
    wait(lambda: not alive(pid), "the command has ended")


def test_the_end_of_a_part_ends_its_commands(place: Place):
    gang = Gang(place, "n1", "n2")
    caller = gang.begin("n2", "echo $$; exec sleep 1000")
    pid = int(caller.stdout.readline())
    gang.parts["n2"].terminate()
    _, err = caller.communicate(timeout=DEADLINE)
    want(caller.returncode == 255 and b"the command on node n2 was lost" in err, err)
    wait(lambda: not alive(pid), "the command has ended")


def test_a_part_with_a_command_of_its_own(place: Place):
    gang = Gang(place, "n1", "n2")
    gang.stop()
    os.mkfifo(os.path.join(place.dir, "go"))
    part = gang.serve("n2", "--", "sh", "-c", "echo own; read x < go; exit 6")
    out, _ = gang.call("n2", "echo hello")
    want(out == "hello\n", out)
    place.write("go", "x")
    want(part.wait(DEADLINE) == 6 and place.read("n2.log") == "own\n", place.read("n2.log"))
    want(gang.serve("n2", "--", "sh", "-c", "kill -9 $$").wait(DEADLINE) == -signal.SIGKILL, "killed")
    want(gang.serve("n2", "--", "no-such-program").wait(DEADLINE) == 127, "not found")
    want("no-such-program" in place.read("n2.log"), place.read("n2.log"))


def test_mpi(place: Place):
    gang = Gang(place, "n1", "n2")
    for library in mpi_place.libraries():
        program = mpi_place.build(place, library)
        launcher = mpi_place.LIBRARIES[library][1]
        begun = time.monotonic()
        out, _ = gang.call(program, program=(launcher,))
        want(sorted(out.splitlines()) == mpi_place.lines_of(("n1", "n2"), 2), out)
        print(f"       {launcher}: {time.monotonic() - begun:.2f} s")


if __name__ == "__main__":
    main(globals())
