"""The options of `spate run`: values as in GNU parallel, output, order, limits, files."""
import json
import os
import shutil
import subprocess
import time

from harness import Place, SPATE, main, want

FILES = {"csv": "n,m\n1,2\n3,4\n", "one": "1\n2\n3\n", "two": "p q\nr\n", "nul": "a b\0c\nd\0"}

# Arguments, and what comes out. GNU parallel 20221122 says the same for each of them; where it is
# there, it is asked again for some.
VALUES = [
    (["--", "echo", "{}", "{.}", "{/}", "{//}", "{/.}", ":::", "a/b/c.tar.gz", ".hid", "/"],
     "a/b/c.tar.gz a/b/c.tar c.tar.gz a/b c.tar\n.hid  .hid . \n/ /  / \n"),
    (["-j1", "--", "echo", "{#}{%}", ":::", "a", "b"], "11\n21\n"),
    (["--", "echo", "{2/}{-1}{1.}", ":::", "x.y", ":::", "q/w"], "wq/wx\n"),
    (["--", "echo", "{1}{2}", ":::", "a", "b", "c", ":::+", "x", "y"], "ax\nby\n"),
    (["--", "echo", "{1}{2}{3}", ":::", "a", "b", ":::+", "x", "y", ":::", "1", "2"],
     "ax1\nax2\nby1\nby2\n"),
    (["--", "echo", "{1}{2}", "::::", "one", "two"],
     "1p q\n1r\n2p q\n2r\n3p q\n3r\n"),
    (["--", "echo", "{1}{2}", "::::", "one", "::::+", "two"], "1p q\n2r\n"),
    (["-a", "one", "--", "echo", "x{}"], "x1\nx2\nx3\n"),
    (["-a", "one", "--", "echo", "{1}{2}", ":::", "z"], "1z\n2z\n3z\n"),
    (["-0", "-a", "nul", "--", "echo", "[{}]"], "[a b]\n[c\nd]\n"),
    (["--colsep", ",", "-a", "csv", "--", "echo", "{2}-{1}"], "m-n\n2-1\n4-3\n"),
    (["-C", " +", "--", "echo", "{1}-{2}", ":::", "a b", "c   d"], "a-b\nc-d\n"),
    (["--colsep", ",", "--header", ":", "-a", "csv", "--", "echo", "{n}+{m}"], "1+2\n3+4\n"),
    (["--header", ":", "--", "echo", "{x/}{y.}", ":::", "x", "a/1", ":::", "y", "3.z"], "13\n"),
    (["-n", "2", "--", "echo", "{1}-{2}", ":::", "a", "b", "c"], "a-b\nc-\n"),
    (["-N2", "--", "echo", ":::", "a", "b", "c"], "a b\nc\n"),
    (["-j1", "-X", "--", "echo", "x{}y", "{.}", ":::", "a.t", "b.u"], "xa.ty xb.uy a b\n"),
    (["-j2", "-X", "--", "echo", ":::", "1", "2", "3", "4"], "1 2\n3 4\n"),
    (["--trim", "l", "--", "echo", "[{}]", ":::", " a "], "[a ]\n"),
    (["--trim", "lr", "--", "echo", "[{}]", ":::", " a ", " "], "[a]\n[]\n"),
    (["--tag", "--", "printf", "%s\\n", ":::", "a", "b"], "a\ta\nb\tb\n"),
    (["--", "echo", "{+/}{x}", ":::", "a"], "{+/}{x} a\n"),
]


def test_values_are_those_of_parallel(place: Place):
    for name, text in FILES.items():
        with open(os.path.join(place.dir, name), "w") as file:
            file.write(text)
    for args, expected in VALUES:
        out, _ = place.run("-q", "-k", *args)
        want(out == expected, f"{args}: {out!r}, not {expected!r}")


