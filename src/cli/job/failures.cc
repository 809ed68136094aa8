#include "cli/job/failures.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/view/output_pieces.h"
#include "present/text/end_text.h"

namespace spate::cli {
namespace {

constexpr uint64_t kShown = 10;
constexpr size_t kErrorLines = 5;
constexpr size_t kErrorColumns = 200;

std::string ErrorText(const TaskFacts& task) {
  OutputStream err{.bytes = task.stderr_end, .spool = "", .total = task.stderr_end.size()};
  std::string text;
  for (const std::string& line : LastLines(err, kErrorLines, kErrorColumns)) {
    text += fmt::format("      {}\n", line);
  }
  return text;
}

}  // namespace

Result<std::string> FailuresText(client::Asker& hub, JobId job, uint64_t failed,
                                 std::string_view reach) {
  wire::ListTasks question{
      .tasks = {{.jobs = {.ranges = {{job.value, job.value, 1}}}, .tasks = {}}},
      .states =
          1u << static_cast<int>(TaskState::kFailed) | 1u << static_cast<int>(TaskState::kUnknown),
      .most = kShown,
      .stderr_ends = true};
  std::string text = fmt::format("spate: {} failed:\n", present::CountOf(failed, "task"));
  uint64_t shown = 0;
  TRY(client::Ask(hub, std::move(question), [&](const wire::TasksListed& listed) {
    for (const TaskFacts& task : listed.tasks) {
      if (!task.last) continue;
      text +=
          fmt::format("  task {}: {}{}\n", task.index + 1,
                      present::FailureVerdict(task.last->end, task.state == TaskState::kUnknown),
                      present::FailureRest(task.last->end, task.command));
      text += ErrorText(task);
      ++shown;
    }
  }));
  if (failed > shown) {
    text += fmt::format("  and {} more: spate job tasks{} {} --filter failed\n",
                        FormatCount(failed - shown), reach, job.value);
  }
  return text;
}

std::vector<BlamedFacts> AskBlamed(client::Asker& hub, JobId job) {
  std::vector<BlamedFacts> blamed;
  wire::DescribeJobs question{.jobs = {.ranges = {{job.value, job.value, 1}}}};
  // A user who may not look into the job is shown nothing about it.
  (void)client::Ask(hub, std::move(question),
                    [&](JobDetails details) { blamed = std::move(details.blamed); });
  return blamed;
}

}  // namespace spate::cli
