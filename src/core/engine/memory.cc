// Tasks that ran out of memory ask for more of it at their next try (--retry-memory).
#include <algorithm>

#include "core/engine/engine_state.h"
#include "core/model/retry.h"

namespace spate::engine {
namespace {

// A task that would ask for more than any node has, or will have, asks for all that one has; a gang
// that would fit nowhere asks for no more, unless nodes are to come.
uint64_t WithinNodes(const StepContext& step, const JobState& job, TaskClass of_task,
                     uint64_t wanted) {
  const uint64_t before = of_task.needs.memory;
  if (!of_task.gang.empty()) {
    if (!step.live.to_come.empty()) return wanted;
    of_task.needs.memory = wanted;
    const bool fits = SomeHoldGang(step.board, job.user(), of_task, step.now,
                                   [&](NodeId id) { return job.Avoids(id); });
    return fits ? wanted : before;
  }
  uint64_t most = 0;
  for (const auto& [id, node] : step.board.nodes) {
    const Offer& offer = node.offer;
    if (offer.slots == 0 || !TakesUser(offer, job.user())) continue;
    if (FitCount(offer, of_task.needs) == 0) continue;
    if (offer.memory == 0) return wanted;  // it counts none
    most = std::max(most, offer.memory);
  }
  for (const NodesToCome::Kind& kind : step.live.to_come) {
    if (!kind.Takes(job.user(), of_task.needs)) continue;
    if (kind.memory == 0) return wanted;  // nobody knows yet
    most = std::max(most, kind.memory);
  }
  return std::min(wanted, most);
}

}  // namespace

void AskForMemory(StepContext& step, const JobState& job, const AttemptEnd& end) {
  const RetryPolicy& retry = job.policy().retry;
  if (end.cause != Cause::kMemory || retry.memory_growth == 0) return;
  TaskClass wanted = job.requests()[job.RequestOf(end.ref.index)];
  const uint64_t before = wanted.needs.memory;
  const uint64_t grown = WithinNodes(step, job, wanted, MemoryAfter(retry, before));
  if (grown <= before) return;
  wanted.needs.memory = grown;
  const std::vector<TaskClass>& known = job.requests();
  const auto same = std::ranges::find(known, wanted);
  const auto number = static_cast<uint32_t>(same - known.begin());
  NeedsChanged changed{job.id(), {}, {{end.ref.index, 1, number}}};
  if (same == known.end()) {
    if (number >= step.board.limits.requests) return;
    changed.new_requests.push_back(std::move(wanted));
  }
  step.Record(std::move(changed));
}

}  // namespace spate::engine