def test_the_number_of_a_task_is_replaced_everywhere_or_nowhere(place: Place):
    for option in (["--stdout", "out.{#}"], ["--tagstring", "t{#}"]):
        _, err = place.run(*option, "--", "echo", "{#}", code=2)
        want(f"{option[0]}: {{#}} is replaced by a number in this option but not in the command" in err, err)
        want(not place.jobs(), place.jobs())
        out, _ = place.run("-q", *option, "--", "echo", "{#}", ":::", "1")
        want((out or place.read("out.1")).split()[-1] == "1", out)
        place.run("-q", *option, "--literal-braces", "--", "echo", "{#}", stdin=None)
        place.run("-q", *option, "--", "echo", "x")
        shutil.rmtree(place.state)


def test_values_are_asked_of_parallel(place: Place):
    version = shutil.which("parallel") and subprocess.run(
        ["parallel", "--version"], capture_output=True, text=True).stdout
    if not version or "GNU parallel" not in version:
        print("       (skipped: there is no GNU parallel)")
        return
    for name, text in FILES.items():
        with open(os.path.join(place.dir, name), "w") as file:
            file.write(text)
    for args, expected in VALUES[::4]:
        if "--tag" in args:
            continue  # its words are read by a shell there
        plain = [arg for arg in args if arg != "--"]
        done = subprocess.run(["parallel", "--will-cite", "-k", *plain], cwd=place.dir,
                              env=place.env, stdin=subprocess.DEVNULL, capture_output=True)
        want(done.stdout.decode() == expected, f"parallel {plain}: {done.stdout!r}")


HALTS = {  # of 8 tasks, of which 3, 5 and 6 fail, one at once: so many run
    "never": 8, "0": 8, "1": 3, "2": 3, "-1": 1, "-2": 1, "10%": 3, "now,fail=1": 3,
    "soon,fail=2": 5, "soon,fail=30%": 6, "soon,success=2": 2, "now,success=50%": 7,
    "now,done=3": 3, "soon,done=50%": 4,
}


def test_halt_stops_where_parallel_does(place: Place):
    place.write("jobs.lst", *(f"echo {i}; exit {1 if i in (3, 5, 6) else 0}" for i in range(1, 9)))
    for form, count in HALTS.items():
        done = subprocess.run([SPATE, "run", "-q", "-j1", "--halt", form, "jobs.lst"],
                              cwd=place.dir, env=place.env, capture_output=True, timeout=60)
        want(len(done.stdout.split()) == count, f"--halt {form}: {done.stdout}")


def test_results_are_a_tree_as_of_parallel(place: Place):
    place.run("--results", "res", "--", "echo", "{1}{2}", ":::", "a/b", "c d", ":::", "x")
    found = {os.path.relpath(os.path.join(folder, name), os.path.join(place.dir, "res"))
             for folder, _, names in os.walk(os.path.join(place.dir, "res")) for name in names}
    want(found == {f"1/{value}/2/x/{name}" for value in ("a\\_b", "c d")
                   for name in ("stdout", "stderr", "seq")}, str(found))
    want(place.read("res/1/a\\_b/2/x/stdout") == "a/bx\n", str(found))


def test_output_is_tagged_ordered_and_line_by_line(place: Place):
    out, _ = place.run("-q", "-k", "--tag", "--", "printf '1\\n2\\n'; : {}", ":::", "a", "b")
    want(out == "a\t1\na\t2\nb\t1\nb\t2\n", out)
    # The first task ends last, so -k has to hold the second one back.
    first = "while [ ! -e done2 ]; do sleep 0.01; done; echo 1"
    place.write("jobs.lst", first, "echo 2; echo > done2")
    want(place.run("-q", "-k", "-j2", "--cpus", "0", "jobs.lst")[0] == "1\n2\n", "-k")
    # Two tasks that wait for each other: a line is out before its task ends, half a line is not.
    place.write("two.lst", "printf a1; echo > a; while [ ! -e b ]; do sleep 0.01; done; echo",
                "while [ ! -e a ]; do sleep 0.01; done; echo b1; echo > b; echo b2")
    out, _ = place.run("-q", "-j2", "--cpus", "0", "--line-buffer", "two.lst")
    want(sorted(out.split()) == ["a1", "b1", "b2"], out)


