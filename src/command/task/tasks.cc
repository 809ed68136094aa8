#include "command/task/tasks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cli/exit_code.h"
#include "cli/options/select.h"
#include "present/text/end_text.h"
#include "present/text/start_text.h"
#include "view/task_text.h"
#include "wire/questions.h"

namespace spate::cli {

std::string IdOf(const TaskDetails& task) { return TaskId(task.job.job, task.task.index); }

Result<int> ForEachTask(HistoryCall& call, const std::function<void(const TaskDetails&)>& print) {
  auto tasks = TRY(SelectTasks(call.words().words));
  auto told = call.Query(wire::DescribeTasks{std::move(tasks)}, [&](const TaskDetails& task) {
    if (call.form() == OutputForm::kQuiet) return call.Write(IdOf(task) + '\n');
    print(task);
  });
  return told ? Result<int>(kExitSuccess) : std::unexpected(std::move(told.error()));
}

std::vector<std::string> StartLinesOf(const TaskDetails& task,
                                      std::span<const RunningFacts> running) {
  std::optional<Instant> started;
  auto add = [&](Instant at) { started = started ? std::min(*started, at) : at; };
  if (task.task.state == TaskState::kLeased) {
    if (task.live) add(task.live->since);
    for (const RunningFacts& part : running) add(part.since);
  } else if (task.task.state != TaskState::kQueued && !task.attempts.empty()) {
    const Attempt newest = task.attempts.back().end.ref.attempt;
    for (const AttemptFacts& part : task.attempts) {
      if (part.end.ref.attempt == newest && part.end.start.ns > 0) add(part.end.start);
    }
  }
  return present::StartLines(task.story, started);
}

void NameParents(HistoryCall& call, std::span<TaskWhy> tasks) {
  constexpr size_t kTasks = 3;  // where a reason's tasks begin
  std::map<JobId, std::set<uint32_t>> wanted;
  auto for_each = [&](auto fn) {
    for (TaskWhy& task : tasks) {
      for (Reason& reason : task.why) {
        if (reason.kind != ReasonKind::kParents || !reason.names.empty()) continue;
        fn(task.job, reason);
      }
    }
  };
  for_each([&](JobId job, const Reason& reason) {
    for (size_t i = kTasks; i < reason.numbers.size(); ++i) {
      wanted[job].insert(static_cast<uint32_t>(reason.numbers[i]));
    }
  });
  if (wanted.empty()) return;
  wire::ListTasks question;
  wire::TaskPick& pick = question.tasks.emplace_back();
  for (const auto& [job, numbers] : wanted) {
    TasksOfJob& of_job = pick.tasks.emplace_back();
    of_job = {.job = job.value, .all = false, .ranges = {}, .names = {}};
    for (uint32_t number : numbers) of_job.ranges.push_back({number, number, 1});
  }
  std::map<std::pair<JobId, int64_t>, std::string> names;
  // Numbers are shown where nobody answers.
  (void)call.Query(std::move(question), [&](const wire::TasksListed& listed) {
    for (const TaskFacts& task : listed.tasks) names[{listed.job, task.index + 1}] = task.name;
  });
  for_each([&](JobId job, Reason& reason) {
    for (size_t i = kTasks; i < reason.numbers.size(); ++i) {
      reason.names.push_back(names[{job, reason.numbers[i]}]);
    }
  });
}

std::string AttemptText(const AttemptFacts& attempt) {
  std::string text = present::VerdictText(attempt.end);
  switch (attempt.verdict) {
    case Verdict::kSucceeded:
      return text;
    case Verdict::kRetry:
      return text + (attempt.counts ? ", retried" : ", repeated (does not count as a try)");
    case Verdict::kFailed:
      return text + ", failed for good";
    case Verdict::kUnknown:
      return text + ", not repeated";
    case Verdict::kCancelled:
      return text + ", cancelled";
    case Verdict::kPart:
      return text + ", part of a gang";
  }
  return text;
}

}  // namespace spate::cli
