#!/usr/bin/env python3
"""A site that is run as Parasol's are: its nodes are started before its hub, stopped without it, and asked at their ports."""
import os
import re
import signal
import socket
import subprocess

from cluster import free_port
from harness import DEADLINE, SPATE, main, wait, want

PROGRAMS = ("para", "parasol", "paraHub", "paraHubStop", "paraNode", "paraNodeStart", "paraNodeStop", "paraNodeStatus")


class Site:
    """Machines that are addresses of this one, and a remote shell that is none."""

    def __init__(self, place, *machines):
        self.place = place
        self.machines = machines or ("127.0.0.1", "127.0.0.2")
        self.bin = os.path.join(place.dir, "bin")
        os.mkdir(self.bin)
        for name in PROGRAMS:
            os.symlink(SPATE, os.path.join(self.bin, name))
        # As ssh: what follows the host's name goes to a shell.
        self.rsh = self.script("rsh", 'host=$1; shift; [ "$host" = 127.0.0.9 ] && exec /no/such/program; eval "$*"')
        place.write("machines", "# the site", *(f"{m} 2 64 {place.dir} /local 1 switch" for m in self.machines))
        self.port, self.node_port = free_port(""), free_port("")  # at all of this machine's loopback addresses
        self.hub_dir = os.path.join(place.state, "hub")
        place.on_remove = self.remove

    def script(self, name, body):
        path = os.path.join(self.bin, name)
        with open(path, "w") as out:
            out.write(f"#!/bin/sh\n{body}\n")
        os.chmod(path, 0o755)
        return path

    def run(self, name, *args, code=0, stdin=None):
        done = subprocess.run([os.path.join(self.bin, name), *args], cwd=self.place.dir, env=self.place.env,
                              input=stdin, capture_output=True, timeout=DEADLINE, text=True,
                              **({} if stdin is not None else {"stdin": subprocess.DEVNULL}))
        want(done.returncode == code,
             f"{name} {args}: exit code {done.returncode}, not {code}\n{done.stdout}\n{done.stderr}")
        return done.stdout, done.stderr

    def start_nodes(self, *args, code=0, machines="machines", **options):
        return self.run("paraNodeStart", machines, f"-rsh={self.rsh}", f"-exe={self.bin}/paraNode",
                        f"-port={self.node_port}", f"hub=127.0.0.1:{self.port}", *args, code=code, **options)

    def start_hub(self, *args, **options):
        return self.run("paraHub", "machines", f"-port={self.port}", *args, **options)

    def status(self, *args):
        return self.run("paraNodeStatus", "machines", f"-port={self.node_port}", *args)

    def stop_nodes(self, **options):
        return self.run("paraNodeStop", "machines", f"-port={self.node_port}", **options)

    def node_log(self, machine):
        found = [os.path.join(root, "log") for root, _, files in os.walk(os.path.join(self.place.state, "nodes"))
                 if os.path.basename(root).startswith(machine + "@") and "log" in files]
        return self.place.read(found[0]) if found else ""

    def hub_log(self):
        return self.place.read(os.path.join(self.hub_dir, "log"))

    def joined(self):
        out, _ = self.place.run("list", command="node")
        return len(re.findall(r"ready", out))

    def pids(self, names=(b"paraHub", b"paraNode")):
        """Daemons of this site, by where they keep their things."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    ours = b"SPATE_STATE=" + self.place.state.encode() + b"\0" in file.read()
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if ours and os.path.basename(words[0]) in names:
                found.append(int(pid))
        return found

    def remove(self):
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        wait(lambda: not self.pids(), "the site's daemons end")


def test_from_nodes_to_the_end(place):
    site = Site(place)
    out, err = site.start_nodes("-umask=022", "env=WORD=two words", "-sysPath=/x/bin")
    want(err == "", err)
    want(out.splitlines() == [
        f"{site.rsh} {m} {site.bin}/paraNode start -node={m} -cpu=2 -ram=64 -tempDir={place.dir} "
        f"hub=127.0.0.1:{site.port} -port={site.node_port} umask=022 sysPath=/x/bin env='WORD=two words' -access=stdin"
        for m in site.machines], out)
    # There was no hub yet, and nobody but the site's administrator may ask.
    want(site.status()[0] == "".join(f"{m} 0 of 2 CPUs busy\n" for m in site.machines)
         + "0 of 4 CPUs busy total\n", site.status())
    _, err = site.start_nodes(code=255)
    want(err.count("this node may run already") == 2, err)
    for secret in (os.path.join(site.hub_dir, name) for name in ("key.pem", "node.access", "nodes/127.0.0.1")):
        want(os.stat(secret).st_mode & 0o777 == 0o600, secret)
    place.write("machines2", *(f"{m} 2 64 {place.dir} /l 1 s" for m in (*site.machines, "127.0.0.3")))
    _, err = site.run("paraHub", "machines2", f"-port={site.port}")
    want("the hub is up" in err, err)
    wait(lambda: site.joined() == 2, "both nodes join")
    out, _ = site.run("parasol", "list", "machines")
    want(sorted(re.sub(" +", " ", line).strip() for line in out.splitlines())
         == ["127.0.0.1 good 0, err 0, idle", "127.0.0.2 good 0, err 0, idle", "127.0.0.3 good 0, err 0, dead"], out)
    out, _ = site.run("parasol", "status")
    want("Nodes total: 3\nNodes dead: 1\n" in out, out)
    out, _ = site.run("parasol", "plan")
    want(f"ramUnit={32 << 20}\njob default units: Cpu=1, ram=1\n" in out and "dead 1\n" in out, out)
    # Jobs run, and the nodes tell which.
    place.run("--", "sleep 600", command="submit")
    wait(lambda: "1 of 4 CPUs busy total" in site.status()[0], "a job runs")
    short, _ = site.status()
    want(re.search(r"^127\.0\.0\.\d 1 of 2 CPUs busy\. Jobs: 100000000$", short, re.M), short)
    lengthy, _ = site.status("-long", "-retries=7")
    want(re.search(r"^127\.0\.0\.\d running 100000000 ", lengthy, re.M), lengthy)
    want(lengthy.endswith("1 running, 0 recent\n"), lengthy)
    place.run("--wait", "--", "exit 3", command="submit", code=1)
    lengthy, _ = site.status("-long")
    want(re.search(r"^127\.0\.0\.\d recent 200000000 .*\n127\.0\.0\.\d result 768 \d+ \d+$", lengthy, re.M), lengthy)
    # The hub goes and comes; what runs goes on.
    out, err = site.run("paraHubStop", "now")
    want((out, err) == ("", ""), out + err)
    want("1 of 4 CPUs busy total" in site.status()[0], "the job runs without a hub")
    site.start_hub()
    wait(lambda: site.joined() == 2, "both nodes join again")
    want("1 of 4 CPUs busy total" in site.status()[0], "it still does")
    # Started again, they say that they run.
    _, err = site.start_nodes(code=255)
    want(err.count(" failed: ") == 2 and "paraNodeStart: 2 of 2 machines failed" in err, err)
    want("1 of 4 CPUs busy total" in site.status()[0], "and go on")
    # The end, without the hub.
    site.run("paraHubStop", "now")
    out, err = site.stop_nodes()
    want((out, err) == ("".join(f"Telling {m} to quit \n" for m in site.machines), ""), out + err)
    wait(lambda: not site.pids(), "the nodes end")
    out, err = site.status()
    want(out == "".join(f"{m} unreachable\n" for m in site.machines) + "0 of 0 CPUs busy total\n", out)
    out, err = site.stop_nodes(code=255)
    want(err.count(" failed: ") == 2, err)
    # A node can be started by hand: it has kept what it was given.
    site.start_hub()
    site.run("paraNode", "start", "-node=127.0.0.1", "-cpu=2", f"-port={site.node_port}")
    wait(lambda: site.joined() == 1, "it joins")


def test_a_machine_is_added(place):
    site = Site(place, "127.0.0.1")
    site.start_hub()
    out, err = site.run("parasol", "add", "machine", "127.0.0.2", "/tmp", code=255)
    line = "echo '127.0.0.2 2 64 /tmp' | paraNodeStart stdin"
    want(out == "" and err.endswith(f"to start one, here: {line}\n"), err)
    site.start_nodes(machines="stdin", stdin="127.0.0.2 2 64 /tmp\n")
    want(site.run("parasol", "add", "machine", "127.0.0.2", "/tmp") == ("", ""), "it has come")
    want("127.0.0.2" in site.run("parasol", "list", "machines")[0], "it is listed")


def test_jobs_of_para(place):
    site = Site(place, "127.0.0.1")
    site.start_nodes("umask=027", "env=WORD=two words", "sysPath=/x/bin:/y", "userPath=bin", "-env=OTHER=1")
    site.start_hub("-defaultJobRam=2", "-ramUnit=16m")
    wait(lambda: site.joined() == 1, "the node joins")
    batch = os.path.join(place.dir, "batch")
    os.mkdir(batch)
    site.script("tell", f"env > {batch}/env; umask > {batch}/umask; echo to err >&2")
    with open(os.path.join(batch, "jobs"), "w") as jobs:
        jobs.write(f"{site.bin}/tell\n")
    site.run("para", "make", f"-batch={batch}", f"{batch}/jobs")
    env = dict(line.split("=", 1) for line in place.lines("batch/env") if "=" in line)
    want(env["PARASOL"] == "7" and env["HOST"] == "127.0.0.1" and env["WORD"] == "two words" and env["OTHER"] == "1", env)
    want(":/x/bin:/y:" in env["PATH"] and env["PATH"].startswith(env["HOME"] + "/bin:"), env["PATH"])
    want(env["SPATE_MEMORY"] == str(32 << 20), env)
    want(place.read("batch/umask").strip() == "0027", place.read("batch/umask"))
    err_file = f"{place.dir}/para{env['JOB_ID']}.err"
    want(place.read(err_file) == "to err\n", os.listdir(place.dir))
    want(os.stat(err_file).st_mode & 0o777 == 0o600, "others may not read it, whatever the umask of the site is")
    want(place.read("batch/para.results").split()[10] == err_file, place.read("batch/para.results"))
    lengthy, _ = site.status("-long")
    want(re.search(rf"^127\.0\.0\.1 recent {env['JOB_ID']} \S+ {place.dir} /dev/null /dev/null {err_file} {site.bin}/tell$",
                   lengthy, re.M), lengthy)


def test_no_secret_on_a_command_line(place):
    site = Site(place)
    site.rsh = site.script("rsh", f'echo "$@" >> {place.dir}/words; cat > {place.dir}/kit.$1; exit 0')
    out, err = site.start_nodes()
    kits = [place.read(f"kit.{m}") for m in site.machines]
    secrets = [s for kit in kits for s in re.findall(r"secret = (\w+)", kit)]
    want(len(secrets) == 4 and len(set(secrets)) == 3, "one secret for the hub, one for each port")
    for text in (place.read("words"), out, err):
        want(not any(secret in text for secret in secrets), text)
    # A second start gives each node what it had.
    site.start_nodes()
    want(kits == [place.read(f"kit.{m}") for m in site.machines], "kits stay")


def test_one_of_three_fails(place):
    site = Site(place, "127.0.0.1", "127.0.0.9", "127.0.0.2")
    out, err = site.start_nodes(code=255)
    want(len(out.splitlines()) == 3, out)
    lines = err.splitlines()
    want(len(lines) == 2 and lines[0].startswith("paraNodeStart: 127.0.0.9 failed: ") and "/no/such/program" in lines[0]
         and lines[1] == "paraNodeStart: 1 of 3 machines failed", err)
    out, err = site.status()
    want(out == "127.0.0.1 0 of 2 CPUs busy\n127.0.0.9 unreachable\n127.0.0.2 0 of 2 CPUs busy\n"
         "0 of 4 CPUs busy total\n", out)
    want("paraNodeStatus: 127.0.0.9: " in err, err)


def test_strangers_are_refused(place):
    site = Site(place, "127.0.0.1")
    site.start_nodes()
    # Another site's administrator, or another node's.
    kit = os.path.join(site.hub_dir, "nodes/127.0.0.1")
    text = place.read(kit)
    head, port = text.split("[port]")
    wrong = head + "[port]" + re.sub("secret = ....", "secret = 0000", port)
    with open(kit, "w") as out:
        out.write(wrong)
    out, err = site.stop_nodes(code=255)
    want("127.0.0.1 failed: " in err and "the credential is not valid for its port" in err, err)
    want("refused" in site.node_log("127.0.0.1"), site.node_log("127.0.0.1"))
    with open(kit, "w") as out:
        out.write(text)
    want("127.0.0.1 0 of 2 CPUs busy" in site.status()[0], "it still runs")
    # Nor does the hub take a node that has none of its credentials.
    site.start_hub()
    wait(lambda: site.joined() == 1, "the node joins")
    site.stop_nodes()
    wait(lambda: site.joined() == 0 and not site.pids([b"paraNode"]), "the node goes")
    wrong = re.sub("secret = ....", "secret = 0000", head) + "[port]" + port
    site.run("paraNode", "start", "-node=127.0.0.1", f"-port={site.node_port}", "-access=stdin", stdin=wrong)
    wait(lambda: "the hub refuses this node" in site.node_log("127.0.0.1"), "it is refused")
    want(site.joined() == 0, "it has not joined")


def own_number():
    """A number of this machine that is not of its loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return None
        return probe.getsockname()[0]


