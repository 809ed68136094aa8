"""A row for each form of an option of `spate run` and `spate submit`: what is typed, and how its effect is seen.

A new option needs a row here, or an entry in EXCEPTIONS. A row's `setup` changes the Trial that its option is part of
(the input, the work of the tasks, the tasks that fail), and its `effect` looks at the Outcome and raises where the
effect is not seen. Rows know nothing of each other: what two of them want of the input is brought together by Trial.
"""
import os
import re

from harness import want

WAYS = ("values", "list", "hub", "submit")
HERE = ("values", "list")  # runs on this machine

EXCEPTIONS = {
    "--help": "prints the help and does nothing else",
    "--help-all": "prints the help and does nothing else",
    "--hub": "the third way itself",
    "--access": "the hub of another person or machine: hub_test.py",
    "--pool": "a batch system's nodes, or a pool's: pool_test.py",
}

TASK = r"""#!/bin/sh
# Records in one write that it ran, and does what words such as fail=b:1 ask for.
dir=${0%/*} words=$* n= values= lit= code=0 in= put= attempt=${SPATE_ATTEMPT:-0}
for word; do
  case $word in
    n=*) n=${word#n=} ;;
    lit=*) lit="$lit ${word#lit=}" ;;
    *=*) ;;
    ?*) values=$values,$word ;;
  esac
done
values=${values#,}
while IFS= read -r line || [ "$line" ]; do in="$in$line " line=; done
[ ! -e in.txt ] || read -r put < in.txt
read -r stat < /proc/self/stat
read -r up rest < /proc/uptime
set -- $stat
echo "n=$n|values=$values|in=$in|attempt=$attempt|rank=$SPATE_RANK|slot=$SPATE_SLOT|up=$up|nice=${19}|cwd=$PWD|\
put=$put|lit=$lit|cpus=$SPATE_CPUS|memory=$SPATE_MEMORY|gpus=$SPATE_GPUS|lic=$SPATE_RESOURCE_LIC|typed=$TYPED|\
profile=$PROFILE|ranks=$SPATE_RANKS" >> "$dir/ran"
echo "out:$n:$attempt:$SPATE_RANK:"
echo "err:$n:$attempt:$SPATE_RANK:" >&2
has() {
  case ,$values, in *,"$1",*) return 0 ;; esac
  case $in in *"$1"*) return 0 ;; esac
  return 1
}
for word in $words; do
  value=${word#*=}
  case $word in
    fail=*) if has "${value%:*}" && [ "$attempt" -le "${value#*:}" ]; then code=3; fi ;;
    hang=*) if has "$value"; then sleep 30; fi ;;
    deaf=*) if has "$value"; then trap '' TERM; sleep 30; fi ;;
    slow=*) if has "$value"; then sleep 0.3; fi ;;
    usr1=*) if has "$value"; then sleep 30 & trap 'kill $!' USR1; wait; fi ;;
    leave=*) if has "$value"; then sleep 30 < /dev/null > /dev/null 2>&1 & fi ;;
    forward=*) echo "got $values$in" >&$OUT ;;
    piece=*) echo "got $values$in" > piece.$n ;;
    made=*) echo "got $values$in" > made.$n ;;
  esac
done
exit $code
"""

# Gives a task to the script above, for --resident.
WORKER = r"""#!/bin/sh
dir=${0%/*}
eval "exec 7<&$SPATE_RESIDENT_IN 8>&$SPATE_RESIDENT_OUT"
while read -r word task index attempt length rest <&7; do
  value=$(dd bs=1 count="$length" <&7 2> /dev/null | tr '\t' ' ')
  SPATE_ATTEMPT=$attempt "$dir/task" n="$index" "$@" $value < /dev/null 7<&- 8>&-
  echo "done $task $? 0" >&8
done
"""


class Row:
    def __init__(self, option, words, setup=None, effect=None, no=()):
        self.option = option  # as the reference names it
        self.words = words.split()
        self.setup = setup or (lambda trial: None)
        self.effect = effect or (lambda outcome: None)
        self.no = no  # the ways in which it is refused when it is given alone
        self.name = words

    def __repr__(self):
        return self.name


def all_have(field, value):
    """In every record of a task."""
    def effect(outcome):
        for record in outcome.records:
            want(record[field] == value, f"{field} is {record[field]!r}, not {value!r}: {record}")
    return effect


def each(text):
    """Tasks of which `text` is true of their record."""
    def effect(outcome):
        want(all(text(record) for record in outcome.records), outcome.records)
    return effect


