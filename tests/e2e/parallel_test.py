"""Options that people bring along from GNU parallel: both are run where parallel is there, and the
expected text stands here. Then what only spate promises: kills, memory, tasks that do not read.
"""
import contextlib
import csv
import io
import json
import os
import random
import select
import shutil
import signal
import subprocess
import time

from harness import DEADLINE, Place, SPATE, main, wait, want

NUMBERS = "".join(f"{i}\n" for i in range(1, 31))
IDS = "ID 1\na\nID 2\nb\nID 3\n"

# Options, command and sources (as spate takes them), standard input, expected output. None in the
# last column: parallel takes the same words without "--"; a list: these instead; False: it differs
# there on purpose, or cannot do it here.
SAME = [
    # Placeholders.
    (["--", "echo", "{..} {...} {/..} {/...}", ":::", "d.x/a.b.tar.gz", "plain"], None,
     "d.x/a.b d.x/a a.b a\nplain plain plain plain\n",
     ["--plus", "echo", "{..} {...} {/..} {/...}", ":::", "d.x/a.b.tar.gz", "plain"]),
    (["--", "echo", "{1%.gz} {1%.tar.gz} {2..} {2%.c}", ":::", "x.tar.gz", ":::", "a.b.c"], None,
     "x.tar x a a.b\n",
     ["--plus", "echo", "{1%.gz} {1%.tar.gz} {2..} {2%.c}", ":::", "x.tar.gz", ":::", "a.b.c"]),
    (["-I", ",,", "--", "echo", ",,", "{}", "{.}", ":::", "a.b"], None, "a.b {} a\n", None),
    (["-I", "{V}", "--", "echo", "x{V}y", ":::", "1", "2"], None, "x1y\nx2y\n", None),
    (["-I", "%", "--", "echo", ":::", "1"], None, "1\n", None),
    # Sources.
    (["-d", ",", "--", "echo", "[{}]"], "a,b\nc", "[a]\n[b\nc]\n", None),
    (["-d", r"\t", "--", "echo", "[{}]"], "a\tb c", "[a]\n[b c]\n", None),
    (["--delimiter", ";;", "--", "echo", "[{}]"], "a;;b;c;;", "[a]\n[b;c]\n", None),
    (["--csv", "--", "echo", "[{1}] [{2}]"], '"a, b",c\n"x ""y""",z\n"two\nlines",w\n',
     '[a, b] [c]\n[x "y"] [z]\n[two\nlines] [w]\n', False),
    (["--csv", "--colsep", ";", "--header", ":", "--", "echo", "{b}-{a}"], 'a;b\n"1;2";3\n',
     "3-1;2\n", False),
    # Tags.
    (["--tagstring", "{#}-{.}", "--", "echo", "x", "{}", ":::", "a.b", "c"], None,
     "1-a\tx a.b\n2-c\tx c\n", None),
    (["--tagstring", "{2}", "--", "printf", "1\n2\n", ":::", "a", ":::", "b c"], None,
     "b c\t1\nb c\t2\n", ["-q", "--tagstring", "{2}", "printf", "1\n2\n", ":::", "a", ":::", "b c"]),
    # Input in pieces.
    (["--pipe", "--block", "20", "--", "echo b{#}; cat"], NUMBERS,
     "b1\n1\n2\n3\n4\n5\n6\n7\n8\n9\nb2\n10\n11\n12\n13\n14\n15\nb3\n16\n17\n18\n19\n20\n21\n"
     "b4\n22\n23\n24\n25\n26\n27\nb5\n28\n29\n30\n", None),
    (["--pipe", "-N3", "--", "echo b; cat"], "1\n2\n3\n4\n", "b\n1\n2\n3\nb\n4\n", None),
    (["--pipe", "--", "wc", "-l"], NUMBERS, "30\n", None),
    (["--pipe", "--", "wc -c"], "no newline", "10\n", None),
    (["--pipe", "--", "cat"], "", "", None),
    (["--pipe", "--recstart", "ID", "-N1", "--", "echo b; cat"], IDS,
     "b\nID 1\na\nb\nID 2\nb\nb\nID 3\n", None),
    (["--pipe", "--recstart", "ID", "--block", "9", "--", "echo b; cat"], IDS,
     "b\nID 1\na\nb\nID 2\nb\nb\nID 3\n", None),
    (["--pipe", "--recend", ";", "--block", "3", "--", "echo b; cat; echo"], "1;2;3;4",
     "b\n1;\nb\n2;\nb\n3;\nb\n4\n", None),
    (["--pipe", "--recend", r";\n", "-N1", "--", "echo b; cat"], "1;2;\n3;\n",
     "b\n1;2;\nb\n3;\n", None),
    (["--pipe", "--recstart", "x", "--recend", r"\n", "-N1", "--", "echo b; cat"], "a\nx\nb\nx\n",
     "b\na\nb\nx\nb\nb\nx\n", None),
    (["--pipe", "--header", ":", "-N1", "--", "echo b; cat"], "h\n1\n2\n",
     "b\nh\n1\nb\nh\n2\n", None),
    (["--pipe", "--round-robin", "-j2", "--block", "4", "--", "echo b; cat"], NUMBERS[:21],
     "b\n1\n2\n5\n6\n9\nb\n3\n4\n7\n8\n10\n", None),
    (["--pipepart", "-a", "n30", "--block", "20", "--", "echo b{#}; cat"], None,
     "b1\n" + NUMBERS[:21] + "b2\n" + NUMBERS[21:42] + "b3\n" + NUMBERS[42:63] + "b4\n"
     + NUMBERS[63:], None),
    (["--pipepart", "-a", "n30", "--block", "-1", "-j3", "--", "wc -l"], None, "13\n10\n7\n", None),
    (["--pipepart", "-a", "n30", "--block", "-2", "-j1", "--", "wc", "-l"], None, "17\n13\n", None),
    (["--pipepart", "--header", ":", "-a", "head", "--block", "4", "--", "echo b; cat"], None,
     "b\nh\n1\n2\n3\nb\nh\n4\n5\n6\nb\nh\n7\n", False),
    (["--pipepart", "--recstart", "ID", "-a", "ids", "--block", "4", "--", "echo b; cat"], None,
     "b\nID 1\na\nb\nID 2\nb\nb\nID 3\n", None),
    # A task that reads nothing.
    (["--pipe", "--block", "100k", "--", "echo done"], NUMBERS * 10000, "done\n" * 8, False),
    (["--pipepart", "-a", "big", "--block", "-4", "-j1", "--", "echo done"], None,
     "done\n" * 4, None),
    (["--pipe", "--", "head -n 1"], NUMBERS, "1\n", None),
]