def test_quiet_shows_output_and_a_line_for_each_failure(place: Place):
    out, err = place.run("-q", "--", "echo o; echo e >&2; exit 3", code=3)
    want(out == "o\n" and err.startswith("e\nspate: task 1: exit code 3 after ") and err.count("\n") == 2, out + err)
    out, err = place.run("-q", "--", "echo o {}", ":::", "a", "b")
    want(not err and out.count("\n") == 2, out + err)
    place.write("jobs.lst", "true", "exit 2", "kill -9 $$")
    _, err = place.run("-q", "-j1", "jobs.lst", code=1)
    want([line.split(" after ")[0] for line in err.splitlines()]
         == ["spate: task 2 (jobs.lst:2): exit code 2", "spate: task 3 (jobs.lst:3): signal 9 (KILL)"], err)


def test_json_fields_and_results(place: Place):
    place.write("jobs.lst", "echo o; echo e >&2; exit 3", "printf '\\377'")
    out, err = place.run("--output", "json", "-j1", "jobs.lst", code=1)
    events = [json.loads(line) for line in out.splitlines()]
    want(events[0]["v"] == 2 and events[-1]["type"] == "finish" and not err, out)
    ends = {event["task"]: event for event in events if event["type"] == "end"}
    want(ends[1]["stdout"] == "o\n" and ends[1]["stderr"] == "e\n", out)
    want((ends[1]["verdict"], ends[1]["cause"], ends[1]["status"]) == ("failed", "exit", 3), out)
    want(ends[2]["stdout_base64"] == "/w==", out)
    out, _ = place.run("--output", "json", "--results", "res", "--", "echo", ":::", "x")
    end = [json.loads(line) for line in out.splitlines() if '"end"' in line][0]
    want("stdout" not in end and end["stdout_bytes"] == 2, out)
    want(place.read("res/1/x/stdout") == "x\n", "not in --results")
    for option, tag in ((["--tagstring", "T{#}"], "T1"), (["--tag"], "x y")):
        out, _ = place.run("--json", *option, "--", "echo {1} {2}", ":::", "x", ":::", "y")
        want([json.loads(line).get("tag") for line in out.splitlines() if '"end"' in line] == [tag], out)


def test_the_order_of_starts(place: Place):
    # So far apart that no busy machine changes the order of the times.
    place.write("jobs.lst", "sleep 0.3; echo a", "echo b", "sleep 1; echo c")
    place.run("-q", "-j1", "jobs.lst")
    with open(os.path.join(place.dir, "jobs.lst"), "a") as file:
        file.write("echo new\n")
    out, _ = place.run("-q", "-j1", "--order", "longest", "jobs.lst")
    want(out.split() == ["new", "c", "a", "b"], out)
    values = [str(i) for i in range(40)]
    out, _ = place.run("-q", "-j1", "--order", "shuffle", "--", "echo", ":::", *values)
    want(out.split() != values and sorted(out.split(), key=int) == values, out)
    begun = time.time()
    out, _ = place.run("-q", "--delay", "50ms", "--", "date +%s.%N #", ":::", "1", "2", "3")
    # From before the first start: on a busy machine starts are late, each by another time.
    want(max(float(word) for word in out.split()) - begun >= 0.1, out)


def test_files_and_folders_of_tasks(place: Place):
    os.mkdir(os.path.join(place.dir, "sub"))
    place.write("sub/in.txt", "text")
    place.run("-q", "--cwd", "sub", "--stdin", "{}.txt", "--stdout", "{#}.out", "--stderr",
              "{.}.err", "--", "cat; echo oops >&2 #", ":::", "in")
    want(place.read("sub/1.out") == "text\n" and place.read("sub/in.err") == "oops\n", "files")
    out, _ = place.run("-q", "--nice", "7", "--", "nice; readlink /proc/self/fd/0")
    want(out == f"{os.nice(0) + 7}\n/dev/null\n", out)