def test_subnets(place):
    number = own_number()
    if number is None:
        return
    site = Site(place, "127.0.0.1")
    site.start_hub(f"-subnet=10.99,{number.rsplit('.', 1)[0]}.0/24")
    site.start_nodes(f"hub={number}:{site.port}")
    wait(lambda: site.joined() == 1, "the node joins from the subnet")
    site.run("paraHubStop", "now")
    site.start_hub("-subnet=10.99,fd00::/8")
    wait(lambda: "it accepts no peers from this network" in site.hub_log(), "it is refused")
    want(site.joined() == 0, "it has not joined")
    # This machine may come in any case: the node's port takes the hub's host, and it, only.
    want("127.0.0.1 0 of 2 CPUs busy" in site.status()[0], "the node may be asked")


def test_root_serves_all_users(place):
    """In the system's folders, which are others for this test."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        return
    site = Site(place, "127.0.0.1")
    os.chmod(place.dir, 0o1777)
    place.write("site.sh", f"""
        set -e
        mount -t tmpfs tmpfs /var/lib
        mount -t tmpfs tmpfs /run
        trap 'paraHubStop now; paraNodeStop {place.dir}/machines -port={site.node_port}' EXIT
        paraNodeStart machines -rsh={site.rsh} hub=127.0.0.1:{site.port} -port={site.node_port}
        paraHub machines -port={site.port}
        # Of an earlier hub, which gave out the same numbers.
        touch {place.dir}/para100000000.err
        mkdir -m 777 /run/work /run/root
        echo 'touch made' > /run/work/jobs
        cp /run/work/jobs /run/root/jobs
        cd /run/work
        as_nobody='setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/run/work'
        $as_nobody para make jobs
        test $(wc -l < para.results) = 1
        $as_nobody paraHubStop now && exit 1
        $as_nobody test -r /var/lib/spate/hub/node.access && exit 1
        cd /run/root
        para make jobs
        stat -c 'made by %u' /run/work/made /run/work/para.results /run/root/made
        """)
    env = {k: v for k, v in place.env.items() if k != "SPATE_STATE"} | {"PATH": f"{site.bin}:{os.environ['PATH']}"}
    done = subprocess.run(["unshare", "-m", "sh", "site.sh"], cwd=place.dir, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=DEADLINE)
    want(done.returncode == 0, done.stdout + done.stderr)
    want("made by 65534\nmade by 65534\nmade by 0\n" in done.stdout, done.stdout + done.stderr)


def test_errors(place):
    site = Site(place)
    for name in PROGRAMS[2:]:
        out, err = site.run(name, code=255)
        want(out == "" and err.startswith(f"{name} - ") and "usage:\n" in err, err)
    cases = [
        (("paraHub", "machines", "-foo"), "-foo is not a valid option\n"),
        (("paraNode", "start", "-foo"), "-foo is not a valid option\n"),
        (("paraNodeStart", "machines", "-foo"), "-foo is not a valid option\n"),
        (("paraHub", "none"), "cannot open 'none': No such file or directory\n"),
        (("paraHub", "short"), "line 1 of short: 2 columns instead of 7: "
         "write name cpus ram in MB tempDir localDir localSize switch\n"),
        (("paraHub", "twice"), "line 2 of twice: machine a occurs twice; remove this line\n"),
        (("paraHub", "empty"), "empty is empty: write a line for each machine\n"),
        (("paraHub", "machines", "-subnet=x"), "-subnet: 'x' is not a subnet; write for example 192.168, "
         "10.0.0.0/8 or fd00::/8\n"),
        (("paraNodeStart", "zero"), "line 1 of zero: '0' is not a number of CPUs; write a whole number, 1 or more\n"),
        (("paraNode", "start", "-node=a/b"), "'a/b' is not a valid name of a machine; write a letter or digit, then "
         "letters, digits or any of ._- (at most 255)\n"),
    ]
    place.write("short", "a 1")
    place.write("twice", "a 1 1 /tmp /l 1 s", "a 1 1 /tmp /l 1 s")
    place.write("empty", "# nothing")
    place.write("zero", "a 0")
    place.write("unknown", "no-such-host.invalid 1 1 /tmp /l 1 s")
    for words, wanted in cases:
        out, err = site.run(*words, code=255)
        want((out, err) == ("", wanted), f"{words}\n{out}\n{err}")
    _, err = site.run("paraHub", "unknown", code=255)
    want("no-such-host.invalid" in err, err)
    _, err = site.run("paraHubStop", "now")
    want("no hub: none of yours runs here" in err and "Start one: paraHub MACHINELIST\n" in err, err)
    _, err = site.run("paraNode", "start", "-access=stdin", code=255, stdin="nonsense\n")
    want("is not what paraNodeStart gives a node" in err, err)
    _, err = site.stop_nodes(code=255)
    want("paraNodeStart has not started it from here" in err, err)
    # A hub that runs already.
    site.start_hub()
    _, err = site.start_hub(code=255)
    want("a hub runs in" in err, err)


def test_a_node_that_is_first_waits_for_the_hub(place):
    """Started by hand on the hub's machine, before there was ever a hub."""
    site = Site(place, "127.0.0.1")
    _, err = site.run("paraNode", "start", "-node=127.0.0.1", f"-port={site.node_port}")
    want("no hub here yet, so the node waits for one" in err, err)
    site.start_hub()
    wait(lambda: site.joined() == 1, "the node joins")


