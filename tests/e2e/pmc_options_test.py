"""pegasus-mpi-cluster: its command line, its variables, what it says, and what its options do."""
import os
import re

from harness import DEADLINE, Place, alive, main, wait, want
from pmc_place import WAIT, allowed, each, need_a_library

SLOW = os.environ.get("PMC_SLOW") == "1"  # what takes the program's own long time limits


def exists(place, name):
    return os.path.exists(os.path.join(place.dir, name))


def ran_alone(log):
    """Whether lines "NAME in" and "NAME out" come in pairs."""
    return len(log) % 2 == 0 and all(a.split()[0] == b.split()[0] and a.endswith("in") and b.endswith("out")
                                     for a, b in zip(log[::2], log[1::2]))


def free_of(lines):
    """Slots, cpus and memory of each line of a resource log."""
    rows = [line.split(",") for line in lines]
    want(all(re.fullmatch(r"\d+\.\d{6}", row[0]) and row[4:] == [os.uname().nodename] for row in rows), rows)
    return [tuple(int(value) for value in row[1:4]) for row in rows]


def script(place, name, *lines):
    place.write(name, "#!/bin/sh", *lines)
    os.chmod(os.path.join(place.dir, name), 0o755)


# ---- The command line ----------------------------------------------------------------------------

WRONG = [
    (["--treis", "d.dag"], "Unrecognized argument: --treis"),
    (["-vq", "d.dag"], "Unrecognized argument: -vq"),
    (["--tries=2", "d.dag"], "Unrecognized argument: --tries=2"),
    (["--", "d.dag"], "Unrecognized argument: --"),
    (["d.dag", "d.dag"], "Invalid argument"),
    (["-v"], "DAG"),
    *((["d.dag", name], option) for name, option in (
        ("-o", "--stdout"), ("-e", "--stderr"), ("-m", "--max-failures"), ("-t", "--tries"), ("-r", "--rescue"),
        ("--host-script", "--host-script"), ("--host-memory", "--host-memory"), ("--host-cpus", "--host-cpus"),
        ("--max-wall-time", "--max-wall-time"), ("--maxfds", "--maxfds"))),
    *(([name, value, "d.dag"], option) for name, value, option in (
        ("-m", "-1", "--max-failures"), ("--max-failures", "x", "--max-failures"), ("-t", "0", "--tries"),
        ("-t", "-2", "--tries"), ("--tries", "two", "--tries"), ("--host-memory", "0", "--host-memory"),
        ("--host-memory", "much", "--host-memory"), ("--host-cpus", "all", "--host-cpus"),
        ("--host-cpus", "-1", "--host-cpus"), ("--max-wall-time", "long", "--max-wall-time"),
        ("--maxfds", "0", "--maxfds"), ("--maxfds", "x", "--maxfds"))),
]


def test_a_wrong_argument_is_told_and_nothing_starts(place: Place):
    place.write("d.dag", "TASK A touch ran")
    for pmc in each(place):
        for words, told in WRONG:
            done = pmc.run(*words, alone=True, code=1)
            want(done.code == 1 and told in done.err and not done.out, (words, done.code, done.err))
        for variable in ("PMC_HOST_MEMORY", "PMC_HOST_CPUS", "PMC_MAX_WALL_TIME"):
            done = pmc.run("d.dag", alone=True, code=1, env={variable: "x"})
            want(done.code == 1 and f"Invalid value for {variable}" in done.err, done.err)
        for words, variables in ((["--host-cpus", "2"], {}), ([], {"PMC_HOST_CPUS": "2"})):
            done = pmc.run("--set-affinity", *words, "d.dag", alone=True, code=1, env=variables)
            want("--set-affinity" in done.err, done.err)
        want("At least one worker process is required" in pmc.run("d.dag", alone=True, code=1).err, "one process")
        want(not exists(place, "ran") and not exists(place, "d.dag.rescue"), os.listdir(place.dir))


def test_of_all_processes_one_tells_a_wrong_argument(place: Place):
    place.write("d.dag", "TASK A touch ran")
    for pmc in each(place):
        done = pmc.run("--treis", "d.dag", ranks=4, code=1)
        want(done.err.count("Unrecognized argument: --treis") == 1 and done.code == 1, done.err)
        done = pmc.run("--version", ranks=4)
        want(done.err.count("Version:") == 1 and not done.out, (done.out, done.err))


def test_help_tells_all_options_and_goes_before_all_else(place: Place):
    names = ("-h --help -V --version -v --verbose -q --quiet -s --skip-rescue -o --stdout -e --stderr -m "
             "--max-failures -t --tries -n --nolock -r --rescue --host-script --host-memory --host-cpus "
             "--strict-limits --max-wall-time --per-task-stdio --jobstate-log --monitord-hack --no-resource-log "
             "--no-sleep-on-recv --maxfds --keep-affinity --set-affinity").split()
    for pmc in each(place):
        text = pmc.run(alone=True, code=1).err
        for name in names:
            want(re.search(rf"(?<![\w-]){name}(?![\w-])", text), (name, text))
        for words in (["-h"], ["--help"], ["none.dag", "-h"]):
            done = pmc.run(*words, alone=True)
            want(done.err == text and not done.out, (words, done.err))


