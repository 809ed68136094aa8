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

std::optional<TaskIndex> AddDescendants(const JobState& job, bool all_ended,
                                        std::vector<TaskRange>& tasks) {
  std::optional<TaskIndex> leased;
  std::unordered_set<TaskIndex> found;
  std::vector<TaskIndex> next;
  for (const TaskRange& range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      found.insert(i);
      if (job.graph().HasChildren(i)) next.push_back(i);
    }
  }
  const size_t before = found.size();
  while (!next.empty()) {
    TaskIndex at = next.back();
    next.pop_back();
    job.graph().ForChildren(at, [&](TaskIndex child) {
      if (job.LeftList(child)) return;
      if (job.StateOf(child) == TaskState::kLeased) leased = child;
      const bool wanted = all_ended || job.StateOf(child) == TaskState::kCancelled;
      if (!wanted || !job.MayReopen(child, all_ended)) return;
      if (found.insert(child).second) next.push_back(child);
    });
  }
  if (found.size() == before) return leased;
  std::vector<TaskIndex> sorted(found.begin(), found.end());
  std::ranges::sort(sorted);
  tasks.clear();
  for (TaskIndex index : sorted) AppendIndex(tasks, index);
  return leased;
}

void WithdrawAllDescendants(StepContext& step, const JobState& job) {
  if (job.graph().empty() || job.finished()) return;
  for (TaskIndex i = 0; i < job.task_count(); ++i) {
    if (job.IsLost(i)) WithdrawDescendants(step, job, i);
  }
}

}  // namespace spate::engine
