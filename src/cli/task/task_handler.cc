#include "cli/task/task_handler.h"

#include <fmt/format.h>

#include <memory>

#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/history/task_text.h"
#include "cli/task/task_verbs.h"
#include "cli/text/end_text.h"

namespace spate::cli {
namespace {

Result<int> CallVerb(HistoryCall& call) {
  return call.words().command == Command::kTaskInfo ? TaskInfo(call) : TaskExplain(call);
}

}  // namespace

std::string IdOf(const TaskDetails& task) { return TaskId(task.job.job, task.task.index); }

Result<int> ForEachTask(HistoryCall& call, const std::function<void(const TaskDetails&)>& print) {
  auto tasks = SelectTasks(call.words().words);
  if (!tasks) return std::unexpected(std::move(tasks.error()));
  auto told = call.Ask(wire::DescribeTasks{std::move(*tasks)}, [&](const TaskDetails& task) {
    if (call.form() == OutputForm::kQuiet) return call.Put(IdOf(task) + '\n');
    print(task);
  });
  return told ? Result<int>(kExitSuccess) : std::unexpected(std::move(told.error()));
}

std::string AttemptText(const AttemptFacts& attempt) {
  std::string text = CauseText(attempt.end);
  switch (attempt.verdict) {
    case Verdict::kSucceeded:
      return text;
    case Verdict::kRetry:
      return text + (attempt.counts ? ", tried again" : ", repeated (it was no try)");
    case Verdict::kFailed:
      return text + ", failed for good";
    case Verdict::kUnknown:
      return text + ", not repeated";
    case Verdict::kCancelled:
      return text + ", it was cancelled";
    case Verdict::kPart:
      return text + ", a part of a gang";
  }
  return text;
}

Handler MakeTaskHandler(HistoryEnvironment environment) {
  auto shared = std::make_shared<const HistoryEnvironment>(std::move(environment));
  return
      [shared](const Invocation& invocation) { return CallHistory(*shared, invocation, CallVerb); };
}

}  // namespace spate::cli
