"""Files that go to tasks on nodes and come back: --put, --get, job get."""
import glob
import hashlib
import os
import pwd
import re
import signal

from cluster import NOBODY, cluster_of
from harness import Place, alive, main, wait, want


def binary(place, name, size=5000):
    """A file of bytes that no text tool would leave alone; its hash."""
    path = os.path.join(place.dir, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    content = b"\0\xff\r\n" + os.urandom(size)
    with open(path, "wb") as file:
        file.write(content)
    return hashlib.sha256(content).hexdigest()


def digest(place, name):
    with open(os.path.join(place.dir, name), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def node_at(cluster, name, *options, **more):
    """A node with a --tmp of its own."""
    return cluster.node(name, "--tmp", f"tmp-{name}", *options, **more)


def folders(place):
    """Those of tasks, on all nodes."""
    return glob.glob(os.path.join(place.dir, "tmp-*", "spate-*", "*"))


def pid_in(place, name):
    wait(lambda: place.lines(name), name)
    return int(place.lines(name)[0])


def test_files_go_to_two_nodes_and_come_home(place: Place):
    cluster = cluster_of(place)
    names = [f"in/a b {i}.bin" for i in range(6)]
    wanted = {name: binary(place, name) for name in names}
    place.write("tool", "#!/bin/sh", "cp \"$1\" \"out-$2\" && pwd")
    os.chmod(os.path.join(place.dir, "tool"), 0o755)
    job = cluster.submit("--put", "tool", "--put", "{}", "--get", "out-{/}", "--",
                         "./tool", "{}", "{/}", ":::", *names)
    # They were read at the submit.
    for name in names + ["tool"]:
        os.remove(os.path.join(place.dir, name))
    for node in ("n1", "n2"):
        node_at(cluster, node, "-j", "1", "--cpus", "1")
    cluster.spate("job wait", job)
    out, _ = cluster.spate("state check", "hub")
    want("1 job, 6 tasks, 6 attempts" in out, out)
    cluster.spate("job get", job, "results")
    for name in names:
        want(digest(place, f"results/out-{os.path.basename(name)}") == wanted[name], name)
    out, _ = cluster.spate("job cat", job)
    where = out.splitlines()
    want(len(set(where)) == 6 and all(re.search(r"/tmp-n[12]/spate-", path) for path in where), out)
    want(folders(place) == [], folders(place))
    cluster.spate("job get", f"{job}.2", "one")
    want(os.listdir(os.path.join(place.dir, "one")) == ["out-a b 1.bin"], "one task's")


def test_nodes_add_to_files_with_append(place: Place):
    cluster = cluster_of(place)
    node_at(cluster, "n1")
    _, err = cluster.spate("submit", "--stdout", "log", "--array", "1-3", "--", "echo", "{}", code=2)
    want("task 1 (1) and task 2 (2) would write to the same file, 'log'" in err, err)
    _, err = place.run("--hub", "--stdout", "log", "--", "echo", ":::", "a", "b", code=2)
    want("task 1 (a) and task 2 (b)" in err, err)
    place.write("log", "before")
    cluster.submit("--wait", "--append", "--stdout", "log", "--", "echo", "{}", ":::", "a", "b")
    want(sorted(place.lines("log")) == ["a", "b", "before"], place.lines("log"))
    job = cluster.submit("--open", "--stdout", "{.}.o", "--", "echo {}", ":::", "a.x")
    _, err = cluster.spate("job add", job, "--", "echo {}", ":::", "b.x", "b.y", code=2)
    want("task 1 (b.x) and task 2 (b.y) would write to the same file, 'b.o'" in err, err)
    cluster.spate("job add", job, "--", "echo {}", ":::", "b.x")
    cluster.spate("job close", job)
    cluster.spate("job wait", job)
    want(place.lines("a.o") == ["a.x"] and place.lines("b.o") == ["b.x"], "added")


def test_streams_in_a_folder_of_its_own_come_home_or_are_refused(place: Place):
    cluster = cluster_of(place)
    node_at(cluster, "n1")
    place.write("in.txt", "text")
    task = ("--", "cat in.txt; echo oops >&2; : {}", ":::", "a")
    for words in (("--stdout", "out.{#}"), ("--stderr", "err.{#}"), ("--append", "--stdout", "log"),
                  ("--stdout", "out.{#}", "--get", "other")):
        _, err = cluster.spate("submit", "--put", "in.txt", *words, *task, code=2)
        name = words[-1] if "--get" not in words else "out.{#}"
        want("which is then removed" in err and f"add --get '{name}'" in err, f"{words}: {err}")
    _, err = place.run("--hub", "--put", "in.txt", "--stdout", "out.{#}", *task, code=2)
    want("--stdout 'out.{#}': " in err, err)
    cluster.submit("--wait", "--put", "in.txt", "--stdout", "./out.{#}", "--get", "out.{#}", "--stderr",
                   os.path.join(place.dir, "err"), *task)
    want(place.lines("out.1") == ["text"] and place.lines("err") == ["oops"], "come home")


def test_input_in_a_folder_of_its_own_is_put_there_or_refused(place: Place):
    cluster = cluster_of(place)
    cluster.node()
    place.write("in.txt", "input")
    for words in (("--get", "made"), ("--put", "other")):
        _, err = place.run("--hub", "--stdin", "in.txt", *words, "--", "cat > made", code=2)
        want("--stdin 'in.txt': " in err and "add --put 'in.txt'" in err, err)
    place.run("--hub", "--stdin", "in.txt", "--put", "in.txt", "--get", "made", "--", "cat > made")
    want(place.read("made") == "input\n", "it was not read")


def test_who_waits_has_them_at_the_end(place: Place):
    cluster = cluster_of(place)
    node_at(cluster, "n1")
    wanted = binary(place, "data")
    command = "cp data out/copy.{}; chmod 750 out/copy.{}"
    cluster.submit("--wait", "--put", "data", "--get", "out/copy.{}", "--",
                   "mkdir out; " + command, ":::", "1", "2")
    want(digest(place, "out/copy.2") == wanted, "submit --wait")
    want(os.stat(os.path.join(place.dir, "out/copy.1")).st_mode & 0o777 == 0o750, "the mode")
    # A file that is only named as if it were one of ours stays.
    place.write("out/run.part", "mine")
    place.run("--hub", "--put", "data", "--get", "out/run", "--", "mkdir out; cp data out/run")
    want(place.lines("out/run.part") == ["mine"], "out/run.part")
    want(digest(place, "out/run") == wanted, "run --hub")


def test_what_is_missing_is_a_failure_with_words(place: Place):
    cluster = cluster_of(place)
    node_at(cluster, "n1")
    job = cluster.submit("--wait", "--get", "result.{}", "--get", "log.{}", "--",
                         "echo {} > log.{}", ":::", "a", code=1).split()[0]
    out, _ = cluster.spate("task info", f"{job}.1")
    want("'result.a' does not exist" in out, out)
    want(place.lines("log.a") == ["a"], "what is there comes, too")
    # A task that fails by itself brings home what is there, and is not blamed for more.
    job = cluster.submit("--wait", "--get", "result.{}", "--get", "why.{}", "--",
                         "echo broken > why.{}; exit 7", ":::", "b", code=1).split()[0]
    out, _ = cluster.spate("task info", f"{job}.1")
    want("exit code 7" in out and "result.b" not in out, out)
    want(place.lines("why.b") == ["broken"], "why")
    # 17 MB are too much, and a folder is no file.
    for made, words in (("truncate -s 17M big", "'big' has 17 MB"), ("mkdir big", "'big' is not a file")):
        job = cluster.submit("--wait", "--get", "big", "--", made, code=1).split()[0]
        out, _ = cluster.spate("task info", f"{job}.1")
        want(words in out, out)
    want(folders(place) == [], folders(place))


def test_what_cannot_be_is_refused_at_once(place: Place):
    cluster = cluster_of(place)
    place.write("a", "a")
    with open(os.path.join(place.dir, "big"), "wb") as file:
        file.truncate((16 << 20) + 1)
    cases = ((("--put", "none", "--", "true"), "/none'"),
             (("--put", "/etc/passwd", "--", "true"), "is absolute"),
             (("--put", "../a", "--", "true"), "leads out of the folder"),
             (("--get", "x/../../a", "--", "true"), "leads out of the folder"),
             (("--put", "{}", "--", "true", ":::", "a", "../a"), "leads out of the folder"),
             (("--put", "{}", "--", "true", ":::", "a", "none"), "/none'"),
             (("--put", "x{%}", "--", "true"), "{%} is not known"),
             (("--put", ".", "--", "true"), "is a folder"),
             (("--put", "big", "--", "true"), "at most 16 MB"),
             (("--get", "out", "--", "true", ":::", "1", "2"), "a file of the same name"))
    for args, words in cases:
        _, err = cluster.spate("submit", *args, code=2)
        want(words in err, f"{args}: {err}")
    _, err = place.run("--put", "a", "--", "true", code=2)
    want("nodes of a hub" in err, err)
    out, _ = cluster.spate("job list")
    want("true" not in out, out)


def test_long_files_survive_kills_of_hub_and_node(place: Place):
    """The end is there, and the hub does not have it, when the node's process is killed."""
    cluster = cluster_of(place)
    node = node_at(cluster, "n1")
    wanted = binary(place, "large", 3_500_000)
    job = cluster.submit("--put", "large", "--get", "copy", "--", f"echo $PPID > {place.dir}/pid; "
                         f"cp large copy; while ! test -e {place.dir}/go; do sleep 0.02; done")
    shepherd = pid_in(place, "pid")
    cluster.kill_hub()
    place.write("go")
    wait(lambda: folders(place) == [], "the task has ended")
    node.send_signal(signal.SIGKILL)
    node.wait()
    wait(lambda: not alive(shepherd), "its shepherd has left its end in a file")
    cluster.start_hub()
    node_at(cluster, "n1")
    cluster.spate("job wait", job)
    cluster.spate("job get", job, "got")
    want(digest(place, "got/copy") == wanted, "the file is whole")
    out, _ = cluster.spate("task info", f"{job}.1")
    want("attempt 2" not in out, out)
    cluster.kill_hub()
    cluster.start_hub()
    cluster.spate("job get", job, "again")
    want(digest(place, "again/copy") == wanted, "and stays so")


def test_kills_of_the_hub_lose_no_file(place: Place):
    cluster = cluster_of(place)
    node_at(cluster, "n1", "-j", "2")
    wanted = binary(place, "in", 100_000)
    tasks = 60
    job = cluster.submit("--array", f"1-{tasks}", "--put", "in", "--get", "out.{}", "--",
                         f"cat in > out.{{}}; echo {{}} >> out.{{}}; echo {{}} >> {place.dir}/done")
    for goal in (10, 30):
        wait(lambda: len(place.lines("done")) >= goal, "progress")
        cluster.kill_hub()
        cluster.start_hub()
    cluster.spate("job wait", job)
    cluster.spate("job get", job, "got")
    want(len(os.listdir(os.path.join(place.dir, "got"))) == tasks, "all of them")
    for task in range(1, tasks + 1):
        with open(os.path.join(place.dir, f"got/out.{task}"), "rb") as file:
            content = file.read()
        tail = f"{task}\n".encode()
        want(content.endswith(tail), task)
        want(hashlib.sha256(content[:-len(tail)]).hexdigest() == wanted, task)


def test_folders_of_killed_attempts_are_removed(place: Place):
    cluster = cluster_of(place)
    node = node_at(cluster, "n1")
    job = cluster.submit("--get", "x", "--", f"echo $PPID > {place.dir}/pid; echo x > x; "
                         f"test -e {place.dir}/again || exec sleep 1000")
    shepherd = pid_in(place, "pid")
    (before,) = folders(place)
    # Nobody is left who could.
    node.send_signal(signal.SIGKILL)
    node.wait()
    os.kill(shepherd, signal.SIGKILL)
    wait(lambda: not alive(shepherd), "the shepherd is dead")
    want(os.path.exists(before), before)
    place.write("again")  # only now: else the first attempt may see it
    node_at(cluster, "n1")
    cluster.spate("job wait", job)
    want(folders(place) == [], folders(place))


def test_a_program_of_one_node_only(place: Place):
    """What cannot be started on a node is that node's failure, and it is named."""
    cluster = cluster_of(place)
    os.mkdir(os.path.join(place.dir, "bin"))
    place.write("bin/rare-tool", "#!/bin/sh", "sleep 0.1; echo made > \"$1\"")
    os.chmod(os.path.join(place.dir, "bin/rare-tool"), 0o755)
    node_at(cluster, "without", "-j", "1", "--cpus", "1")
    path = place.env["PATH"] + ":" + os.path.join(place.dir, "bin")
    node_at(cluster, "with", "-j", "1", "--cpus", "1", env=dict(place.env, PATH=path))
    job = cluster.submit("--env", "none", "--get", "out.{}", "--", "rare-tool", "out.{}", ":::",
                         *map(str, range(6)))
    cluster.spate("job wait", job)
    cluster.spate("job get", job, "got")
    want(len(os.listdir(os.path.join(place.dir, "got"))) == 6, "all files")
    out, _ = cluster.spate("task info", f"{job}.1-6")
    want("on node without: rare-tool: command not found" in out, out)


def test_users_files_are_their_own(place: Place):
    cluster = cluster_of(place)
    name = pwd.getpwuid(NOBODY if os.geteuid() == 0 else os.geteuid()).pw_name
    os.chmod(place.dir, 0o755)
    own = cluster.access("--role", "client", "--user", name, name="own.access")
    bob = cluster.access("--role", "client", "--user", "bob", name="bob.access")
    nodes = cluster.access("--role", "node", "--user", "*" if os.geteuid() == 0 else name,
                           name="node.access")
    node_at(cluster, "n1", "--access", nodes)
    wanted = binary(place, "secret")
    os.chmod(os.path.join(place.dir, "secret"), 0o600)  # the client may read it: that is enough
    out, _ = place.run("--access", own, "--put", "secret", "--get", "copy", "--get", "facts", "--",
                       "cp secret copy; id -un > facts; stat -c '%U %a' . secret >> facts; "
                       # On a node for many users nobody is in the way of another one's attempts.
                       "test $(stat -c %u ..) = $(id -u) || ! mkdir ../9.1-1 || echo squats >> facts",
                       command="submit")
    job = out.strip()
    cluster.spate("job wait", "--access", own, job)
    _, err = cluster.spate("job get", "--access", bob, job, "stolen", code=3)
    want(f"belongs to {name}" in err, err)
    cluster.spate("job get", "--access", own, job, "got")
    want(digest(place, "got/copy") == wanted, "the content")
    want(place.lines("got/facts") == [name, f"{name} 700", f"{name} 600"], place.lines("got/facts"))
    want(folders(place) == [], folders(place))


if __name__ == "__main__":
    main(globals())