def test_options_come_in_any_order_and_numbers_end_where_they_end(place: Place):
    place.write("d.dag", "TASK A -t 1x /bin/false", "TASK B /bin/false")
    for pmc in each(place):
        done = pmc.run("-q", "d.dag", "-t", "2x", "-o", "stdout", "-e", "stderr", "--maxfds", "8",
                       "--no-sleep-on-recv", code=1, ranks=2)
        want(sorted(done.names()) == ["A", "B", "B"], done.out)
        want(not exists(place, "stdout") and not exists(place, "stderr"), os.listdir(place.dir))


def test_variables_stand_for_options_and_the_command_line_wins(place: Place):
    place.write("d.dag", "TASK A -m 50 -c 3 /bin/true")
    place.write("v.dag", "TASK A -m 50 /bin/true")
    refused = "FATAL ERROR: No host is capable of running task A"
    script(place, "host.sh", "echo here > host")
    script(place, "other.sh", "echo here > other")
    for pmc in each(place):
        big = {"PMC_HOST_CPUS": "3", "PMC_HOST_MEMORY": "50", "PMC_HOST_SCRIPT": "./host.sh", "PMC_MAX_WALL_TIME": "9"}
        pmc.run("d.dag", ranks=2, env=big)
        want(exists(place, "host"), "the host script")
        for variable, value in (("PMC_HOST_CPUS", "2"), ("PMC_HOST_MEMORY", "49")):
            want(refused in pmc.run("-s", "d.dag", ranks=2, code=1, env=big | {variable: value}).err, variable)
        pmc.clean()
        pmc.run("-s", "v.dag", env={"PMC_HOST_CPUS": "0", "PMC_HOST_MEMORY": "0"})
        small = {"PMC_HOST_CPUS": "1", "PMC_HOST_MEMORY": "1", "PMC_HOST_SCRIPT": "./host.sh",
                 "PMC_MAX_WALL_TIME": "0.0001"}
        pmc.run("--host-cpus", "3", "--host-memory", "50", "--host-script", "./other.sh", "--max-wall-time", "9",
                "d.dag", ranks=2, env=small)
        want(exists(place, "other") and not exists(place, "host"), os.listdir(place.dir))


# ---- What it says --------------------------------------------------------------------------------

def test_each_v_and_q_is_a_step_of_what_is_said(place: Place):
    place.write("d.dag", "TASK A /bin/false")
    levels = ["[fatal]", "[error]", "[warn]", "[info]", "[debug]", "[trace]"]
    for pmc in each(place):
        for words, shown in ((["-q"] * 9, 0), (["-q"] * 3, 0), (["-q", "-q"], 1), (["-q"], 2), ([], 3),
                             (["-q", "-v"], 3), (["-v", "-v"], 5), (["-v"] * 9, 5)):
            done = pmc.run(*words, "d.dag", ranks=2, code=1)
            for level in levels[shown + 1:]:
                want(level not in done.err, (words, done.err))
            want(("Task A failed with exitcode 256" in done.err) == (shown >= 1), (words, done.err))
            want(("[info]" in done.err) == (shown >= 3), (words, done.err))
            want(("[trace] Scheduling task A" in done.err) == (shown == 5), (words, done.err))
            for text in ("Host ", "Workflow: tasks: 1, ", "Task A runs in worker 1 on host ", "Task A ended with status 256"):
                want((f"[debug] {text}" in done.err) == (shown >= 4), (words, text, done.err))
            want(done.err.count("Task A failed") == (shown >= 1), (words, done.err))
            want(done.summary()["stat"] == "failed", done.out)


def test_more_files_than_the_limit_are_refused(place: Place):
    place.write("d.dag", "TASK A touch ran")
    for pmc in each(place):
        done = pmc.run("--maxfds", "2000000000", "d.dag", ranks=2, code=1)
        want("--maxfds 2000000000 is above the limit of open files" in done.err and not exists(place, "ran"), done.err)
        want("Max cached files: 17" in pmc.run("--maxfds", "17", "d.dag", ranks=2).err, "fine")


