// What happens to nodes: joined, lost, giving tasks back.
#include <algorithm>

#include "base/check.h"
#include "core/engine/engine_state.h"

namespace spate::engine {

void On(StepContext& step, const NodeJoined& event) {
  NodeState& node = step.state.nodes[event.node];
  // What a node of this name held before it came (again) is gone. It is sent nothing for that.
  node.present = false;
  EndLeasesOf(step, event.node, Cause::kNode, "its node started anew");
  node.present = true;
  node.offer = event.offer;
  CHECK(node.used == 0);
}

void On(StepContext& step, const NodeLost& event) {
  auto it = step.state.nodes.find(event.node);
  if (it == step.state.nodes.end()) return;
  it->second.present = false;
  EndLeasesOf(step, event.node, Cause::kNode, "its node was lost");
  it->second = NodeState{};
}

void On(StepContext& step, const TasksReturned& event) {
  JobState* job = step.state.FindJob(event.job);
  auto node = step.state.nodes.find(event.node);
  if (job == nullptr || node == step.state.nodes.end()) return;
  // Keep what this node really holds under this attempt; the rest is late news.
  auto tasks = Select(*job, event.tasks, [&](TaskIndex i) {
    return IsCurrent(node->second, *job, {event.job, i, event.attempt});
  });
  if (tasks.empty()) return;
  step.Record(Returned{event.node, event.job, event.attempt, std::move(tasks)});
}

}  // namespace spate::engine
