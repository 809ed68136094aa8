#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "cli/history/job_text.h"
#include "cli/history/task_text.h"
#include "cli/table/page.h"
#include "cli/table/time_text.h"
#include "cli/task/explanation.h"
#include "cli/task/task_verbs.h"

namespace spate::cli {
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
  Page page(call_.width(), [&](std::string_view text) { call_.Put(text); });
  page.Title(
      fmt::format("task {}  {}", IdOf(at), why.reason == "given" ? "next" : StateWord(at.task)));
  page.Field("why", why.text);
  page.Field("command", at.task.command);
  page.Field("gang", GangText(at.gang));
  if (at.deadline) page.Field("deadline", call_.FullTimeText(*at.deadline));
  size_t shown = std::min(at.attempts.size(), kShownAttempts);
  if (shown < at.attempts.size()) {
    page.Field("attempts", fmt::format("{} before these", at.attempts.size() - shown));
  }
  for (auto it = at.attempts.end() - static_cast<ptrdiff_t>(shown); it != at.attempts.end(); ++it) {
    const AttemptEnd& end = it->end;
    page.Field(fmt::format("attempt {}", end.ref.attempt.value),
               fmt::format("{}, after {}", AttemptText(*it), FormatDuration(end.wall)));
  }
  std::string command = RemedyCommand(at, why.remedy);
  if (!command.empty()) {
    page.Command(why.remedy == Remedy::kRetry ? "to retry" : "to go on", command);
  }
}

void Explainer::PrintJson(const TaskDetails& at, const Explanation& why) {
  JsonLine line = TypedLine("explanation");
  AddTaskFields(line, at.job.job, at.task);
  line.Text("reason", why.reason);
  TextOrBase64(line, "text", why.text);
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
    TextOrBase64(line, "next_command", command);
  }
  call_.Put(line);
}

void Explainer::Print(const TaskDetails& at) {
  Explanation why = Explain(at, call_.on_hub(), call_.now(), DateAndTime);
  if (call_.human()) {
    PrintPage(at, why);
  } else {
    PrintJson(at, why);
  }
}

}  // namespace

Result<int> TaskExplain(HistoryCall& call) {
  Explainer explainer(call);
  return ForEachTask(call, [&](const TaskDetails& at) { explainer.Print(at); });
}

}  // namespace spate::cli