def files(place):
    for name, text in {"n30": NUMBERS, "head": "h\n1\n2\n3\n4\n5\n6\n7\n", "ids": IDS,
                       "big": NUMBERS * 20000}.items():
        with open(os.path.join(place.dir, name), "w") as file:
            file.write(text)


def test_the_same_comes_out(place: Place):
    files(place)
    for args, stdin, expected, _ in SAME:
        out, _ = place.run("-q", "-k", *args, stdin=stdin.encode() if stdin is not None else None)
        want(out == expected, f"{args}: {out!r}, not {expected!r}")


def test_parallel_says_so_too(place: Place):
    version = shutil.which("parallel") and subprocess.run(
        ["parallel", "--version"], capture_output=True, text=True).stdout
    if not version or "GNU parallel" not in version:
        print("       (skipped: there is no GNU parallel)")
        return
    files(place)
    env = dict(place.env, HOME=place.dir)
    for args, stdin, expected, theirs in SAME:
        if theirs is False:
            continue
        words = theirs or [arg for i, arg in enumerate(args) if arg != "--" or i == 1]
        done = subprocess.run(["parallel", "--will-cite", "-k", *words], cwd=place.dir, env=env,
                              input=(stdin or "").encode(), capture_output=True)
        want(done.stdout.decode() == expected, f"parallel {words}: {done.stdout!r}")


REFUSED = [
    (["--", "echo {= s/a/b/ =}", ":::", "a"], "is Perl code for GNU parallel"),
    (["--stdout", "{= 1 =}", "--", "echo", ":::", "a"], "is Perl code for GNU parallel"),
    (["--tagstring", "{%}", "--", "echo", ":::", "a"], "--tagstring: {%}"),
    (["--pipe", "jobs.lst"], "--pipe needs a command"),
    (["--pipe", "-a", "f", "--", "wc"], "--pipepart -a FILE"),
    (["--pipepart", "--", "wc"], "--pipepart -a FILE"),
    (["--block", "1M", "--", "wc"], "add --pipe"),
    (["--pipe", "--", "wc"], "nothing comes on standard input"),
    (["--pipepart", "-a", "/dev/null", "--", "wc"], "use --pipe"),
    (["--csv", "--colsep", "ab", "--", "echo"], "the separator must be one character"),
    (["--after", "1", "--", "echo"], "--after: only jobs of a hub have it"),
    (["--semaphore", "--", "x"], "spate sem"),
    (["--profile", "none-such", "--", "x"], "--profile"),
]


def test_what_is_refused_says_what_to_do(place: Place):
    for args, part in REFUSED:
        _, err = place.run(*args, code=2)
        want(part in err, f"{args}: {err}")
        want(not place.jobs(), f"{args} left a job")


def test_words_that_people_type(place: Place):
    out, _ = place.run("--maxprocs", "1", "--keeporder", "--mem", "1G", "--cores=1", "--retry=0",
                       "-q", "--", "echo", ":::", "a")
    want(out == "a\n", out)
    out, _ = place.run("--json", "--", "echo", ":::", "a")
    want(json.loads(out.splitlines()[0]), out)
    for word, command in {"list": "spate job list", "cancel": "spate job cancel",
                          "squeue": "spate job list, or spate top",
                          "nodes": "spate node list"}.items():
        _, err = place.run(command=word, code=2)
        want(f"write: {command}\n" in err, err)


