// Events of nodes: joined, silent, lost, removed.
#include <algorithm>
#include <map>
#include <utility>

#include "base/units.h"
#include "core/engine/engine_state.h"

namespace spate::engine {

namespace {

// `heard`: when the node was heard last.
AttemptEnd CutOff(Instant heard, const std::string& note) {
  return {.ref = {}, .cause = Cause::kStopped, .status = kCutOff, .start = heard, .note = note};
}

// A node that goes when its time is over takes tasks with it that are not to blame for that, also
// where nobody heard it go.
void Lose(StepContext& step, NodeId id, const std::string& note) {
  AttemptEnd end{.ref = {}, .cause = Cause::kNode, .note = note};
  const place::Node& node = step.board.nodes[id];
  if (node.offer.end_of_life <= step.now) {
    const bool silent = node.lost_at != Instant::Never();
    const Instant heard = silent ? node.lost_at - step.board.limits.node_patience : step.now;
    end = CutOff(heard, "its node's time was over");
  }
  step.live.SetAway(id, Instant::Never());
  EndLeasesOf(step, id, end);
  step.board.Forget(step.board.nodes[id]);
}

// Tasks held under each attempt number of a job, normalized.
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

// Drops, on a node, held tasks that are not (or no longer) leased to it. The cost is that of its
// message and of its leases, whatever ranges it may name.
void DropStrange(StepContext& step, NodeId id, const HeldByAttempt& holds) {
  const NodeRecord& node = step.durable.NodeOf(id);
  for (const auto& [held, tasks] : holds) {
    auto [job_id, attempt] = held;
    const JobState* job = step.durable.FindJob(job_id);
    auto strange = job == nullptr ? tasks : Without(tasks, HeldNow(node, *job, attempt));
    if (!strange.empty()) {
      step.out.sends.push_back(SendDrop{id, job_id, attempt, std::move(strange)});
    }
  }
}

// While the node was away, a job may have been held, it or its tasks cancelled, or the node
// drained.
void RecallStoppedJobs(StepContext& step, NodeId id) {
  JobId last;
  for (const auto& [key, range] : step.durable.NodeOf(id).leases) {
    if (key.job == last) continue;
    last = key.job;
    const JobState& job = *step.durable.FindJob(last);
    StopCancelled(step, id, job);
    if (job.cancelled()) continue;
    if (job.held() != HoldReason::kNone || !step.board.nodes[id].TakesTasks()) {
      step.out.sends.push_back(SendRecall{id, last});
    }
  }
}

// Nothing of it starts elsewhere before it has ended there.
void EndAllOn(StepContext& step, NodeId id) {
  if (!step.board.nodes.at(id).present) return;
  JobId last;
  for (const auto& [key, range] : step.durable.NodeOf(id).leases) {
    if (range.procs > 0) StopParts(step, *step.durable.FindJob(key.job), key.first);
    if (std::exchange(last, key.job) == key.job) continue;
    step.out.sends.push_back(SendStop{id, key.job, {}});
  }
}

// A node that is no longer alone gives back what it holds ahead: the second one may start it now,
// unless it is for the first one by name. That is left alone: the order of such tasks counts.
void RecallFromTheFirst(StepContext& step, NodeId second) {
  const auto& nodes = step.board.nodes;
  if (nodes.size() != 1 || nodes.contains(second) || !nodes.begin()->second.present) return;
  JobId last;
  for (const auto& [key, range] : step.durable.NodeOf(nodes.begin()->first).leases) {
    if (key.job == last) continue;
    const TaskClass& request = step.durable.FindJob(key.job)->requests()[range.request];
    if (!request.needs.on_node.empty() || range.procs > 0) continue;
    last = key.job;
    step.out.sends.push_back(SendRecall{nodes.begin()->first, last});
  }
}

}  // namespace

void On(StepContext& step, const NodeJoined& event) {
  RecallFromTheFirst(step, event.node);
  // It is sent nothing for what it does not hold.
  step.live.SetAway(event.node, Instant::Never());
  const HeldByAttempt holds = Gathered(event.holds);
  AttemptEnd end{.ref = {}, .cause = Cause::kNode, .note = "its node restarted"};
  EndLeasesOf(step, event.node, end, [&](const AttemptRef& ref) {
    auto held = holds.find({ref.job, ref.attempt});
    return held != holds.end() && SortedContains(held->second, ref.index);
  });
  step.live.SetOffer(step.durable, event.node, event.offer);
  place::Node& node = step.board.nodes[event.node];
  node.present = true;
  node.asked = node.answered = false;
  step.board.MarkRoomy(event.node, node);
  step.board.unpark = true;
  DropStrange(step, event.node, holds);
  RecallStoppedJobs(step, event.node);
  ResumeParts(step, event.node);
  FreezeAgain(step, event.node, event.frozen);
  ResizeAgain(step, event.node);
  if (step.live.removing.contains(event.node)) EndAllOn(step, event.node);
}

void On(StepContext& step, const OfferChanged& event) {
  auto it = step.board.nodes.find(event.node);
  if (it == step.board.nodes.end() || !it->second.present) return;
  step.live.SetOffer(step.durable, event.node, event.offer);
  step.board.MarkRoomy(event.node, it->second);
  step.board.unpark = true;
}

void On(StepContext& step, const HubSlept& event) {
  for (auto& [id, node] : step.board.nodes) {
    Instant& end = node.offer.end_of_life;
    if (end != Instant::Never()) end = end - event.time;
  }
}

void On(StepContext& step, const NodeSilent& event) {
  auto it = step.board.nodes.find(event.node);
  if (it == step.board.nodes.end() || it->second.lost_at != Instant::Never()) return;
  step.live.SetAway(event.node, event.since + step.board.limits.node_patience);
}

void On(StepContext& step, const NodeKnocked& event) {
  auto it = step.board.nodes.find(event.node);
  if (it == step.board.nodes.end() || it->second.lost_at == Instant::Never()) return;
  step.live.SetAway(event.node, step.now + step.board.limits.node_patience);
}

void On(StepContext& step, const NodeLost& event) {
  if (!step.board.nodes.contains(event.node)) return;
  if (!event.left) return Lose(step, event.node, "its node was lost");
  step.live.SetAway(event.node, Instant::Never());
  EndLeasesOf(step, event.node, CutOff(step.now, "its node ended"));
  step.board.Forget(step.board.nodes[event.node]);
}

void On(StepContext& step, const RemoveNode& event) {
  if (!step.board.nodes.contains(event.node)) return;
  if (event.ends_first) {
    On(step, DrainNode{event.node, "it is being removed"});
    step.live.removing.insert(event.node);
    return EndAllOn(step, event.node);
  }
  step.live.removing.erase(event.node);
  Lose(step, event.node, "its node was removed");
  step.Record(NodeRemoved{event.node});
}

void RemoveEmptied(StepContext& step) {
  std::erase_if(step.live.removing, [&](NodeId id) {
    if (!step.durable.NodeOf(id).leases.empty()) return false;
    Lose(step, id, "");
    step.Record(NodeRemoved{id});
    step.out.notices.push_back(NoticeNodeRemoved{id});
    return true;
  });
}

bool MayForget(const Durable& durable, const place::Board& board, NodeId id) {
  auto known = board.nodes.find(id);
  if (known == board.nodes.end()) return true;
  if (known->second.present || known->second.lost_at != Instant::Never()) return false;
  const NodeRecord& node = durable.NodeOf(id);
  if (!node.leases.empty() || node.drained || !node.sick.empty()) return false;
  return std::ranges::none_of(known->second.set_aside, [&](const auto& each) {
    const JobState* job = durable.FindJob(each.first);
    return job != nullptr && !job->finished();
  });
}

void On(StepContext& step, const ForgetNode& event) {
  if (!MayForget(step.durable, step.board, event.node)) return;
  if (!step.durable.NodeOf(event.node).empty()) step.Record(NodeRemoved{event.node});
}

void LoseSilentNodes(StepContext& step) {
  auto& silent = step.live.silent;
  while (!silent.empty() && silent.begin()->first <= step.now) {
    Lose(step, silent.begin()->second,
         "its node was silent for " + FormatDuration(step.board.limits.node_patience));
  }
  if (!silent.empty()) step.out.wake_at = std::min(step.out.wake_at, silent.begin()->first);
}

}  // namespace spate::engine