def test_what_is_said_comes_in_the_order_that_is_known(place: Place):
    place.write("d.dag", "TASK A /bin/true")
    number = r"\d+\.\d{6}"
    time = rf"{number} seconds \({number} minutes\)"
    for pmc in each(place):
        err = pmc.run("--max-wall-time", "5", "d.dag").err
        at = -1
        for text in (r"Version: .+", r"MPI: .+", r"\[info\] Master starting with 2 workers",
                     r"\[info\] Max walltime: .+",
                     r"\[info\] [Ss]tarting workflow", r"\[info\] [Ww]orkflow finished",
                     rf"\[info\] Resource utilization \(with master\): {number}",
                     rf"\[info\] Resource utilization \(without master\): {number}",
                     rf"\[info\] Total runtime of tasks: {time}", rf"\[info\] Wall time: {time}",
                     rf"\[info\] Makespan: {time}", rf"\[info\] Throughput: {number} .*",
                     r"\[info\] Bytes sent to workers: \d+.*", r"\[info\] Bytes received .*: \d+.*",
                     rf"\[info\] File descriptor cache hit rate: 1\.0+", r"\[info\] Workflow succeeded"):
            found = re.search(rf"^{text}$", err, re.M)
            want(found and found.start() > at, (text, err))
            at = found.start()


def test_records_have_the_fields_that_pegasus_reads(place: Place):
    place.write("r.dag", "#@ 7 my::tr ID0001", "TASK A -m 9.2 -c 1.5 /bin/sleep 0.3", "TASK B true",
                "#@ 9 my::tr ID0002", "# a remark", "TASK C -c 0 -t 2 /bin/sh c.sh")
    place.write("c.sh", "echo x >> tried; test $(wc -l < tried) = 2")
    for pmc in each(place):
        done = pmc.run("r.dag", "--host-cpus", "2", ranks=4, env={"TZ": "XYZ-3"})
        records = {(r["name"], r["status"]): r for r in done.tasks()}
        want(len(done.tasks()) == 4 and sorted(records) == [("A", "0"), ("B", "0"), ("C", "0"), ("C", "256")], done.out)
        a, b, c = (records[name, "0"] for name in "ABC")
        want((a["id"], b["id"], c["id"]) == ("7", None, "9"), done.out)
        want((a["memory"], a["cpus"], b["memory"], b["cpus"], c["cpus"]) == ("10", "2", "0", "1", "0"), done.out)
        want((a["app"], b["app"], c["app"]) == ("/bin/sleep", "true", "/bin/sh"), done.out)
        want(0.3 <= float(a["duration"]) < 30 and a["start"].endswith("+03:00"), a)
        want(all(1 <= int(r["slot"]) <= 3 and r["hostname"] == os.uname().nodename for r in done.tasks()), done.out)
        summary = done.whole_summary()
        want((summary["stat"], summary["tasks"], summary["submitted"], summary["succeeded"], summary["failed"],
              summary["slots"]) == ("ok", "3", "4", "3", "1", "3"), summary)
        want(summary["start"].endswith("+03:00") and summary["app"] == pmc.program, summary)
        runtime = sum(float(r["duration"]) for r in done.tasks())
        want(abs(float(summary["runtime"]) - runtime) < 0.005, (summary, runtime))
        want(float(summary["duration"]) >= 0.3, summary)


# ---- Where output goes ---------------------------------------------------------------------------

def test_both_streams_can_share_a_file_and_a_crash_leaves_its_part(place: Place):
    place.write("o.dag", 'TASK A /bin/sh -c "echo out; echo err >&2"')
    for pmc in each(place):
        # What another run has left, of a worker that is there again.
        place.write("o.dag.out.1", "before")
        place.write("o.dag.err.1", "trouble")
        done = pmc.run("o.dag", "-o", "both", "-e", "both")
        lines = place.lines("both")
        want(sorted(line for line in lines if "cluster" not in line) == ["before", "err", "out", "trouble"], lines)
        want(sum("[cluster-task" in line for line in lines) == 1 and "[cluster-task" not in done.out, lines)
        want(len(re.findall(r"\[cluster-summary", done.out + place.read("both"))) == 1, (done.out, lines))
        want(not exists(place, "o.dag.out.1") and not exists(place, "o.dag.err.1"), os.listdir(place.dir))
        # Another run begins anew.
        pmc.run("-s", "o.dag", "-o", "both", "-e", "both")
        lines = place.lines("both")
        want(sorted(line for line in lines if "cluster" not in line) == ["err", "out"], lines)


def test_a_tasks_output_stays_together_before_its_record(place: Place):
    place.write("o.dag", *(f'TASK T{i} /bin/sh o.sh T{i}' for i in range(12)))
    place.write("o.sh", "for n in 1 2 3 4 5 6; do echo $1 $n; sleep 0.01; done; printf $1 >&2")
    for pmc in each(place):
        done = pmc.run("o.dag", ranks=4)
        lines = [line for line in done.out.splitlines() if "cluster-summary" not in line]
        want(len(lines) == 12 * 7, done.out)
        for at in range(0, len(lines), 7):
            name = lines[at].split()[0]
            want(lines[at:at + 6] == [f"{name} {n}" for n in range(1, 7)], lines[at:at + 7])
            want(f"name={name}," in lines[at + 6], lines[at:at + 7])


