"""Data that tasks forward into files which they share: here, on a hub, through kills."""
import os
import pwd
import random
import signal
import subprocess

from cluster import NOBODY, cluster_of
from harness import SPATE, Place, alive, main, mounted, wait, want


def blocks(lines, each):
    """The task of each block of so many lines, all of which are its own."""
    want(len(lines) % each == 0, lines)
    tasks = []
    for at in range(0, len(lines), each):
        tasks.append(lines[at].split()[0])
        want(lines[at:at + each] == [f"{tasks[-1]} {n}" for n in range(each)], lines[at:at + each])
    return tasks


def test_each_tasks_data_comes_whole_and_of_successes_alone(place: Place):
    command = "for n in 0 1 2; do echo '{} '$n >&$OUT; done; cp /dev/null p{}; for n in 0 1; do " \
              "echo '{} '$n >> p{}; done; test {} != 7"
    values = [str(i) for i in range(1, 31)]
    place.run("--forward", "OUT=out/pipe", "--forward-file", "p{}=out/file", "--", command, ":::", *values, code=1)
    good = sorted(set(values) - {"7"})
    want(sorted(blocks(place.lines("out/pipe"), 3)) == good, "pipes")
    want(sorted(blocks(place.lines("out/file"), 2)) == good, "files")
    want(not os.path.exists(os.path.join(place.dir, "p7")), "nothing stays of a try")


def test_lists_and_graphs_name_what_they_forward(place: Place):
    place.write("l.lst", "echo a >&$D; echo $D > number {forward D out/{x}", "echo b >&$ONE; echo c >&$TWO "
                "{forward ONE one} {forward TWO two}")
    place.run("l.lst")
    want((place.read("out/{x"), place.read("one"), place.read("two")) == ("a\n", "b\n", "c\n"), "list")
    want(3 <= int(place.read("number")) < 10, "one that every shell takes")
    place.write("step.sh", "echo $1 > /proc/self/fd/$D; echo $1 > s.$1")
    place.write("g.dag", "TASK A -f D=d.out -F s.A=s.out /bin/sh step.sh A",
                "TASK B -f D=d.out -F s.B=s.out /bin/sh step.sh B", "EDGE A B")
    place.run("g.dag")
    want((place.lines("d.out"), place.lines("s.out")) == (["A", "B"], ["A", "B"]), "graph")


def test_what_is_wrong_is_told_before_anything_starts(place: Place):
    place.write("l.lst", "touch ran", "echo {forward D}", "echo {forward 1D x}")
    _, err = place.run("l.lst", code=2)
    want("l.lst:2: Badly formatted forward" in err and "l.lst:3: {forward}: '1D' is not the name" in err, err)
    place.write("g.dag", "TASK A -f a-b=x /bin/touch ran", "TASK B -F =x /bin/touch ran")
    _, err = place.run("g.dag", code=2)
    want("g.dag:1: -f: 'a-b' is not the name" in err and "g.dag:2: task B: the forward" in err, err)
    place.write("many.lst", "true " + " ".join(f"{{forward V{i} all}}" for i in range(62)))
    _, err = place.run("many.lst", code=126)
    want("descriptors up to 63 for what it forwards" in err, err)
    for option, value in (("--forward", "x"), ("--forward", "x="), ("--forward-file", "=x"), ("--forward", "{9}=x")):
        place.run(option, value, "--", "touch", "ran", ":::", "1", code=2)
    want(not os.path.exists(os.path.join(place.dir, "ran")), "nothing ran")


def test_who_keeps_the_pipe_open_ends_with_the_task(place: Place):
    place.run("--leftovers", "end", "--forward", "D=out", "--", "echo one >&$D; sleep 1000 & echo $! > pid")
    want(place.lines("out") == ["one"] and not alive(int(place.read("pid"))), place.read("out"))


def test_much_data_is_not_kept_in_memory(place: Place):
    place.run("-j", "1", "--forward", "D=out", "--", "head -c 300000000 /dev/zero >&$D; echo {} >&$D", ":::", "1", "2")
    want(os.path.getsize(os.path.join(place.dir, "out")) == 600000004, "all of it")