# ---- Shells -------------------------------------------------------------------------------------


def test_the_shell_is_that_which_is_named(place: Place):
    place.write("bash.lst", "[[ a == a ]] && echo yes", "for i in {1..3}; do echo $i; done",
                "echo plain", "declare -a x=(1 2); echo ${x[1]}")
    out, _ = place.run("-q", "-k", "--shell", "bash", "bash.lst")
    want(out == "yes\n1\n2\n3\nplain\n2\n", out)
    out, _ = place.run("-q", "--shell", "/bin/bash", "--", "echo $0 {}", ":::", "it's")
    want(out == "/bin/bash it's\n", out)
    out, _ = place.run("-q", "--shell", "bash", "--", "declare -i x={}; echo $((x+1))", ":::", "4")
    want(out == "5\n", out)


def test_a_shell_may_have_arguments(place: Place):
    place.write("jobs.lst", "false | true")
    place.run("-q", "jobs.lst")
    place.run("-q", "--shell", "bash -euo pipefail", "jobs.lst", code=1)
    place.run("-q", "--pipefail", "jobs.lst", code=1)
    place.run("-q", "--pipefail", "--shell", "bash -e", "--", "false | true", code=1)
    _, err = place.run("--pipefail", "--shell", "dash", "jobs.lst", code=2)
    want("--pipefail: 'dash' does not support it" in err, err)


def test_what_no_task_could_do_without_is_checked_once(place: Place):
    place.write("jobs.lst", "echo a", "echo b")
    _, err = place.run("--shell", "/no/bash -e", "jobs.lst", code=2)
    want("--shell: '/no/bash'" in err and "nothing was started" in err, err)
    _, err = place.run("--shell", "no-such-shell", "jobs.lst", code=2)
    want("--shell: 'no-such-shell'" in err, err)
    _, err = place.run("--stdin", "missing", "jobs.lst", code=2)
    want("--stdin: " in err and "missing" in err and "nothing was started" in err, err)
    _, err = place.run("--stdin", ".", "jobs.lst", code=2)
    want("--stdin: '.' is a folder" in err, err)
    want(place.jobs() == [], place.jobs())
    place.write("in.a", "x")
    out, _ = place.run("-q", "--stdin", "in.{}", "--", "cat; :", ":::", "a")
    want(out == "x\n", out)
    out, _ = place.run("-q", "--header", ":", "--stdin", "in.{n}", "--", "cat; : {}", ":::", "n", "a")
    want(out == "x\n", out)


def test_an_empty_input_that_nobody_asked_for_is_none(place: Place):
    out, _ = place.run("-q", "--", "echo", "once", stdin=b"")
    want(out == "once\n", out)
    out, _ = place.run("-q", "--", "echo", "{}", stdin=b"")
    want(out == "", out)
    out, _ = place.run("-q", "--", "echo", "x", stdin=b"1\n2\n")
    want(sorted(out.splitlines()) == ["x 1", "x 2"], out)


def test_who_waits_for_values_is_told(place: Place):
    process = place.start("-q", "--", "echo", stdin=subprocess.PIPE)
    want(select.select([process.stderr], [], [], DEADLINE)[0], "told nothing")
    line = process.stderr.readline().decode()
    want("reading values from standard input" in line and "/dev/null" in line, line)
    out, _ = process.communicate(input=b"a\n")
    want(out == b"a\n" and process.returncode == 0, out)


def test_who_waits_for_a_list_is_told(place: Place):
    process = place.start("-", stdin=subprocess.PIPE)
    process.stdin.write(b"echo a\n# b\n")
    process.stdin.flush()
    want(select.select([process.stderr], [], [], DEADLINE)[0], "told nothing")
    line = process.stderr.readline().decode()
    want("reading standard input to its end before anything starts (lines so far: 2); " in line, line)
    want(line.endswith("add --follow\n"), line)
    out, err = process.communicate(input=b"echo c\n")
    want(sorted(out.split()) == [b"a", b"c"] and b"reading" not in err, (out, err))
    _, err = place.run("-", stdin=b"echo a\n")
    want("reading" not in err, err)


def test_a_script_is_no_list(place: Place):
    place.write("job.sh", "#!/bin/bash", "cd scratch", "rm -rf *")
    _, err = place.run("job.sh", code=2)
    want("job.sh: this is a script, not a list ('#!/bin/bash')" in err, err)
    want("spate run -- /bin/bash job.sh" in err and "nothing was started" in err, err)
    os.chmod(os.path.join(place.dir, "job.sh"), 0o755)
    _, err = place.run("job.sh", code=2)
    want("spate run -- ./job.sh" in err, err)
    _, err = place.run("--follow-until", "END", "job.sh", code=2)
    want("a script, not a list" in err, err)
    _, err = place.run("-", stdin=b"#SBATCH -n 4\n./run\n", code=2)
    want("standard input: this is a script, not a list ('#SBATCH -n 4')" in err, err)
    _, err = place.run("--dry-run", "job.sh", code=2)
    want("a script, not a list" in err, err)
    place.write("list", "#!/usr/bin/env -S spate run", "echo a")
    out, _ = place.run("-q", "list")
    want(out == "a\n", out)


