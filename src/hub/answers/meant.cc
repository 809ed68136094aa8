#include "hub/answers/meant.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

namespace spate::hub {
namespace {

// Why none of the named tasks can be meant.
Error WhyNone(const Jobs& jobs, const Meant& meant, std::string_view wanted) {
  const uint32_t total = jobs.engine().TaskCount(meant.job);
  const TasksOfJob& first = meant.named.front();
  const uint32_t number = first.ranges.empty() ? 1 : first.ranges.front().first;
  auto state = jobs.engine().StateOf(meant.job, number - 1);
  if (number == 0 || (total > 0 && number > total)) {
    return {ErrorKind::kNotFound,
            fmt::format("job {} has no task {}: it has {}", meant.job.value, number, total)};
  }
  const bool is_one = meant.named.size() == 1 && first.ranges.size() == 1 && !first.all &&
                      first.ranges.front().first == first.ranges.front().last;
  if (!is_one) {
    return {ErrorKind::kInvalid,
            fmt::format("none of the tasks of job {} that were named {}", meant.job.value, wanted)};
  }
  const std::string word = !state                         ? "has ended"
                           : *state == TaskState::kQueued ? "waits"
                           : *state == TaskState::kLeased
                               ? "is running"
                               : "has ended: " + std::string(WordOf(*state));
  return {ErrorKind::kInvalid, fmt::format("task {} {}", NameOf(meant.job, number), word),
          SeeAlso("task info", NameOf(meant.job, number))};
}

}  // namespace

std::string NameOf(JobId job, uint64_t task) { return fmt::format("{}.{}", job.value, task); }

Result<std::vector<Meant>> PickMeant(Asking& asking, Jobs& jobs, const JobSelector& whole,
                                     const std::vector<TasksOfJob>& tasks, bool running_only,
                                     std::vector<JobId>& ended) {
  std::vector<Meant> all;
  std::map<JobId, std::vector<TasksOfJob>> selected;
  for (const TasksOfJob& part : tasks) {
    auto job = TRY(PickJob(jobs, asking.caller(), part));
    selected[job].push_back(part);
  }
  auto picked = TRY(PickJobs(jobs, asking.caller(), whole));
  for (JobId job : picked) {
    if (jobs.known().Find(job)->finished) {
      ended.push_back(job);
    } else {
      all.push_back({.job = job, .whole = true});
    }
  }
  if (all.empty() && selected.empty()) {
    if (ended.size() == 1) {
      const uint32_t job = ended.front().value;
      return Fail(ErrorKind::kInvalid, fmt::format("job {} has ended", job),
                  SeeAlso("job info", job));
    }
    return Fail(ErrorKind::kNotFound,
                ended.empty() ? "no job is running" : "all of these jobs have ended");
  }
  for (auto& [job, parts] : selected) {
    Meant meant{.job = job, .named = std::move(parts)};
    meant.tasks = running_only
                      ? Choose(jobs, job, meant.named, {TaskState::kLeased})
                      : Choose(jobs, job, meant.named, {TaskState::kQueued, TaskState::kLeased});
    if (meant.tasks.count == 0) {
      return std::unexpected(
          WhyNone(jobs, meant, running_only ? "is running" : "is queued or running"));
    }
    all.push_back(std::move(meant));
  }
  return all;
}

}  // namespace spate::hub
