// `spate shell`: a job whose task is a terminal (remote/kept_terminal.h), and a visit to it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/conclude.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "cli/options/submit_options.h"
#include "cli/report.h"
#include "command/history_call.h"
#include "command/spate/visiting.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "present/why.h"
#include "remote/kept_terminal.h"
#include "submit/hub_submit.h"
#include "wire/questions.h"
#include "wire/read_environment.h"

namespace spate::cli::command {
namespace {

constexpr Duration kLook = Duration::Millis(200);
constexpr int kTries = 100;
constexpr Duration kSayWhy = Duration::Seconds(2);

constexpr Option kKeepShell = {
    .names = "keep",
    .heading = Heading::kSelect,
    .help = "let the shell survive a lost connection",
    .more = "`spate shell --attach JOB` returns to it. Without this option it ends as with ssh."};
constexpr Option kAttachTo = {.names = "attach",
                              .argument = "JOB",
                              .heading = Heading::kSelect,
                              .help = "return to the shell of job JOB"};
constexpr Option kLikeTask = {
    .names = "like",
    .argument = "TASK",
    .heading = Heading::kSelect,
    .help = "use the needs, environment, folder and node of a task",
    .more = "TASK is a task of yours, such as 12.3, in any state. Further options come on top."};

// ---- The job -----------------------------------------------------------------------------------

void AddOption(std::vector<std::string>& typed, std::string_view name, std::string_view value) {
  typed.push_back(fmt::format("--{}={}", name, value));
}

void AddNeeds(std::vector<std::string>& typed, const Needs& needs) {
  AddOption(typed, "cpus", fmt::format("{}", needs.milli_cpus / 1000.0));
  if (needs.memory > 0) AddOption(typed, "memory", fmt::format("{}", needs.memory));
  for (const NamedNeed& need : needs.named) {
    AddOption(typed, "resource", fmt::format("{}={}", need.name, need.count));
  }
  for (const std::string& label : needs.labels) {
    if (!label.starts_with('@')) AddOption(typed, "label", label);
  }
}

// The options that make a shell like this task, in front of those that were typed.
Result<std::vector<std::string>> OptionsLike(HistoryCall& call, const std::string& word) {
  auto picks = TRY(SelectTasks(std::vector<std::string>{word}));
  std::vector<TasksOfJob>& tasks = picks.front().tasks;
  if (tasks.size() != 1 || tasks.front().all) {
    return Fail(ErrorKind::kInvalid, "name one task, as in: --like 12.3");
  }
  client::Asker& whom = *TRY(call.Whom());
  TRY(LookUpNames(whom, tasks));
  std::vector<TaskDetails> found;
  wire::DescribeTasks question;
  question.tasks.push_back({.jobs = {}, .tasks = tasks});
  TRY(call.Query(std::move(question), [&](TaskDetails task) { found.push_back(std::move(task)); }));
  if (found.size() != 1) return Fail(ErrorKind::kInvalid, "name one task, as in: --like 12.3");
  const TaskDetails& task = found.front();
  auto environment = TRY(client::QueryOne(whom, wire::ReadEnvironment{tasks.front()}));
  std::vector<std::string> typed;
  AddOption(typed, "env", "none");
  for (const std::string& each : environment.environment) AddOption(typed, "env", each);
  if (!task.cwd.empty()) AddOption(typed, "cwd", task.cwd);
  if (task.asks) AddNeeds(typed, task.asks->needs);
  std::string node;
  if (!task.attempts.empty()) node = task.attempts.back().node;
  wire::LookAtJobs running{.jobs = {.ranges = {{task.job.job.value, task.job.job.value, 1}}}};
  TRY(call.Query(std::move(running), [&](const wire::JobNow& now) {
    for (const RunningFacts& run : now.running) {
      if (run.task == task.task.index + 1) node = run.node;
    }
  }));
  if (!node.empty()) AddOption(typed, "on", node);
  return typed;
}

// For a body without a place of its own: what --like meant.
std::vector<std::string> like_options;

Result<int> LookLike(HistoryCall& call) {
  like_options = TRY(OptionsLike(call, std::string(*call.words().Last(kLikeTask))));
  return kExitSuccess;
}

Result<JobId> SubmitShell(const Invocation& typed) {
  Invocation invocation = typed;
  std::vector<std::string> argv = std::exchange(like_options, {});
  argv.insert(argv.end(), typed.argv.begin(), typed.argv.end());
  argv.insert(argv.end(), {"--", remote::kThisProgram, remote::kTerminalArgument});
  if (typed.words.Has(kKeepShell)) argv.emplace_back(remote::kKeepArgument);
  invocation.words = TRY(ParseWords(*typed.words.command, argv));
  invocation.argv = typed.argv;
  auto options = TRY(MakeSubmitOptions(invocation.words));
  if (!options.run.gang.empty()) {
    return Fail(ErrorKind::kInvalid,
                "a shell is one process on one node; for several, submit a gang and enter it with "
                "spate exec");
  }
  options.environment.push_back(
      fmt::format("{}={}", remote::kTerminalSecret, TRY(remote::MakeTerminalSecret())));
  return submit::SubmitOne(invocation, std::move(options));
}

// ---- The visit ---------------------------------------------------------------------------------

// The job until its task runs, and whether its user has lost patience.
class Waiting {
 public:
  Waiting(HistoryCall& call, uint32_t job) : call_(call), job_(job) {}
  // kInvalid: the job has ended; kCancelled by Ctrl-C is the exit code kExitInterrupted.
  Result<int> Run(bool may_cancel);

 private:
  Result<std::optional<wire::JobNow>> JobNow();

