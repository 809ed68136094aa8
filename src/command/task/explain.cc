// `spate task explain`
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/select.h"
#include "cli/options/shared.h"
#include "command/history_call.h"
#include "command/job/job_text.h"
#include "command/task/explanation.h"
#include "command/task/run_use.h"
#include "command/task/tasks.h"
#include "format/selector/selector.h"
#include "present/json/json_fields.h"
#include "present/table/page.h"
#include "present/table/time_text.h"
#include "present/text/reason_json.h"
#include "present/text/running_text.h"
#include "present/text/start_text.h"
#include "present/why.h"
#include "view/task_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr size_t kShownAttempts = 10;
constexpr size_t kAskedAtOnce = 100;

using TaskId = std::pair<JobId, uint32_t>;  // a task's number

// Explains tasks in the order in which they are added. What the journal cannot tell of those that
// have not ended is asked of the hub or the run, many at once.
class Explainer {
 public:
  explicit Explainer(HistoryCall& call) : call_(call), uses_(call) {}
  void Add(const TaskDetails& at);
  void Flush();

 private:
  std::map<TaskId, TaskWhy> AskWaits();
  void Print(const TaskDetails& at, const TaskWhy& told);
  std::string RemedyCommand(const TaskDetails& at, Remedy remedy) const;
  void PrintPage(const TaskDetails& at, const TaskWhy& told, const Explanation& why);
  void PrintJson(const TaskDetails& at, const TaskWhy& told, const Explanation& why);

  HistoryCall& call_;
  UseAsker uses_;
  std::vector<TaskDetails> tasks_;
  bool first_ = true;
};

bool MayWait(const TaskDetails& at) {
  const bool unended = at.task.state == TaskState::kQueued || at.task.state == TaskState::kLeased;
  const JobStanding job = at.job.state;
  return unended && job != JobStanding::kStopped && job != JobStanding::kInterrupted;
}

// Empty where nobody answers: the journal's facts are told then.
std::map<TaskId, TaskWhy> Explainer::AskWaits() {
  wire::ExplainTasks question;
  for (const TaskDetails& at : tasks_) {
    const uint32_t number = at.task.index + 1;
    if (!MayWait(at)) continue;
    question.tasks.push_back(
        {.job = at.job.job.value, .all = false, .ranges = {{number, number, 1}}, .names = {}});
  }
  std::map<TaskId, TaskWhy> waits;
  if (question.tasks.empty()) return waits;
  std::vector<TaskWhy> told;
  (void)call_.Query(std::move(question), [&](TaskWhy task) { told.push_back(std::move(task)); });
  NameParents(call_, told);
  for (TaskWhy& task : told) waits[{task.job, task.task}] = std::move(task);
  return waits;
}

std::string Explainer::RemedyCommand(const TaskDetails& at, Remedy remedy) const {
  if (at.job.state == JobStanding::kRunning) return "";
  if (remedy == Remedy::kRetry) return RetryCommandOf(call_, IdOf(at));
  if (remedy == Remedy::kResume) return ResumeCommandOf(call_, at.job);
  return "";
}