def job_has(field, value):
    def effect(outcome):
        found = outcome.job_info()[field]
        want(found == value or callable(value) and value(found), f"{field} of the job is {found!r}")
    return effect


def failed(at):
    """The task with the value at this place fails for good."""
    def effect(outcome):
        want(outcome.code != 0, f"the failure of {outcome.trial.atoms[at]} is not seen: exit code 0")
    return effect


def stops(outcome):
    """One at once: nothing starts after the task that fails for good."""
    trial = outcome.trial
    want(outcome.code != 0, "exit code 0 after a failure")
    if trial.slots != 1 or trial.copies > 1:
        return
    ran = [trial.atoms[1] in outcome.atoms_of(record) for record in outcome.records]
    want(True not in ran or ran[-1], f"it went on: {outcome.records}")


def slow_is_told(outcome):
    if not outcome.trial.stops:
        outcome.says("longer than")


def killed_soon(outcome):
    failed(2)(outcome)
    want(outcome.trial.took < 9, f"the default of 10 s was waited for: {outcome.trial.took}")


def left_fails(outcome):
    if outcome.trial.leftovers == "fail":
        failed(0)(outcome)


def sequence(outcome):
    lines = [number for number, _ in outcome.printed()]
    want(lines == sorted(lines), f"printed in the order {lines}")


def tagged(text):
    def effect(outcome):
        if outcome.trial.sink not in ("screen", "json"):
            return
        for number, tag in outcome.printed():
            # Without a text a graph's task has its name, a block its place, and --tagstring goes first.
            named = outcome.trial.dag or outcome.trial.source or set(outcome.values_of(number)) & set(tag)
            want(tag and (tag == f"T{number}" or not text and named), f"task {number} has the tag {tag!r}")
    return effect


def apart(seconds):
    def effect(outcome):
        # From before the first start, since the tasks themselves tell when they run; the clock counts hundredths.
        last = max(float(record["up"]) for record in outcome.now)
        least = (len({record["n"] for record in outcome.now}) - 1) * seconds - 0.02
        want(last - outcome.trial.begun >= least, f"started within {last - outcome.trial.begun}")
    return effect


def pause(outcome):
    atom = outcome.trial.atoms[1]
    ups = [float(record["up"]) for record in outcome.records if atom in outcome.atoms_of(record)]
    want(outcome.trial.copies > 1 or len(ups) < 2 or ups[1] - ups[0] >= 0.08, ups)


def file_per_task(name, kind):
    def effect(outcome):
        for record in outcome.last_records():
            text = outcome.read(outcome.folder(name).replace("{#}", record["n"]))
            want(outcome.line(record, kind) in text, f"{name} lacks the output of {record}: {text!r}")
    return effect


def appended(outcome):
    names = [name for name in ("app", "out.1", "err.1") if outcome.read(outcome.folder(name))]
    want(names, "no file was appended to")
    for name in names:
        want(outcome.read(outcome.folder(name)).startswith("before\n"), f"{name} was emptied")


def joblog(outcome):
    rows = [line.split("\t")[0] for line in outcome.read("log").splitlines()]
    want(rows[:1] == ["Seq"], f"no joblog: {rows}")
    want(set(rows[1:]) >= {record["n"] for record in outcome.records}, f"tasks of the joblog: {rows}")


def unkept(outcome):
    outcome.kept_nothing()
    if outcome.trial.way == "hub" and not outcome.trial.stdout and outcome.trial.form != "json":
        want("was not kept, because of --keep-output" in outcome.err, f"the loss is not told: {outcome.err}")


def in_results(name):
    def effect(outcome):
        trial = outcome.trial
        found = outcome.read(name) if "." in name else "".join(
            outcome.read(os.path.join(folder, "stdout"))
            for folder, _, names in os.walk(os.path.join(trial.dir, name)) if "stdout" in names)
        for record in outcome.last_records():
            there = outcome.line(record) in found or trial.stdout or trial.sink == "nowhere"
            want(there, f"{name} lacks {record}: {found!r}")
    return effect


def gathered(name):
    def effect(outcome):
        found = sorted(outcome.read(outcome.folder(name)).split("\n"))[1:]
        ok = sorted("got " + record["values"] + record["in"] for record in outcome.last_records(all_runs=True)
                    if outcome.succeeded(record))
        want(found == ok, f"{name} has {found}, not {ok}")
    return effect


