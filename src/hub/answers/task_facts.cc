#include "hub/answers/task_facts.h"

#include <algorithm>
#include <utility>

namespace spate::hub {
namespace {

// The ranks that a node has of a gang.
void AddRanks(const std::vector<engine::GangLeased::Part>& parts, NodeId node,
              RunningFacts& facts) {
  uint32_t first = 0;
  for (const engine::GangLeased::Part& part : parts) {
    if (part.node == node) {
      facts.first_rank = first;
      facts.ranks = part.procs;
    }
    first += part.procs;
  }
}

}  // namespace

void AddPools(const engine::Engine& engine, const Pools& pools, JobId job,
              const std::optional<TaskClass>& request, Why& why) {
  if (why.empty()) return;
  auto info = engine.Info(job);
  if (!info || !request || info->held != HoldReason::kNone) return;
  AppendPools(why, pools.Explain(info->user, *request));
}

RunsOfJob RunsOf(const engine::Engine& engine, const Nodes& nodes, JobId job,
                 const std::function<bool(const AttemptRef&)>& is_wanted, size_t most) {
  RunsOfJob runs;
  std::map<TaskIndex, std::vector<engine::GangLeased::Part>> parts;
  for (NodeId id : nodes.WithRunsOf(job)) {
    const Nodes::Node& node = nodes.all().at(id);
    if (node.waits) continue;  // it has not been heard since
    for (const wire::NodeState::Run& run : node.state->runs) {
      const AttemptRef& ref = run.ref;
      // Its end may be known here before the node's next word.
      if (ref.job != job || !is_wanted(ref) || !engine.Holds(id, ref)) continue;
      if (most-- == 0) return runs;
      RunningFacts facts{ref.index + 1, ref.attempt.value, node.row.name,
                         nodes.loop().ToWall(run.since)};
      auto [gang, is_new] = parts.try_emplace(ref.index);
      if (is_new) gang->second = engine.PartsOf(job, ref.index);
      AddRanks(gang->second, id, facts);
      facts.stopped = engine.FreezingOf(job, ref.index);
      runs[ref.index].push_back(std::move(facts));
    }
  }
  for (auto& [index, of_task] : runs) std::ranges::sort(of_task, {}, &RunningFacts::first_rank);
  return runs;
}

}  // namespace spate::hub