def test_a_batch_systems_script_is_translated(place: Place):
    """What a refusal and a note say works when it is typed."""
    place.write("job.sh", "#!/bin/sh", "#SBATCH --array=0-3%2 --mem=1G --time=60", "#SBATCH --partition=long",
                'echo "$SLURM_ARRAY_TASK_ID $SPATE_MEMORY" >> ran')
    os.chmod(os.path.join(place.dir, "job.sh"), 0o755)
    line = "spate run -j 2 --memory 1G --time-limit 60m -- env SLURM_ARRAY_TASK_ID={} ./job.sh ::: $(seq 0 3)\n"
    _, err = place.run("job.sh", code=2)
    want(f"to run the script: {line}not translated: #SBATCH --partition=long\nnothing was started" in err, err)
    for words in (["--", "./job.sh"], ["--", "sh", "job.sh"], ["--dry-run", "--", "./job.sh"]):
        _, err = place.run(*words, code=2)
        want("job.sh: the script is an array ('#SBATCH --array=0-3%2'), but $SLURM_ARRAY_TASK_ID would be empty" in err, err)
    _, err = place.run("-q", "--", "./job.sh", code=2)
    want(f"write: {line.replace('run', 'run -q')}" in err, err)
    want("to run the script without a number: spate run -q -- env ./job.sh\n" in err, err)
    subprocess.run(["sh", "-c", line.replace("spate", SPATE, 1)], cwd=place.dir, env=place.env, check=True, capture_output=True)
    want(sorted(place.lines("ran")) == [f"{n} {1 << 30}" for n in range(4)], place.lines("ran"))
    # The user's own values, a number that is there already, and no number on purpose.
    _, err = place.run("--", "./job.sh", ":::", "a")
    want("./job.sh: spate ignores #SBATCH --mem=1G, #SBATCH --time=60, #SBATCH --partition=long, "
         "#SBATCH --array=0-3%2; to request the same: spate run --memory 1G --time-limit 60m -- ./job.sh ::: a\n" in err, err)
    _, err = place.run("--", "./job.sh", stdin=b"a\n")
    want("spate ignores" in err and "1 succeeded" in err, err)
    _, err = place.run("--env", "SLURM_ARRAY_TASK_ID=2", "--", "./job.sh")
    want("spate ignores" in err and place.lines("ran")[-1].startswith("2 "), err)
    _, err = place.run("--", "env", "./job.sh")
    want("spate ignores" not in err, err)
    place.env["SLURM_ARRAY_TASK_ID"] = "7"
    _, err = place.run("--memory", "1G", "--time-limit", "1h", "--", "./job.sh")
    want("./job.sh: spate ignores #SBATCH --partition=long\n" in err and "request" not in err, err)
    want(place.lines("ran")[-1] == f"7 {1 << 30}", place.lines("ran"))
    _, err = place.run("-q", "--", "./job.sh")
    want(err == "", err)


def test_instructions_of_disbatch_are_refused(place: Place):
    for line in "#DISBATCH REPEAT 3 echo a", "#DISBATCH BARRIER", "#DISBATCH PREFIX cd x;", "#DISBATCH SUFFIX > log":
        place.write("tasks", "touch ran", line, "touch late")
        named = " ".join(line.split()[:2])
        for words in (["tasks"], ["--dry-run", "tasks"], ["--follow-until", "END", "tasks"]):
            _, err = place.run(*words, code=2)
            want(f"tasks:2: '{named}' is an instruction of disBatch" in err, (words, err))
            want(not os.path.exists(os.path.join(place.dir, "late")), "what follows it ran")
        _, err = place.run("-", stdin=f"{line}\n".encode(), code=2)
        want(f"standard input:1: '{named}'" in err, err)


def test_a_command_needs_its_dashes(place: Place):
    for words, command, meant in ((["gzip", "-9", "{}", ":::", "a"], "run", "spate run -- gzip -9 "),
                                  (["wc", "-c", "f"], "run", "spate run -- wc -c f"),
                                  (["bash", "-c", "echo a"], "run", "spate run -- bash -c 'echo a'"),
                                  (["ls", "-la"], "run", "spate run -- ls -la"),
                                  (["-j2", "sort", "-k", "2"], "run", "spate run -j2 -- sort -k 2"),
                                  (["echo", "hi"], "submit", "spate submit -- echo hi"),
                                  (["1", "echo", "hi"], "job add", "spate job add 1 -- echo hi")):
        _, err = place.run(*words, command=command, code=2)
        want("to run a command, write -- before it: " + meant in err, (words, err))
    # A list of that name is a list.
    place.write("sort", "true")
    place.run("-j2", "sort", "-k")
    _, err = place.run("sort", "-9", code=2)
    want("-9: unknown option" in err, err)