def test_foreground_and_old_files(place):
    site = Site(place, "127.0.0.1")
    place.write("para12.err", "old")
    place.write("para13.err", "new")
    os.utime(os.path.join(place.dir, "para12.err"), (1, 1))
    site.rsh = site.script("rsh2", f"cat > {place.dir}/kit")
    site.start_nodes("-log=stdout")
    with open(os.path.join(place.dir, "kit"), "rb") as kit:
        node = subprocess.Popen([os.path.join(site.bin, "paraNode"), "start", "-node=127.0.0.1", "-debug", "log=stdout",
                                 f"-port={site.node_port}", f"-tempDir={place.dir}", "-access=stdin", "-randomDelay=5000"],
                                cwd=place.dir, env=place.env, stdin=kit, stdout=subprocess.PIPE, text=True)
    want("no hub yet" in node.stdout.readline(), "its log is on standard output")
    wait(lambda: not os.path.exists(os.path.join(place.dir, "para12.err")), "the old file goes")
    want(os.path.exists(os.path.join(place.dir, "para13.err")), "the new one stays")
    site.run("paraNodeStop", "stdin", f"-port={site.node_port}", stdin="127.0.0.1\n")
    node.wait(DEADLINE)
    node.stdout.close()
    want(node.returncode == 0, node.returncode)


if __name__ == "__main__":
    main(globals())