def test_what_cannot_be_written_fails_the_task_and_leaves_nothing(place: Place):
    _, err = place.run("--forward", "D=/dev/full", "--", "echo x >&$D", code=1)
    want("what the task forwards: cannot write to '/dev/full'" in err, err)
    place.run("--forward-file", "d=out", "--", "mkdir d", code=1)
    if not mounted(os.path.join(place.dir, "small"), "size=64k"):
        return
    place.on_remove = lambda: os.system(f"umount {place.dir}/small")
    place.run("-j", "1", "--forward", "D=small/f", "--", "head -c 40000 /dev/zero | tr '\\0' {} >&$D",
              ":::", "a", "b", code=1)
    want(place.read("small/f") == "a" * 40000, len(place.read("small/f")))
    place.run("last", command="job retry", code=1)
    os.truncate(os.path.join(place.dir, "small/f"), 0)
    place.run("last", command="job retry")
    want(place.read("small/f") == "b" * 40000, len(place.read("small/f")))


def test_a_run_that_is_killed_at_any_moment_forwards_each_once(place: Place):
    words = ("--forward", "D=out", "--forward-file", "p{}=files", "-j", "4", "--",
             "echo '{} 0' >&$D; echo '{} 1' >&$D; echo {} > p{}", ":::", *map(str, range(300)))
    rng = random.Random(7)
    rounds = 0
    while rounds < 8 and len(place.lines("out")) < 500:
        run = place.start("--resume", *words)
        goal = len(place.lines("out")) + rng.randrange(2, 100)
        wait(lambda: len(place.lines("out")) >= goal or run.poll() is not None, "it goes on")
        run.send_signal(signal.SIGKILL)
        run.communicate()
        rounds += 1
    # As if it had died in the middle of an append.
    log = os.path.join(place.state, "jobs", place.jobs()[0], "forwards")
    if os.path.exists(log):
        with open(log, "a") as lines, open(os.path.join(place.dir, "out"), "a") as out:
            lines.write(f"{out.tell()} 1000 300 {place.dir}/out\n")
            out.write("torn")
    place.run("--resume", *words)
    want(sorted(blocks(place.lines("out"), 2)) == sorted(map(str, range(300))), "each once, whole")
    want(sorted(place.lines("files")) == sorted(map(str, range(300))), "files, too")
    want(not os.path.exists(log), "all that was appended is done")


def test_a_hubs_job_is_collected_by_its_user_once(place: Place):
    cluster = cluster_of(place)
    node = cluster.node("n1", "--tmp", "tmp-n1", "-j", "2")
    words = ("--forward", "D=all", "--", "echo {} >&$D; test {} != 3", ":::", "1", "2", "3", "4")
    cluster.submit("--wait", *words, code=1)
    want(sorted(place.lines("all")) == ["1", "2", "4"], place.lines("all"))
    cluster.spate("job get", "last")
    want(sorted(place.lines("all")) == ["1", "2", "4"], "once")
    # Later, into another folder, beside files of --get; what is big, too.
    for to in (place.dir + "/abs", "../up"):
        _, err = place.run("--forward", "D={}", "--", "true", ":::", "x", to, command="submit", code=2)
        want("task 2 forwards to" in err and "below the job's folder" in err, err)
    job = cluster.submit("--get", "g{}", "--forward", "D=sub/all", "--forward-file", "f{}=files", "--",
                         "head -c 2000000 /dev/zero | tr '\\0' {} >&$D; echo {} | tee g{} > f{}", ":::", "1", "2")
    cluster.spate("job wait", job)
    want(not os.path.exists(os.path.join(place.dir, "sub")), "the hub writes nothing")
    cluster.spate("job get", job, "here")
    want(sorted(os.listdir(os.path.join(place.dir, "here"))) == ["files", "g1", "g2", "sub"], "all of it")
    want(sorted(place.lines("here/files")) == ["1", "2"], place.lines("here/files"))
    text = place.read("here/sub/all")
    want(text in ("1" * 2000000 + "2" * 2000000, "2" * 2000000 + "1" * 2000000), len(text))
    # What is forwarded goes by the job, not by some of its tasks.
    cluster.spate("job get", f"{job}.1", "one")
    want(os.listdir(os.path.join(place.dir, "one")) == ["g1"], "one task's")
    # A graph, in the middle of which the node is killed: its next process takes the attempt over.
    place.write("g.dag", "TASK A -f D=graph /bin/sh a.sh", "TASK B -f D=graph /bin/sh -c 'echo B >&$D'", "EDGE A B")
    place.write("a.sh", "echo A1 >&$D; echo x > begun; while ! test -e go; do sleep 0.02; done; echo A2 >&$D")
    job = cluster.submit("g.dag")
    wait(lambda: place.lines("begun"), "A runs")
    node.send_signal(signal.SIGKILL)
    node.wait()
    place.write("go")
    cluster.node("n1", "--tmp", "tmp-n1", "-j", "2", join=False)
    cluster.spate("job wait", job)
    cluster.spate("job get", job)
    want(place.lines("graph") == ["A1", "A2", "B"], place.lines("graph"))
    # The hub forgets the job, and with the next look so do we.
    kept = os.path.join(place.state, "forwards")
    before = len(os.listdir(kept))
    cluster.spate("job forget", "1")
    cluster.spate("job get", job)
    want(len(os.listdir(kept)) < before, os.listdir(kept))