def test_no_task_overwrites_the_output_of_another(place: Place):
    place.write("jobs.lst", "echo 1", "echo 2")
    place.write("new.json", '{"f": "a.x"}', '{"f": "a.y"}')
    for args, says in ((["--stdout", "o", "--", "echo", ":::", "a", "b"],
                        "task 1 (a) and task 2 (b) would write to the same file, 'o'"),
                       (["--stdout", "{.}.t", "--", "echo", ":::", "a.x", "a.y"], "'a.t'"),
                       (["--stdout", "{f.}.t", "--json-lines", "new.json", "--", "echo"], "'a.t'"),
                       (["--stderr", "./{}", "--", "echo", ":::", "a", "a"], "'./a'"),
                       (["--stdout", "o", "jobs.lst"], "task 1 (echo 1) and task 2 (echo 2)"),
                       (["--dry-run", "--stdout", "o", "jobs.lst"], "--append"),
                       (["--results", "res", "--", "echo", ":::", "a", "a"], "'res/1/a'"),
                       (["--stdout", "o", "--follow", "jobs.lst"], "that --follow makes"),
                       (["--stdout", "o", "--pipe", "--", "cat"], "that --pipe makes"),
                       (["--stdin", "jobs.lst", "--stdout", "./jobs.lst", "--", "cat"], "emptied"),
                       (["--append", "--", "echo", "x"], "no file to append to"),
                       (["--stdout", "o", "--stdout", "p", "--", "echo", "x"], "--stdout is given twice"),
                       (["--results", "o", "--results", "p", "--", "echo", "x"], "--results is given twice")):
        out, err = place.run(*args, code=2, stdin=b"x\n")
        want(says in err and out == "" and not place.jobs(), f"{args}: {out}{err}")
    want(sorted(os.listdir(place.dir)) == ["jobs.lst", "new.json"], os.listdir(place.dir))
    place.run("-q", "--stdout", "both", "--stderr", "both", "--", "echo out; echo err >&2")
    want(place.lines("both") == ["out", "err"], "one file for both streams")
    place.run("-q", "--stdout", "/dev/null", "--", "echo", ":::", "a", "b")


def test_append_adds_to_files(place: Place):
    place.write("log", "before")
    place.run("-q", "--append", "--stdout", "log", "--retries", "1", "--", "echo {}; exit {}",
              ":::", "0", "3", code=1)
    want(sorted(place.lines("log")) == ["0", "3", "3", "before"], place.lines("log"))
    place.run("-q", "last", command="job retry", code=1)
    want(place.lines("log").count("3") == 4, place.lines("log"))
    place.run("-q", "--append", "--results", "res", "--", "echo", "{#}", ":::", "a", "a")
    want(sorted(place.lines("res/1/a/stdout")) == ["1", "2"], "results of both")


def test_a_resumed_run_overwrites_nothing(place: Place):
    place.write("jobs.lst", "echo a", "exit 1")
    place.run("-q", "--stdout", "{#}", "jobs.lst", code=1)
    place.write("jobs.lst", "echo a", "exit 1", "echo new")
    _, err = place.run("--resume", "--stdout", "o", "jobs.lst", code=2)
    want("task 1 (echo a) and task 2 (exit 1)" in err and "(1 more task has" in err, err)
    place.run("-q", "--resume", "--append", "--stdout", "o", "jobs.lst", code=1)
    want(place.lines("o") == ["new"], place.lines("o"))


