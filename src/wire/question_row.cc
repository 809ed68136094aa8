#include "wire/question_row.h"

#include <algorithm>

namespace spate::wire {
namespace {

uint64_t CountIn(const std::vector<NumberRange>& ranges) {
  uint64_t count = 0;
  for (const NumberRange& range : ranges) {
    count += range.last < range.first ? 0 : (range.last - range.first) / range.step + 1;
  }
  return count;
}

}  // namespace

uint64_t CountOf(const JobSelector& jobs, uint64_t all) {
  constexpr uint64_t kMostNamed = 10'000;
  return std::min(kMostNamed, CountIn(jobs.ranges)) + jobs.ranges.size() + (jobs.all ? all : 0);
}

uint64_t CountOf(const TasksOfJob& tasks) {
  const uint64_t all = tasks.all ? LoopCost::kMostTasks : CountIn(tasks.ranges);
  return 1 + tasks.ranges.size() + std::min(all, LoopCost::kMostTasks) / 100;
}

std::vector<JobSelector> JobsOf(const std::vector<TaskPick>& picks) {
  std::vector<JobSelector> jobs;
  for (const TaskPick& pick : picks) {
    if (pick.tasks.empty()) jobs.push_back(pick.jobs);
    for (const TasksOfJob& each : pick.tasks) {
      jobs.push_back({.last = !each.job});
      if (each.job) jobs.back().ranges = {{*each.job, *each.job}};
    }
  }
  return jobs;
}
Duration LoopCost::Worst(const AnswerSizes& sizes) const {
  const uint64_t ns = once + node * sizes.nodes + run * sizes.runs + job * sizes.jobs +
                      listed * std::min(sizes.jobs, kMostJobs) +
                      task * std::min(sizes.tasks, kMostTasks) + user * sizes.users +
                      named * sizes.named;
  return Duration{static_cast<int64_t>(ns)};
}

Duration WorstCost(const QuestionRow& row, const Question& question, AnswerSizes hub) {
  if (row.cost.named > 0) hub.named += row.named(question, hub.jobs);
  return row.cost.Worst(hub);
}

}  // namespace spate::wire
