#include "hub/answers/run_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace spate::hub {
namespace {

// The node that has this attempt; nodes that have told of the job's tasks first. Cost: the nodes.
std::optional<NodeId> NodeOf(const engine::Engine& engine, const Nodes& nodes,
                             const AttemptRef& ref) {
  for (NodeId id : nodes.WithRunsOf(ref.job)) {
    if (engine.Holds(id, ref)) return id;
  }
  for (const auto& [id, node] : nodes.all()) {
    if (engine.Holds(id, ref)) return id;
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<NodeId>> NodeOfRank(const engine::Engine& engine, const Nodes& nodes,
                                         const AttemptRef& ref, uint32_t rank, uint32_t& ranks) {
  const std::vector<engine::GangLeased::Part> parts = engine.PartsOf(ref.job, ref.index);
  std::optional<NodeId> found;
  for (const engine::GangLeased::Part& part : parts) {
    if (rank >= ranks && rank < ranks + part.procs) found = part.node;
    ranks += part.procs;
  }
  if (rank >= std::max(ranks, 1u)) {
    const std::string task = fmt::format("{}.{}", ref.job.value, ref.index + 1);
    return Fail(ErrorKind::kInvalid,
                parts.empty()
                    ? fmt::format("--rank {}: task {} is not a gang", rank, task)
                    : fmt::format("--rank {}: task {} has ranks 0 to {}", rank, task, ranks - 1));
  }
  return parts.empty() ? NodeOf(engine, nodes, ref) : found;
}

}  // namespace spate::hub