def test_mistyped_placeholders_are_refused(place: Place):
    place.write("t.csv", "name,size", "a,1", "b,2")
    place.write("t.json", '{"name": "a"}', '{"name": "b"}')
    place.write("bad.lst", "echo a", "echo {chek in exists bad.lst}")
    csv = ["--csv", "--header", ":", "-a", "t.csv"]
    for args, says in (([*csv, "--", "echo", "{nmae}"], "did you mean {name}?"),
                       ([*csv, "--", "echo {name} > {sise}.txt"], "did you mean {size}?"),
                       ([*csv, "--stdout", "{nam}", "--", "echo"], "--stdout: {nam}"),
                       ([*csv, "--tagstring", "{nam}", "--", "echo"], "--tagstring: {nam}"),
                       (["--json-lines", "t.json", "--", "echo", "{nmae/.}"], "{name/.}?"),
                       (["--stdout", "{indx}", "bad.lst"], "bad.lst:2: {chek in exists bad.lst}"),
                       (["bad.lst"], "did you mean check?"),
                       (["--follow-until", "END", "bad.lst"], "did you mean check?")):
        _, err = place.run(*args, code=2)
        want(says in err, f"{args}: {err}")
    out, _ = place.run("-q", "-k", "--literal-braces", *csv, "--", "echo", "{nmae}", "{name}")
    want(out == "{nmae} a\n{nmae} b\n", out)
    out, _ = place.run("-q", "-k", *csv, "--shell", "bash", "--",
                       "echo {name} {x,y} {1..2}; echo 5 | awk '{print}'; s=1; echo ${s}")
    want(out.splitlines()[:3] == ["a x y 1 2", "5", "1"], out)
    out, _ = place.run("-q", "-k", "--literal-braces", "bad.lst")
    want(out == "a\n{chek in exists bad.lst}\n", out)


def test_options_that_would_lose_each_other_are_refused(place: Place):
    place.write("g.dag", "TASK A /bin/echo a")
    place.write("jobs.lst", "echo a")
    for args, says in ((["-X", "--", "echo", "{1}", ":::", "a", "b"], "{1} is only one of them; write {}"),
                       (["-X", "--header", ":", "--", "echo {h}", ":::", "h", "a", "b"], "{h} is only one of them"),
                       (["-k", "--json", "--", "echo", ":::", "a"], "--keep-order: --output json prints"),
                       (["--resume", "--max-args", "2", "jobs.lst"], "--max-args is for the values of a command"),
                       (["--shell", "bash", "g.dag"], "--shell and --pipefail: a graph"),
                       (["--pipefail", "g.dag"], "--shell and --pipefail: a graph")):
        out, err = place.run(*args, code=2)
        want(says in err and not out and not place.jobs(), f"{args}: {err}")
    # Also where a run is resumed.
    for name in ("jobs.lst", "g.dag"):
        place.run("-q", name)
        place.write(name, "echo a", "echo b") if name == "jobs.lst" else place.write(name, "TASK B /bin/echo b")
    for args, says in ((["--max-args", "2", "jobs.lst"], "--max-args is for the values of a command"),
                       (["--shell", "bash", "g.dag"], "--shell and --pipefail: a graph"), (["-k", "g.dag"], "--keep-order: a graph")):
        out, err = place.run("--resume", *args, code=2)
        want(says in err and not out, f"{args}: {err}")
    place.run("-q", "--resume", "jobs.lst")
    out, _ = place.run("-q", "-j1", "-X", "--", "echo", "{1}", "{}", ":::", "a", "b")
    want(out == "a a b\n", out)
    out, _ = place.run("-q", "-j1", "-X", "-n2", "--", "echo", "{2}", "{1}", ":::", "a", "b")
    want(out == "b a\n", out)


