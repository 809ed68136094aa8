// `spate job top`: the tasks of a job that run, longest first, of a hub's job or a run's. On a
// terminal it is redrawn every second, on the alternate screen, until the job has ended.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/job/job_text.h"
#include "command/job/output.h"
#include "command/live_screen.h"
#include "present/json/json_fields.h"
#include "present/table/table.h"
#include "present/text/end_text.h"
#include "view/task_text.h"

namespace spate::cli::command {
namespace {

constexpr Option kOneLook = {
    .names = "once", .heading = Heading::kOutput, .help = "print the current state once and exit"};

constexpr uint64_t kRows = 20;
constexpr uint64_t kLinesAround = 3;  // the job's, the table's head, and how many more there are
struct RunningTask {
  TaskFacts facts;
  std::optional<Instant> since;
  std::string node;  // of a hub's job
};

struct JobLook {
  JobFacts job;
  std::vector<RunningTask> running;  // longest first; those of whom no start is known at the end

  bool goes_on() const {
    return job.state == JobStanding::kRunning || job.state == JobStanding::kQueued ||
           job.state == JobStanding::kHeld || IsStopped(job.state);
  }
};

// Since when tasks of the job run, by number: a hub asks its nodes, here their processes tell.
Status AskStarts(HistoryCall& call, JobLook& look) {
  std::map<uint32_t, std::pair<Instant, std::string>> starts;
  const JobId job = look.job.job;
  if (call.on_hub()) {
    auto told = call.Query(wire::ListNodes(), [&](const NodeFacts& node) {
      for (const RunFacts& run : node.runs) {
        if (run.job == job) starts[run.task] = {run.since, node.name};
      }
    });
    if (!told) return told;
  } else if (!look.running.empty()) {
    wire::TaskPick pick;
    TasksOfJob tasks{.job = job.value};
    for (const RunningTask& task : look.running) {
      tasks.ranges.push_back({task.facts.index + 1, task.facts.index + 1, 1});
    }
    pick.tasks.push_back(std::move(tasks));
    auto told = call.Query(wire::DescribeTasks{{std::move(pick)}}, [&](const TaskDetails& task) {
      if (task.live) starts[task.task.index + 1] = {task.live->since, ""};
    });
    if (!told) return told;
  }
  for (RunningTask& task : look.running) {
    auto found = starts.find(task.facts.index + 1);
    if (found == starts.end()) continue;
    task.since = found->second.first;
    task.node = found->second.second;
  }
  // A node has some ahead, which it has not started.
  if (call.on_hub()) std::erase_if(look.running, [](const auto& task) { return !task.since; });
  return {};
}

Result<JobLook> Look(HistoryCall& call) {
  auto selector = TRY(SelectOneJob(call.words()));
  std::optional<JobFacts> job;
  auto told = call.Query(wire::DescribeJobs{std::move(selector)},
                         [&](JobDetails details) { job = std::move(details.job); });
  if (!told) return std::unexpected(std::move(told.error()));
  if (!job) return Fail(ErrorKind::kNotFound, "no such job");
  JobLook look{.job = std::move(*job), .running = {}};
  wire::ListTasks question;
  question.tasks.push_back(
      {.jobs = {.ranges = {{look.job.job.value, look.job.job.value, 1}}}, .tasks = {}});
  question.states = 1u << static_cast<unsigned>(TaskState::kLeased);
  told = call.Query(std::move(question), [&](wire::TasksListed some) {
    for (TaskFacts& task : some.tasks) {
      if (!task.is_next) look.running.push_back({std::move(task), {}, {}});
    }
  });
  if (!told) return std::unexpected(std::move(told.error()));
  TRY(AskStarts(call, look));
  std::ranges::stable_sort(look.running, {}, [](const RunningTask& task) {
    return task.since.value_or(Instant{INT64_MAX});
  });
  return look;
}

// "job 12  align  running: 3 of 6 done, 1 failed, 2 running"
std::string HeadOf(const JobLook& look) {
  const JobCounts& counts = look.job.counts;
  std::string text =
      fmt::format("job {}  {}  {}: {} of {} done", look.job.job.value,
                  EscapeForScreen(look.job.name.value_or("-")), WordOf(look.job.outcome()),
                  FormatCount(counts.succeeded), FormatCount(counts.total));
  if (look.job.failed() > 0) text += fmt::format(", {} failed", FormatCount(look.job.failed()));
  return text + fmt::format(", {} running\n", FormatCount(look.running.size()));
}

std::string TextOf(const HistoryCall& call, const JobLook& look, uint64_t rows) {
  std::string text = HeadOf(look);
  if (look.running.empty()) return text;
  std::vector<present::Column> columns = {{"TASK", present::Align::kRight},
                                          {"RUNS FOR", present::Align::kRight}};
  if (call.on_hub()) columns.push_back({"NODE", present::Align::kLeft, 8});
  columns.push_back({"TRY", present::Align::kRight});
  columns.push_back({"COMMAND", present::Align::kLeft, 8});
  present::Table table(std::move(columns), call.width(), call.environment().colour,
                       [&](std::string_view bytes) { text += bytes; });
  const Instant now = call.environment().now();
  for (const RunningTask& task :
       std::span(look.running).first(std::min<size_t>(rows, look.running.size()))) {
    std::vector<present::Cell> cells = {
        {fmt::format("{}", task.facts.index + 1)},
        {task.since ? FormatDuration(std::max(now - *task.since, Duration())) : "-"}};
    if (call.on_hub()) cells.push_back({task.node});
    cells.push_back({fmt::format("{}", task.facts.tries + 1)});
    cells.push_back({task.facts.command});
    table.Add(std::move(cells));
  }
  table.Finish();
  if (look.running.size() > rows) {
    text += fmt::format("and {} more\n", FormatCount(look.running.size() - rows));
  }
  return text;
}

void PutData(HistoryCall& call, const JobLook& look) {
  if (call.form() == OutputForm::kJson) call.Write(present::JsonOf("job", WithOutcome(look.job)));
  for (const RunningTask& task : look.running) {
    if (call.form() == OutputForm::kQuiet) {
      call.Write(TaskId(look.job.job, task.facts.index) + '\n');
      continue;
    }
    call.Write(present::JsonOf(
        "running_task", "job", look.job.job, "task", uint64_t{task.facts.index} + 1, "since",
        task.since, "node", task.node, "tries", task.facts.tries, "command", task.facts.command));
  }
}

// Until the job has ended, or Ctrl-C. Returns the facts that it showed last.
Result<JobLook> Watch(HistoryCall& call, std::optional<uint64_t> rows, bool& interrupted) {
  auto screen = TRY(LiveScreen::Open(call));
  for (;;) {
    auto look = Look(call);
    if (!look) return look;
    const uint64_t fit = std::max(LiveScreen::Lines(), kLinesAround + 1) - kLinesAround;
    auto more =
        TRY(screen->Draw(TextOf(call, *look, std::min(fit, rows.value_or(fit))), look->goes_on()));
    interrupted = screen->interrupted();
    if (!more) return look;
  }
}

Result<int> JobTop(HistoryCall& call) {
  std::optional<uint64_t> rows;
  if (call.words().Last(opt::kLimit)) {
    auto limit = TRY(LimitOf(call.words(), kRows));
    rows = limit;
  }
  bool live = call.human() && call.environment().terminal && !call.words().Has(kOneLook);
  bool interrupted = false;
  auto look = TRY(live ? Watch(call, rows, interrupted) : Look(call));
  if (interrupted) return kExitInterrupted;
  if (call.human()) {
    call.Write(TextOf(call, look, rows.value_or(kRows)));
  } else {
    PutData(call, look);
  }
  return kExitSuccess;
}

}  // namespace

extern const Command kJobTop = {
    .order = 195,
    .group = CommandGroup::kRunning,
    .name = "job top",
    .arguments = "[JOB]",
    .completes = Completes::kUnfinishedJobs,
    .summary = "show a job's running tasks, longest first (default: last)",
    .details =
        "On a terminal, the display is updated every second until the job has ended; Ctrl-C ends "
        "the display, never the job. Elsewhere, it prints the current state once, with at most 20 "
        "tasks (-n changes that).",
    .examples = {{{"spate job top", "of the newest job"},
                  {"spate job top 12 --once", "print the current state once"},
                  {"spate job top 12 --json", "all running tasks, for a program"}}},
    .words_max = 1,
    .options = {{opt::kAboutJobs, kOneLook, opt::kLimit}},
    .run = LookAtJobs<JobTop>,
};

}  // namespace spate::cli::command
