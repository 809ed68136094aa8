// Tasks that wait for others of their job: what becomes of them when those do not succeed.
#include <unordered_set>

#include "core/engine/engine_state.h"

namespace spate::engine {

void WithdrawDescendants(StepContext& step, const JobState& job, TaskIndex lost) {
  std::unordered_set<TaskIndex> found;
  std::vector<TaskIndex> next = {lost};
  while (!next.empty()) {
    TaskIndex at = next.back();
    next.pop_back();
    job.graph().ForChildren(at, [&](TaskIndex child) {
      if (job.StateOf(child) != TaskState::kQueued || !found.insert(child).second) return;
      next.push_back(child);
    });
  }
  if (found.empty()) return;
  std::vector<TaskIndex> sorted(found.begin(), found.end());
  std::ranges::sort(sorted);
  TasksWithdrawn withdrawn{.job = job.id(), .tasks = {}, .reason = "", .parent = lost};
  for (TaskIndex index : sorted) AppendIndex(withdrawn.tasks, index);
  step.Record(std::move(withdrawn));
}

void WithdrawAllDescendants(StepContext& step, const JobState& job) {
  if (job.graph().empty() || job.finished()) return;
  for (TaskIndex i = 0; i < job.task_count(); ++i) {
    if (job.IsLost(i)) WithdrawDescendants(step, job, i);
  }
}

}  // namespace spate::engine