def test_limits_on_tries_and_time(place: Place):
    place.run("--retries", "2", "--retry-on", "signal", "--", "echo >> exits; exit 1", code=1)
    want(len(place.lines("exits")) == 1, "an exit is no signal")
    place.run("--retries", "2", "--retry-on", "signal", "--", "echo >> kills; kill $$", code=1)
    want(len(place.lines("kills")) == 3, "two further tries")
    place.run("--retries", "1", "--retry-delay", "200ms", "--", "date +%s.%N >> at; false", code=1)
    first, second = map(float, place.lines("at"))
    want(second - first >= 0.19, f"{second - first}")
    place.write("slow.lst", "sleep 0.3", "sleep 0.3", "sleep 0.3", "sleep 60")
    _, err = place.run("-j1", "--time-limit", "400%", "slow.lst", code=1)
    want("task 4 (slow.lst:4): over its time limit" in err and "3 succeeded" in err, err)
    _, err = place.run("--warn-time", "50ms", "--", "sleep 0.2")
    want("longer than --warn-time" in err, err)
    _, err = place.run("-j1", "--max-failures", "2", "--", "exit {}", ":::", "1", "0", "1", "1",
                       code=1)
    want("2 failed, 1 not done" in err, err)


def test_times_that_nothing_holds_are_refused(place: Place):
    for option in ("--time-limit", "--delay", "--retry-delay", "--time", "--warn-time", "--kill-grace"):
        for time in ("2147483648", "1152921504.7s", "20000d"):
            _, err = place.run(option, time, "--", "true", code=2)
            want(option in err and f"'{time}' is 36 years or more" in err, err)
    place.run("-q", "--time-limit", "1152921504", "--delay", "36ms", "--", "true")


def test_few_descriptors_are_named_as_the_cause(place: Place):
    served = 0
    for most in (*range(4, 18), 20, 24, 30):
        done = subprocess.run(["sh", "-c", f'ulimit -n {most}; exec "$@"', "sh", SPATE, "run", "--state", f"s{most}", "--", "true"],
                              cwd=place.dir, env=place.env, capture_output=True, text=True)
        want(done.returncode == 0 or "ulimit -n" in done.stderr, f"{most}: {done}")
        served += done.returncode == 0
    want(served > 0, "some of these limits are enough")


def test_the_same_with_and_without_a_shell(place: Place):
    place.write("a b", "blank")
    with open(os.path.join(place.dir, "jobs.lst"), "wb") as file:
        file.write(b"\xef\xbb\xbfecho bom\r\necho 'a  b'\necho a  b\n \t\n  # c\nX=1 env | grep ^X="
                   b"\ncat a\\ b\nexec echo ex\ncd /; pwd\n[ 1 = 1 ]\necho a # b\necho ~ | wc -l\n"
                   b"echo \"$HOME\" | wc -l\necho last")
    out, _ = place.run("-q", "-k", "jobs.lst")
    want(out.splitlines() == ["bom", "a  b", "a b", "X=1", "blank", "ex", "/", "a", "1", "1",
                              "last"], out)


def test_a_list_from_a_pipe_is_read_to_its_end_first(place: Place):
    _, err = place.run("-", stdin=b"echo x > ran\necho {check in\n", code=2)
    want("standard input:2" in err and not place.lines("ran") and not place.jobs(), err)
    out, err = place.run("--follow", "-", stdin=b"echo x\necho {check in\necho y\n", code=2)
    want("standard input:2" in err and "y" not in out, out + err)


def test_other_options_of_parallel_name_ours(place: Place):
    for option, ours in {"--memfree": "--min-free-memory", "--load": "--max-load", "-u":
                         "--line-buffer", "--resume-failed": "job retry", "--files": "--results",
                         "--xapply": ":::+", "-m": "-X", "--cat": "/dev/stdin", "-L": "--max-args",
                         "--ctag": "--tagstring", "--rpl": "{/.}"}.items():
        _, err = place.run(option, "--", "true", code=2)
        want(ours in err and not place.jobs(), f"{option}: {err}")
    # What they ask for happens anyway.
    for option in "--eta", "--bar", "--progress", "--will-cite", "--gnu", "--group":
        _, err = place.run(option, "--", "true")
        want(f"spate: {option}: " in err and "; ignored\n" in err, err)


if __name__ == "__main__":
    main(globals())