def test_a_compressed_list_is_refused(place: Place):
    for name, command in {"l.lst.gz": "zcat l.lst.gz | spate run -", "l.xz": "xzcat l.xz | spate run -",
                          "a b.zst": "zstdcat 'a b.zst' | spate run -",
                          "l.dag.gz": "zcat l.dag.gz | spate run --format dag -"}.items():
        place.write(name, "touch ran")
        for words in ([name], ["--resume", name], ["--dry-run", name]):
            _, err = place.run(*words, code=2)
            want(f"{name}: the list is compressed; to run it: {command}\n" in err, (words, err))
    want(not place.read("ran") and not place.jobs(), "it ran")


def test_the_name_of_a_job_is_no_profile(place: Place):
    place.env["HOME"] = place.dir
    for command in "run", "submit":
        _, err = place.run("-J", "my job", "--", "true", command=command, code=2)
        want("to name the job: --name 'my job'" in err, err)


def test_a_program_is_no_list(place: Place):
    """By its name, and by lines that mean nothing by themselves; from standard input all of it is read."""
    meant = {"analysis.py": "python3 analysis.py", "fit.R": "Rscript fit.R", "sub/a.pl": "perl sub/a.pl",
             "flow.nf": "nextflow run flow.nf", "flow.smk": "snakemake -s flow.smk", "Snakefile": "snakemake -s Snakefile",
             "Makefile": "make -f Makefile", "a b.py": "python3 'a b.py'"}
    os.mkdir(os.path.join(place.dir, "sub"))
    for name, command in meant.items():
        place.write(name, "touch ran")
        _, err = place.run(name, code=2)
        want(f"{name}: by its name this is a program, not a list" in err and "nothing was started" in err, err)
        want(f"to run the program: spate run -- {command};" in err, err)
    for name in "data.json", "config.yml", "config.yaml":
        place.write(name, "touch ran")
        _, err = place.run(name, code=2)
        want(f"{name}: by its name this is data, not a list" in err and f"write - < {name} instead" in err, err)
    _, err = place.run("data.json", code=2)
    want("spate run --json-lines data.json -- COMMAND" in err, err)
    for line in ("cd scratch", "export A=1", "set -euo pipefail", "module load gcc", "A=1", "cd scratch || exit 1",
                 "A=1; export A", "ulimit -s unlimited", "done"):
        place.write("steps.sh", "# a script", "echo x >> ran", line)
        for words in (["steps.sh"], ["--dry-run", "steps.sh"]):
            _, err = place.run(*words, code=2)
            want(f"steps.sh:3: '{line}' is a line of a script, not a task" in err, (words, err))
            want("to run the script: spate run -- bash steps.sh; to run its lines as tasks anyway, write - < steps.sh" in err,
                 (words, err))
            want("nothing was started" in err and not place.lines("ran"), (words, err))
    _, err = place.run("--follow-until", "END", "steps.sh", code=2)
    want("steps.sh:3: 'done' is a line of a script" in err, err)
    _, err = place.run("--shell", "bash -e", "steps.sh", code=2)
    want("spate run -- bash -e steps.sh;" in err, err)
    out, _ = place.run("-q", "-k", "-", stdin=b"cd /\nA=1\nexport A=2\necho read\n")
    want(out == "read\n", out)
    # Lines that do something are tasks, whatever they begin with; --format list names a list.
    place.write("env.sh", "B=4; export B")
    place.write("steps.sh", ". ./env.sh; echo $B", "cd / && pwd", "A=1 sh -c 'echo $A'", "export A=2; echo $A", "cd /; pwd")
    out, _ = place.run("-q", "-k", "steps.sh")
    want(out == "4\n/\n1\n2\n/\n", out)
    place.write("list.py", "echo python")
    out, _ = place.run("-q", "--format", "list", "list.py")
    want(out == "python\n", out)
    place.write("set.lst", "a = 1", "A=2", "print(3)")  # not a shell's lines
    out, _ = place.run("-q", "--shell", "python3", "set.lst")
    want(out == "3\n", out)


# ---- Tables of results ---------------------------------------------------------------------------


