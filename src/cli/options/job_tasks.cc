// Options: what the tasks of a job need, when they start, how they end, and their surroundings.
#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/gang_options.h"
#include "cli/options/job_rows.h"
#include "cli/options/retry_options.h"
#include "cli/options/shared.h"
#include "core/model/limits.h"

namespace spate::cli {
namespace {

// A word that is no number may name a file with one, as in GNU parallel.
bool IsFileOfSlots(std::string_view value) {
  std::error_code ignored;
  return value.find('/') != std::string_view::npos ||
         std::filesystem::exists(std::filesystem::path(value), ignored);
}

void FillJobs(Filler& filler) {
  RunOptions& run = filler.job.run;
  run.slots_given = filler.Read(run.slots, [&](std::string_view value) {
    auto rule = ParseSlotRule(value);
    if (rule || !IsFileOfSlots(value)) return rule;
    run.slots_file = value;
    return Result<SlotRule>(SlotRule());
  });
}

std::string_view WhySlotsOnlyHere(std::string_view value) {
  auto slots = ParseSlotRule(value);
  if (!slots || slots->form == SlotRule::Form::kCount) return "";
  return "N%, +N and -N are relative to the cores of this machine, but the nodes have others; "
         "write a number";
}

std::string_view WhyOrderOnlyHere(std::string_view value) {
  if (value != "longest") return "";
  return "the times of earlier runs are known only on this machine; write --order shuffle, or "
         "leave it out";
}

std::string_view WhyLoadOnlyHere(std::string_view value) {
  if (!value.ends_with('%')) return "";
  return "N% is relative to the cores of this machine, but the nodes have others; write a number";
}

// The last one of a name counts.
template <typename Named>
void Put(std::vector<Named>& list, Named item) {
  auto at = std::find_if(list.begin(), list.end(),
                         [&](const Named& known) { return known.name >= item.name; });
  if (at != list.end() && at->name == item.name) {
    *at = std::move(item);
  } else {
    list.insert(at, std::move(item));
  }
}

void FillCpus(Filler& filler) {
  RunOptions& run = filler.job.run;
  run.cpus_given = filler.Read(run.needs.milli_cpus, ParseMilliCpus);
}

void FillGpus(Filler& filler) {
  uint32_t gpus = 0;
  if (filler.Read(gpus, UpTo<1024>) && gpus > 0) {
    Put(filler.job.run.needs.named, NamedNeed{"gpus", gpus});
  }
}

void FillResource(Filler& filler) {
  filler.ReadAll(ParseNamedNeed,
                 [&](NamedNeed need) { Put(filler.job.run.needs.named, std::move(need)); });
}

void FillOffer(Filler& filler) {
  filler.ReadAll(ParseNamedOffer,
                 [&](NamedOffer offer) { Put(filler.job.run.offers, std::move(offer)); });
}

void FillGangStart(Filler& filler) {
  using Start = GangShape::Start;
  RunOptions& run = filler.job.run;
  filler.in.Choice<Start>(filler.opt, run.gang.start,
                          {{"each", Start::kEach},
                           {"mpi", Start::kEach},
                           {"pmix", Start::kEach},
                           {"node", Start::kNode},
                           {"first", Start::kFirst}});
  const auto typed = filler.in.words().Last(filler.opt);
  run.start_typed = typed.has_value();
  if (typed == "mpi") run.meets = GangPart::Meets::kPmi;
  if (typed == "pmix") run.meets = GangPart::Meets::kPmix;
}

// Several --retry-on of one command line add up, as the commas do.
void FillRetryOn(Filler& filler) {
  RetryPolicy& retry = filler.job.run.policy.retry;
  const std::string text = fmt::format("{}", fmt::join(filler.in.words().All(filler.opt), ","));
  RetryCauses causes;
  if (!filler.Read(causes, [&](std::string_view) { return ParseRetryCauses(text); })) return;
  retry.retry_on = causes.causes;
  retry.exits = std::move(causes.exits);
}

void FillTimeLimit(Filler& filler) {
  TimeLimit limit;
  if (!filler.Read(limit, ParseTimeLimit)) return;
  filler.job.run.settings.time_limit = limit.limit;
  filler.job.run.settings.time_limit_percent = limit.percent;
}

void FillWarnSignal(Filler& filler) {
  WarnSignal warn;
  if (!filler.Read(warn, ParseWarnSignal)) return;
  filler.job.run.settings.warn_signal = warn.number;
  filler.job.run.settings.warn_before = warn.before;
}

void FillLeftovers(Filler& filler) {
  RunOptions& run = filler.job.run;
  LeftoversRule leftovers;
  run.leftovers_given = filler.Read(leftovers, ParseLeftovers);
  if (!run.leftovers_given) return;
  run.settings.leftovers = leftovers.what;
  run.settings.leftovers_wait = leftovers.wait;
}

// An action without a resource is for all, whose own ones count, wherever they stand.
void FillOnExcess(Filler& filler) {
  JobSettings& settings = filler.job.run.settings;
  for (const bool single : {false, true}) {
    for (const std::string& value : filler.in.words().All(filler.opt)) {
      for (std::string_view part : SplitCommas(value)) {
        ExcessRule rule;
        if (!filler.Read(rule, [part](std::string_view) { return ParseExcessRule(part); })) return;
        if (rule.of.has_value() != single) continue;
        auto fill = [&](Resource what, OnExcess& action) {
          if (!rule.of || rule.of == what) action = rule.action;
        };
        fill(Resource::kCpu, settings.on_excess_cpu);
        fill(Resource::kMemory, settings.on_excess_memory);
        fill(Resource::kProcesses, settings.on_excess_processes);
      }
    }
  }
}

template <LimitKind kKind, auto kParse>
void FillLimit(Filler& filler) {
  uint64_t most = 0;
  if (filler.Read(most, kParse)) filler.job.run.settings.limits.push_back({kKind, most});
}

Result<uint64_t> ParseOpenFiles(std::string_view value) {
  auto count = ParseCountUpTo(value, 1u << 30);
  if (count && *count < 8) return Fail(ErrorKind::kInvalid, "a task needs at least 8 open files");
  return count ? Result<uint64_t>(*count) : std::unexpected(count.error());
}

void FillEnv(Filler& filler) {
  std::vector<std::string>& environment = filler.job.run.settings.environment;
  filler.in.Value(filler.opt, filler.job.environment);
  filler.ReadAll(ParseAssignment, [&](std::string assignment) {
    if (assignment.find('=') == std::string::npos) return;  // inherited anyway
    const std::string name = assignment.substr(0, assignment.find('=') + 1);
    std::erase_if(environment, [&](const std::string& known) { return known.starts_with(name); });
    environment.push_back(std::move(assignment));
  });
}

void FillAppend(Filler& filler) {
  Set<&JobSettings::append_output>(filler);
  Set<&ShowOptions::append_results>(filler);
}

void FillLabels(Filler& filler) { filler.job.run.needs.labels = filler.in.Names(filler.opt); }
void FillNotOn(Filler& filler) { filler.job.run.needs.not_on = filler.in.Names(filler.opt); }
void FillOnNode(Filler& filler) {
  for (std::string& name : filler.in.Names(filler.opt)) {
    filler.job.run.needs.on_node = std::move(name);
  }
}

constexpr Option kTasks[] = {
    {.names = "jobs,max-procs",
     .letters = "jP",
     .argument = "N|FILE",
     .heading = Heading::kSlots,
     .help = "tasks at once: N, 50%, +N, -N (default: all cores)",
     .more = "FILE (an existing file, or a name with a /) contains one of these values and is read "
             "again when it changes. 50%, +N and -N are relative to the cores that this process "
             "may use (affinity, cgroup quota), with a minimum of one task. 0 means as many as "
             "possible. The tasks' needs limit the number as well; the cores do not if -j exceeds "
             "their number and --cpus is not given.",
     .job = {FillJobs, kOfRuns, WhySlotsOnlyHere}},
    {.names = "delay",
     .argument = "T",
     .heading = Heading::kSlots,
     .help = "time between the starts of two tasks",
     .job = {Set<&JobSettings::start_delay>, kOfSettings}},
    {.names = "order",
     .argument = "WHICH",
     .heading = Heading::kSlots,
     .help = "order of starts: given (default), shuffle or longest",
     .more = "longest: the longest tasks first, by their times in the last run of the same "
             "commands; tasks without a known time start before all others.",
     .complete = Complete::kWords,
     .words = "given shuffle longest",
     .job = {Set<&RunOptions::order>, kOfFirst, WhyOrderOnlyHere}},
    {.names = "shuf",
     .heading = Heading::kSlots,
     .help = "short for --order shuffle",
     .short_for = "order",
     .short_for_value = "shuffle",
     .job = {nullptr, kOfFirst}},
    {.names = "min-free-memory",
     .argument = "SIZE",
     .heading = Heading::kSlots,
     .help = "start no tasks while less than SIZE is free",
     .job = {Set<&JobSettings::min_free_memory, ParseMemory>, kOfSettings}},
    {.names = "max-load",
     .argument = "N|N%",
     .heading = Heading::kSlots,
     .help = "start no tasks while the load is above N",
     .more = "N% is relative to the cores that this process may use.",
     .job = {Set<&RunOptions::max_load, ParseLoadBound>, kOfSettings, WhyLoadOnlyHere}},
    {.names = "nice",
     .argument = "N",
     .heading = Heading::kSlots,
     .help = "niceness of the tasks (-20 to 19)",
     .job = {Set<&JobSettings::nice, Between<-20, 19>>, kOfSettings}},
    {.names = "cpus,cores",
     .argument = "N",
     .heading = Heading::kNeeds,
     .help = "cores of one task; 0.5 is possible (default: 1)",
     .more = "0: tasks occupy no core, and only -j limits their number. {use cpu N} in a line of "
             "the list overrides this option.",
     .job = {FillCpus, kOfAll}},
    {.names = "memory,mem",
     .argument = "SIZE",
     .heading = Heading::kNeeds,
     .help = "memory of one task, enforced",
     .more = "A task that exceeds it is terminated and fails with the cause memory. A SIZE without "
             "a unit is in bytes, and at least 16000000. {use ram SIZE} in a line of the list "
             "overrides this option.",
     .job = {Set<&Needs::memory, ParseMemory>, kOfAll}},
    {.names = "max-processes",
     .argument = "N",
     .heading = Heading::kNeeds,
     .help = "processes of one task at once (default: no limit)",
     .more = "Threads count as well. A task that has more is terminated and fails with the cause "
             "excess (see --on-excess). The parts of a gang are counted on each node by itself.",
     .job = {Set<&JobSettings::max_processes, UpTo<kLimits.task_processes>>, kOfSettings}},
    {.names = "max-open-files",
     .argument = "N",
     .heading = Heading::kNeeds,
     .help = "open files of each process (default: the submitter's)",
     .more = "Sets the soft and the hard limit. A task whose node allows fewer does not start.",
     .job = {FillLimit<LimitKind::kOpenFiles, ParseOpenFiles>, kOfSettings}},
    {.names = "max-core",
     .argument = "SIZE",
     .heading = Heading::kNeeds,
     .help = "size of a core file (default: the submitter's)",
     .more = "0: crashes leave no core files. Sets the soft and the hard limit.",
     .job = {FillLimit<LimitKind::kCoreBytes, ParseSize>, kOfSettings}},
    {.names = "on-excess",
     .argument = "ACTION|RESOURCE=ACTION,...",
     .heading = Heading::kNeeds,
     .help = "if a task uses more: warn, stop or kill it",
     .more = "RESOURCE is memory, processes or cpu; without it, ACTION is for all three. kill (the "
             "default for memory and processes) ends the task. warn (the default for cpu) reports "
             "it: in the task's end, spate job info and spate events. stop stops the task as spate "
             "job stop does, until spate job cont; for cpu, the task gets no more than its --cpus. "
             "The use of cpus is judged over 10 seconds, with a tolerance of 25%.",
     .repeat = true,
     .complete = Complete::kWords,
     .words = "warn stop kill memory= processes= cpu=",
     .job = {FillOnExcess, kOfSettings}},
    {.names = "gpus",
     .argument = "N",
     .heading = Heading::kNeeds,
     .help = "GPUs of one task",
     .more = "SPATE_GPUS and the variable that selects the machine's GPUs (such as "
             "CUDA_VISIBLE_DEVICES) list them in the task's environment.",
     .job = {FillGpus, kOfAll}},
    {.names = "resource",
     .argument = "NAME=N",
     .heading = Heading::kNeeds,
     .help = "pieces of another resource that one task needs",
     .more = "SPATE_RESOURCE_NAME in the task's environment lists its pieces.",
     .repeat = true,
     .job = {FillResource, kOfAll}},
    {.names = "offer",
     .argument = "NAME=N|NAME=A,B,...",
     .heading = Heading::kNeeds,
     .help = "pieces of a resource that this machine offers",
     .more = "Give either the number of pieces (their names are then 0, 1, ...) or their names.",
     .repeat = true,
     .job = {FillOffer,
             HereAlone(
                 "the nodes of a hub declare their resources (spate node start --resource)")}},
    {.names = "procs",
     .argument = "N",
     .heading = Heading::kNeeds,
     .help = "run each task as a gang of N processes",
     .more = "All N processes start together, wherever there is room for them, or none starts. The "
             "other needs (--cpus, --memory, --gpus) are per process. In the environment of a "
             "process, SPATE_RANK is its number and SPATE_RANKS the number of processes "
             "(docs/user/gangs.md). With --nodes M, N must be a multiple of M.",
     .job = {Set<&GangShape::procs, ParseProcs>, kOfGangs}},
    {.names = "nodes",
     .argument = "N",
     .heading = Heading::kNeeds,
     .help = "run each task as a gang on N nodes",
     .more = "Each node runs the same number of processes: --procs-per-node, or --procs divided by "
             "N, or one if neither is given.",
     .job = {Set<&GangShape::nodes, ParseProcs>, kOfGangs}},
    {.names = "procs-per-node",
     .argument = "N",
     .heading = Heading::kNeeds,
     .help = "number of processes of a gang on each of its nodes",
     .job = {Set<&RunOptions::procs_per_node, ParseProcs>, kOfGangs}},
    {.names = "whole-nodes",
     .heading = Heading::kNeeds,
     .help = "reserve the nodes of a gang for the gang alone",
     .job = {Set<&GangShape::whole>, kOfGangs}},
    {.names = "start",
     .argument = "WHICH",
     .heading = Heading::kNeeds,
     .help = "how to start it: each, mpi, pmix, node or first",
     .more = "each (the default): once for every process of the gang. mpi: the same, as one "
             "program of MPICH, Intel MPI or MVAPICH, without mpirun (the default for programs of "
             "MPICH). pmix: the same for Open MPI, on nodes with the program spate-pmix (the "
             "default for programs of Open MPI if there are such nodes). node: once on every node. "
             "first: once, on the first node; the command starts the other processes itself, as "
             "mpirun does through spate remote.",
     .complete = Complete::kWords,
     .words = "each mpi pmix node first",
     .job = {FillGangStart, kOfGangs}},
    {.names = "bound",
     .argument = "WHAT",
     .heading = Heading::kNeeds,
     .help = "bottleneck of the tasks: cpu, memory or network",
     .more =
         "If possible, tasks of different jobs with the same bottleneck run on different nodes.",
     .complete = Complete::kWords,
     .words = "cpu memory network",
     .job = {Set<&RunOptions::bound>, kOfGangs}},
    {.names = "retries,retry",
     .argument = "N",
     .heading = Heading::kFailures,
     .help = "further tries of a failed task (default: 0)",
     .more =
         "--retries 2 means up to three tries in all. (GNU parallel and Parasol count all tries.)",
     .job = {Set<&RetryPolicy::retries, UpTo<kLimits.retries>>, kOfSettings}},
    {.names = "retry-on",
     .argument = "CAUSE,...",
     .heading = Heading::kFailures,
     .help = "causes of failures that are retried (default: all)",
     .more =
         "exit (any exit code but 0, and commands that could not be started), exit:3,75,137-140 "
         "(only these exit codes), signal (also exit code 128+N of a command in a shell), time, "
         "memory, excess, check, node. A retry goes to another node first, if there is one.",
     .repeat = true,
     .complete = Complete::kWords,
     .words = "exit exit: signal time memory excess check node",
     .job = {.fill = FillRetryOn, .use = kOfSettings, .replaces = true}},
    {.names = "retry-delay",
     .argument = "T",
     .heading = Heading::kFailures,
     .help = "pause before a retry",
     .job = {Set<&RetryPolicy::delay>, kOfSettings}},
    {.names = "retry-elsewhere",
     .argument = "N",
     .heading = Heading::kFailures,
     .help = "retries on other nodes before --retries (default: 0)",
     .more = "For programs that fail on some nodes. A task that ends with an error code, a signal "
             "or a failed check runs again on up to N other nodes.",
     .job = {Set<&RetryPolicy::elsewhere, UpTo<kLimits.retries>>, kOfSettings}},
    {.names = "retry-memory",
     .argument = "xN",
     .heading = Heading::kFailures,
     .help = "multiply --memory by N when a task runs out of it",
     .more =
         "Each such retry multiplies the memory again, up to --max-memory and to the memory of the "
         "largest node: --memory 2G --retries 2 --retry-memory x2 tries with 2, 4 and 8 GB.",
     .job = {Set<&RetryPolicy::memory_growth, ParseGrowth>, kOfSettings}},
    {.names = "max-memory",
     .argument = "SIZE",
     .heading = Heading::kFailures,
     .help = "upper limit for --retry-memory (default: none)",
     .job = {Set<&RetryPolicy::max_memory, ParseMemory>, kOfSettings}},
    {.names = "once",
     .heading = Heading::kFailures,
     .help = "never repeat a task whose outcome was lost",
     .more = "A task that was running when spate was killed then ends as unknown, and you decide "
             "whether to run it again.",
     .job = {Set<&RetryPolicy::once>, kOfSettings}},
    {.names = "time-limit,timeout",
     .argument = "T|N%",
     .heading = Heading::kFailures,
     .help = "terminate a task after T, or N% of the median time",
     .more = "The task gets TERM and, after --kill-grace, KILL. The median is that of the tasks "
             "that have succeeded so far, at least three of them.",
     .job = {FillTimeLimit, kOfAll}},
    {.names = "deadline",
     .argument = "WHEN",
     .heading = Heading::kFailures,
     .help = "latest time by which tasks must have ended",
     .more = "WHEN is 18:00 (today, or tomorrow if that time has passed), 'tomorrow 9:30', "
             "2027-01-31T18:00, or +2h from now. A job that cannot end by then (--time) is "
             "refused. A task that has not started in time is cancelled. A task that runs longer "
             "is stopped and not retried.",
     .job = {Set<&RunOptions::deadline_text>,
             {kOfFirst.by_way,
              "the tasks of a resumed run keep their deadline; start a new run without --resume"}}},
    {.names = "kill-grace",
     .argument = "T",
     .heading = Heading::kFailures,
     .help = "time between TERM and KILL (default: 10s)",
     .job = {Set<&JobSettings::kill_grace>, kOfSettings}},
    {.names = "signal",
     .argument = "NAME@T",
     .heading = Heading::kFailures,
     .help = "signal to send T before the time limit, as USR1@60s",
     .more = "For programs that save their state when they get a warning. Only the first process "
             "of the task gets the signal, not the processes that it has started: a script must "
             "pass the signal on, or start its program with exec. --signal requires a --time-limit "
             "longer than T. On nodes of a hub, the signal is also sent before a pilot's end.",
     .job = {FillWarnSignal, kOfSettings}},
    {.names = "leftovers",
     .argument = "wait[=T]|end|fail",
     .heading = Heading::kFailures,
     .help = "action on leftover processes (default: wait=30s)",
     .more =
         "A task succeeds when everything that it started has ended. wait: wait up to T for "
         "processes that outlive the command; the task fails if one of them fails or still runs "
         "after T. end: terminate them after a moment; the task succeeds. fail: the task fails. In "
         "all cases, daemons (processes with a session of their own, setsid) are terminated and "
         "reported. An end by HUP, INT, PIPE or TERM does not count as a failure here.",
     .complete = Complete::kWords,
     .words = "wait end fail",
     .job = {FillLeftovers, kOfSettings}},
    {.names = "warn-time",
     .argument = "T",
     .heading = Heading::kFailures,
     .help = "report tasks that run longer than T",
     .job =
         {Set<&JobSettings::warn_time>,
          {{kYes, kYes, kNo, kNo, kNo, kNo},
           "a hub's job has no terminal to report slow tasks to; use --time-limit, or watch them "
           "with spate job progress"}}},
    {.names = "max-failures",
     .argument = "N",
     .heading = Heading::kFailures,
     .help = "start no more tasks after N tasks have failed",
     .more = "Counts tasks that failed for good, not tries. 0: no limit.",
     .job = {Set<&JobPolicy::max_failures, UpTo<kLimits.tasks_per_job>>, kOfSettings}},
    {.names = "halt,halt-on-error",
     .argument = "WHEN,WHAT=N[%]",
     .heading = Heading::kFailures,
     .help = "when to stop early: now,fail=1 soon,done=50% never",
     .more = "WHEN is soon (start no more tasks) or now (also terminate running tasks); WHAT is "
             "fail, success or done, as in soon,success=1. Same as in GNU parallel, whose short "
             "forms 0, 1, 2, -1, -2 and N% are accepted. The exit code is 0 if enough tasks have "
             "succeeded (success), or if the tasks that are done have succeeded (done).",
     .complete = Complete::kWords,
     .words = "now,fail=1 soon,fail=1 now,success=1 soon,success=1 never",
     .job = {Set<&JobPolicy::halt, ParseHalt>, kOfSettings}},
    {.names = "env",
     .argument = "NAME[=VALUE]",
     .heading = Heading::kTask,
     .help = "set an environment variable for the tasks",
     .more = "Tasks inherit the environment of spate run or spate submit; --env adds to it. A NAME "
             "without a value is inherited like all others; with submit, --env none leaves out all "
             "variables that are not named.",
     .repeat = true,
     .job = {FillEnv, kOfSettings}},
    {.names = "cwd,work-dir,workdir,wd",
     .argument = "DIR",
     .heading = Heading::kTask,
     .help = "folder to run the tasks in",
     .complete = Complete::kFolder,
     .job = {Set<&RunOptions::cwd>, kOfNew}},
    {.names = "shell",
     .argument = "COMMAND",
     .heading = Heading::kTask,
     .help = "shell for lines and shell text (default: bash)",
     .more = "COMMAND may have arguments, separated by blanks, as in --shell 'bash -euo pipefail'. "
             "COMMAND -c TEXT runs for each line of a list, and for a command of one word. $SHELL "
             "is not used. Without --shell, text that needs no shell runs without one.",
     .complete = Complete::kFile,
     .job = {Set<&JobSettings::shell>, kOfNew}},
    {.names = "pipefail",
     .heading = Heading::kTask,
     .help = "let a pipe fail if one of its commands fails",
     .more = "Adds -o pipefail to the shell, which is bash if --shell is not given.",
     .job = {Set<&RunOptions::pipefail>, kOfNew}},
    {.names = "stdin",
     .argument = "FILE",
     .heading = Heading::kTask,
     .help = "standard input of a task (default: empty)",
     .more = "FILE may contain placeholders, as in --stdout and --stderr.",
     .complete = Complete::kFile,
     .job = {Set<&JobSettings::stdin_pattern>, kOfSettings}},
    {.names = "stdout",
     .argument = "FILE",
     .heading = Heading::kTask,
     .help = "file for a task's output, as out/{/.}.txt",
     .more = "Each task needs a file of its own, for example with {} or {#} in the name. If two "
             "tasks would write to the same file, nothing is started. See --append.",
     .complete = Complete::kFile,
     .job = {Set<&JobSettings::stdout_pattern>, kOfSettings}},
    {.names = "stderr",
     .argument = "FILE",
     .heading = Heading::kTask,
     .help = "file for a task's standard error",
     .complete = Complete::kFile,
     .job = {Set<&JobSettings::stderr_pattern>, kOfSettings}},
    {.names = "append",
     .heading = Heading::kTask,
     .help = "append to the files of --stdout and --stderr",
     .more = "The files are not emptied, neither before a task nor before its retries, and several "
             "tasks may share a file; each write goes to the end of the file. With --results DIR, "
             "tasks that have the same values share a folder.",
     .job = {FillAppend, kOfSettings}},
    {.names = "put",
     .argument = "FILE",
     .heading = Heading::kTask,
     .help = "hub nodes only: copy FILE to each task's folder",
     .more = "FILE is relative, may contain placeholders, and is read when the job is submitted. "
             "Limits: 16 MB per file, 64 MB per job. With --put or --get, each attempt runs in a "
             "new private folder below the node's --tmp.",
     .repeat = true,
     .complete = Complete::kFile,
     .job = {Set<&JobSettings::put_patterns>, kOfFiles}},
    {.names = "get",
     .argument = "FILE",
     .heading = Heading::kTask,
     .help = "hub nodes only: copy FILE back from the task's folder",
     .more = "FILE is relative and may contain placeholders; in gangs {rank} stands for each "
             "process. A task whose command succeeds without making FILE fails. The hub keeps the "
             "files; run --hub and submit --wait write them when the job has ended, and spate job "
             "get writes them later. Limits: 16 MB per file, 64 MB per task.",
     .repeat = true,
     .job = {Set<&JobSettings::get_patterns>, kOfFiles}},
    {.names = "forward",
     .argument = "VAR=FILE",
     .heading = Heading::kTask,
     .help = "append what a task writes to descriptor $VAR to FILE",
     .more = "For example: --forward OUT=all.csv -- 'echo {} >&$OUT'. The data of a task is "
             "appended in one piece, and only if the task has succeeded, so the data of different "
             "tasks is never mixed. FILE may contain placeholders. With a hub, run --hub, submit "
             "--wait and spate job get write FILE.",
     .repeat = true,
     .job = {Set<&JobSettings::forward_patterns>, kOfNew}},
    {.names = "forward-file",
     .argument = "SRC=FILE",
     .heading = Heading::kTask,
     .help = "append the file SRC of a task to FILE, and remove SRC",
     .more = "Same as --forward, with the contents of SRC at the end of the task; a missing SRC "
             "counts as empty.",
     .repeat = true,
     .job = {Set<&JobSettings::forward_file_patterns>, kOfNew}},
    {.names = "resident",
     .heading = Heading::kTask,
     .help = "run one process per slot and feed it task by task",
     .more = "For commands that take long to start. The command is used as written, without "
             "placeholders. It reads tasks from descriptor $SPATE_RESIDENT_IN and answers on "
             "$SPATE_RESIDENT_OUT (docs/formats/resident.md; the helper spate_resident.py does "
             "that for Python). A task is its values, joined by tabs, or a line of a list: spate "
             "run LIST --resident -- COMMAND. A program must flush its output before each answer; "
             "for Python Spate sets PYTHONUNBUFFERED=1 unless the variable is set.",
     .job = {Set<&SourceOptions::resident>,
             {{kKept, kNoUse, kNoUse, kYes, kYes, kYes, kYes}, kNewRun}}},
    {.names = "no-ulimits",
     .heading = Heading::kTask,
     .help = "do not pass on this shell's limits and niceness",
     .more = "Tasks on a hub's nodes get the soft limits of the submitting shell (ulimit -S -s -n "
             "-c) and its niceness, as far as the nodes allow. With this option they have those of "
             "the node.",
     .job = {Set<&RunOptions::no_ulimits>,
             {kOfFiles.by_way,
              "only for nodes of a hub (spate run --hub, spate submit); tasks on this machine have "
              "the limits of this shell"}}},
    {.names = "measure-io",
     .heading = Heading::kTask,
     .help = "measure bytes read and written (20-50 us per task)",
     .job = {Set<&JobSettings::measure_io>, kOfSettings}}};

constexpr Option kNodes[] = {
    {.names = "time",
     .argument = "T",
     .heading = Heading::kNeeds,
     .help = "expected time of a task, for planning",
     .more = "A task starts only on a node that has at least T of its life left, and only T or "
             "more before its --deadline. A gang without --time never starts before its turn, and "
             "delays others; for a gang with it, --time-limit is T unless given.",
     .job = {Set<&Needs::time>, kOfAll}},
    {.names = "label",
     .argument = "LABEL",
     .heading = Heading::kNeeds,
     .help = "use only nodes with this label",
     .repeat = true,
     .job = {FillLabels, kOfNodes}},
    {.names = "on",
     .argument = "NODE",
     .heading = Heading::kNeeds,
     .help = "use only this node",
     .job = {FillOnNode, kOfNodes}},
    {.names = "not-on",
     .argument = "NODE",
     .heading = Heading::kNeeds,
     .help = "do not use this node (may be given several times)",
     .repeat = true,
     .job = {FillNotOn, kOfNodes}},
    {.names = "pool",
     .argument = "NAME",
     .heading = Heading::kNeeds,
     .help = "use only nodes of this pool or group of pools",
     .more = "Short for --label pool:NAME; the pool must exist.",
     .job = {Set<&SubmitOptions::pool>, kOfSubmit}}};

}  // namespace

namespace opt {

const OptionRows kTaskRows = kTasks;
const OptionRows kNodeRows = kNodes;
const Option& kJobs = Named(kTasks, "jobs");
const Option& kCpus = Named(kTasks, "cpus");
const Option& kMemory = Named(kTasks, "memory");
const Option& kGpus = Named(kTasks, "gpus");
const Option& kResource = Named(kTasks, "resource");
const Option& kTimeLimit = Named(kTasks, "time-limit");
const Option& kDeadline = Named(kTasks, "deadline");
const Option& kEnv = Named(kTasks, "env");
const Option& kPlanTime = Named(kNodes, "time");
const Option& kWithLabel = Named(kNodes, "label");
const Option& kOnNode = Named(kNodes, "on");
const Option& kNotOnNode = Named(kNodes, "not-on");
const Option& kInPool = Named(kNodes, "pool");

}  // namespace opt
}  // namespace spate::cli
