#include <fmt/format.h>

#include <set>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/job_facts.h"
#include "cli/history/live_tasks.h"
#include "cli/history/select.h"
#include "cli/history/task_facts.h"
#include "cli/job/job_verbs.h"
#include "cli/table/text_width.h"

namespace spate::cli {
namespace {

using store::TaskSummary;

// Prints the tasks of one job after another.
class TaskLister {
 public:
  TaskLister(HistoryCall& call, uint32_t states, uint64_t limit, bool titles)
      : call_(call), states_(states), left_(limit), titles_(titles) {}

  Status Print(const PickedTasks& picked);
  uint64_t printed() const { return printed_; }
  bool full() const { return left_ == 0; }

 private:
  Status PrintTable(store::History& history, const PickedTasks& picked);
  Status PrintLines(store::History& history, const PickedTasks& picked);

  HistoryCall& call_;
  uint32_t states_;
  uint64_t left_;
  bool titles_;
  uint64_t printed_ = 0;
};

// Which tasks of a job have processes; empty when nobody runs it or they cannot be seen.
std::set<TaskIndex> TasksAlive(const HistoryCall& call, const store::JobSummary& job) {
  std::set<TaskIndex> alive;
  if (!job.owner) return alive;
  const std::string& proc = call.environment().proc;
  for (const LiveTask& task : FindLiveTasks(proc, job.owner->pid, JobId(job.number), call.now())) {
    alive.insert(task.index);
  }
  return alive;
}

std::vector<Cell> RowOf(const TaskSummary& task, const std::set<TaskIndex>& alive,
                        std::string command) {
  bool ahead = task.state == TaskState::kLeased && !alive.empty() && !alive.contains(task.index);
  std::vector<Cell> cells = {{fmt::format("{}", uint64_t{task.index} + 1)},
                             {ahead ? "next" : StateWord(task.state), ToneOf(task.state)},
                             {task.attempts > 0 ? fmt::format("{}", task.tries) : ""},
                             {EndText(task)}};
  bool ended = task.last.has_value();
  uint64_t peak = ended ? task.last->record.end.peak_memory : 0;
  cells.push_back({ended ? FormatDuration(task.last->record.end.wall) : ""});
  cells.push_back({peak > 0 ? FormatSize(peak) : ""});
  cells.push_back({std::move(command)});
  return cells;
}

Status TaskLister::PrintTable(store::History& history, const PickedTasks& picked) {
  if (titles_) {
    std::string title =
        fmt::format("job {}  {}", picked.job, EscapeForScreen(NameOf(history.summary().row)));
    call_.Put(fmt::format("{}{}\n", printed_ > 0 ? "\n" : "", CutToWidth(title, call_.width())));
  }
  Table table({{"TASK", Align::kRight},
               {"STATE"},
               {"TRIES", Align::kRight},
               {"END", Align::kLeft, 12},
               {"WALL", Align::kRight},
               {"MEMORY", Align::kRight},
               {"COMMAND", Align::kLeft, 12}},
              call_.width(), call_.environment().colour,
              [&](std::string_view text) { call_.Put(text); });
  TaskTexts texts(call_, history);
  std::set<TaskIndex> alive = TasksAlive(call_, history.summary());
  Status read;
  auto visited = VisitTasks(history, picked, states_, [&](const TaskSummary& task) {
    auto command = texts.Command(task.index, 0);
    if (!command) {
      read = std::unexpected(std::move(command.error()));
      return false;
    }
    table.Add(RowOf(task, alive, std::move(*command)));
    ++printed_;
    return --left_ > 0 && call_.ok();
  });
  table.Finish();
  return visited ? read : visited;
}

Status TaskLister::PrintLines(store::History& history, const PickedTasks& picked) {
  bool quiet = call_.form() == OutputForm::kQuiet;
  TaskTexts texts(call_, history);
  Status read;
  auto visited = VisitTasks(history, picked, states_, [&](const TaskSummary& task) {
    auto command = quiet ? Result<std::string>("") : texts.Command(task.index, 0);
    if (!command) {
      read = std::unexpected(std::move(command.error()));
      return false;
    }
    if (quiet) {
      call_.Put(TaskId(picked.job, task.index) + '\n');
    } else {
      JsonLine line = TypedLine("task");
      AddTaskFields(line, picked.job, task, *command);
      AddLastEndFields(line, task);
      call_.Put(line);
    }
    ++printed_;
    return --left_ > 0 && call_.ok();
  });
  return visited ? read : visited;
}

Status TaskLister::Print(const PickedTasks& picked) {
  auto history = call_.OpenHistory(picked.job);
  if (!history) return std::unexpected(std::move(history.error()));
  return call_.human() ? PrintTable(*history, picked) : PrintLines(*history, picked);
}

}  // namespace

Result<int> JobTasks(HistoryCall& call) {
  auto states = TaskStatesOf(call.words());
  if (!states) return std::unexpected(std::move(states.error()));
  auto limit = LimitOf(call.words(), UINT64_MAX);
  if (!limit) return std::unexpected(std::move(limit.error()));
  auto picked = PickTasks(call, call.words().words);
  if (!picked) return std::unexpected(std::move(picked.error()));
  call.PutTitle();
  TaskLister lister(call, *states, *limit, picked->size() > 1);
  for (const PickedTasks& tasks : *picked) {
    if (lister.full()) break;
    if (auto printed = lister.Print(tasks); !printed) {
      return std::unexpected(std::move(printed.error()));
    }
  }
  if (lister.printed() == 0 && call.human()) call.Say("there is no such task");
  return kExitSuccess;
}

}  // namespace spate::cli