def test_results_are_a_table(place: Place):
    command = ["--", "echo {1}; echo e{2} >&2; exit {1}", ":::", "0", "3", ":::", 'a,"b"']
    out, _ = place.run("-q", "-k", "--results", "o.csv", *command, code=1)
    want(out == "", out)
    rows = {row["Seq"]: row for row in csv.DictReader(io.StringIO(place.read("o.csv")))}
    want(list(rows["1"]) == ["Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval",
                             "Signal", "Command", "V1", "V2", "Stdout", "Stderr"], rows)
    want(rows["2"]["Exitval"] == "3" and rows["2"]["V2"] == 'a,"b"', rows)
    want(rows["2"]["Stdout"] == "3\n" and rows["2"]["Stderr"] == 'ea,"b"\n', rows)
    place.run("-q", "--results", "o.tsv", *command, code=1)
    want(len(list(csv.reader(io.StringIO(place.read("o.tsv")), delimiter="\t"))) == 3, "tsv")
    place.run("-q", "--results", "o.json", *command, code=1)
    objects = {o["Seq"]: o for o in map(json.loads, place.lines("o.json"))}
    want(objects[2]["V"] == ["3", 'a,"b"'] and objects[2]["Stdout"] == "3\n", objects)
    if not shutil.which("parallel"):
        return
    subprocess.run(["parallel", "--will-cite", "--results", "p.json", *command[1:]], cwd=place.dir,
                   env=dict(place.env, HOME=place.dir), capture_output=True)
    for theirs in map(json.loads, place.lines("p.json")):
        ours = objects[theirs["Seq"]]
        want(list(ours) == list(theirs), f"{list(ours)} and {list(theirs)}")
        for key in ("Host", "Exitval", "Signal", "V", "Stdout", "Stderr", "Receive"):
            want(ours[key] == theirs[key], f"{key}: {ours[key]!r} and {theirs[key]!r}")


def test_a_table_is_whole_after_kills(place: Place):
    place.write("jobs.lst", *(f"echo 'a\"{i}'; echo {i}" for i in range(300)))
    for _ in range(6):
        process = place.start("-q", "--resume", "--results", "o.csv", "jobs.lst")
        before = len(place.read("o.csv"))
        wait(lambda: process.poll() is not None or len(place.read("o.csv")) > before + 2000,
             "rows come")
        with contextlib.suppress(ProcessLookupError):  # it may have ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    place.run("-q", "--resume", "--results", "o.csv", "jobs.lst")
    rows = list(csv.DictReader(io.StringIO(place.read("o.csv"))))
    want(sorted(int(row["Seq"]) for row in rows) == list(range(1, 301)), f"{len(rows)} rows")
    want(all(row["Stdout"].endswith(f"\n{int(row['Seq']) - 1}\n") for row in rows), "output")


# ---- Input in pieces: what is kept ---------------------------------------------------------------


def lines_of(count, seed=7):
    prng = random.Random(seed)
    return "".join(f"{i} {prng.randrange(10 ** 12)}\n" for i in range(count)).encode()


def input_folder(place, job="1"):
    return os.path.join(place.state, "jobs", job, "input")


def block_files(place, job="1"):
    return sorted(name for name in os.listdir(input_folder(place, job)) if name != "end")


def feed(place, data, *args, **options):
    """Starts spate with `data` on its standard input, from a file: it needs no thread here."""
    with open(os.path.join(place.dir, "in"), "wb") as file:
        file.write(data)
    return place.start(*args, stdin=open(os.path.join(place.dir, "in"), "rb"), **options)


PIPE = ["--pipe", "--block", "4K", "--"]


def test_blocks_go_when_their_tasks_have_succeeded(place: Place):
    data = lines_of(20_000)
    command = ["sh", "-c", "if grep -q '^777 '; then exit 1; fi"]
    process = feed(place, data, *PIPE, *command)
    _, err = process.communicate(timeout=60)
    want(process.returncode == 1 and b"1 failed" in err, err)
    want(len(block_files(place)) == 1, f"{block_files(place)}")
    out, _ = place.run("last", command="job retry", code=1)
    want(len(block_files(place)) == 1, "the retry needs its block")


def test_a_killed_pipe_goes_on_with_the_same_input(place: Place):
    data = lines_of(60_000)
    command = ["sh", "-c", "cat >> out.$SPATE_SLOT; sleep 0.002"]
    for round_ in range(8):
        process = feed(place, data, "-q", "-j3", *(["--resume"] if round_ else []), *PIPE, *command)
        seen = sum(os.path.getsize(os.path.join(place.dir, f"out.{s}")) if
                   os.path.exists(os.path.join(place.dir, f"out.{s}")) else 0 for s in (1, 2, 3))

        def more():
            now = sum(len(place.read(f"out.{s}")) for s in (1, 2, 3))
            return process.poll() is not None or now > seen + 80_000
        wait(more, "output comes")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    # A kill while the file that tells the input's end was being written leaves this.
    with open(os.path.join(input_folder(place), ".end.4711-815.new"), "w") as file:
        file.write("60000 ")
    process = feed(place, data, "-q", "-j3", "--resume", *PIPE, *command)
    _, err = process.communicate(timeout=120)
    want(process.returncode == 0, err)
    # What ran at a kill ran again: each line is there, and only blocks in flight are there twice.
    got = "".join(place.read(f"out.{s}") for s in (1, 2, 3)).splitlines()
    whole = set(data.decode().splitlines())
    want(whole <= set(got), f"{len(whole - set(got))} lines are lost")
    want(len(place.jobs()) == 1, "one job")
    want(block_files(place) == [], f"left: {block_files(place)}")
    process = feed(place, data, "--resume", *PIPE, *command)
    _, err = process.communicate(timeout=60)
    want(process.returncode == 0, err)
    want("".join(place.read(f"out.{s}") for s in (1, 2, 3)).splitlines() == got, "it ran again")


