// What happens to nodes: joined, silent, lost, removed.
#include <map>
#include <utility>

#include "base/units.h"
#include "core/engine/engine_state.h"

namespace spate::engine {

namespace {

void SetAway(EngineState& state, NodeId id, Instant lost_at) {
  NodeState& node = state.nodes[id];
  node.present = false;
  state.open.erase(id);
  state.silent.erase({node.lost_at, id});
  node.lost_at = lost_at;
  if (lost_at != Instant::Never()) state.silent.insert({lost_at, id});
}

void Lose(StepContext& step, NodeId id, const std::string& note) {
  SetAway(step.state, id, Instant::Never());
  EndLeasesOf(step, id, Cause::kNode, note);
  NodeState& node = step.state.nodes[id];
  node.offer = {};
  node.jobs.clear();
}

// What each attempt number of a job is held of, normalized.
using HeldByAttempt = std::map<std::pair<JobId, Attempt>, std::vector<TaskRange>>;

HeldByAttempt Gathered(const std::vector<HeldTasks>& holds) {
  HeldByAttempt gathered;
  for (const HeldTasks& held : holds) {
    std::vector<TaskRange>& tasks = gathered[{held.job, held.attempt}];
    tasks.insert(tasks.end(), held.tasks.begin(), held.tasks.end());
  }
  for (auto& [attempt, tasks] : gathered) tasks = Normalized(std::move(tasks));
  return gathered;
}

// Of what a node says that it holds, what is not its own (any more) is dropped there. The cost is
// that of its message and of its leases, whatever ranges it may name.
void DropStrange(StepContext& step, NodeId id, const HeldByAttempt& holds) {
  NodeState& node = step.state.nodes[id];
  for (const auto& [held, tasks] : holds) {
    auto [job_id, attempt] = held;
    const JobState* job = step.state.FindJob(job_id);
    auto strange = job == nullptr ? tasks : Without(tasks, HeldNow(node, *job, attempt));
    if (!strange.empty()) {
      step.out.sends.push_back(SendDrop{id, job_id, attempt, std::move(strange)});
    }
  }
}

// What the node holds takes another share of it now.
void SetOffer(EngineState& state, NodeState& node, const Offer& offer) {
  for (const auto& [key, range] : node.leases) {
    state.TakeUse(*state.FindJob(key.job), node, range, range.left);
  }
  node.offer = offer;
  for (auto& [key, range] : node.leases) {
    JobState& job = *state.FindJob(key.job);
    state.AddUse(job, node, range);
    state.UpdateTurn(job);
  }
}

// While the node was away, a job may have been held, it or its tasks cancelled, or the node
// drained.
void RecallStoppedJobs(StepContext& step, NodeId id) {
  JobId last;
  for (const auto& [key, range] : step.state.nodes[id].leases) {
    if (key.job == last) continue;
    last = key.job;
    const JobState& job = *step.state.FindJob(last);
    StopCancelled(step, id, job);
    if (job.cancelled()) continue;
    if (job.held() != HoldReason::kNone || !step.state.nodes[id].TakesTasks()) {
      step.out.sends.push_back(SendRecall{id, last});
    }
  }
}

// A node that is no longer alone gives back what it holds ahead: the second one may start it now.
void RecallFromTheFirst(StepContext& step, NodeId second) {
  auto& nodes = step.state.nodes;
  if (nodes.size() != 1 || nodes.contains(second) || !nodes.begin()->second.present) return;
  JobId last;
  for (const auto& [key, range] : nodes.begin()->second.leases) {
    if (key.job == last) continue;
    last = key.job;
    step.out.sends.push_back(SendRecall{nodes.begin()->first, last});
  }
}

}  // namespace

void On(StepContext& step, const NodeJoined& event) {
  RecallFromTheFirst(step, event.node);
  // It is sent nothing for what it does not hold.
  SetAway(step.state, event.node, Instant::Never());
  const HeldByAttempt holds = Gathered(event.holds);
  EndLeasesOf(step, event.node, Cause::kNode, "its node started anew", [&](const AttemptRef& ref) {
    auto held = holds.find({ref.job, ref.attempt});
    return held != holds.end() && SortedContains(held->second, ref.index);
  });
  NodeState& node = step.state.nodes[event.node];
  SetOffer(step.state, node, event.offer);
  node.present = true;
  step.state.open.insert(event.node);
  step.state.unpark = true;
  DropStrange(step, event.node, holds);
  RecallStoppedJobs(step, event.node);
}

void On(StepContext& step, const NodeSilent& event) {
  auto it = step.state.nodes.find(event.node);
  if (it == step.state.nodes.end() || it->second.lost_at != Instant::Never()) return;
  SetAway(step.state, event.node, event.since + step.state.limits.node_patience);
}

void On(StepContext& step, const NodeLost& event) {
  if (!step.state.nodes.contains(event.node)) return;
  Lose(step, event.node, "its node was lost");
}

void On(StepContext& step, const RemoveNode& event) {
  if (!step.state.nodes.contains(event.node)) return;
  Lose(step, event.node, "its node was removed");
  step.Record(NodeRemoved{event.node});
}

void LoseSilentNodes(StepContext& step) {
  auto& silent = step.state.silent;
  std::string note = "its node was silent for " + FormatDuration(step.state.limits.node_patience);
  while (!silent.empty() && silent.begin()->first <= step.now) {
    Lose(step, silent.begin()->second, note);
  }
  if (!silent.empty()) step.out.wake_at = std::min(step.out.wake_at, silent.begin()->first);
}

}  // namespace spate::engine