def brought(outcome):
    for record in outcome.last_records():
        name = f"made.{record['n']}"
        text = outcome.read(name) or outcome.read(outcome.folder(name))
        want(text.startswith("got") or not outcome.succeeded(record), f"made.{record['n']} was not brought back")


def private(outcome):
    for record in outcome.records:
        want(record["put"] == "input" and record["cwd"] != outcome.trial.dir, f"in.txt is not there: {record}")


def in_folder(outcome):
    want(outcome.trial.private or all(record["cwd"].endswith("/sub") for record in outcome.records), outcome.records)


def nothing_ran(outcome):
    want(not outcome.records, f"tasks ran: {outcome.records}")
    for atom in outcome.trial.atoms:
        shown = re.search(rf"\b{atom}\b", outcome.out) or outcome.trial.source
        want(shown, f"the command for {atom} is not shown: {outcome.out}")


def json_form(outcome):
    want(outcome.out.startswith("{") or outcome.trial.dry, f"no JSON: {outcome.out}")


def quiet(outcome):
    want("succeeded" not in outcome.err, outcome.err)


def together(outcome):
    """A task has two values."""
    want(any(len(outcome.atoms_of(record)) > 1 for record in outcome.records), outcome.records)


def apart_in_blocks(outcome):
    want(all(len(outcome.atoms_of(record)) <= 2 for record in outcome.records), outcome.records)


def notified(outcome):
    if not outcome.trial.stops:  # a job that is held has not ended
        outcome.wait_for("notified")


def once_by_key(outcome):
    again = outcome.again()
    if outcome.trial.way == "submit":
        want(number_of_job(again.stdout) == number_of_job(outcome.out), f"the key made another job: {again.stdout}")


def number_of_job(out):
    """As submit prints it."""
    return re.search(r'^\d+|(?<="job":)\d+', out).group(0)


def is_form(form):
    def setup(trial):
        trial.form = form
    return setup


def sets(**fields):
    def setup(trial):
        for field, value in fields.items():
            setattr(trial, field, value)
    return setup


def work(*words, **fields):
    """Words for the tasks, in which @1 is the second value; and fields of the trial."""
    def setup(trial):
        trial.work += words
        sets(**fields)(trial)
    return setup


def wants(*words, setup=None):
    """Options that this one needs, unless the other row has them."""
    def wish(trial):
        trial.wants.append((words, setup))
    return wish


def both(*setups):
    def setup(trial):
        for one in setups:
            one(trial)
    return setup


def fails(at, times, kind="exit"):
    def setup(trial):
        trial.work.append(f"fail=@{at}:{times}")
        trial.failing.append((at, times, kind))
    return setup


def bad(at, kind):
    """The value fails in each try, by this cause."""
    def setup(trial):
        trial.failing.append((at, 99, kind))
    return setup


GANG = wants("--cpus", "0.5")
ONE_NODE = both(GANG, wants("--nodes", "1"))
RETRY = wants("--retries", "1", setup=sets(tries=2))
LIMIT = wants("--time-limit", "LIMIT")
PARTS = wants("--pipe", setup=sets(source="pipe"))
ONE_AT_ONCE = wants("-j", "1", setup=sets(slots=1))
NO_LIST = ("list",)
SUBMIT = ("values", "list", "hub")
SCREEN = ("submit",)
INPUT = ("list", "hub", "submit")  # --pipe reads standard input