void Explainer::PrintPage(const TaskDetails& at, const TaskWhy& told, const Explanation& why) {
  if (!std::exchange(first_, false)) call_.Write("\n");
  present::Page page(call_.width(), [&](std::string_view text) { call_.Write(text); });
  page.Title(
      fmt::format("task {}  {}", IdOf(at), why.reason == "given" ? "next" : StateWord(at.task)));
  page.Field("why", why.text);
  std::string label = "runs";
  const auto uses = uses_.Query(at.job.job, told.running);
  for (const std::string& line : present::RunningLines(told.running, call_.now(), false, uses)) {
    page.Field(std::exchange(label, ""), line);
  }
  label = "start";
  for (const std::string& line : StartLinesOf(at, told.running)) {
    page.Field(std::exchange(label, ""), line);
  }
  page.Field("command", at.task.command);
  const TaskClass asks = at.asks.value_or(TaskClass());
  page.Field("gang", GangText(asks.gang));
  if (asks.deadline) page.Field("deadline", call_.FullTimeText(*asks.deadline));
  size_t shown = std::min(at.attempts.size(), kShownAttempts);
  if (shown < at.attempts.size()) {
    page.Field("attempts", fmt::format("{} earlier ones", at.attempts.size() - shown));
  }
  for (auto it = at.attempts.end() - static_cast<ptrdiff_t>(shown); it != at.attempts.end(); ++it) {
    const AttemptEnd& end = it->end;
    page.Field(fmt::format("attempt {}", end.ref.attempt.value),
               fmt::format("{}, after {}", AttemptText(*it), FormatDuration(end.wall)));
  }
  std::string command = RemedyCommand(at, why.remedy);
  if (!command.empty()) {
    page.Command(why.remedy == Remedy::kRetry ? "to retry" : "to resume", command);
  }
}

void Explainer::PrintJson(const TaskDetails& at, const TaskWhy& told, const Explanation& why) {
  using present::OrNull;
  present::JsonLine line = present::TypedLine("explanation");
  AddTaskFields(line, at.job.job, at.task);
  present::AddFields(line, "reason", why.reason, "text", why.text, "reasons",
                     present::ReasonsJson(told.why), "retry_at", why.retry_at);
  AddClassFields(line, at.asks.value_or(TaskClass()));
  const bool runs = at.live.has_value();
  const auto live = at.live.value_or(LiveTask());
  present::AddFields(
      line, "slot", OrNull(runs, live.slot), "pid", OrNull(runs, live.pid), "since",
      OrNull(runs, live.since), "running",
      present::RunningJson(told.running, call_.now(), uses_.Query(at.job.job, told.running)),
      "start_news", present::StartNewsJson(at.story), "next_command",
      OrNull(RemedyCommand(at, why.remedy)));
  call_.Write(line);
}

void Explainer::Print(const TaskDetails& at, const TaskWhy& told) {
  Explanation why = Explain(
      at, told.why, {call_.on_hub(), call_.now(), present::DateAndTime, call_.StateOption()});
  if (call_.human()) {
    PrintPage(at, told, why);
  } else {
    PrintJson(at, told, why);
  }
}

void Explainer::Add(const TaskDetails& at) {
  tasks_.push_back(at);
  if (tasks_.size() == kAskedAtOnce) Flush();
}

void Explainer::Flush() {
  const std::map<TaskId, TaskWhy> waits = AskWaits();
  for (const TaskDetails& at : std::exchange(tasks_, {})) {
    auto told = waits.find({at.job.job, at.task.index + 1});
    Print(at, told == waits.end() ? TaskWhy() : told->second);
  }
}

// True if each names one task.
bool AreSingle(const std::vector<TasksOfJob>& tasks) {
  return std::ranges::all_of(tasks, [](const TasksOfJob& each) {
    return !each.all && each.ranges.size() == 1 &&
           each.ranges.front().first == each.ranges.front().last;
  });
}

// Details of tasks that are gangs, as far as their reasons show that.
std::map<TaskId, TaskDetails> DescribeGangs(HistoryCall& call, std::span<const TaskWhy> tasks) {
  wire::TaskPick pick;
  for (const TaskWhy& task : tasks) {
    const bool runs =
        std::ranges::any_of(task.running, [](const auto& at) { return at.ranks > 0; });
    const bool waits = std::ranges::any_of(task.why, [](const Reason& reason) {
      return reason.kind >= ReasonKind::kGangBefore && reason.kind < ReasonKind::kPoolPaused;
    });
    if (!runs && !waits) continue;
    pick.tasks.push_back(
        {.job = task.job.value, .all = false, .ranges = {{task.task, task.task, 1}}, .names = {}});
  }
  std::map<TaskId, TaskDetails> gangs;
  if (pick.tasks.empty()) return gangs;
  (void)call.Query(wire::DescribeTasks{{std::move(pick)}}, [&](TaskDetails task) {
    gangs[{task.job.job, task.task.index + 1}] = std::move(task);
  });
  return gangs;
}

