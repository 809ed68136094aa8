#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/units.h"
#include "cli/finish_output.h"
#include "cli/options/gang_options.h"
#include "cli/options/list_files.h"
#include "cli/options/submit_options.h"
#include "cli/report.h"
#include "format/expand.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/find_program.h"
#include "os/process.h"
#include "os/terminal.h"
#include "plan/batch_script.h"
#include "plan/file_check.h"
#include "plan/job_text.h"
#include "plan/mpi_check.h"
#include "plan/placeholder_check.h"
#include "plan/shared_needs.h"
#include "plan/start_order.h"
#include "plan/this_machine.h"
#include "plan/value_list.h"
#include "present/advice.h"

namespace spate::run {
namespace {

using From = cli::InputOptions::From;

std::string FolderOf(const Plan& plan) { return os::JoinPath(plan.here.cwd, plan.options.cwd); }

bool IsPiped(const Plan& plan) { return plan.options.sources.input.from == From::kPipe; }

TasksRun WhereOf(const Plan& plan) {
  const bool on_nodes = plan.whom == Plan::For::kOnNodes || plan.whom == Plan::For::kAdded;
  return on_nodes ? TasksRun::kOnNodes : TasksRun::kHere;
}

Status MpiOnNodes(Plan& plan) {
  return cli::CheckMpi(plan.options, FolderOf(plan),
                       {.say = [](const std::string& text) { cli::PrintMessage(text); },
                        .pmix_nodes = plan.pmix_nodes});
}

Status BatchScript(Plan& plan) {
  auto read = [folder = FolderOf(plan)](const std::string& file) {
    return ReadBeginning(os::JoinPath(folder, file));
  };
  auto note = TRY(cli::CheckBatchScript(plan.words, plan.argv, plan.options, read));
  if (!note.empty() && plan.options.show.form != cli::OutputForm::kQuiet) cli::PrintMessage(note);
  return {};
}

Status SettingsHere(Plan& plan) {
  plan.settings = cli::SettingsOf(plan.options, plan.here.cwd, plan.here.machine.facts().cores);
  plan.settings.bash = plan.settings.shell.empty() && !os::FindBash().empty();
  // Without --cpus a task's request is a place to run at, and no word about its use.
  const bool judged = plan.options.cpus_given;
  if (judged && plan.settings.on_excess_cpu == OnExcess::kUsual) {
    plan.settings.on_excess_cpu = OnExcess::kWarn;
  }
  return {};
}

// The soft limits and the niceness of whoever submits.
void AddOwnLimits(const Plan& plan, JobSettings& settings) {
  if (plan.options.no_ulimits) return;
  const os::OwnLimits own = os::GetOwnLimits();
  settings.soft_limits = {{LimitKind::kStackBytes, own.stack_bytes},
                          {LimitKind::kCoreBytes, own.core_bytes},
                          {LimitKind::kOpenFiles, plan.here.open_files}};
  settings.nice = std::clamp(settings.nice + own.nice, -20, 19);
}

Status SettingsOnNodes(Plan& plan) {
  const bool climbs = plan.options.cwd.contains("..");
  const std::string folder = climbs ? plan.here.cwd : client::LogicalDirOf(plan.here);
  JobSettings& settings = plan.settings;
  settings = cli::SettingsOf(plan.options, folder, plan.here.machine.facts().cores);
  settings.environment =
      TRY(cli::CaptureEnvironment(plan.environment, plan.here.environment.entries()));
  settings.umask = static_cast<int>(os::CurrentUmask());
  AddOwnLimits(plan, settings);
  if (settings.on_excess_cpu == OnExcess::kUsual) settings.on_excess_cpu = OnExcess::kWarn;
  settings.live_output = false;
  settings.bash = plan.bash && settings.shell.empty();
  return {};
}

Status Sources(Plan& plan) {
  TRY(cli::CheckSources(plan.options));
  return cli::CheckListFiles(plan.options.sources.files);
}

Status Folder(Plan& plan) {
  auto info = os::Stat(plan.settings.cwd);
  if (!info) {
    const std::string whose = plan.options.cwd.empty() ? "the current folder: " : "--cwd: ";
    return Fail(ErrorKind::kInvalid, whose + info.error().message);
  }
  if (info->kind == os::FileKind::kDir) return {};
  return Fail(ErrorKind::kInvalid,
              fmt::format("--cwd: '{}' is not a folder", EscapeForScreen(plan.settings.cwd)));
}

Status SharedNeeds(Plan& plan) {
  // A job that comes before may make the file of --stdin.
  if (plan.waits) return CheckShell(plan.here, plan.settings, WhereOf(plan));
  return CheckSharedNeeds(plan.here, plan.settings, WhereOf(plan));
}

// A regular file without --follow-until is refused, because its end does not show when its writers
// have finished.
Status Followed(Plan& plan) {
  const cli::SourceOptions& sources = plan.options.sources;
  if (!sources.follow) return {};
  TRY(cli::CheckLaterOutputs(OutputRulesOf(plan.options, plan.settings), "--follow"));
  for (const std::string& file : sources.files) {
    const bool is_stdin = file == "-";
    auto info = is_stdin ? os::StatFd(os::kStdin, file) : os::Stat(file);
    if (!sources.follow_until.empty() || !info || info->kind != os::FileKind::kFile) continue;
    return Fail(ErrorKind::kInvalid,
                fmt::format("--follow: {} is a file, which does not show when its writers have "
                            "finished; name the line that they write last (--follow-until TEXT), "
                            "or write: tail -n +1 -F {} | spate run --follow -",
                            is_stdin ? "standard input" : EscapeForScreen(file),
                            is_stdin ? "FILE" : ShellQuote(file)));
  }
  return {};
}

Status Piped(Plan& plan) {
  if (!IsPiped(plan)) return {};
  if (!cli::StdinIsSource(os::kStdin)) {
    return Fail(ErrorKind::kInvalid, "--pipe: nothing comes on standard input",
                Remedy("; write ... | {}, or < FILE", Advice("run", "--pipe", "--", "COMMAND")));
  }
  if (plan.dry_run) {
    return Fail(ErrorKind::kInvalid,
                "--pipe --dry-run: how many tasks there are shows only when the input is read");
  }
  plan.settings.row_kind = RowKind::kInput;
  plan.settings.command = plan.options.sources.command;
  TRY(format::CompileJob(plan.settings, JobId(1)));
  // No two pieces have the same results.
  return cli::CheckLaterOutputs({.settings = plan.settings}, "--pipe");
}

Status Tasks(Plan& plan) {
  if (plan.comes_later()) {
    if (!IsPiped(plan)) plan.settings.row_kind = RowKind::kListLine;
    plan.tasks.rows = [](const cli::RowVisitor&) {};
    plan.tasks.requests = {cli::ClassOf(plan.options)};
    plan.tasks.needs_shell = !IsPiped(plan) || format::MayNeedShell(plan.settings);
    return {};
  }
  const bool here = WhereOf(plan) == TasksRun::kHere;
  const uint32_t slots = here ? OfferOf(plan.options, plan.here).slots : 1;
  cli::LoadContext context = LoadContextOf(plan.settings, slots, !plan.dry_run);
  context.may_follow = here && !plan.dry_run;
  context.known_names = plan.known_names;
  plan.tasks = TRY(cli::LoadTaskList(plan.options, context, plan.settings));
  return {};
}

Status Outputs(Plan& plan) {
  if (!plan.writes) return CheckOutputs(plan.options, plan.settings, plan.tasks.rows);
  return cli::CheckOutputs(OutputRulesOf(plan.options, plan.settings), plan.writes);
}

constexpr unsigned Of(Plan::For whom) { return 1u << static_cast<unsigned>(whom); }
constexpr unsigned kHere = Of(Plan::For::kHere);
constexpr unsigned kNodes = Of(Plan::For::kOnNodes);
constexpr unsigned kAdded = Of(Plan::For::kAdded);
constexpr unsigned kResumed = Of(Plan::For::kResumed);
constexpr unsigned kRetried = Of(Plan::For::kRetried);
constexpr unsigned kSent = kNodes | kAdded;
constexpr unsigned kNew = kHere | kSent;
// More of when a step is taken.
constexpr unsigned kToStart = 1u << 8;     // not for --dry-run
constexpr unsigned kTypedLater = 1u << 9;  // --follow and --pipe alone
constexpr unsigned kWhole = 1u << 10;      // not for tasks that come later

struct Step {
  unsigned when;
  Status (*take)(Plan& plan);
};
constexpr Step kSteps[] = {
    {kNew, [](Plan& plan) { return cli::SetDeadline(plan.options, os::Clock().Now()); }},
    {kHere, [](Plan& plan) { return cli::CheckMpiHere(plan.options, FolderOf(plan)); }},
    {kNew, BatchScript},
    {kSent, MpiOnNodes},
    {kHere, SettingsHere},
    {kSent, SettingsOnNodes},
    {kNew, Sources},
    {kHere, Folder},
    {kHere | kTypedLater,
     [](Plan& plan) { return cli::CheckPlaceholders(plan.options, plan.settings); }},
    {kHere | kTypedLater | kToStart, SharedNeeds},
    {kHere, Followed},
    {kHere, Piped},
    {kNew, Tasks},
    {kResumed | kRetried, [](Plan& plan) { return plan.check_failures(); }},
    {kNodes | kResumed | kToStart, SharedNeeds},
    {kNew | kResumed | kRetried, Outputs},
    {kSent, [](Plan& plan) { return cli::CheckTaskFiles(plan.tasks, plan.settings); }},
    {kHere | kRetried | kToStart | kWhole,
     [](Plan& plan) { return CheckNeeds(plan.tasks, OfferOf(plan.options, plan.here)); }},
    {kHere | kRetried | kToStart | kWhole, SharedNeeds},
};

}  // namespace

bool Plan::comes_later() const {
  const cli::SourceOptions& sources = options.sources;
  const bool new_here = whom == For::kHere && !dry_run;
  return new_here && (sources.follow || sources.input.from == From::kPipe);
}

Status MakePlan(Plan& plan) {
  const cli::SourceOptions& sources = plan.options.sources;
  const bool typed_later = sources.follow || IsPiped(plan);
  for (const Step& step : kSteps) {
    if ((step.when & Of(plan.whom)) == 0) continue;
    if ((step.when & kToStart) != 0 && plan.dry_run) continue;
    if ((step.when & kTypedLater) != 0 && !typed_later) continue;
    if ((step.when & kWhole) != 0 && plan.comes_later()) continue;
    TRY(step.take(plan));
  }
  return {};
}

// The order of starting; empty: as given. To another hub it goes in one message.
Result<std::vector<TaskIndex>> OrderOf(const Plan& plan) {
  constexpr uint32_t kMostSent = 3'000'000;
  const cli::RunOptions& options = plan.options;
  const cli::TaskList& tasks = plan.tasks;
  if (options.order == cli::TaskOrder::kLongest && plan.longest_first) {
    return plan.longest_first(tasks.rows);
  }
  if (options.order != cli::TaskOrder::kShuffle) return std::vector<TaskIndex>();
  if (plan.whom == Plan::For::kHere || tasks.count <= kMostSent) {
    return cli::Shuffled(tasks.count, static_cast<uint64_t>(os::Clock().Now().ns));
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("--order shuffle: a hub accepts at most {} tasks in an order other than "
                          "that of the list; shuffle the list itself (shuf)",
                          FormatCount(kMostSent)));
}

Result<client::Submission> SubmissionOf(Plan plan, std::vector<std::string> argv) {
  const cli::RunOptions& options = plan.options;
  cli::TaskList& tasks = plan.tasks;
  auto order = TRY(OrderOf(plan));
  const bool forwards = cli::HasForwards(tasks, plan.settings);
  auto made = client::Submission::Of(std::move(plan.settings), std::move(argv));
  made.forwards = forwards;
  wire::Submit& head = made.head;
  head.host = plan.here.machine.facts().host_name;
  head.policy = options.policy;
  for (const std::string& file : options.sources.files) {
    head.files.push_back(ListName(plan.here.cwd, file));
  }
  head.name = cli::NameOf(options);
  head.keep_output = options.keep_output;
  head.open = options.sources.follow || IsPiped(plan);
  made.rows = std::move(tasks.rows);
  made.edges = std::move(tasks.edges);
  made.end = {.count = tasks.count,
              .requests = std::move(tasks.requests),
              .runs = std::move(tasks.runs),
              .order = std::move(order),
              .known_tasks = tasks.known_tasks};
  return made;
}

int PrintCommands(const cli::RowSource& rows, const JobSettings& settings, JobId job,
                  const std::function<bool(TaskIndex)>& wanted) {
  auto compiled = format::CompileJob(settings, job);
  if (!compiled) return cli::ReportError(compiled.error());
  TaskIndex next = 0;
  rows([&](std::string_view row) {
    const TaskIndex index = next++;
    if (!wanted(index) || std::ferror(stdout) != 0) return;
    const std::string line = format::CommandText(*compiled, row, index, 1) + '\n';
    std::fwrite(line.data(), 1, line.size(), stdout);
  });
  return cli::FinishOutput();
}

void TellOfArray(const cli::RunOptions& options) {
  const cli::SourceOptions& sources = options.sources;
  const bool asks = format::AsksForValue(sources.command, options.settings.replace);
  if (!sources.array || asks || options.show.form != cli::OutputForm::kHuman) return;
  const bool reads = std::ranges::any_of(
      sources.command, [](const std::string& word) { return word.contains("SPATE_"); });
  if (reads) return;
  fmt::print(stderr,
             "spate: the command has no {{}}, so every task of the array runs the same words; its "
             "number is in ${}\n",
             format::kArrayVariable);
}

}  // namespace spate::run
