#include "view/failures.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "cli/exit_code.h"
#include "present/text/end_text.h"
#include "view/output_pieces.h"

namespace spate::cli {
namespace {

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
                                 std::string_view reach, bool quiet) {
  wire::ListTasks question{
      .tasks = {{.jobs = {.ranges = {{job.value, job.value, 1}}}, .tasks = {}}},
      .states =
          1u << static_cast<int>(TaskState::kFailed) | 1u << static_cast<int>(TaskState::kUnknown),
      .most = kFailuresShown,
      .stderr_ends = !quiet};
  const std::string_view begin = quiet ? "spate: " : "  ";
  std::string text;
  if (!quiet) text = fmt::format("spate: {} failed:\n", present::CountOf(failed, "task"));
  uint64_t shown = 0;
  TRY(client::Query(hub, std::move(question), [&](const wire::TasksListed& listed) {
    for (const TaskFacts& task : listed.tasks) {
      if (!task.last) continue;
      text +=
          fmt::format("{}task {}: {}{}\n", begin, task.index + 1,
                      present::FailureVerdict(task.last->end, task.state == TaskState::kUnknown),
                      present::FailureRest(task.last->end, task.command));
      text += ErrorText(task);
      ++shown;
    }
  }));
  if (failed > shown) {
    text += fmt::format("{}and {} more: spate job tasks{} {} --filter failed\n", begin,
                        FormatCount(failed - shown), reach, job.value);
  }
  return text;
}

JobDetails AskDetails(client::Asker& hub, JobId job) {
  JobDetails known;
  wire::DescribeJobs question{.jobs = {.ranges = {{job.value, job.value, 1}}}};
  // A user who may not look into the job is shown nothing about it.
  (void)client::Query(hub, std::move(question),
                      [&](JobDetails details) { known = std::move(details); });
  return known;
}

int TellNotKept(JobId job, const std::vector<NotKeptFacts>& facts, const SayText& say) {
  int code = kExitSuccess;
  for (const NotKeptFacts& each : facts) {
    say(fmt::format("job {}: output of {} was not kept{}", job.value,
                    present::CountOf(each.tasks, "task"), present::NotKeptWhy(each.why)));
    if (each.why != NotKept::kBound) code = kExitTasksFailed;
  }
  return code;
}

std::optional<int> AskNotKept(client::Asker& hub, JobSelector job, const SayText& say) {
  job.last |= job.ranges.empty();
  const auto listed = client::QueryOne(hub, wire::ListJobs{.jobs = std::move(job), .most = 1});
  if (!listed || listed->jobs.empty() || listed->jobs.front().not_kept.empty()) return std::nullopt;
  return TellNotKept(listed->jobs.front().job, listed->jobs.front().not_kept, say);
}

}  // namespace spate::cli
