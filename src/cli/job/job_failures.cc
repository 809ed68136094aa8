#include <fmt/format.h>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/select.h"
#include "cli/history/task_facts.h"
#include "cli/job/job_verbs.h"
#include "cli/text/end_text.h"
#include "cli/view/output_pieces.h"

namespace spate::cli {
namespace {

constexpr size_t kShown = 10;
constexpr size_t kErrorLines = 5;
constexpr size_t kErrorColumns = 200;
constexpr size_t kErrorBytes = 16 << 10;

Result<std::string> ErrorText(store::History& history, const store::AttemptEntry& attempt) {
  OutputStream err;
  auto read =
      history.ReadOutput(attempt, store::Stream::kStderr, [&](std::string_view bytes, uint64_t) {
        err.bytes += bytes;
        if (err.bytes.size() <= 2 * kErrorBytes) return;
        err.bytes.erase(0, err.bytes.size() - kErrorBytes);
      });
  if (!read) return std::unexpected(std::move(read.error()));
  err.total = err.bytes.size();
  std::string text;
  for (const std::string& line : LastLines(err, kErrorLines, kErrorColumns)) {
    text += fmt::format("      {}\n", line);
  }
  return text;
}

}  // namespace

Result<int> JobFailures(HistoryCall& call) {
  auto numbers = PickJobs(call, call.words().words);
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  auto history = call.OpenHistory(numbers->front());
  if (!history) return std::unexpected(std::move(history.error()));
  auto counts = history->Counts();
  if (!counts) return std::unexpected(std::move(counts.error()));
  uint64_t failed = uint64_t{counts->failed} + counts->unknown;
  std::string text = fmt::format("spate: {} failed:\n", CountOf(failed, "task"));
  TaskTexts texts(call, *history);
  size_t shown = 0;
  store::TaskFilter filter{.states = store::TaskFilter::Bit(TaskState::kFailed) |
                                     store::TaskFilter::Bit(TaskState::kUnknown)};
  auto visited = history->Tasks(filter, [&](const store::TaskSummary& task) {
    auto command = texts.Command(task.index, 0);
    if (!command || !task.last) return true;
    const AttemptEnd& end = task.last->record.end;
    text += fmt::format("  task {}: {}{}\n", task.index + 1,
                        FailureVerdict(end, task.state == TaskState::kUnknown),
                        FailureRest(end, *command));
    auto errors = ErrorText(*history, *task.last);
    if (errors) text += *errors;
    return ++shown < kShown;
  });
  if (!visited) return std::unexpected(std::move(visited.error()));
  if (failed > shown) {
    text += fmt::format("  and {} more: spate job tasks{} {} --filter failed\n",
                        FormatCount(failed - shown), call.StateOption(), numbers->front());
  }
  call.Put(text);
  return kExitSuccess;
}

}  // namespace spate::cli
