// `spate task explain`
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/call.h"
#include "cli/history/job_text.h"
#include "cli/history/select.h"
#include "cli/history/task_text.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/shared.h"
#include "cli/task/explanation.h"
#include "cli/task/tasks.h"
#include "format/selector/selector.h"
#include "present/json/json_fields.h"
#include "present/table/page.h"
#include "present/table/time_text.h"
#include "present/why.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr size_t kShownAttempts = 10;

class Explainer {
 public:
  explicit Explainer(HistoryCall& call) : call_(call) {}
  void Print(const TaskDetails& at);

 private:
  std::string RemedyCommand(const TaskDetails& at, Remedy remedy) const;
  void PrintPage(const TaskDetails& at, const Explanation& why);
  void PrintJson(const TaskDetails& at, const Explanation& why);

  HistoryCall& call_;
  bool first_ = true;
};

std::string Explainer::RemedyCommand(const TaskDetails& at, Remedy remedy) const {
  if (at.job.state == JobStanding::kRunning) return "";
  if (remedy == Remedy::kRetry) return RetryCommandOf(call_, IdOf(at));
  if (remedy == Remedy::kResume) return ResumeCommandOf(call_, at.job);
  return "";
}

void Explainer::PrintPage(const TaskDetails& at, const Explanation& why) {
  if (!std::exchange(first_, false)) call_.Put("\n");
  present::Page page(call_.width(), [&](std::string_view text) { call_.Put(text); });
  page.Title(
      fmt::format("task {}  {}", IdOf(at), why.reason == "given" ? "next" : StateWord(at.task)));
  page.Field("why", why.text);
  page.Field("command", at.task.command);
  page.Field("gang", GangText(at.gang));
  if (at.deadline) page.Field("deadline", call_.FullTimeText(*at.deadline));
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

void Explainer::PrintJson(const TaskDetails& at, const Explanation& why) {
  present::JsonLine line = present::TypedLine("explanation");
  AddTaskFields(line, at.job.job, at.task);
  line.Text("reason", why.reason);
  present::TextOrBase64(line, "text", why.text);
  TimeOrNull(line, "retry_at", why.retry_at);
  AddClassFields(line, at.gang, at.deadline, at.bound);
  if (at.live) {
    line.Number("slot", at.live->slot).Number("pid", at.live->pid);
    line.Seconds("since", at.live->since.seconds());
  } else {
    line.Null("slot").Null("pid").Null("since");
  }
  std::string command = RemedyCommand(at, why.remedy);
  if (command.empty()) {
    line.Null("next_command");
  } else {
    present::TextOrBase64(line, "next_command", command);
  }
  call_.Put(line);
}

void Explainer::Print(const TaskDetails& at) {
  Explanation why = Explain(at, call_.on_hub(), call_.now(), present::DateAndTime);
  if (call_.human()) {
    PrintPage(at, why);
  } else {
    PrintJson(at, why);
  }
}

// Facts about tasks that have not ended, which only the hub knows. kNotFound: ask the journal.
Result<int> ExplainUnfinished(HistoryCall& call) {
  wire::ExplainTasks question;
  for (const std::string& word : call.words().words) {
    auto tasks = TRY(format::ParseTaskSelector(word));
    question.tasks.insert(question.tasks.end(), tasks.begin(), tasks.end());
  }
  auto hub = TRY(call.Whom());
  TRY(LookUpNames(*hub, question.tasks));
  std::string text;
  TRY(call.Ask(std::move(question), [&](TaskWhy task) {
    const std::string why = present::TextOf(task.why, call.StateOption());
    if (call.human()) {
      text += fmt::format("{}.{}: {}\n", task.job.value, task.task, why);
    } else {
      present::JsonLine line = present::TypedLine("explanation");
      line.Number("job", task.job.value).Number("task", task.task);
      present::TextOrBase64(line, "why", why);
      text += line.Finish();
    }
  }));
  call.Put(text);
  return kExitSuccess;
}

Result<int> TaskExplain(HistoryCall& call) {
  if (call.on_hub()) {
    auto told = ExplainUnfinished(call);
    if (told || told.error().kind != ErrorKind::kNotFound) return told;
  }
  Explainer explainer(call);
  return ForEachTask(call, [&](const TaskDetails& at) { explainer.Print(at); });
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
