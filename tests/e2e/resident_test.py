"""Processes that take task after task (--resident): here, through kills, and on a hub."""
import json
import os
import signal
import subprocess
import sys

from cluster import cluster_of
from harness import Place, alive, main, wait, want

# It does what each task says, word by word.
WORKER = """
import os, signal, sys, time
tasks = os.fdopen(int(os.environ["SPATE_RESIDENT_IN"]), "rb")
answers = os.fdopen(int(os.environ["SPATE_RESIDENT_OUT"]), "wb", 0)
with open("starts", "a") as starts:
    starts.write(f"{os.getpid()} {os.environ['SPATE_SLOT']}\\n")
count = 0
for header in tasks:
    word, task, index, attempt, length = header.split()[:5]
    value = tasks.read(int(length)).decode()
    count += 1
    status, result = 0, value + "\\n"
    for verb in value.replace("\\t", " ").split():
        if verb == "exit": os._exit(3)
        elif verb == "leave": sys.exit(0)
        elif verb == "segv": os.kill(os.getpid(), signal.SIGSEGV)
        elif verb == "fail": status = 4
        elif verb == "once": status = 5 if int(attempt) == 1 else 0
        elif verb == "crash-once" and int(attempt) == 1: os._exit(6)
        elif verb == "garbage": answers.write(b"no frame\\n")
        elif verb == "print": print("printed by", index.decode(), flush=True)
        elif verb == "who": result = f"{os.getpid()}\\n"
        elif verb == "count": result = f"{count}\\n"
        elif verb == "env": result = f"{'SPATE_TASK_ID' in os.environ} {os.environ['SPATE_JOB_ID']}\\n"
        elif verb == "hang":
            open("hangs", "w").write(str(os.getpid()))
            while True: time.sleep(1)
        elif verb == "ran":
            with open("ran", "a") as ran: ran.write(f"{index.decode()}\\n")
    answers.write(b"done %b %d %d\\n%b" % (task, status, len(result), result.encode()))
with open("ends", "a") as ends:
    ends.write(f"{os.getpid()}\\n")
"""
SOURCE = os.environ.get("SPATE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
# It prints and leaves the flushing to others.
PRINTS = """
import os
tasks = os.fdopen(int(os.environ["SPATE_RESIDENT_IN"]), "rb")
answers = os.fdopen(int(os.environ["SPATE_RESIDENT_OUT"]), "wb", 0)
for header in tasks:
    word, task, index, attempt, length = header.split()[:5]
    value = tasks.read(int(length)).decode()
    print("printed by", value, "x" * 40)
    answers.write(b"done %b 0 0\\n" % task)
"""
# With the helper: each word of a task prints or ends in its own way, and nothing is flushed here.
HELPED = """
import ctypes, os, sys
from spate_resident import Task, serve
c = ctypes.CDLL(None)
def work(task: Task):
    print("begin", task.text, task.index, task.attempt)
    for word in task.values:
        if word == "c": c.printf(b"from C in %d\\n", task.index)
        elif word == "bytes": sys.stdout.buffer.write(b"bytes ")
        elif word == "child": os.system("echo $SPATE_TASK_INDEX; readlink /proc/$$/fd/[34]; env | grep -c RESIDENT")
        elif word == "raise": raise ValueError("no good")
        elif word == "exit": sys.exit(3)
        elif word == "text": sys.exit("why it failed")
        elif word == "status": return 7
        elif word == "large": return 256
        elif word == "null": sys.stdout = open("/dev/null", "w")
    print("end", task.text)
serve(work)
open("after", "w").close()
"""
COMMAND = ("--resident", "--", "python3", "w.py")


def worker(place):
    place.write("w.py", WORKER)


def pids(place, name="starts"):
    return [int(line.split()[0]) for line in place.lines(name)]


def test_one_process_for_each_slot_takes_all_tasks(place: Place):
    worker(place)
    out, _ = place.run("-k", "-j", "2", *COMMAND, ":::", *map(str, range(200)))
    want(out.split() == [str(i) for i in range(200)], out)
    starts = place.lines("starts")
    want(sorted(line.split()[1] for line in starts) == ["1", "2"], starts)
    want(sorted(pids(place, "ends")) == sorted(pids(place)), "they ended by themselves")


def test_values_and_lists_are_the_input(place: Place):
    worker(place)
    out, _ = place.run("-k", "-j", "1", *COMMAND, ":::", "print", ":::+", "x y")
    want(out == "printed by 1\nprint\tx y\n", out)
    place.write("l.lst", "a {} b", "# no comment", "print")
    out, _ = place.run("-k", "-j", "1", "l.lst", *COMMAND)
    want(out == "a {} b\n# no comment\nprinted by 3\nprint\n", out)
    out, _ = place.run("-k", "-j", "1", "-", *COMMAND, stdin=b"one\ntwo\n")
    want(out == "one\ntwo\n", out)
    out, _ = place.run("-j", "1", *COMMAND, ":::", "env")
    want(out.split()[0] == "False", out)
    out, _ = place.run("-k", "--dry-run", *COMMAND, ":::", "a b", "c")
    want(out == "python3 w.py <<< 'a b'\npython3 w.py <<< c\n", out)


def test_ends_are_those_of_other_tasks(place: Place):
    worker(place)
    out, err = place.run("-k", "-j", "1", "--joblog", "log", *COMMAND, ":::",
                         "one", "fail", "exit", "segv", "leave", "garbage", "two", code=1)
    want(out == "one\nfail\ntwo\n", out)
    for text in ("task 2: exit code 4", "task 3: exit code 3", "task 4: signal 11 (SEGV)",
                 "task 5: output check failed: its process ended with exit code 0 before it had answered its first task",
                 "task 6: output check failed: the answer of its process is none: 'no frame' is not 'done 1.6 STATUS LENGTH'"):
        want(text in err, f"{text}\n{err}")
    log = {line.split("\t")[0]: line.split("\t") for line in place.lines("log")[1:]}
    want([log[str(n)][6:8] for n in range(1, 8)] ==
         [["0", "0"], ["4", "0"], ["3", "0"], ["0", "11"], ["1", "0"], ["1", "0"], ["0", "0"]], log)
    want(log["3"][8] == "python3 w.py <<< exit", log["3"])
    want(len(place.lines("starts")) == 5, "a new process behind each that ended")


def prints(place, *variables):
    """A worker that does not flush; the machine's environment has nothing about that but these."""
    place.write("w.py", PRINTS)
    place.env.pop("PYTHONUNBUFFERED", None)
    place.env.update(variables)
    return [f"printed by {value} {'x' * 40}\n" for value in range(400)]


def test_python_flushes_by_itself(place: Place):
    lines = prints(place)
    out, err = place.run("-k", "-j", "2", "--tag", *COMMAND, ":::", *map(str, range(400)))
    want(out == "".join(f"{value}\t{line}" for value, line in enumerate(lines)), out[:300])
    want("dropped" not in err, err)


def test_output_of_no_task_is_told(place: Place):
    lines = prints(place, ("PYTHONUNBUFFERED", ""))  # the user's word counts
    out, err = place.run("-k", "-j", "1", *COMMAND, ":::", *map(str, range(100)))
    want(out == "" and "dropped 5.4 KB of output" in err, (out[:300], err))
    want(len("".join(lines[:100])) == 5490, "the test's own sum")
    out, err = place.run("-q", "-k", "-j", "2", *COMMAND, ":::", *map(str, range(100)))
    want(err.count("of output: a --resident process") == 1, "one line for all processes: " + err)
    cluster = cluster_of(place)
    cluster.node("n1", "--tmp", "tmp-n1", "-j", "1")
    cluster.submit("--wait", *COMMAND, ":::", *map(str, range(100)))
    wait(lambda: "job 1: dropped 5.4 KB of output" in place.read("n1.log"), "the node logs it")


def test_the_helper_flushes_and_tells(place: Place):
    place.write("w.py", HELPED)
    place.env.update(PYTHONUNBUFFERED="", PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=os.path.join(SOURCE, "python"))
    tasks = ("c", "child", "raise", "exit", "text", "status", "large", "bytes", "null", "last")
    out, err = place.run("-k", "-j", "1", *COMMAND, ":::", *tasks, code=1)
    text = {task: f"begin {task} {index} 1\n" for index, task in enumerate(tasks, 1)}
    text["c"] += "from C in 1\nend c\n"
    text["child"] += "2\n0\nend child\n"
    text["bytes"] += "bytes end bytes\n"
    text["last"] += "end last\n"
    # The C library's stream has a buffer of its own, so its place among the lines is not known.
    want(sorted(out.splitlines()) == sorted("".join(text.values()).splitlines()), out)
    want(out.index("from C in 1") < out.index("begin child"), out)
    for line in ("task 3: exit code 1", "ValueError: no good", "in work", "task 4: exit code 3", "task 5: exit code 1",
                 "why it failed", "task 6: exit code 7", "task 7: exit code 1"):
        want(line in err, f"{line}\n{err}")
    want("in _run" not in err and "dropped" not in err, err)
    want(os.path.exists(os.path.join(place.dir, "after")), "it ends when there are no more tasks")


def test_the_helper_without_spate_says_how_to_start(place: Place):
    place.write("w.py", HELPED)
    place.env.update(PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=os.path.join(SOURCE, "python"))
    done = subprocess.run([sys.executable, "w.py"], cwd=place.dir, env=place.env, capture_output=True, text=True)
    want(done.returncode == 1 and "spate run --resident" in done.stderr, done)


def test_retries_go_to_the_process_or_to_a_new_one(place: Place):
    worker(place)
    out, _ = place.run("-k", "-j", "1", "--retries", "1", *COMMAND, ":::", "once", "crash-once")
    want(out == "once\ncrash-once\n", out)
    want(len(place.lines("starts")) == 2, "one crashed")
    place.run("-j", "1", *COMMAND, ":::", "fail ran", "ran", code=1)
    os.remove(os.path.join(place.dir, "ran"))
    place.run("last", command="job retry", code=1)
    want(place.lines("ran") == ["1"], "retried alone")


def test_limits_end_the_process(place: Place):
    worker(place)
    out, err = place.run("-k", "-j", "1", "--time-limit", "2", *COMMAND, ":::", "hang", "next", code=1)
    want(out == "next\n" and "over its time limit" in err, err)
    want(not alive(int(place.read("hangs"))), "the process that hung")
    want(len(place.lines("starts")) == 2, place.lines("starts"))


def test_ctrl_c_ends_all_of_them(place: Place):
    worker(place)
    with open(os.path.join(place.dir, "err"), "w") as err:
        run = place.start("-j", "2", *COMMAND, ":::", "who", "hang", "1", "2", stderr=err)
    wait(lambda: place.read("hangs") and len(place.lines("starts")) == 2, "one hangs")
    run.send_signal(signal.SIGINT)
    wait(lambda: place.read("err"), "it has heard the first")  # two at once would be one
    run.send_signal(signal.SIGINT)
    run.communicate()
    want(run.returncode != 0, run.returncode)
    wait(lambda: not any(alive(pid) for pid in pids(place)), "nobody is left")


def test_one_that_is_killed_fails_its_task_alone(place: Place):
    worker(place)
    run = place.start("-k", "-j", "1", *COMMAND, ":::", "one", "hang", "three")
    wait(lambda: place.read("hangs"), "it hangs")
    os.kill(int(place.read("hangs")), signal.SIGKILL)
    out, err = run.communicate()
    want(run.returncode == 1 and out == b"one\nthree\n" and b"task 2: signal 9 (KILL)" in err, (out, err))


def test_a_run_that_is_killed_leaves_no_process_and_goes_on(place: Place):
    worker(place)
    words = ("-j", "2", *COMMAND, ":::", "ran 1", "hang", "ran 3")
    run = place.start(*words)
    wait(lambda: len(place.lines("ran")) == 2 and place.read("hangs"), "two ran, one hangs")
    run.kill()
    run.communicate()
    wait(lambda: not any(alive(pid) for pid in pids(place)), "nobody is left")
    place.write("w.py", WORKER.replace('verb == "hang"', "False"))
    place.run("--resume", *words)
    out, _ = place.run("--output", "json", "last", command="job tasks")
    states = [json.loads(line)["state"] for line in out.splitlines() if '"task"' in line]
    want(states and set(states) == {"succeeded"}, out)


def test_what_makes_no_sense_is_refused(place: Place):
    for words, text in (
            (("--resident",), "--resident needs the command"),
            (("--resident", "--"), "--resident needs the command"),
            (("--resident", "--", "cat", "{}", ":::", "a"), "cannot have placeholders"),
            (("--resident", "--", "cat"), "there are no tasks"),
            (("a", "b", "--resident", "--", "cat"), "name one list"),
            (("--resident", "--pipe", "--", "cat"), "without --pipe"),
            (("--resident", "--stdin", "f", "--", "cat", ":::", "a"), "without --stdin"),
            (("--resident", "--stdout", "f", "--", "cat", ":::", "a"), "without --stdout"),
            (("--resident", "--stderr", "f", "--", "cat", ":::", "a"), "without --stderr"),
            (("--resident", "-X", "--", "cat", ":::", "a"), "without --fill"),
            (("--resident", "-I", "%", "--", "cat", ":::", "a"), "without --replace-str"),
            (("--resident", "--forward", "D=x", "--", "cat", ":::", "a"), "without --forward"),
            (("--resident", "--measure-io", "--", "cat", ":::", "a"), "without --measure-io"),
            (("--resident", "--format", "dag", "g", "--", "cat"), "without --format dag")):
        _, err = place.run(*words, code=2)
        want(text in err, f"{words}: {err}")
    want(place.jobs() == [], "nothing ran")


def test_a_hub_and_its_nodes_have_them_too(place: Place):
    worker(place)
    cluster = cluster_of(place)
    node = cluster.node("n1", "--tmp", "tmp-n1", "-j", "2")
    job = cluster.submit("--wait", "--array", "1-50", *COMMAND)
    out, _ = cluster.spate("job cat", job)
    want(sorted(map(int, out.split())) == list(range(1, 51)), out)
    want(1 <= len(set(pids(place))) <= 2, place.lines("starts"))
    wait(lambda: sorted(place.lines("ends")) == sorted(map(str, pids(place))), "they end with their job")
    # A node's process that is killed: the task goes on, and its process ends after it.
    os.remove(os.path.join(place.dir, "starts"))
    place.write("w.py", WORKER.replace("while True: time.sleep(1)",
                                       "while not os.path.exists('go'): time.sleep(0.01)"))
    job = cluster.submit(*COMMAND, ":::", "hang ran", "ran")
    wait(lambda: place.read("hangs"), "it hangs")
    hung = place.read("hangs")
    node.kill()
    node.wait()
    cluster.node("n1", "--tmp", "tmp-n1", "-j", "2")
    place.write("go")
    cluster.spate("job wait", job)
    want(sorted(place.lines("ran")) == ["1", "2"], place.lines("ran"))
    want(place.read("hangs") == hung, "the task went on, and was not given again")
    wait(lambda: not any(alive(pid) for pid in pids(place)), "nobody is left")


if __name__ == "__main__":
    main(globals())