  HistoryCall& call_;
  const uint32_t job_;
  bool interrupted_ = false;
};

Result<std::optional<wire::JobNow>> Waiting::JobNow() {
  std::optional<wire::JobNow> now;
  TRY(call_.Query(wire::LookAtJobs{.jobs = {.ranges = {{job_, job_, 1}}}},
                  [&](wire::JobNow answer) { now = std::move(answer); }));
  return now;
}

Result<int> Waiting::Run(bool may_cancel) {
  auto loop = TRY(os::RealLoop::Create());
  loop->OnSignal(os::kSignalInt, [&] {
    interrupted_ = true;
    loop->Stop();
  });
  const Instant begun = loop->Now();
  std::string told;
  for (;;) {
    const auto now = TRY(JobNow());
    if (!now) {
      return Fail(ErrorKind::kUnavailable, fmt::format("the shell of job {} has ended", job_),
                  SeeAlso("task info", fmt::format("{}.1", job_)));
    }
    if (!now->running.empty()) return kExitSuccess;
    const std::string why = present::TextOf(now->waits, call_.StateOption());
    if (loop->Now() - begun > kSayWhy && !why.empty() && why != told) {
      call_.Report(fmt::format("waiting: {}", why));
      told = why;
    }
    const os::TimerId timer = loop->At(loop->Now() + kLook, [&] { loop->Stop(); });
    loop->Run();
    loop->Cancel(timer);
    if (!interrupted_) continue;
    if (may_cancel) {
      wire::Cancel cancel;
      cancel.jobs.ranges = {{job_, job_, 1}};
      TRY(client::QueryOne(*TRY(call_.Whom()), std::move(cancel)));
      call_.Report(fmt::format("job {} was cancelled", job_));
    }
    return kExitInterrupted;
  }
}

Result<int> Attach(HistoryCall& call, bool is_new) {
  const auto job = TRY(SelectJobs(call.words().words));
  if (job.ranges.size() != 1 || job.ranges.front().first != job.ranges.front().last) {
    return Fail(ErrorKind::kInvalid, "--attach: name one job by its number");
  }
  const uint32_t number = job.ranges.front().first;
  const VisitWish wish{.task = {.job = number, .ranges = {{1, 1, 1}}, .names = {}},
                       .rank = 0,
                       .words = {remote::kThisProgram, remote::kAttachArgument},
                       .terminal = true,
                       .ports = {}};
  Result<int> visited = kVisitFailure;
  // A node reports a task as running a moment before it can be entered.
  for (int i = 0; i < kTries; ++i) {
    const int ready = TRY(Waiting(call, number).Run(is_new));
    if (ready != kExitSuccess) return ready;
    visited = VisitTask(call, wish);
    if (visited || visited.error().kind != ErrorKind::kUnavailable) break;
    call.environment().pause(kLook);
  }
  const int code = TRY(std::move(visited));
  if (code == kVisitFailure && (!is_new || call.words().Has(kKeepShell))) {
    call.Report(fmt::format("to return to the shell while it runs: spate shell{} --attach {}",
                            call.StateOption(), number));
  }
  return code;
}

Result<int> AttachNew(HistoryCall& call) { return Attach(call, /*is_new=*/true); }
Result<int> AttachAgain(HistoryCall& call) { return Attach(call, /*is_new=*/false); }

int Shell(const Invocation& invocation) {
  const Words& words = invocation.words;
  World& world = *invocation.wiring->world;
  auto fail = [&](Error error) { return Conclude(invocation, std::unexpected(std::move(error))); };
  if (words.has_rest) {
    return fail({ErrorKind::kInvalid,
                 "spate shell starts your shell ($SHELL); run a command with spate submit"});
  }
  if (!IsAtTerminal()) {
    return fail({ErrorKind::kInvalid,
                 "spate shell needs a terminal as standard input and output; run a command with "
                 "spate submit"});
  }
  Invocation visit = invocation;
  if (auto job = words.Last(kAttachTo)) {
    visit.words.words = {std::string(*job)};
    return world.LookIntoHub(visit, AttachAgain);
  }
  if (words.Has(kLikeTask)) {
    const int looked = world.LookIntoHub(invocation, LookLike);
    if (looked != kExitSuccess) return looked;
  }
  auto job = SubmitShell(invocation);
  if (!job) return fail(std::move(job.error()));
  PrintMessage(fmt::format("job {}", job->value));
  visit.words.words = {fmt::format("{}", job->value)};
  return world.LookIntoHub(visit, AttachNew);
}

}  // namespace

extern const Command kSpateShell = {
    .order = 171,
    .group = CommandGroup::kHub,
    .name = "shell",
    .arguments = "",
    .completes = Completes::kNothing,
    .summary = "open a shell on a node of a hub",
    .details =
        "The shell is a job of its own, which waits for room as others do, has the limits of its "
        "needs, and is shown by `spate ps` and `spate job list`. It is $SHELL, in the current "
        "folder and environment. The exit code is that of the shell; 255 means that the connection "
        "was lost. The keys Enter ~ . leave it. The job ends with the shell, and the shell ends "
        "when it is left or the connection is lost, unless --keep was given. Node and client must "
        "reach each other by TCP (`spate node start --gang-port`).",
    .examples = {{{"spate shell --cpus 4 --memory 8G", "4 cores and 8 GB"},
                  {"spate shell --like 12.3", "where task 3 of job 12 failed"},
                  {"spate shell --keep", "a shell that survives a lost connection"},
                  {"spate shell --attach 14", "return to it"}}},
    .makes = Makes::kSubmission,
    .words_max = 0,
    .takes_command = true,
    .options = {{opt::kTaskRows, kKeepShell, kAttachTo, kLikeTask, opt::kState, opt::kAccess,
                 opt::kNodeRows}},
    .run = Shell,
};

}  // namespace spate::cli::command