def killed_in_the_middle(place, data):
    # The input has not ended by then.
    process = place.start("-q", "-j2", *PIPE, "sh", "-c", "cat >> out; sleep 0.02",
                          stdin=subprocess.PIPE, bufsize=0)
    process.stdin.write(data)
    wait(lambda: len(place.read("out")) > 20_000, "output comes")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()


def test_without_the_input_what_was_taken_is_run(place: Place):
    data = lines_of(30_000)
    killed_in_the_middle(place, data)
    out, err = place.run("--resume", code=1)
    want("the input was not read to its end" in err, err)
    want("... | spate run --resume --pipe" in err, err)
    _, err = place.run("--resume", code=1)
    want("the input was not read to its end" in err, err)
    process = feed(place, data, "-q", "--resume", *PIPE, "sh", "-c", "cat >> out; sleep 0.02")
    _, err = process.communicate(timeout=120)
    want(process.returncode == 0, err)
    want(set(data.decode().splitlines()) <= set(place.lines("out")), "lines are lost")


def test_another_input_is_refused(place: Place):
    data = lines_of(30_000)
    killed_in_the_middle(place, data)
    for other, part in ((lines_of(30_000, 8), b"they differ in block 1, from byte 0"),
                        (data[:5000], b"the input ends after"),
                        (b"x" + data, b"they differ in block 1")):
        process = feed(place, other, "--resume", *PIPE, "sh", "-c", "cat >> out; sleep 0.02")
        _, err = process.communicate(timeout=60)
        want(process.returncode == 2 and part in err, (process.returncode, part, err))


def refuses_another_input(place, *how):
    """Kills a run that has taken its whole input, and gives it others."""
    data = lines_of(1_000)
    command = ["-j2", *how, *PIPE, "sh", "-c", "cat >> out; echo >> ran; test -e go || sleep 60"]
    process = feed(place, data, "-q", *command)

    def all_is_taken():
        tasks = (place.read("state/jobs/1/input/end").split() or [None])[0]
        return tasks and f"tasks      {tasks}:" in place.run("1", command="job info")[0]
    wait(all_is_taken, "all is taken")
    wait(lambda: len(place.read("ran")) == 2, "both slots have written")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    place.write("go")
    before = place.read("out")
    for other in (data.replace(b"7", b"8"), data[:-50], data + b"more\n"):
        process = feed(place, other, "--resume", *command)
        _, err = process.communicate(timeout=60)
        want(process.returncode == 2 and b"the input differs from that of the earlier run" in err
             and b"the same command with < /dev/null" in err, (process.returncode, err))
    want(place.read("out") == before, "a task was started")
    return data, command


def goes_on(place, command, data, given):
    process = feed(place, given, "-q", "--resume", *command)
    _, err = process.communicate(timeout=60)
    want(process.returncode == 0, err)
    want(set(data.decode().splitlines()) <= set(place.lines("out")), "lines are lost")


def test_another_input_is_refused_when_the_earlier_one_was_taken_whole(place: Place):
    data, command = refuses_another_input(place)
    goes_on(place, command, data, data)
    # Nor is it passed over when nothing is left to do.
    for given, code, text in ((data + b"more\n", 2, b"job 1 is complete; to run the command on"),
                              (data, 0, b"")):
        process = feed(place, given, "--resume", *command)
        _, err = process.communicate(timeout=60)
        want(process.returncode == code and text in err, (process.returncode, err))


def test_another_input_is_refused_when_it_was_dealt(place: Place):
    data, command = refuses_another_input(place, "--round-robin")
    goes_on(place, command, data, b"")


def test_memory_and_disk_are_bounded(place: Place):
    """A slow task, and input without end: spate must not run ahead."""
    process = place.start("-q", "-j2", "--pipe", "--block", "1M", "--", "sleep 60",
                          stdin=subprocess.PIPE)
    piece = b"0123456789abcdef\n" * 65536
    sent = 0
    os.set_blocking(process.stdin.fileno(), False)
    quiet = time.monotonic()
    while time.monotonic() - quiet < 2 and sent < 1 << 30:
        try:
            sent += os.write(process.stdin.fileno(), piece)
            quiet = time.monotonic()
        except BlockingIOError:
            pass
    with open(f"/proc/{process.pid}/status") as status:
        peak = int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    want(sent < 160 << 20, f"{sent >> 20} MB were taken")
    want(peak < 120 << 20, f"peak {peak >> 20} MB")