def test_a_collector_that_is_killed_goes_on(place: Place):
    cluster = cluster_of(place)
    cluster.node("n1", "-j", "2")
    job = cluster.submit("--forward", "D=all", "--", "echo '{} 0' >&$D; echo '{} 1' >&$D", ":::",
                         *map(str, range(400)))
    cluster.spate("job wait", job)
    rng = random.Random(11)
    for _ in range(6):
        get = subprocess.Popen([SPATE, "job", "get", job], cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        goal = len(place.lines("all")) + rng.randrange(1, 120)
        wait(lambda: len(place.lines("all")) >= goal or get.poll() is not None, "it goes on")
        get.kill()
        get.wait()
    both = [subprocess.Popen([SPATE, "job", "get", job], cwd=place.dir, env=place.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    want([get.wait(60) for get in both] == [0, 0], "two at once")
    want(sorted(blocks(place.lines("all"), 2)) == sorted(map(str, range(400))), "each once, whole")


def test_another_users_tasks_forward_by_their_own_rights(place: Place):
    if os.geteuid() != 0:
        print("       (skipped: only root runs tasks of others)")
        return
    cluster = cluster_of(place)
    os.chmod(place.dir, 0o755)
    place.write("secret", "root's")
    os.chmod(os.path.join(place.dir, "secret"), 0o600)
    os.mkdir(os.path.join(place.dir, "theirs"), 0o777)
    os.chmod(os.path.join(place.dir, "theirs"), 0o777)
    own = cluster.access("--role", "client", "--user", pwd.getpwuid(NOBODY).pw_name, name="own.access")
    nodes = cluster.access("--role", "node", "--user", "*", name="node.access")
    cluster.node("n1", "--tmp", "tmp-n1", "--access", nodes)
    command = "id -un > /proc/self/fd/$D; id -u >&$D; echo file > part"
    place.run("--access", own, "--wd", "theirs", "--forward", "D=all", "--forward-file", "part=files", "--wait", "--", command,
              command="submit")
    want(place.lines("theirs/all") == [pwd.getpwuid(NOBODY).pw_name, str(NOBODY)], place.lines("theirs/all"))
    want(place.lines("theirs/files") == ["file"], place.lines("theirs/files"))
    # What they may not read is not read for them.
    _, err = place.run("--access", own, "--wd", "theirs", "--forward-file", "link=stolen", "--wait", "--",
                       "ln -s ../secret link", command="submit", code=1)
    want(not os.path.exists(os.path.join(place.dir, "theirs/stolen")), "stolen")
    out, _ = cluster.spate("task info", "--access", own, "last.1")
    want("cannot read 'link', which is to be forwarded: Permission denied" in out, out)


if __name__ == "__main__":
    main(globals())