// `details`: of a gang; else nothing.
void PutUnfinished(HistoryCall& call, UseAsker& asker, const TaskWhy& task,
                   const TaskDetails& details) {
  const std::string why = present::TextOf(task.why, call.StateOption());
  const auto uses = asker.Query(task.job, task.running);
  if (!call.human()) {
    return call.Write(present::JsonOf("explanation", "job", task.job, "task", task.task, "why", why,
                                      "reasons", present::ReasonsJson(task.why), "running",
                                      present::RunningJson(task.running, call.now(), uses),
                                      "start_news", present::StartNewsJson(details.story)));
  }
  call.Write(fmt::format("{}.{}: {}\n", task.job.value, task.task, why));
  if (task.running.size() == 1 && !uses.empty() && uses.front()) {
    call.Write("  " + present::UseText(*uses.front()) + "\n");
  }
  if (task.running.size() > 1) {
    for (const std::string& line : present::RunningLines(task.running, call.now(), false, uses)) {
      call.Write("  " + line + "\n");
    }
  }
  for (const std::string& line : StartLinesOf(details, task.running)) {
    call.Write("  start: " + line + "\n");
  }
}

// A line for each task that waits, where all that are named do. kNotFound: they do not.
Result<int> ExplainUnfinished(HistoryCall& call) {
  wire::ExplainTasks question;
  for (const std::string& word : call.words().words) {
    auto tasks = TRY(format::ParseTaskSelector(word));
    question.tasks.insert(question.tasks.end(), tasks.begin(), tasks.end());
  }
  auto hub = TRY(call.Whom());
  TRY(LookUpNames(*hub, question.tasks));
  if (!AreSingle(question.tasks)) return Fail(ErrorKind::kNotFound, "these are several");
  const size_t named = question.tasks.size();
  std::vector<TaskWhy> told;
  TRY(call.Query(std::move(question), [&](TaskWhy task) { told.push_back(std::move(task)); }));
  if (told.size() < named) return Fail(ErrorKind::kNotFound, "some have ended");
  NameParents(call, told);
  const std::map<TaskId, TaskDetails> gangs = DescribeGangs(call, told);
  UseAsker uses(call);
  for (const TaskWhy& task : told) {
    const auto gang = gangs.find({task.job, task.task});
    PutUnfinished(call, uses, task, gang == gangs.end() ? TaskDetails() : gang->second);
  }
  return kExitSuccess;
}

Result<int> TaskExplain(HistoryCall& call) {
  if (call.on_hub()) {
    auto told = ExplainUnfinished(call);
    if (told || told.error().kind != ErrorKind::kNotFound) return told;
  }
  Explainer explainer(call);
  auto code = ForEachTask(call, [&](const TaskDetails& at) { explainer.Add(at); });
  explainer.Flush();
  return code;
}

}  // namespace

extern const Command kTaskExplain = {
    .order = 140,
    .group = CommandGroup::kHistory,
    .name = "task explain",
    .arguments = "TASK...",
    .completes = Completes::kTasks,
    .summary = "explain the state of tasks",
    .details =
        "TASK is JOB.INDEX or JOB.NAME: 12.3, 12.3-9, last.align. If a number is also the name of "
        "another task, 12.#3 is the third task and 12.name=3 the task named 3.",
    .examples = {{{"spate task explain 12.3", "why it waits, or why it failed"},
                  {"spate task explain last.1-9", "tasks of the newest job"}}},
    .words_min = 1,
    .options = {{opt::kAboutJobs}},
    .run = LookAtJobs<TaskExplain>,
};

}  // namespace spate::cli::command
