// Nodes that fail what succeeds elsewhere. A node is set aside for a job after a few failures in a
// row, when others succeeded elsewhere, or nothing of the job has succeeded on it; and for all jobs
// when enough of them agree. A node is never set aside when no other one could do its work, so that
// nothing stands still. Tasks that failed there are tried elsewhere; tasks that fail there as well
// are to blame themselves, and the node is trusted again. Why so: docs/design/023-bad-nodes.md.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/engine/engine_state.h"

namespace spate::engine {
namespace {

void RecallNode(StepContext& step, NodeId id, JobId job) {
  JobId last;
  for (const auto& [key, range] : step.durable.NodeOf(id).leases) {
    if (key.job == last || (job != JobId() && key.job != job)) continue;
    last = key.job;
    step.out.sends.push_back(SendRecall{id, last});
  }
}

void SetAside(StepContext& step, NodeId node, JobId job, std::string text) {
  step.out.notices.push_back(NoticeNodeSick{node, job, text});
  step.Record(NodeSick{node, job, std::move(text)});
  RecallNode(step, node, job);
}

// Jobs of two users have set the node aside. Those of one, however many, keep it from nobody else.
bool EnoughAgree(const place::Node& node) {
  return std::ranges::any_of(node.set_aside, [&](const auto& each) {
    return each.second != node.set_aside.begin()->second;
  });
}

// Another node can do for the jobs that there are all that this one could. Looks at no more than
// kMost requests, as an event must not cost without bound.
bool OthersTakeAll(const StepContext& step, NodeId but) {
  constexpr int kMost = 1000;
  int looked = 0;
  const place::Node& node = step.board.nodes.at(but);
  for (const auto& [id, job] : step.durable.jobs()) {
    if (job.finished()) continue;
    for (uint32_t request = 0; request < job.request_count(); ++request) {
      if (++looked > kMost) return true;
      if (FitNow(node, job, request, step.now) == 0) continue;
      if (!OthersTake(step.board, job, request, {but}, step.now)) return false;
    }
  }
  return true;
}

std::string LastEnd(const AttemptEnd& end) {
  std::string text = CauseName(end.cause);
  if (end.status != 0) text += fmt::format(" {}", end.status);
  return end.note.empty() ? text : text + ": " + end.note;
}

}  // namespace

bool OthersTake(const place::Board& board, const JobState& job, uint32_t request,
                std::array<NodeId, 2> but, Instant now) {
  return board.SomeTake(job.user(), job.request(request), now,
                        [&](NodeId id) { return id == but[0] || id == but[1] || job.Avoids(id); });
}

bool GoesElsewhere(const place::Board& board, const JobState& job, TaskIndex index, NodeId node,
                   Instant now) {
  auto trouble = job.troubles().find(node);
  if (trouble == job.troubles().end() || trouble->second.failures == 0) return false;
  if (job.SucceededOn(node)) return false;
  const Trace trace = job.TraceOf(index);
  if (!trace.Blames(node) || now >= trace.blamed_at + board.limits.elsewhere_patience) return false;
  return OthersTake(board, job, job.RequestOf(index), trace.blamed, now);
}

int NodesFor(const place::Board& board, const JobState& job, Instant now) {
  constexpr uint32_t kMost = 1000;
  int count = 0;
  for (const auto& [id, node] : board.nodes) {
    for (uint32_t request = 0; request < std::min(job.request_count(), kMost); ++request) {
      if (FitNow(node, job, request, now, /*even_sick=*/true) == 0) continue;
      if (++count == 2) return count;
      break;
    }
  }
  return count;
}

namespace {

// Why the node is taken for the cause of so many failures in a row; empty when it is not.
std::string WhyBlamed(const StepContext& step, NodeId id, const JobState& job, uint32_t failures) {
  if (failures < step.board.limits.node_failures) return "";
  std::string many = fmt::format("{} attempts of job {} failed here one after the other", failures,
                                 job.id().value);
  if (job.SucceededBeside(id)) return many + ", while others succeeded elsewhere";
  if (!job.SucceededOn(id)) return many + " and none succeeded";
  uint32_t pause = job.policy().pause_after_failures;
  return pause > 0 && failures >= pause ? many : "";
}

void CheckNode(StepContext& step, NodeId id, const JobState& job, const AttemptEnd& end) {
  auto trouble = job.troubles().find(id);
  if (trouble == job.troubles().end() || trouble->second.set_aside) return;
  std::string why = WhyBlamed(step, id, job, trouble->second.failures);
  if (why.empty()) return;
  if (!OthersTake(step.board, job, job.RequestOf(end.ref.index), {id}, step.now)) return;
  SetAside(step, id, job.id(), fmt::format("{} (the last: {})", why, LastEnd(end)));
  const place::Node& node = step.board.nodes[id];
  if (!node.sick.empty() || !EnoughAgree(node) || !OthersTakeAll(step, id)) return;
  std::string jobs;
  for (const auto& [each, user] : node.set_aside) {
    jobs += fmt::format("{}{}", jobs.empty() ? "" : ", ", each.value);
  }
  SetAside(step, id, JobId(),
           fmt::format("it fails tasks that succeed elsewhere, of jobs {}", jobs));
}

// The node was set aside, and less speaks against it now than it takes for that.
void CheckTrust(StepContext& step, NodeId id, const JobState& job) {
  auto trouble = job.troubles().find(id);
  if (trouble == job.troubles().end() || !trouble->second.set_aside) return;
  if (trouble->second.failures >= step.board.limits.node_failures) return;
  step.Record(NodeCleared{id, job.id()});
}

}  // namespace

void CheckNodes(StepContext& step, NodeId id, const JobState& job, const AttemptEnd& end,
                const Trace& before) {
  if (end.cause == Cause::kSuccess) {
    // Where others succeed, one success does not make a node good again; a person may.
    if (!job.SucceededBeside(id)) CheckTrust(step, id, job);
    return;
  }
  CheckNode(step, id, job, end);
  for (NodeId blamed : before.blamed) {
    if (blamed != NodeId()) CheckTrust(step, blamed, job);
  }
}

void On(StepContext& step, const ClearSick& event) {
  auto matches = [&](const auto& each) {
    return event.node == NodeId() || event.node == each.first;
  };
  if (std::none_of(step.board.nodes.begin(), step.board.nodes.end(), matches)) return;
  step.Record(NodeCleared{event.node, event.job});
}

void On(StepContext& step, const DrainNode& event) {
  auto node = step.board.nodes.find(event.node);
  if (node == step.board.nodes.end() || node->second.drained) return;
  step.Record(NodeDrained{event.node});
  if (node->second.present) RecallNode(step, event.node, JobId());
}

void On(StepContext& step, const UndrainNode& event) {
  auto node = step.board.nodes.find(event.node);
  if (node == step.board.nodes.end() || !node->second.drained) return;
  step.Record(NodeUndrained{event.node});
}

}  // namespace spate::engine
