"""Output of running tasks, read and followed: of hubs, of gangs by rank, and of runs."""
import os
import signal
import subprocess

from cluster import Proxy, cluster_of
from harness import DEADLINE, Place, SPATE, main, stop, wait, want

# A task that writes what it is given line by line, and ends with the status that it is given.
TASK = """n=0; until [ -e "end$1" ]; do n=$((n+1)); while [ ! -e "go$1.$n" ] && [ ! -e "end$1" ]; do sleep 0.02; done
[ -e "go$1.$n" ] && cat "go$1.$n"; done; exit $(cat "end$1")"""


class Tail:
    """`spate job tail` as a process, whose output goes to files of the place."""
    count = 0

    def __init__(self, place, *args):
        Tail.count += 1
        self.place = place
        self.names = [f"tail{Tail.count}.{stream}" for stream in ("out", "err")]
        files = [open(os.path.join(place.dir, name), "w") for name in self.names]
        self.process = subprocess.Popen([SPATE, "job", "tail", *args], cwd=place.dir, env=place.env,
                                        stdin=subprocess.DEVNULL, stdout=files[0], stderr=files[1])

    def out(self):
        return self.place.read(self.names[0])

    def err(self):
        return self.place.read(self.names[1])

    def shows(self, text, what="is shown"):
        wait(lambda: text in self.out() or self.process.poll() is not None, f"{text!r} {what}: {self.out()} {self.err()}")
        want(text in self.out(), f"{text!r} {what}: {self.out()} {self.err()}")

    def tells(self, text):
        wait(lambda: text in self.err() or self.process.poll() is not None, f"{text!r} is told: {self.err()}")
        want(text in self.err(), f"{text!r} is told: {self.err()}")

    def end(self, code=0):
        self.process.wait(DEADLINE)
        want(self.process.returncode == code, f"exit code {self.process.returncode}: {self.err()}")


def say(place, task, n, *lines):
    """The n-th thing that the task writes, whole once it can be seen."""
    place.write(f"new{task}", *lines)
    os.rename(os.path.join(place.dir, f"new{task}"), os.path.join(place.dir, f"go{task}.{n}"))


def end(place, task, status=0):
    place.write(f"new{task}", str(status))
    os.rename(os.path.join(place.dir, f"new{task}"), os.path.join(place.dir, f"end{task}"))


def tail_of(place, *args):
    return place.run(*args, command="job tail")


