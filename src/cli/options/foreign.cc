// The rest of GNU parallel's options (20221122), by what to write instead. Options that spate has
// under the same name, or accepts as another name of its own, are in the table.
#include "cli/options/foreign.h"

#include <algorithm>

#include "format/shell_words.h"

namespace spate::cli {
namespace {

constexpr ForeignOption kForeign[] = {
    {"S sshlogin sshloginfile slf sshdelay ssh-delay ssh controlmaster M filter-hosts filter-host "
     "filterhosts onall nonall hgrp hostgrp hostgroup hostgroups Y W",
     "write --pool ssh:HOST for another machine; for several: spate pool add ssh NAME --hosts "
     "HOST,HOST, then spate submit --pool NAME"},
    {"transfer transferfile transferfiles transfer-file transfer-files tf return trc cleanup "
     "basefile bf rsync-opts rsyncopts B",
     "write --put FILE and --get FILE, which copy files to tasks on other machines (--hub, --pool) "
     "and back"},
    {"cat fifo", "with --pipe, the task's block is its standard input: /dev/stdin, a file"},
    {"block-timeout blocktimeout bt regexp regex remove-rec-sep removerecsep rrs tee shard bin "
     "group-by groupby",
     "not supported: --pipe splits at the texts of --recstart and --recend; convert the input "
     "first"},
    {"eta bar progress", "the bar on the terminal shows this already", true},
    {"keep-going keepgoing", "a failed task does not stop the others", true},
    {"wait", "a run waits for its tasks", true},
    {"total-jobs totaljobs total", "tasks are counted anyway; leave it out"},
    {"memfree memsuspend", "use --min-free-memory SIZE"},
    {"load", "use --max-load N"},
    {"limit",
     "use --max-load N or --min-free-memory SIZE, or -j FILE, whose number may change during the "
     "run"},
    {"noswap", "use --min-free-memory SIZE"},
    {"resume-failed resumefailed",
     "use --resume to continue, and `spate job retry last` to retry failed tasks"},
    {"retry-failed retryfailed", "use `spate job retry last`"},
    {"no-keep-order nokeeporder nok no-k", "output comes as tasks end already", true},
    {"group g", "output is grouped by task already", true},
    {"ungroup u latest-line latestline ll", "use --line-buffer"},
    {"files output-as-files outputasfiles",
     "use --results DIR, or --stdout PATTERN, or read it back with `spate job cat`"},
    {"ctag ctagstring ctag-string", "use --tag or --tagstring TEXT"},
    {"color colour color-failed colour-failed cf", "not supported; leave it out"},
    {"link xapply linkinputsource xapplyinputsource",
     "write :::+ instead of ::: for the source to link"},
    {"i", "use -I TEXT"},
    {"U er extensionreplace bnr basenamereplace dnr dirnamereplace bner "
     "basenameextensionreplace seqreplace slotreplace parens rpl plus",
     "the placeholders have fixed names: {} {.} {..} {/} {//} {/.} {%.txt} {#} {%} {1} ..., and "
     "-I TEXT for {}"},
    {"E e eof", "there is no end marker; cut the input before it reaches spate"},
    {"L l max-lines maxlines", "use --max-args N"},
    {"s max-chars maxchars", "use --max-args N; -X fills commands up to the system's limit"},
    {"x exit", "not needed", true},
    {"r no-run-if-empty norunifempty", "nothing runs without values", true},
    {"m xargs", "use -X"},
    {"skip-first-line", "use --header :"},
    {"arg-sep argsep arg-file-sep argfilesep", "the separators are ::: and ::::"},
    {"p interactive", "not supported; --dry-run prints what would be run"},
    {"t verbose v", "use --dry-run to see the commands; `spate job tasks` shows what ran"},
    {"D debug", "use `spate task explain` and `spate task info`"},
    {"shellquote shell-quote shell_quote",
     "values are quoted where a shell reads them; leave it out"},
    {"quote", "values are quoted where a shell reads them; leave it out"},
    {"semaphore fg bg id semaphore-name semaphorename semaphore-timeout semaphoretimeout st",
     "semaphores are a separate command: spate sem -j 4 --id NAME -- COMMAND"},
    {"tmux tmux-pane tmuxpane tty T o open-tty", "tasks have no terminal; leave it out"},
    {"compress compress-program use-compress-program decompress-program",
     "stored output is always compressed; leave it out"},
    {"tmpdir tempdir",
     "use --state DIR for the folder of stored output, --env TMPDIR=DIR for the tasks' own files"},
    {"term-seq termseq", "use --kill-grace T (TERM, then KILL)"},
    {"H", "use --halt"},
    {"sql sqlmaster sqlworker sqlandworker sql-master sql-worker sql-and-worker",
     "jobs are always stored in an SQLite file; see `spate job list`"},
    {"record-env recordenv", "tasks inherit the environment; leave it out"},
    {"silent bug gnu tollef will-cite willcite nn nonotice no-notice citation plain", "not needed",
     true},
    {"process-slot-var processslotvar", "the variable is SPATE_SLOT; {%} is the placeholder"},
    {"filter", "filter the values before they reach spate"},
    {"template tmpl",
     "not supported; let the command fill in the template, as in: sed 's/NAME/{}/' FILE > OUT"},
    {"shebang hashbang",
     "not needed: make the list executable, with #!/usr/bin/spate run as its first line"},
    {"embed", "not supported; copy the program itself, a single file, to the script's folder"},
    {"shell-completion", "use spate completion SHELL"},
    {"ctrlc ctrl-c no-ctrlc no-ctrl-c noctrlc",
     "the first Ctrl-C lets tasks end, the second terminates them; leave it out"},
    {"number-of-cpus number-of-cores number-of-sockets number-of-threads show-limits "
     "max-line-length-allowed",
     "not supported; nproc(1) prints the number of cores"},
    {"use-sockets-instead-of-threads use-cores-instead-of-threads use-cpus-instead-of-cores",
     "use -j 50% for one task per two threads"},
    {"V version", "write `spate --version`"},
};

// Options of batch systems: Slurm's sbatch and srun (23.11), qsub of PBS (OpenPBS 23.06) and Grid
// Engine (8.1.9), the commands of HTCondor's submit files (23.0), and hq submit of HyperQueue
// (0.19), as their manuals name them; and those of workflow tools for the same purposes.
constexpr ForeignOption kBatch[] = {
    {"partition p q queue destination", "write --pool NAME, or --label LABEL for some nodes"},
    {"mem mem-per-cpu request_memory request-memory vmem h_vmem",
     "write --memory SIZE (of one task)"},
    {"cpus-per-task c request_cpus request-cpus ncpus", "write --cpus N (of one task)"},
    {"ntasks pe np", "write --procs N for the processes of one task, as of MPI"},
    {"ntasks-per-node tasks-per-node", "write --procs-per-node N"},
    {"gres gpus-per-task gpus-per-node request_gpus request-gpus G", "write --gpus N"},
    {"time t walltime",
     "write --time-limit T (30m, 2h) to end a task after T, --time T for the time it is expected "
     "to take"},
    {"time-request", "write --time T"},
    {"constraint C requirements", "write --label LABEL"},
    {"nodelist w", "write --on NODE"},
    {"exclude", "write --not-on NODE"},
    {"exclusive", "write --whole-nodes"},
    {"dependency hold_jid depend W", "write --after [HOW:]JOB, as --after ok:12"},
    {"job-name batch-name", "write --name NAME"},
    {"output-file out o std-out", "write --stdout FILE; spate job cat prints what is kept"},
    {"error e err std-err", "write --stderr FILE; spate job cat prints what is kept"},
    {"input", "write --stdin FILE"},
    {"chdir D workdir wd initialdir", "write --cwd DIR"},
    {"export v V getenv get-user-env",
     "the environment goes along; write --env NAME=VALUE to set one, --env none for none"},
    {"mail-type mail-user m M notification notify_user", "write --notify COMMAND"},
    {"hold", "submit it, then: spate job hold JOB"},
    {"begin deferral_time", "it starts when there is room; at(1) submits it later"},
    {"requeue",
     "tasks of a lost node run again; write --once to prevent that, --retries N for "
     "failed ones"},
    {"no-requeue", "write --once"},
    {"max_retries max-retries", "write --retries N"},
    {"wrap executable arguments", "write the command after --"},
    {"sync", "write --wait"},
    {"parsable terse", "spate submit prints the number alone; leave it out"},
    {"account A P project qos reservation licenses comment wckey clusters",
     "options of a batch system go to the pool: spate pool add --help"},
    {"test-only spool", "write --dry-run"},
    {"array-task-throttle tc", "write --max-running N, or --array 1-9%N"},
    {"transfer_input_files transfer-input-files", "write --put FILE"},
    {"transfer_output_files transfer-output-files", "write --get FILE"},
    {"l l_hard", "write what a task needs: --cpus N, --memory SIZE, --time T, --gpus N"},
    {"each-line", "write -a FILE, and the command after -- ({} is the line)"},
    {"from-json",
     "write --json-lines FILE (one object per line), and the command after -- ({NAME} is a value)"},
    {"pin", "nodes bind tasks to their cpus: spate node start --bind core"},
    {"crash-limit",
     "a task fails after five losses of its node; write --once if it must not run again at all"},
    {"max-fails", "write --max-failures N"},
    {"threads workers max-workers",
     "write -j N for the number of tasks at once, --cpus N for the cores of one task"},
    {"output-dir", "write --stdout 'DIR/{#}.txt'; spate run has --results DIR"},
    {"universe should_transfer_files when_to_transfer_output cwd b j k",
     "not needed; leave it out"},
    {"I interactive", "tasks have no terminal; run the command by hand"},
};

const ForeignOption* Find(std::span<const ForeignOption> all, std::string_view name) {
  for (const ForeignOption& foreign : all) {
    const auto names = format::SplitBlanks(foreign.names);
    if (std::ranges::find(names, name) != names.end()) return &foreign;
  }
  return nullptr;
}

std::optional<std::string> HintOf(std::span<const ForeignOption> all, std::string_view name) {
  const ForeignOption* found = Find(all, name);
  return found == nullptr ? std::nullopt : std::optional(std::string(found->hint));
}

}  // namespace

std::span<const ForeignOption> ParallelOptions() { return kForeign; }
std::span<const ForeignOption> BatchOptions() { return kBatch; }

std::optional<std::string> ForeignHint(std::string_view name) { return HintOf(kForeign, name); }

bool IsForeignIgnored(std::string_view typed) {
  const ForeignOption* found = Find(kForeign, typed.substr(typed.find_first_not_of('-')));
  return found != nullptr && found->ignored;
}

std::optional<std::string> BatchSystemHint(std::string_view typed) {
  if (typed == "-N") return "write --nodes N (values of one task: --max-args N)";
  if (typed == "-n") return "write --procs N (values of one task: --max-args N)";
  return HintOf(kBatch, typed.substr(typed.find_first_not_of('-')));
}

}  // namespace spate::cli
