// Tasks that are cut off as their nodes end, again and again: such a task asks for more time than
// it had, so that it is started only where so much life is left.
#include <algorithm>
#include <map>
#include <set>

#include "core/engine/engine_state.h"

namespace spate::engine {
namespace {

// Twice what it had, rounded up to 1, 1.5, 2, 3, 4, 6 ... minutes, so that tasks of a job come to
// make few requests.
Duration TimeAfter(Duration had) {
  constexpr Duration kMost = Duration::Seconds(365 * 24 * 3600);
  const Duration wanted = std::min(had, kMost) * 2;
  Duration time = Duration::Seconds(60);
  while (time < wanted && time + time / 2 < wanted) time = time * 2;
  return time >= wanted ? time : time + time / 2;
}

// The change of one job's requests.
class Asking {
 public:
  Asking(const JobState& job, const Limits& limits) : job_(job), limits_(limits) {
    changed_.job = job.id();
  }

  void Ask(TaskIndex index, Duration time) {
    const uint32_t request = job_.RequestOf(index);
    if (job_.request(request).time >= time) return;
    if (auto number = NumberOf(request, time)) tasks_[index] = *number;
  }

  NeedsChanged Take() {
    for (auto [index, request] : tasks_) {
      std::vector<RequestRun>& runs = changed_.runs;
      bool next = !runs.empty() && runs.back().request == request &&
                  runs.back().first + runs.back().count == index;
      if (next) {
        ++runs.back().count;
      } else {
        runs.push_back({index, 1, request});
      }
    }
    return std::move(changed_);
  }

 private:
  // nullopt: the job makes as many requests as it may.
  std::optional<uint32_t> NumberOf(uint32_t request, Duration time) {
    auto known = numbers_.find({request, time});
    if (known != numbers_.end()) return known->second;
    TaskClass wanted = job_.requests()[request];
    wanted.needs.time = time;
    auto same = std::ranges::find(job_.requests(), wanted);
    auto number = static_cast<uint32_t>(same - job_.requests().begin());
    if (same == job_.requests().end()) {
      number += static_cast<uint32_t>(changed_.new_requests.size());
      if (number >= limits_.requests) return std::nullopt;
      changed_.new_requests.push_back(std::move(wanted));
    }
    numbers_[{request, time}] = number;
    return number;
  }

  const JobState& job_;
  const Limits& limits_;
  NeedsChanged changed_;
  std::map<TaskIndex, uint32_t> tasks_;
  std::map<std::pair<uint32_t, Duration>, uint32_t> numbers_;
};

}  // namespace

void AskForTime(StepContext& step, NodeId node, std::span<const AttemptEnd> ends) {
  if (std::ranges::none_of(ends, IsCutOff)) return;
  std::map<JobId, Asking> asking;
  for (const AttemptEnd& end : ends) {
    const JobState* job = step.durable.FindJob(end.ref.job);
    if (!IsCutOff(end) || job == nullptr || job->policy().retry.once) continue;
    if (!IsCurrent(step.durable.NodeOf(node), *job, end.ref)) continue;
    if (job->Cancelled(end.ref.index)) continue;
    CutOffs before = job->CutOffsOf(end.ref.index);
    before.Add(end.wall);
    if (before.count < step.board.limits.cut_offs) continue;
    asking.try_emplace(job->id(), *job, step.board.limits)
        .first->second.Ask(end.ref.index, TimeAfter(before.longest));
  }
  for (auto& [id, each] : asking) {
    NeedsChanged changed = each.Take();
    if (!changed.runs.empty()) step.Record(std::move(changed));
  }
}

}  // namespace spate::engine