def test_files_for_each_try_lie_beside_the_graph(place: Place):
    for pmc in each(place):
        os.mkdir(os.path.join(place.dir, "sub"))
        place.write("sub/p.dag", 'TASK A -t 3 /bin/sh -c "echo out; echo err >&2; exit 2"', "TASK B true")
        place.write("sub/A.out.000", "older")
        done = pmc.run("sub/p.dag", "--per-task-stdio", "-o", "x.out", "-e", "x.err", code=1)
        want(place.lines("sub/A.out.000") == ["older"] and not exists(place, "sub/A.out.004"), os.listdir(place.dir))
        for n in (1, 2, 3):
            lines = place.lines(f"sub/A.out.00{n}")
            want(len(lines) == 2 and lines[0] == "out" and "[cluster-task name=A, " in lines[1] and
                 "status=512," in lines[1], lines)
            want(place.lines(f"sub/A.err.00{n}") == ["err"], place.lines(f"sub/A.err.00{n}"))
        want("status=0," in place.read("sub/B.out.000") and exists(place, "sub/B.err.000"), os.listdir(place.dir))
        want("cluster-task" not in done.out and not place.read("x.out") and done.summary()["failed"] == "3", done.out)


def test_files_for_each_try_show_what_a_task_writes(place: Place):
    place.write("live.sh", "echo half; seq 1 $1; echo trouble >&2", WAIT.replace("$1", "$2"), "echo whole")
    for pmc in each(place):
        for number, lines in enumerate((3, 50000)):
            place.write("t.dag", f"TASK A /bin/sh live.sh {lines} go{number}")
            run = pmc.start("t.dag", "-s", "--per-task-stdio", ranks=2)
            out, err = (f"A.{stream}.{number:03}" for stream in ("out", "err"))
            wait(lambda: place.lines(out)[-1:] == [str(lines)] and place.lines(err) == ["trouble"], "it can be seen")
            place.write(f"go{number}", "")
            run.communicate(timeout=DEADLINE)
            want(run.returncode == 0, "it ends")
            told = place.lines(out)
            want(told[0] == "half" and told[-2] == "whole" and "cluster-task" in told[-1], told[-3:])
            want(len(told) == lines + 3 and place.lines(err) == ["trouble"], len(told))
        want(sorted(name for name in os.listdir(place.dir) if name.startswith("A.")) ==
             ["A.err.000", "A.err.001", "A.out.000", "A.out.001"], os.listdir(place.dir))
        for name in ("A.err.000", "A.err.001", "A.out.000", "A.out.001", "go0", "go1"):
            os.remove(os.path.join(place.dir, name))


def test_the_log_for_pegasus_has_a_line_for_each_step(place: Place):
    for pmc in each(place):
        os.mkdir(os.path.join(place.dir, "sub"))
        place.write("sub/j.dag", "TASK A true", 'TASK B -t 2 /bin/sh -c "exit 3"', "TASK C true",
                    "EDGE A B", "EDGE B C")
        pmc.run("sub/j.dag", "--jobstate-log", code=1)
        lines = place.lines("sub/jobstate.log")
        want(all(re.match(r"\d{10}\.\d{6} ", line) for line in lines), lines)
        told = [line.split(" ", 1)[1] for line in lines]
        steps = lambda task, n, end: [f"{task} SUBMIT {n}.0 - - {n}", f"{task} EXECUTE {n}.0 - - {n}",
                                      f"{task} JOB_TERMINATED {n}.0 - - {n}", f"{task} {end} - - {n}"]
        want(told == ["INTERNAL *** PMC_STARTED ***", *steps("A", 1, "JOB_SUCCESS 0"),
                      *steps("B", 2, "JOB_FAILURE 768"), *steps("B", 3, "JOB_FAILURE 768"),
                      "INTERNAL *** PMC_FINISHED 1 ***"], told)
        place.write("sub/j.dag", "TASK A true", "TASK B true", "EDGE A B")
        pmc.run("sub/j.dag", "--jobstate-log")
        more = [line.split(" ", 1)[1] for line in place.lines("sub/jobstate.log")[len(lines):]]
        want(more == ["INTERNAL *** PMC_STARTED ***", *steps("B", 1, "JOB_SUCCESS 0"),
                      "INTERNAL *** PMC_FINISHED 0 ***"], more)


