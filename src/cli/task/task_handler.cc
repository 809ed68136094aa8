#include "cli/task/task_handler.h"

#include <fmt/format.h>

#include <memory>

#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/task/task_verbs.h"
#include "cli/text/end_text.h"

namespace spate::cli {
namespace {

Status PrintTasksOf(HistoryCall& call, const PickedTasks& picked,
                    const std::function<void(const TaskAtHand&)>& print) {
  auto history = call.OpenHistory(picked.job);
  if (!history) return std::unexpected(std::move(history.error()));
  auto log = ReadLog(*history);
  if (!log) return std::unexpected(std::move(log.error()));
  TaskTexts texts(call, *history);
  Status read;
  auto visited = VisitTasks(*history, picked, ~0u, [&](const store::TaskSummary& task) {
    if (call.form() == OutputForm::kQuiet) {
      call.Put(TaskId(picked.job, task.index) + '\n');
      return call.ok();
    }
    auto command = texts.Command(task.index, task.last ? task.last->record.end.slot : 0);
    auto attempts = history->Attempts(task.index);
    if (!command) read = std::unexpected(std::move(command.error()));
    if (!attempts) read = std::unexpected(std::move(attempts.error()));
    if (!read) return false;
    print({*history, texts, *log, task, std::move(*command), std::move(*attempts)});
    return call.ok();
  });
  return visited ? read : visited;
}

Result<int> CallVerb(HistoryCall& call) {
  return call.words().command == Command::kTaskInfo ? TaskInfo(call) : TaskExplain(call);
}

}  // namespace

Result<int> ForEachTask(HistoryCall& call, const std::function<void(const TaskAtHand&)>& print) {
  auto picked = PickTasks(call, call.words().words);
  if (!picked) return std::unexpected(std::move(picked.error()));
  for (const PickedTasks& tasks : *picked) {
    if (auto printed = PrintTasksOf(call, tasks, print); !printed) {
      return std::unexpected(std::move(printed.error()));
    }
  }
  return kExitSuccess;
}

std::string AttemptText(const store::AttemptEntry& attempt) {
  std::string text = CauseText(attempt.record.end);
  switch (attempt.record.verdict) {
    case engine::Verdict::kSucceeded:
      return text;
    case engine::Verdict::kRetry:
      return text + (attempt.record.counts ? ", tried again" : ", repeated (it was no try)");
    case engine::Verdict::kFailed:
      return text + ", failed for good";
    case engine::Verdict::kUnknown:
      return text + ", not repeated";
    case engine::Verdict::kCancelled:
      return text + ", it was cancelled";
  }
  return text;
}

Handler MakeTaskHandler(HistoryEnvironment environment) {
  auto shared = std::make_shared<const HistoryEnvironment>(std::move(environment));
  return
      [shared](const Invocation& invocation) { return CallHistory(*shared, invocation, CallVerb); };
}

}  // namespace spate::cli