def test_a_task_need_not_read(place: Place):
    data = lines_of(300_000)
    process = feed(place, data, "-q", "--pipe", "--block", "1M", "--", "head", "-c", "1")
    out, err = process.communicate(timeout=60)
    want(process.returncode == 0 and len(out) == len(data) // (1 << 20) + 1, (out, err))
    out, _ = place.run("-q", "--pipepart", "-a", "in", "--block", "1M", "--", "true")
    out, _ = place.run("-q", "--pipepart", "-a", "in", "--block", "1M", "--", "head -c 1")
    want(len(out) >= len(data) // (1 << 20), out)
    _, err = place.run("--pipepart", "-a", "in", "--block", "1M", "--", "exit 3", code=1)
    want("exit code 3" in err, err)


def test_parts_are_the_file(place: Place):
    data = lines_of(200_000)
    with open(os.path.join(place.dir, "in"), "wb") as file:
        file.write(data)
    out, _ = place.run("-q", "-k", "--pipepart", "-a", "in", "--block", "300K", "--", "cat")
    want(out.encode() == data, "another text")
    process = place.start("-q", "--pipepart", "-a", "in", "--block", "20K", "--",
                          "sh", "-c", "cat >> out; sleep 0.01")
    wait(lambda: len(place.read("out")) > 300_000, "output comes")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    place.run("-q", "--resume")
    want(set(data.decode().splitlines()) <= set(place.lines("out")), "lines are lost")


# ---- -j FILE, profiles, semaphores ---------------------------------------------------------------


def test_the_file_of_slots_is_read_again(place: Place):
    place.write("procs", "1")
    place.write("jobs.lst", *(f"mkdir run.{i}; while [ ! -e go ]; do sleep 0.01; done; rmdir run.{i}"
                              for i in range(12)))

    def running():
        return len([name for name in os.listdir(place.dir) if name.startswith("run.")])
    process = place.start("-j", "./procs", "jobs.lst")
    wait(lambda: running() == 1, "one runs")
    place.write("procs", "4")
    wait(lambda: running() == 4, "four run")
    place.write("procs", "nonsense")
    place.write("go", "")
    _, err = process.communicate(timeout=60)
    want(process.returncode == 0, err)
    want(b"-j: 4 tasks at once from now on" in err, err)
    _, err = place.run("-j", "./none", "--", "true", code=2)
    want("-j: cannot open" in err, err)
    _, err = place.run("-j", "./procs", "--", "true", code=2)
    want("'nonsense' is not a number of tasks" in err, err)


def test_options_that_are_not_typed(place: Place):
    place.env["XDG_CONFIG_HOME"] = os.path.join(place.dir, "config")
    folder = os.path.join(place.dir, "config", "spate", "profiles")
    os.makedirs(folder)
    with open(os.path.join(folder, "big"), "w") as file:
        file.write("# for large things\n-k --tagstring 'x {#}'\n-q\n")
    out, _ = place.run("--profile", "big", "--", "echo", ":::", "a", "b")
    want(out == "x 1\ta\nx 2\tb\n", out)
    out, _ = place.run("-J", "big", "--tagstring", "{}", "--", "echo", ":::", "a")
    want(out == "a\ta\n", out)
    place.env["SPATE_OPTIONS"] = "-q -k --tag"
    out, _ = place.run("--", "echo", ":::", "a", "b")
    want(out == "a\ta\nb\tb\n", out)
    out, _ = place.run("--tag=false", "--", "echo", ":::", "a")
    want(out == "a\n", out)
    # A job keeps what held when it began.
    place.run("-j3", "--", "false", code=1)
    place.env["SPATE_OPTIONS"] = "-q --retries x"
    _, err = place.run("--", "true", code=2)
    want("--retries" in err, err)
    place.env["SPATE_OPTIONS"] = "jobs.lst"
    _, err = place.run("--", "true", code=2)
    want("$SPATE_OPTIONS: 'jobs.lst' is not an option" in err, err)


def test_a_semaphore_counts(place: Place):
    for i in range(6):  # what goes on in the background must not hold our pipes
        # The first one stays until the second is there; a third beside them would be seen.
        place.run("-j2", "--id", "s", "--", "sh", "-c",
                  f"exec > /dev/null 2>&1; mkdir run.{i}; n=$(ls -d run.* | wc -l); echo $n >> most; [ $n -lt 2 ] || touch two; "
                  f"until [ -e two ]; do sleep 0.01; done; sleep 0.1; rmdir run.{i}", command="sem")
    place.run("--id", "s", "--wait", command="sem")
    counts = [int(line) for line in place.lines("most")]
    want(len(counts) == 6 and max(counts) == 2, counts)
    place.run("--fg", "--", "exit 5", command="sem", code=5)
    place.run("--fg", "--", "true", command="sem")
    _, err = place.run("--", "/none/such", command="sem", code=2)
    want("cannot start '/none/such'" in err, err)
    place.run("--id", "t", "--", "exec > /dev/null 2>&1; sleep 30 & echo $! > pid; wait", command="sem")
    wait(lambda: place.read("pid").endswith("\n"), "it runs")
    _, err = place.run("--id", "t", "--timeout", "0.2s", "--", "true", command="sem", code=1)
    want("no place was free in time" in err, err)
    os.kill(int(place.read("pid")), signal.SIGKILL)
    place.run("--id", "t", "--fg", "--", "true", command="sem")


if __name__ == "__main__":
    main(globals())