ROWS = [
    # Sources.
    Row("--format", "--format list"),
    Row("--format", "--format dag", sets(dag=True), no=("values", "hub", "submit")),
    Row("--target", "--target all", both(sets(dag=True), wants("--format", "dag")), no=("values", "hub", "submit")),
    Row("--arg-file", "-a vals", sets(file=True), no=NO_LIST),
    Row("--json-lines", "--json-lines vals.json", sets(json=True), no=NO_LIST),
    Row("--null", "-0", sets(end="\0", file_wanted=True), no=NO_LIST),
    Row("--delimiter", "-d %", sets(end="%", file_wanted=True), no=NO_LIST),
    Row("--colsep", "--colsep ,", sets(columns=True), together, no=NO_LIST),
    Row("--csv", "--csv", sets(columns=True, quotes=True), together, no=NO_LIST),
    Row("--header", "--header :", sets(header=True), no=NO_LIST),
    Row("--max-args", "--max-args 2", sets(max_args=True), together, no=NO_LIST),
    Row("--fill", "-X", sets(fill=True), no=NO_LIST),
    Row("--trim", "--trim lr", sets(trim=True), no=NO_LIST),
    Row("--replace-str", "-I ,,", sets(replace=True), each(lambda record: "{}" in record["lit"]), no=NO_LIST),
    Row("--literal-braces", "--literal-braces", sets(braces=True),
        each(lambda record: "{nmae}" in record["lit"] or "{chek" in record["lit"])),
    Row("--pipe", "--pipe", sets(source="pipe"), no=INPUT),
    Row("--pipepart", "--pipepart -a parts", sets(source="parts"), no=NO_LIST),
    Row("--block", "--block 2", PARTS, apart_in_blocks, no=INPUT),
    Row("--recstart", "--recstart >", both(PARTS, sets(record=">%s\n")), no=INPUT),
    Row("--recend", "--recend ;", both(PARTS, sets(record="%s;")), no=INPUT),
    Row("--round-robin", "--round-robin", PARTS, no=INPUT),
    Row("--follow", "--follow", sets(follow=True), no=("values", "hub", "submit")),
    Row("--follow-until", "--follow-until END", sets(until=True), no=("values", "hub", "submit")),
    Row("--resume", "--resume", sets(resume=True), no=("hub", "submit")),
    Row("--dry-run", "--dry-run", sets(dry=True), nothing_ran),
    # Needs.
    Row("--cpus", "--cpus 0.5", None, each(lambda record: record["cpus"] == "0.5" or record["rank"])),
    Row("--memory", "--memory 100M", None, all_have("memory", str(100 << 20))),
    Row("--gpus", "--gpus 1", sets(gpus=True), each(lambda record: record["gpus"] in ("0", "1"))),
    Row("--resource", "--resource lic=1", sets(lic=True), each(lambda record: record["lic"])),
    Row("--offer", "--offer lic=x,y", wants("--resource", "lic=1"), each(lambda record: record["lic"] in ("x", "y")),
        no=("hub", "submit")),
    Row("--procs", "--procs 2", both(GANG, sets(processes=2)), all_have("ranks", "2")),
    Row("--nodes", "--nodes 1", GANG, each(lambda record: record["ranks"])),
    Row("--procs-per-node", "--procs-per-node 2", both(ONE_NODE, sets(processes=2)), all_have("ranks", "2")),
    Row("--whole-nodes", "--whole-nodes", ONE_NODE),
    Row("--start", "--start node", both(ONE_NODE, sets(start_node=True)), each(lambda record: record["ranks"])),
    Row("--bound", "--bound cpu", None, job_has("bound", "cpu")),
    Row("--time", "--time 2m"),
    # The number of tasks at once.
    Row("--jobs", "-j 2", sets(slots=2), each(lambda record: int(record["slot"] or 0) <= 2)),
    Row("--jobs", "-j ./slots", sets(slots=1), no=("hub", "submit")),
    Row("--delay", "--delay 0.03s", None, apart(0.03)),
    Row("--order", "--order shuffle"),
    Row("--order", "--order longest", no=("hub", "submit")),
    Row("--shuf", "--shuf"),
    Row("--min-free-memory", "--min-free-memory 1M"),
    Row("--max-load", "--max-load 5000"),
    Row("--nice", "--nice 5", None, each(lambda record: record["nice"] == str(os.nice(0) + 5))),
    Row("--max-processes", "--max-processes 1000"),
    Row("--max-open-files", "--max-open-files 200"),
    Row("--max-core", "--max-core 0"),
    Row("--on-excess", "--on-excess memory=stop,cpu=warn"),
    Row("--no-ulimits", "--no-ulimits", no=HERE),
    # Failures.
    Row("--retries", "--retries 2", both(fails(1, 1), sets(tries=3)), None),
    Row("--retry-on", "--retry-on exit:3", both(fails(1, 1), RETRY, sets(retry_on="exit"))),
    Row("--retry-delay", "--retry-delay 0.1s", both(fails(1, 1), RETRY), pause),
    Row("--retry-elsewhere", "--retry-elsewhere 1", None, job_has("retry_elsewhere", 1)),
    Row("--retry-memory", "--retry-memory x2", both(RETRY, wants("--memory", "100M")),
        job_has("retry_memory", 200)),
    Row("--max-memory", "--max-memory 200M",
        both(wants("--retry-memory", "x2"), RETRY, wants("--memory", "100M")),
        job_has("max_memory", 200 << 20)),
    Row("--once", "--once"),
    Row("--time-limit", "--time-limit LIMIT", both(work("hang=@2"), bad(2, "time")), failed(2)),
    Row("--deadline", "--deadline +1h", None, job_has("deadline", lambda at: at is not None)),
    Row("--kill-grace", "--kill-grace 0.1s", both(work("deaf=@2"), bad(2, "time"), LIMIT), killed_soon),
    Row("--signal", "--signal USR1@19.5s", both(work("usr1=@3"), wants("--time-limit", "20s"))),
    Row("--leftovers", "--leftovers fail", work("leave=@0", leftovers="fail"), left_fails),
    Row("--leftovers", "--leftovers end", work("leave=@0", leftovers="end")),
    Row("--warn-time", "--warn-time 0.1s", work("slow=@3"), slow_is_told, no=("hub", "submit")),
    Row("--max-failures", "--max-failures 1", both(fails(1, 99), ONE_AT_ONCE, sets(stops=True)), stops),
    Row("--halt", "--halt now,fail=1", both(fails(1, 99), ONE_AT_ONCE, sets(stops=True)), stops),
    # The tasks' environment.
    Row("--env", "--env TYPED=row", None, all_have("typed", "row")),
    Row("--cwd", "--cwd sub", sets(cwd="sub"), in_folder),
    Row("--shell", "--shell bash", sets(shell=True), each(lambda record: re.search(r"bash\d", record["lit"]))),
    Row("--pipefail", "--pipefail", both(sets(tail=" | cat"), fails(0, 99)), failed(0)),
    Row("--stdin", "--stdin in.txt", None,
        each(lambda record: record["in"] == "input " or record["rank"] not in ("", "0"))),
    Row("--stdout", "--stdout out.{#}", sets(stdout="out.{#}"), file_per_task("out.{#}", "out")),
    Row("--stderr", "--stderr err.{#}", sets(stderr=True), file_per_task("err.{#}", "err")),
    Row("--append", "--append", sets(append=True), appended),
    Row("--put", "--put in.txt", sets(private=True), private, no=HERE),
    Row("--get", "--get made.{#}", work("made=1", private=True), brought, no=HERE),
    Row("--forward", "--forward OUT=all", work("forward=1"), gathered("all")),
    Row("--forward-file", "--forward-file piece.{#}=sum", work("piece=1"), gathered("sum")),
    Row("--resident", "--resident", sets(resident=True)),
    Row("--measure-io", "--measure-io", None, lambda o: o.task_has("read_bytes")),
    # Output.
    Row("--keep-order", "-k", None, sequence, no=SCREEN),
    Row("--tag", "--tag", None, tagged(""), no=SCREEN),
    Row("--tagstring", "--tagstring T{#}", None, tagged("T{#}"), no=SCREEN),
    Row("--line-buffer", "--line-buffer", no=("hub", "submit")),
    Row("--output", "--output human", is_form("human")),
    Row("--quiet", "-q", is_form("quiet"), quiet),
    Row("--json", "--json", is_form("json"), json_form),
    Row("--no-bar", "--no-bar", no=SCREEN),
    Row("--joblog", "--joblog log", None, joblog, no=SCREEN),
    Row("--results", "--results dir", sets(results=True), in_results("dir"), no=SCREEN),
    Row("--results", "--results res.csv", sets(results=True), in_results("res.csv"), no=SCREEN),
    Row("--keep-output", "--keep-output 0", sets(unkept=True), unkept),
    # History.
    Row("--name", "--name NAME", None, job_has("name", "NAME")),
    Row("--comment", "--comment COMMENT", None, job_has("comment", "COMMENT")),
    Row("--profile", "-J ./prof", None, all_have("profile", "read")),
    Row("--state", "--state STATE", sets(state=True)),
    Row("--keep", "--keep 1h", no=("hub", "submit")),
    # Only submit.
    Row("--wait", "--wait"),
    Row("--progress", "--progress"),
    Row("--key", "--key KEY", None, once_by_key, no=HERE),
    Row("--array", "--array 1-4", sets(array=True), no=("list",)),
    Row("--open", "--open", sets(open=True), no=SUBMIT),
    Row("--after", "--after ok:1", no=HERE),
    Row("--like", "--like 1", no=HERE),
    Row("--notify", "--notify NOTIFY", sets(notify=True), notified, no=SUBMIT),
    Row("--priority", "--priority 5", None, job_has("priority", 5), no=HERE),
    Row("--weight", "--weight 50", no=HERE),
    Row("--max-running", "--max-running 2", sets(slots=2)),
    Row("--label", "--label big", no=HERE),
    Row("--on", "--on n1", no=HERE),
    Row("--not-on", "--not-on n2", no=HERE),
]
