#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "cli/history/job_facts.h"
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
  void Print(const TaskAtHand& at);

 private:
  std::optional<LiveTask> LiveOf(const store::JobSummary& job, TaskIndex index);
  std::string RemedyCommand(const TaskAtHand& at, Remedy remedy) const;
  void PrintPage(const TaskAtHand& at, const Explanation& why);
  void PrintJson(const TaskAtHand& at, const Explanation& why, const std::optional<LiveTask>& live);

  HistoryCall& call_;
  uint32_t looked_at_ = 0;  // the job whose processes were looked for; 0: none
  std::vector<LiveTask> live_;
  bool first_ = true;
};

std::optional<LiveTask> Explainer::LiveOf(const store::JobSummary& job, TaskIndex index) {
  if (!job.owner) return std::nullopt;
  if (looked_at_ != job.number) {
    live_ = FindLiveTasks(call_.environment().proc, job.owner->pid, JobId(job.number), call_.now());
    looked_at_ = job.number;
  }
  auto at = std::ranges::find(live_, index, &LiveTask::index);
  return at == live_.end() ? std::nullopt : std::optional(*at);
}

std::string Explainer::RemedyCommand(const TaskAtHand& at, Remedy remedy) const {
  if (at.history.summary().standing == store::JobStanding::kRunning) return "";
  if (remedy == Remedy::kRetry) return RetryCommandOf(call_, at.id());
  if (remedy == Remedy::kResume) return ResumeCommandOf(call_, at.history.summary().row);
  return "";
}

void Explainer::PrintPage(const TaskAtHand& at, const Explanation& why) {
  if (!std::exchange(first_, false)) call_.Put("\n");
  Page page(call_.width(), [&](std::string_view text) { call_.Put(text); });
  page.Title(fmt::format("task {}  {}", at.id(),
                         why.reason == "given" ? "next" : StateWord(at.task.state)));
  page.Field("why", why.text);
  page.Field("command", at.command);
  size_t shown = std::min(at.attempts.size(), kShownAttempts);
  if (shown < at.attempts.size()) {
    page.Field("attempts", fmt::format("{} before these", at.attempts.size() - shown));
  }
  for (auto it = at.attempts.end() - static_cast<ptrdiff_t>(shown); it != at.attempts.end(); ++it) {
    const AttemptEnd& end = it->record.end;
    page.Field(fmt::format("attempt {}", end.ref.attempt.value),
               fmt::format("{}, after {}", AttemptText(*it), FormatDuration(end.wall)));
  }
  std::string command = RemedyCommand(at, why.remedy);
  if (!command.empty()) {
    page.Command(why.remedy == Remedy::kRetry ? "to retry" : "to go on", command);
  }
}

void Explainer::PrintJson(const TaskAtHand& at, const Explanation& why,
                          const std::optional<LiveTask>& live) {
  JsonLine line = TypedLine("explanation");
  AddTaskFields(line, at.history.summary().number, at.task, at.command);
  line.Text("reason", why.reason);
  TextOrBase64(line, "text", why.text);
  TimeOrNull(line, "retry_at", why.retry_at);
  if (live) {
    line.Number("slot", live->slot).Number("pid", live->pid);
    line.Seconds("since", live->since.seconds());
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

void Explainer::Print(const TaskAtHand& at) {
  const store::JobSummary& job = at.history.summary();
  auto counts = at.history.Counts();
  std::optional<LiveTask> live;
  if (at.task.state == TaskState::kLeased) live = LiveOf(job, at.task.index);
  TaskSituation situation{
      job, at.task, at.log, counts ? *counts : JobCounts(), live, at.texts.settings(), call_.now()};
  Explanation why = Explain(situation, DateAndTime);
  if (call_.human()) {
    PrintPage(at, why);
  } else {
    PrintJson(at, why, live);
  }
}

}  // namespace

Result<int> TaskExplain(HistoryCall& call) {
  Explainer explainer(call);
  return ForEachTask(call, [&](const TaskAtHand& at) { explainer.Print(at); });
}

}  // namespace spate::cli