def test_a_running_job_shows_what_its_tasks_have_printed(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    cluster.node("n1", "--slots", "13", "--cpus", "13")
    job = cluster.submit("--", "test {} = 1 && exit; test {} = 13 || printf 'a {}\\nb {}'; until test -e go; do sleep 0.05; done",
                         ":::", *(str(n) for n in range(1, 14)))
    wait(lambda: all(tail_of(place, f"{job}.{n}")[0] for n in range(2, 13)), "all have printed")
    # The hub hears of starts a little later.
    wait(lambda: "2 running tasks" in tail_of(place, job)[1], "the hub knows all that run")
    out, err = tail_of(place, job)
    want(out == "".join(f"{job}.{n}: a {n}\n{job}.{n}: b {n}\n" for n in range(2, 12)), out)
    want(err == f"spate: 2 running tasks are not shown; to read one: spate job tail {job}.12\n", err)
    out, err = tail_of(place, job, "-n", "1")
    want(out.startswith(f"{job}.2: b 2\n{job}.3: b 3\n"), out)
    # Nothing is offered where there is nothing.
    _, err = cluster.spate("job cat", f"{job}.12", f"{job}.13")
    want(f"{job}.12: it has not ended; its output so far: spate job tail {job}.12\n" in err, err)
    want(f"{job}.13: it is running and has no output yet\n" in err, err)
    want("to read" not in cluster.spate("job info", job)[0], cluster.spate("job info", job)[0])
    place.write("go")
    cluster.spate("job wait", job)
    want(f"to read    spate job cat {job}\n" in cluster.spate("job info", job)[0], cluster.spate("job info", job)[0])


def test_a_task_of_a_hub_is_followed_to_its_end(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    cluster.node("n1", "--slots", "2")
    job = cluster.submit("--", "sh", "-c", TASK, "x", ":::", "a", "b")
    task = f"{job}.1"
    wait(lambda: "1 running" in cluster.spate("job info", job)[0] or "2 running" in cluster.spate("job info", job)[0],
         "they run")
    say(place, "a", 1, *(f"line {n}" for n in range(1, 31)))
    wait(lambda: tail_of(place, task)[0] != "", "its output can be read while it runs")
    out, err = tail_of(place, task)
    want(out == "".join(f"line {n}\n" for n in range(21, 31)), out)
    want(err == "", err)
    want(tail_of(place, task, "-n", "2")[0] == "line 29\nline 30\n", "so many lines as are wanted")
    want(tail_of(place, task, "-n", "0")[0] == "", "or none")
    wait(lambda: tail_of(place, f"{job}.2") == ("", ""), "the other one runs, and has written nothing")
    follower = Tail(place, "-f", task, "-n", "1")
    whole = Tail(place, "-f", task, "-n", "1000")
    follower.shows("line 30")
    # More than a look can bring, and than a shepherd keeps in memory.
    many = [f"number {n} {'x' * 90}" for n in range(5000)]
    say(place, "a", 2, *many)
    follower.shows("number 4999 ")
    whole.shows("number 4999 ")
    say(place, "a", 3, "last words")
    end(place, "a", 3)
    follower.end()
    whole.end()
    rest = "".join(f"{line}\n" for line in many) + "last words\n"
    want(follower.out() == "line 30\n" + rest, "each byte once, up to the end")
    want(whole.out() == "".join(f"line {n}\n" for n in range(1, 31)) + rest, "and from the beginning")
    for each in (follower, whole):
        want(f"spate: {task}: exit code 3, after " in each.err() and "on node n1" in each.err(), each.err())
    # When it has ended, the same words show the kept output.
    out, err = tail_of(place, task, "-f", "-n", "1")
    want(out == "last words\n" and "exit code 3" in err, out + err)
    end(place, "b")
    cluster.spate("job wait", job, code=1)


def test_streams_are_apart_and_a_file_is_named(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    cluster.node("n1", "--slots", "2")
    job = cluster.submit("--", "sh", "-c", "echo to out; echo to err >&2; touch there; sleep 600")
    wait(lambda: os.path.exists(os.path.join(place.dir, "there")), "it runs")
    wait(lambda: tail_of(place, job) == ("to out\n", "to err\n"), "a job of one task means that task")
    want(tail_of(place, job, "--stderr") == ("to err\n", ""), "one stream alone")
    want(tail_of(place, job, "--stream", "stdout") == ("to out\n", ""), "or the other")
    elsewhere = cluster.submit("--stdout", "o.txt", "--", "sh", "-c", "echo in file; echo to err >&2; touch two; sleep 600")
    wait(lambda: os.path.exists(os.path.join(place.dir, "two")), "it runs")
    wait(lambda: "to err" in tail_of(place, elsewhere)[1], "its errors can be read")
    out, err = tail_of(place, elsewhere)
    want(out == "" and "its standard output goes to 'o.txt'" in err, out + err)
    cluster.spate("job cancel", job, elsewhere)


def test_a_task_that_waits_and_one_that_is_tried_again(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    job = cluster.submit("--retries", "1", "--", "sh", "-c",
                         'echo "try $SPATE_ATTEMPT"; while [ ! -e "end$SPATE_ATTEMPT" ]; do sleep 0.02; done; '
                         'echo "end of $SPATE_ATTEMPT"; exit $(cat "end$SPATE_ATTEMPT")')
    _, err = tail_of(place, job)
    want(f"{job}.1: it waits: " in err, err)
    follower = Tail(place, "-f", f"{job}.1")
    follower.tells("it waits: ")
    cluster.node("n1", "--slots", "1")
    follower.shows("try 1\n")
    end(place, 1, 5)
    follower.tells("attempt 1: exit code 5, after ")
    follower.tells("the task is tried again")
    follower.shows("try 2\n")
    end(place, 2, 0)
    follower.end()
    want(follower.out() == "try 1\nend of 1\ntry 2\nend of 2\n", follower.out())
    want("attempt 2: succeeded" in follower.err(), follower.err())


def test_ranks_of_a_gang(place: Place):
    cluster = cluster_of(place, "--listen", "none")
    for name in ("n1", "n2"):
        cluster.node(name, "--slots", "2", "--cpus", "2")
    job = cluster.submit("--nodes", "2", "--procs-per-node", "2", "--", "sh", "-c",
                         'echo "rank $SPATE_RANK"; touch "there$SPATE_RANK"; '
                         'while [ ! -e end ]; do sleep 0.02; done; echo "end of $SPATE_RANK"')
    wait(lambda: all(os.path.exists(os.path.join(place.dir, f"there{n}")) for n in range(4)), "all ranks run")
    for rank in range(4):
        # The hub hears of starts a little later.
        wait(lambda rank=rank: tail_of(place, job, "--rank", str(rank))[0] == f"rank {rank}\n", f"rank {rank} is read")
    out, err = tail_of(place, job)
    want(out == "rank 0\n" and f"{job}.1: output of rank 0 of 4 ranks" in err, out + err)
    _, err = place.run(job, "--rank", "4", command="job tail", code=2)
    want(f"task {job}.1 has ranks 0 to 3" in err, err)
    followers = [Tail(place, "-f", f"{job}.1", "--rank", str(rank)) for rank in (0, 3)]
    for rank, follower in zip((0, 3), followers):
        follower.shows(f"rank {rank}\n")
    place.write("end", "")
    for rank, follower in zip((0, 3), followers):
        follower.end()
        want(follower.out() == f"rank {rank}\nend of {rank}\n", follower.out())
        want("succeeded" in follower.err(), follower.err())


def test_a_node_that_does_not_answer_and_one_that_is_lost(place: Place):
    cluster = cluster_of(place, "--listen", "127.0.0.1:0", "--suspect-after", "30s", "--lost-after", "31s")
    node = cluster.node("n1", "--slots", "1")
    job = cluster.submit("--", "sh", "-c", 'echo "on $SPATE_NODE"; touch there; [ $SPATE_ATTEMPT = 2 ] || exec sleep 600')
    wait(lambda: os.path.exists(os.path.join(place.dir, "there")), "it runs")
    follower = Tail(place, "-f", f"{job}.1")
    follower.shows("on n1\n")
    stop(node)
    _, err = place.run(f"{job}.1", command="job tail", code=3)
    want("the node n1 does not answer" in err, err)
    follower.tells("nothing can be read of it now: the node n1 does not answer")
    # The node and its shepherds are gone at once, as with a machine.
    os.killpg(node.pid, signal.SIGKILL)
    follower.tells("the node n1 is not connected")
    cluster.node("n2", "--slots", "1")
    cluster.spate("node remove", "n1")
    follower.shows("on n2\n")
    follower.end()
    want(follower.out() == "on n1\non n2\n", follower.out())
    want("attempt 1: lost with its node" in follower.err() and "the task is tried again" in follower.err(), follower.err())


def test_a_run_on_this_machine(place: Place):
    run = place.start("-j2", "--", TASK.replace("$1", "{}"), ":::", "a", "b")
    say(place, "a", 1, "one", "two")
    wait(lambda: place.run("last.1", command="job tail", code=None)[0] != "", "it is read from another terminal")
    want(tail_of(place, "last.1", "-n", "1")[0] == "two\n", "the last line")
    follower = Tail(place, "-f", "1.1")
    follower.shows("two\n")
    say(place, "a", 2, "three")
    follower.shows("three\n")
    end(place, "a")
    follower.end()
    want(follower.out() == "one\ntwo\nthree\n" and "1.1: succeeded, after " in follower.err(), follower.err())
    last = Tail(place, "-f", "1.2")
    say(place, "b", 1, "the last task")
    last.shows("the last task\n")
    end(place, "b", 1)
    last.end()
    want("1.2: exit code 1, after " in last.err(), last.err())
    run.communicate(timeout=DEADLINE)


def test_only_the_owner_and_administrators_may_look(place: Place):
    cluster = cluster_of(place)
    ada, bob = (cluster.access("--role", "client", "--user", user, name=f"{user}.access") for user in ("ada", "bob"))
    job = cluster.submit("--access", ada, "--", "echo", "secret")
    out, err = place.run(f"{job}.1", "--access", bob, command="job tail", code=None)
    want(out == "" and "belongs to ada" in err, out + err)
    for words in (("--access", ada), ()):  # this user is the hub's administrator
        _, err = tail_of(place, f"{job}.1", *words)
        want(f"{job}.1: it waits: " in err, err)


if __name__ == "__main__":
    main(globals(), at_once=4)
