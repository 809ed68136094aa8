// Jobs that slow each other are parted. One report says little: a task has phases of its own. A
// second one about the same two jobs, whichever of them moved less, makes a record for each.
#include <utility>

#include "core/engine/engine_state.h"

namespace spate::engine {

void On(StepContext& step, const SlowedTold& event) {
  const SlowedBeside& what = event.what;
  const JobState* job = step.durable.FindJob(what.ref.job);
  const JobState* beside = step.durable.FindJob(what.beside);
  if (job == nullptr || beside == nullptr || job == beside) return;
  if (job->finished() || !step.board.nodes.contains(event.node)) return;
  if (!IsCurrent(step.durable.NodeOf(event.node), *job, what.ref)) return;  // late news
  auto is_it = [&](const PartedFrom& from) { return from.job == what.beside; };
  if (std::ranges::any_of(job->parted(), is_it)) return;
  auto& slowed = step.live.slowed;
  const auto pair = std::minmax(what.ref.job, what.beside);
  if (slowed.erase(pair) == 0) {
    if (slowed.size() >= Live::kMostSlowed) slowed.clear();
    slowed.insert(pair);
    return;
  }
  PartedFrom from{.job = what.beside,
                  .node = event.node,
                  .slowed = what.ref.job,
                  .kind = what.kind,
                  .alone = what.alone,
                  .with = what.with,
                  .at = step.wall()};
  step.Record(JobParted{what.ref.job, from});
  if (beside->finished()) return;
  from.job = what.ref.job;
  step.Record(JobParted{what.beside, from});
}

std::vector<PartedFrom> Engine::PartedOf(JobId id) const {
  const JobState* job = state_->durable().FindJob(id);
  return job == nullptr ? std::vector<PartedFrom>() : job->parted();
}

std::vector<std::pair<JobId, PartedFrom>> Engine::PartedOn(NodeId node) const {
  std::vector<std::pair<JobId, PartedFrom>> all;
  for (JobId job : state_->live.parted) {
    for (const PartedFrom& from : PartedOf(job)) {
      if (from.node == node) all.emplace_back(job, from);
    }
  }
  return all;
}

}  // namespace spate::engine