def test_the_log_that_monitord_takes_for_dagmans(place: Place):
    place.write("m.dag", "TASK A true", "TASK B false", "EDGE A B")
    for pmc in each(place):
        place.write("m.dag.dagman.out", "of an older run")
        pmc.run("m.dag", "--monitord-hack", code=1)
        lines = place.lines("m.dag.dagman.out")
        want(all(re.match(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d ", line) for line in lines), lines)
        at = -1
        ends = ("A", 1, "completed successfully"), ("B", 2, r"failed with status \d+")
        for text in (r"\*\* condor_scheduniv_exec\.0\.0 \(CONDOR_DAGMAN\) STARTING UP", r"\*\* PID = \d+",
                     r"Parsing m\.dag \.\.\.",
                     *(text for name, n, end in ends
                       for text in (rf"Submitting Condor Node {name} job\(s\)\.\.\.",
                                    rf"Event: ULOG_SUBMIT for Condor Node {name} \({n}\.0\)",
                                    rf"Event: ULOG_EXECUTE for Condor Node {name} \({n}\.0\)",
                                    rf"Event: ULOG_JOB_TERMINATED for Condor Node {name} \({n}\.0\)",
                                    rf"Node {name} job proc \({n}\.0\) {end}\.")),
                     r"\*\*\*\* condor_scheduniv_exec\.0\.0 \(condor_DAGMAN\) pid \d+ EXITING WITH STATUS 1"):
            found = [n for n, line in enumerate(lines) if re.fullmatch(text, line[18:])]
            want(len(found) == 1 and found[0] > at, (text, lines))
            at = found[0]
        want(at == len(lines) - 1 and exists(place, "A.out.000"), "files for each try go with it")


def test_the_resource_log_has_a_line_for_each_step(place: Place):
    place.write("r.dag", *(f"TASK T{i} -m 30 -c 2 true" for i in range(6)), "TASK X -c 0 false")
    for pmc in each(place):
        pmc.run("r.dag", "--host-cpus", "4", "--host-memory", "100", ranks=4, code=1)
        free = free_of(place.lines("r.dag.resource"))
        want(free[0] == free[-1] == (3, 4, 100) and len(free) == 1 + 2 * 7, free)
        pmc.run("r.dag", ranks=2, code=1)
        want(len(place.lines("r.dag.resource")) == len(free) + 3, "it is appended to")
        pmc.clean()
        pmc.run("r.dag", "--no-resource-log", ranks=2, code=1)
        want(not exists(place, "r.dag.resource"), os.listdir(place.dir))


# ---- Tasks ---------------------------------------------------------------------------------------

def test_a_program_is_found_here_and_then_in_the_path(place: Place):
    place.write("x.dag", "TASK A own one", "TASK B env", "TASK C nosuch", "TASK D ./nosuch", "TASK E /bin/cat",
                r"""TASK F show pre"in q"post "" 'it"s' x" a\ b \"c\' $HOME *.dag # x""")
    for pmc in each(place):
        script(place, "own", "echo own $1")
        script(place, "env", "echo here, not in the path")
        script(place, "show", "for a; do echo \"[$a]\"; done")
        done = pmc.run("x.dag", code=1)
        want("own one" in done.out and "here, not in the path" in done.out, done.out)
        status = dict(done.records())
        want(status == {"A": 0, "B": 0, "C": 256, "D": 256, "E": 0, "F": 0}, status)
        want("nosuch" in done.err, done.err)
        args = re.findall(r"^\[(.*)\]$", re.sub(r"\[cluster.*", "", done.out), re.M)
        want(args == ["prein q", "post", "", "it", "s x", "a b", "\"c'", "$HOME", "*.dag", "#", "x"], args)


def test_a_task_knows_its_worker_and_sees_no_cpus_unless_it_asked(place: Place):
    place.write("e.dag", *(f'TASK T{i} -m 3.5 /bin/sh e.sh' for i in range(8)))
    place.write("e.sh", "echo $PMC_TASK $PMC_RANK $PMC_HOST_RANK $PMC_MEMORY $PMC_CPUS [$PMC_AFFINITY] $(pwd -P)")
    for pmc in each(place):
        done = pmc.run("e.dag", ranks=4)
        slots = {record["name"]: record["slot"] for record in done.tasks()}
        for i in range(8):
            line = next(line for line in done.out.splitlines() if line.startswith(f"T{i} "))
            name, rank, host_rank, *others = line.split()
            want(rank == slots[name] and 0 <= int(host_rank) <= 3, (line, slots))
            want(others == ["4", "1", "[]", os.path.realpath(place.dir)], line)


def test_binding_is_cleared_or_kept_or_set(place: Place):
    everything = os.sched_getaffinity(0)
    if len(everything) < 2:
        print("       (skipped: one cpu)")
        return
    one = {min(everything)}
    look = '/bin/sh -c "grep Cpus_allowed_list /proc/self/status; echo PMC_AFFINITY=$PMC_AFFINITY"'
    place.write("a.dag", f"TASK A {look}")
    place.write("c.dag", f"TASK A -c 2 {look}")
    for pmc in each(place):
        bound = {"preexec_fn": lambda: os.sched_setaffinity(0, one)}
        want(allowed(pmc.run("a.dag", "--keep-affinity", ranks=2, **bound).out) == pmc.binding(bound), "kept")
        want(allowed(pmc.run("-s", "a.dag", ranks=2, **bound).out) == everything, "cleared")
        out = pmc.run("c.dag", "--set-affinity", ranks=2).out
        cpus = {int(cpu) for cpu in re.search(r"PMC_AFFINITY=([\d,]+)", out)[1].split(",")}
        want(len(cpus) == 2 and allowed(out) == cpus, out)
        out = pmc.run("-s", "c.dag", ranks=2).out
        want(re.search(r"PMC_AFFINITY=\d+,\d+$", out, re.M) and allowed(out) == everything, out)


def test_tasks_have_the_environment_and_cpus_of_their_worker(place: Place):
    cpus = sorted(os.sched_getaffinity(0))
    script(place, "own.sh", "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}", "export CUDA_VISIBLE_DEVICES=$rank",
           "test $rank = 2 && export ONLY_2=yes", "test $rank = 1 || export NOT_1=yes",
           f"test $(($rank % 2)) = 1 && cpu={cpus[0]} || cpu={cpus[-1]}", 'exec taskset -c $cpu $PROGRAM "$@"')
    place.write("w.dag", *(f"TASK T{i} /bin/sh w.sh" for i in range(4)))
    place.write("w.sh", "touch at.$PMC_TASK", "until test $(ls at.* | wc -l) = 4; do sleep 0.01; done",
                "echo rank $PMC_RANK has $CUDA_VISIBLE_DEVICES [$ONLY_2] [$NOT_1] $(grep Cpus_allowed_list: /proc/self/status)")
    for pmc in each(place):
        env, pmc.program = {"PROGRAM": pmc.program}, os.path.join(place.dir, "own.sh")
        for words in (["--keep-affinity"], ["-s"]):
            for name in os.listdir(place.dir):
                if name.startswith("at."):
                    os.unlink(os.path.join(place.dir, name))
            out = pmc.run(*words, "--host-cpus", "4", "w.dag", ranks=5, env=env).out
            lines = sorted(line for line in out.splitlines() if line.startswith("rank "))
            want(len(lines) == 4, out)
            for rank, line in enumerate(lines, 1):
                want(line.startswith(f"rank {rank} has {rank} [{'yes' * (rank == 2)}] [{'yes' * (rank != 1)}] "), lines)
                if words[0] == "--keep-affinity":
                    want(allowed(line) == {cpus[0] if rank % 2 else cpus[-1]}, lines)
                else:
                    want(allowed(line) == set(cpus), lines)


def test_a_task_over_its_limit_of_memory_fails(place: Place):
    place.write("s.dag", "TASK A -m 40 /bin/sh s.sh", "TASK B /bin/sh s.sh")
    place.write("s.sh", "x=$(head -c 60000000 /dev/zero | tr '\\0' x); test ${#x} = 60000000")
    for pmc in each(place):
        done = pmc.run("s.dag", "--strict-limits", "--host-memory", "1000", ranks=2, code=1)
        status = dict(done.records())
        want(status["A"] != 0 and status["B"] == 0, done.out + done.err)


# ---- Scheduling ----------------------------------------------------------------------------------

def large_and_small(place, small):
    """Each large task waits for a small one to end, which therefore has to run beside it."""
    place.write("m.dag", *(f"TASK L{i} -m 600 -p 5 /bin/sh l.sh L{i} s{i}" for i in range(3)),
                *(f"TASK S{i} {small} touch s{i}" for i in range(3)))
    place.write("l.sh", "echo $1 in >> log", WAIT.replace("$1", "$2"), "echo $1 out >> log")
    for pmc in each(place):
        pmc.run("m.dag", "--host-memory", "1000", "--host-cpus", "8", ranks=4)
        want(len(place.lines("log")) == 6 and ran_alone(place.lines("log")), place.lines("log"))


def test_large_tasks_go_one_by_one_and_others_beside_them(place: Place):
    large_and_small(place, "")


def test_a_small_task_goes_where_a_large_one_does_not_fit(place: Place):
    # The manual: "if a task cannot be matched to an available slot, but a lower-priority task can, then the
    # task will be deferred and the lower priority task will be executed".
    large_and_small(place, "-m 400")


def test_tasks_without_cpus_run_beside_a_host_that_is_full(place: Place):
    place.write("c.dag", "TASK A -p 9 /bin/sh wait.sh go", "TASK B -c 0 touch go")
    place.write("one.dag", *(f"TASK T{i} /bin/sh one.sh T{i}" for i in range(6)))
    place.write("wait.sh", WAIT)
    place.write("one.sh", "echo $1 in >> log", "sleep 0.02", "echo $1 out >> log")
    for pmc in each(place):
        pmc.run("c.dag", "--host-cpus", "1", ranks=3)
        pmc.run("one.dag", "--host-cpus", "1", ranks=4)
        want(len(place.lines("log")) == 12 and ran_alone(place.lines("log")), place.lines("log"))


def test_what_no_host_can_take_is_refused_also_when_it_is_done(place: Place):
    place.write("n.dag", "TASK A touch ran", "TASK B -m 101 touch ran")
    for pmc in each(place):
        place.write("n.dag.rescue", "DONE B")
        for words in (["--host-memory", "100"], ["--host-memory", "100", "-s"]):
            done = pmc.run("n.dag", *words, ranks=3, code=1)
            want("FATAL ERROR: No host is capable of running task B" in done.err and done.code == 1, done.err)
        want(not exists(place, "ran") and place.lines("n.dag.rescue") == ["DONE B"], os.listdir(place.dir))
        pmc.run("n.dag", "--host-memory", "101")


def test_a_child_goes_by_its_priority(place: Place):
    place.write("p.dag", "TASK A -p 5 true", *(f"TASK L{i} -p -1 true" for i in range(5)),
                *(f"TASK B{i} true" for i in range(5)), "TASK C -p 9 true", "EDGE A C")
    for pmc in each(place):
        err = pmc.run("-v", "-v", "p.dag", ranks=2).err
        order = re.findall(r"\[trace\] Scheduling task (\w+)", err)
        want(sorted(order[1:7]) == ["B0", "B1", "B2", "B3", "B4", "C"] and order[0] == "A", order)
        want(order[7:] == [f"L{i}" for i in range(5)], order)


def test_failures_are_counted_by_tasks_and_end_what_has_not_started(place: Place):
    place.write("f.dag", *(f"TASK F{i} /bin/false" for i in range(30)))
    place.write("t.dag", *(f"TASK T{i} -p {-i} /bin/sh t.sh" for i in range(4)))
    place.write("t.sh", "echo $PMC_TASK >> ran; test -e fixed")
    for pmc in each(place):
        done = pmc.run("-m", "2", "f.dag", ranks=4, code=1)
        want(2 <= len(done.records()) <= 2 + 3 and done.code == 1, done.out)
        # Tries are no failures.
        done = pmc.run("-m", "2", "-t", "3", "t.dag", ranks=2, code=1)
        want(sorted(place.lines("ran")) == ["T0"] * 3 + ["T1"] * 3, place.lines("ran"))
        want(done.summary()["failed"] == "6" and done.err.count("Task T1 failed") == 3, done.err)
        place.write("fixed")
        want(pmc.run("-m", "2", "t.dag", ranks=2).summary()["succeeded"] == "4", "it goes on")


def test_a_task_without_an_end_ends_with_the_wall_time(place: Place):
    place.write("w.dag", 'TASK A /bin/sh -c "echo done before"',
                'TASK B /bin/sh -c "echo $$ > pid; exec sleep 1000"', "TASK C true",
                "EDGE A B", "EDGE B C")
    for pmc in each(place):
        done = pmc.run("w.dag", code=1, env={"PMC_MAX_WALL_TIME": "0.06"})
        want("Aborting workflow" in done.err and "[error] Workflow failed" in done.err, done.err)
        wall = [line for line in done.err.splitlines() if "Wall time:" in line]
        want(3.6 <= float(wall[0].split()[3]) < 30, wall)
        want("done before" in done.out and done.summary()["stat"] == "failed", done.out)
        want([name for name, status in done.records() if status == 0] == ["A"], done.out)
        want(place.read("w.dag.rescue") == "\nDONE A", place.read("w.dag.rescue"))
        if place.lines("pid"):
            wait(lambda: not alive(int(place.read("pid"))), "the task has ended")


# ---- Host scripts --------------------------------------------------------------------------------

def test_a_host_script_runs_once_before_all_tasks(place: Place):
    place.write("h.dag", *(f"TASK T{i} test -e ready" for i in range(6)))
    script(place, "host.sh", "echo $# >> calls; echo said; sleep 0.3; touch ready")
    for pmc in each(place):
        done = pmc.run("h.dag", "-v", "--host-script", "./host.sh", ranks=5)
        want(place.lines("calls") == ["0"], place.lines("calls"))
        want("said" in done.err and "said" not in done.out, (done.out, done.err))
        want(len(re.findall(r"Worker \d+: Launching host script", done.err)) == 1, done.err)
        want(done.err.count("Host script exited with status 0") == 1, done.err)
        want("Unable to terminate host script process group" not in done.err, done.err)
        # Without a slash, by the PATH.
        os.mkdir(os.path.join(place.dir, "bin"))
        script(place, "bin/on-path", "touch ready")
        os.unlink(os.path.join(place.dir, "ready"))
        pmc.run("-s", "h.dag", "--host-script", "on-path",
                env={"PATH": f"{place.dir}/bin:{place.env['PATH']}"})


def test_what_a_host_script_leaves_is_asked_to_end(place: Place):
    place.write("h.dag", "TASK T touch ran")
    script(place, "host.sh", "sh left.sh > /dev/null 2>&1 &", "until test -e trapped; do sleep 0.01; done")
    place.write("left.sh", "trap 'test -e ran && echo ended > heard; exit' TERM", "touch trapped",
                "while :; do sleep 0.02; done")
    for pmc in each(place):
        done = pmc.run("h.dag", "-v", "--host-script", "./host.sh")
        want(place.lines("heard") == ["ended"], os.listdir(place.dir))
        want("Unable to terminate host script process group" not in done.err, done.err)


def test_no_task_starts_after_a_host_script_that_failed(place: Place):
    place.write("h.dag", "TASK T touch ran")
    script(place, "bad.sh", "sleep 1000 & echo $! > child", "exit 3")
    for pmc in each(place):
        done = pmc.run("h.dag", "--host-script", "./bad.sh", code=1)
        want("Host script failed with status 768" in done.err and not exists(place, "ran"), done.err)
        done = pmc.run("h.dag", "--host-script", "./none.sh", code=1)
        want("Host script failed" in done.err and not exists(place, "ran"), done.err)
        wait(lambda: not alive(int(place.read("child"))), "what it left is ended")


def test_slow_a_host_script_has_a_minute(place: Place):
    if not SLOW:
        print("       (skipped: takes a minute; PMC_SLOW=1 runs it)")
        return
    place.write("h.dag", "TASK T touch ran")
    script(place, "host.sh", "sleep 1000 & echo $! > child", "wait")
    for pmc in each(place):
        done = pmc.run("h.dag", "--host-script", "./host.sh", code=1, deadline=60 + DEADLINE)
        want("Host script timed out after 60 seconds" in done.err and not exists(place, "ran"), done.err)
        wait(lambda: not alive(int(place.read("child"))), "its group is ended")


def test_slow_what_does_not_hear_is_killed(place: Place):
    if not SLOW:
        print("       (skipped: takes 5 seconds each; PMC_SLOW=1 runs it)")
        return
    place.write("h.dag", "TASK T true")
    script(place, "host.sh", "sh deaf.sh > /dev/null 2>&1 &", "until test -e child; do sleep 0.01; done")
    place.write("deaf.sh", "trap '' TERM", "echo $$ > child", "while :; do sleep 0.02; done")
    for pmc in each(place):
        pmc.run("h.dag", "--host-script", "./host.sh")
        want(not alive(int(place.read("child"))), "it is killed")


def test_the_resource_log_never_has_less_than_nothing_free(place: Place):
    place.write("r.dag", *(f"TASK T{i} -m 30 -c 2 true" for i in range(6)), "TASK X -c 0 false")
    for pmc in each(place):
        pmc.run("r.dag", "--host-cpus", "4", "--host-memory", "100", ranks=4, code=1)
        free = free_of(place.lines("r.dag.resource"))
        steps = [tuple(b - a for a, b in zip(one, two)) for one, two in zip(free, free[1:])]
        want(sorted(steps) == sorted([(-1, -2, -30), (1, 2, 30)] * 6 + [(-1, 0, 0), (1, 0, 0)]), steps)


def test_the_log_for_pegasus_has_no_end_before_its_start(place: Place):
    place.write("j.dag", *(f"TASK T{i} true" for i in range(300)))
    for pmc in each(place):
        pmc.run("j.dag", "--jobstate-log")
        stamps = [(float(line.split()[0]), line) for line in place.lines("jobstate.log")]
        early = [(one[1], two[1]) for one, two in zip(stamps, stamps[1:]) if two[0] < one[0]]
        want(not early, f"{len(early)} lines, first {early[:1]}")


def test_what_a_stopped_task_has_written_is_kept(place: Place):
    # The manual: the wall time is there "so that the output of a workflow will be recorded even if the workflow
    # exceeds the max wall time".
    place.write("w.dag", "TASK A /bin/sh w.sh")
    place.write("w.sh", "echo half; echo trouble >&2", WAIT.replace("$1", "never"))
    for pmc in each(place):
        done = pmc.run("w.dag", "--max-wall-time", "0.06", code=1)
        want("half" in done.out.split() and "trouble" in done.err.split(), (done.out, done.err))


def test_a_host_script_that_reads_has_no_input(place: Place):
    place.write("h.dag", "TASK A true")
    script(place, "host.sh", "cat")
    for pmc in each(place):
        pmc.run("h.dag", "--host-script", "./host.sh")


if __name__ == "__main__":
    need_a_library()
    main(globals())
