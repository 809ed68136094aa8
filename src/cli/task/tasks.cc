#include "cli/task/tasks.h"

#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/history/task_text.h"
#include "present/text/end_text.h"

namespace spate::cli {

std::string IdOf(const TaskDetails& task) { return TaskId(task.job.job, task.task.index); }

Result<int> ForEachTask(HistoryCall& call, const std::function<void(const TaskDetails&)>& print) {
  auto tasks = TRY(SelectTasks(call.words().words));
  auto told = call.Ask(wire::DescribeTasks{std::move(tasks)}, [&](const TaskDetails& task) {
    if (call.form() == OutputForm::kQuiet) return call.Put(IdOf(task) + '\n');
    print(task);
  });
  return told ? Result<int>(kExitSuccess) : std::unexpected(std::move(told.error()));
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
