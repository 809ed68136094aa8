// `spate job tasks`
#include <fmt/format.h>

#include <optional>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/run_options.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "present/table/table.h"
#include "present/table/text_width.h"
#include "view/task_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

std::vector<present::Cell> RowOf(const TaskFacts& task, bool named) {
  std::vector<present::Cell> cells = {{fmt::format("{}", uint64_t{task.index} + 1)}};
  if (named) cells.push_back({task.name});
  cells.push_back({task.is_next ? "next" : StateWord(task), ToneOf(task.state)});
  cells.push_back({task.attempts > 0 ? fmt::format("{}", task.tries) : ""});
  cells.push_back({EndText(task)});
  bool ended = task.last.has_value();
  uint64_t peak = ended ? task.last->end.peak_memory : 0;
  cells.push_back({ended ? FormatDuration(task.last->end.wall) : ""});
  cells.push_back({peak > 0 ? FormatSize(peak) : ""});
  cells.push_back({task.command});
  return cells;
}

// Prints the tasks of one job after another.
class TaskLister {
 public:
  TaskLister(HistoryCall& call, bool titles) : call_(call), titles_(titles) {}
  void Print(const wire::TasksListed& listed);
  void Finish() {
    if (table_) table_->Finish();
    table_.reset();
  }
  uint64_t printed() const { return printed_; }

 private:
  void Begin(const wire::TasksListed& listed);
  void PrintLine(JobId job, const TaskFacts& task);

  HistoryCall& call_;
  const bool titles_;
  uint64_t printed_ = 0;
  JobId job_;
  bool named_ = false;  // its tasks have names
  std::optional<present::Table> table_;
};

void TaskLister::Begin(const wire::TasksListed& listed) {
  Finish();
  job_ = listed.job;
  if (titles_) {
    std::string title = fmt::format("job {}  {}", listed.job.value, EscapeForScreen(listed.name));
    call_.Write(
        fmt::format("{}{}\n", printed_ > 0 ? "\n" : "", present::CutToWidth(title, call_.width())));
  }
  std::vector<present::Column> columns = {
      {"TASK", present::Align::kRight},      {"STATE"},
      {"TRIES", present::Align::kRight},     {"END", present::Align::kLeft, 12},
      {"WALL", present::Align::kRight},      {"MEMORY", present::Align::kRight},
      {"COMMAND", present::Align::kLeft, 12}};
  named_ = !listed.tasks.empty() && !listed.tasks.front().name.empty();
  if (named_) columns.insert(columns.begin() + 1, {"NAME", present::Align::kLeft, 8});
  table_.emplace(std::move(columns), call_.width(), call_.environment().colour,
                 [this](std::string_view text) { call_.Write(text); });
}

void TaskLister::PrintLine(JobId job, const TaskFacts& task) {
  if (call_.form() == OutputForm::kQuiet) return call_.Write(TaskId(job, task.index) + '\n');
  present::JsonLine line = present::TypedLine("task");
  AddTaskFields(line, job, task);
  AddLastEndFields(line, task);
  call_.Write(line);
}

void TaskLister::Print(const wire::TasksListed& listed) {
  if (call_.human() && listed.job != job_) Begin(listed);
  for (const TaskFacts& task : listed.tasks) {
    if (call_.human()) {
      table_->Add(RowOf(task, named_));
    } else {
      PrintLine(listed.job, task);
    }
    ++printed_;
  }
}

// True if the picks may belong to several jobs.
bool NameSeveral(const std::vector<wire::TaskPick>& picks) {
  return picks.size() > 1 ||
         (picks.size() == 1 &&
          (picks[0].jobs.all || picks[0].tasks.size() > 1 || picks[0].jobs.ranges.size() > 1));
}

Result<int> JobTasks(HistoryCall& call) {
  auto states = TRY(TaskStatesOf(call.words()));
  auto limit = TRY(LimitOf(call.words(), UINT64_MAX));
  auto picks = TRY(SelectTasks(call.words().words));
  call.WriteTitle();
  TaskLister lister(call, NameSeveral(picks));
  wire::ListTasks question{std::move(picks), states, limit,
                           /*commands=*/call.form() != OutputForm::kQuiet};
  auto told = call.Query(std::move(question),
                         [&](const wire::TasksListed& listed) { lister.Print(listed); });
  lister.Finish();
  if (!told) return std::unexpected(std::move(told.error()));
  if (lister.printed() == 0 && call.human()) call.Report("no such task");
  return kExitSuccess;
}

}  // namespace

extern const Command kJobTasks = {
    .order = 40,
    .group = CommandGroup::kHistory,
    .name = "job tasks",
    .arguments = "[JOB...]",
    .completes = Completes::kJobs,
    .summary = "list the tasks of jobs (default: last)",
    .details = "JOB may name tasks: 12.3-9 means tasks 3 to 9 of job 12.",
    .examples = {{{"spate job tasks 12", "all tasks of job 12"},
                  {"spate job tasks --filter failed", "failed tasks of the newest job"},
                  {"spate job tasks 12.1-99 --json", "99 tasks, for a program"}}},
    .options = {{opt::kAboutJobs, opt::kLimit, opt::kFilter}},
    .run = LookAtJobs<JobTasks>,
};

}  // namespace spate::cli::command
