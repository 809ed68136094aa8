// Nodes that fail what succeeds elsewhere. Where a few tasks of a job have failed in a row and none
// succeeded, a node is suspect: it gets one task of the job at a time, ever more rarely, while
// others take them (pass.cc). Once others succeed elsewhere it is set aside for the job, and for
// all jobs when enough of them agree. A node is never set aside when no other one could do its
// work, so that nothing stands still. A success there, or tasks that failed there and fail
// elsewhere as well, make it trusted again. No task is repeated to find out. Why so:
// docs/design/023-bad-nodes.md.
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

std::string LastEnd(const Trouble& trouble) {
  std::string text = WordOf(trouble.cause);
  if (trouble.status != 0) text += fmt::format(" {}", trouble.status);
  return trouble.note.empty() ? text : text + ": " + trouble.note;
}

}  // namespace

bool OthersTake(const place::Board& board, const JobState& job, uint32_t request,
                std::array<NodeId, 2> but, Instant now) {
  auto without = [&](NodeId id) {
    return id == but[0] || id == but[1] || job.Avoids(id) || job.Suspects(id);
  };
  if (job.IsGang(request)) {
    return SomeHoldGang(board, job.user(), job.requests()[request], now, without);
  }
  return board.SomeTake(job.user(), job.request(request), now, without);
}

bool GoesElsewhere(const place::Board& board, const JobState& job, TaskIndex index, NodeId node,
                   Instant now) {
  const Trace trace = job.TraceOf(index);
  if (!trace.Blames(node)) return false;
  const bool is_over = now >= trace.blamed_at + board.limits.elsewhere_patience;
  if (is_over && !job.Suspects(node)) return false;
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
std::string WhyBlamed(const StepContext& step, NodeId id, const JobState& job,
                      const Trouble& trouble) {
  if (trouble.failures < step.board.limits.node_failures) return "";
  std::string many = fmt::format("{} tasks of job {} failed here one after the other",
                                 trouble.failures, job.id().value);
  if (!job.SucceededOn(id)) {
    return job.SucceededBeside(id) ? many + ", while others succeeded elsewhere" : "";
  }
  uint32_t pause = job.policy().pause_after_failures;
  return pause > 0 && trouble.failures >= pause ? many : "";
}

// From now on it gets one task at a time.
void RecallFromSuspect(StepContext& step, NodeId id, const JobState& job) {
  place::Node& node = step.board.nodes[id];
  if (!node.present || !node.crowded || node.recalled) return;
  RecallNode(step, id, job.id());
  node.recalled = true;
}

void CheckNode(StepContext& step, NodeId id, const JobState& job, uint32_t request) {
  auto trouble = job.troubles().find(id);
  if (trouble == job.troubles().end() || trouble->second.set_aside) return;
  if (trouble->second.failures < step.board.limits.node_failures) return;
  if (!OthersTake(step.board, job, request, {id}, step.now)) return;
  std::string why = WhyBlamed(step, id, job, trouble->second);
  if (why.empty()) {
    if (job.Suspects(id)) RecallFromSuspect(step, id, job);
    return;
  }
  SetAside(step, id, job.id(), fmt::format("{} (the last: {})", why, LastEnd(trouble->second)));
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

void CheckNodes(StepContext& step, const JobState& job, const Ended& ended) {
  if (ended.cause != Cause::kSuccess) {
    if (!IsFailure(ended.cause)) return;
    CheckNode(step, ended.node, job, ended.request);
    for (NodeId blamed : ended.before.blamed) {
      if (blamed != NodeId()) CheckTrust(step, blamed, job);
    }
    return;
  }
  CheckTrust(step, ended.node, job);
  if (!ended.first_there) return;
  // The request does succeed here, so its failures elsewhere count against those nodes.
  std::vector<NodeId> others;
  for (const auto& [id, trouble] : job.troubles()) others.push_back(id);
  for (NodeId id : others) CheckNode(step, id, job, ended.request);
}

void On(StepContext& step, const ClearSick& event) {
  auto matches = [&](const auto& each) {
    return event.node == NodeId() || event.node == each.first;
  };
  if (std::none_of(step.board.nodes.begin(), step.board.nodes.end(), matches)) return;
  step.Record(NodeCleared{event.node, event.job});
  if (event.job != JobId()) ForgetBlamesBy(step, event.job, event.node);
}

// ---- After the job -----------------------------------------------------------------------------

namespace {

// A user may have any number of jobs: a few of the newest tell what all would. So many are
// remembered of a user, and of all; the oldest one goes for the next.
void MakeRoomForBlame(std::vector<Blame>& blames, const std::string& user) {
  constexpr int kMostOfUser = 16;
  constexpr int kMost = 64;
  auto is_theirs = [&](const Blame& blame) { return blame.user == user; };
  if (std::ranges::count_if(blames, is_theirs) >= kMostOfUser) {
    blames.erase(std::ranges::find_if(blames, is_theirs));
  } else if (std::ssize(blames) >= kMost) {
    blames.erase(blames.begin());
  }
}

}  // namespace

void RememberBlames(StepContext& step, const JobState& job) {
  for (const auto& [id, trouble] : job.troubles()) {
    const NodeRecord& node = step.durable.NodeOf(id);
    if (!trouble.set_aside || node.IsBlamedBy(job.id())) continue;
    std::vector<Blame> blames = node.blames;
    MakeRoomForBlame(blames, job.user());
    blames.push_back({job.id(), job.user()});
    step.Record(NodeBlamed{id, std::move(blames)});
  }
}

void ForgetBlames(StepContext& step, NodeId node) {
  if (!step.durable.NodeOf(node).blames.empty()) step.Record(NodeBlamed{node, {}});
}

void ForgetBlamesBy(StepContext& step, JobId job, NodeId only) {
  std::vector<NodeBlamed> left;  // a node of which nothing is left leaves the map
  for (const auto& [id, node] : step.durable.nodes()) {
    if ((only != NodeId() && only != id) || !node.IsBlamedBy(job)) continue;
    left.push_back({id, node.blames});
    std::erase_if(left.back().blames, [job](const Blame& blame) { return blame.by == job; });
  }
  for (NodeBlamed& record : left) step.Record(std::move(record));
}

// ---- What people decide ------------------------------------------------------------------------

void On(StepContext& step, const DrainNode& event) {
  // One that has not come since the hub's restart is drained when it comes.
  auto node = step.board.nodes.find(event.node);
  const bool known = node != step.board.nodes.end();
  if (known && node->second.drained) {
    const bool new_reason =
        !event.reason.empty() && event.reason != step.durable.NodeOf(event.node).why_drained;
    if (new_reason) step.Record(NodeDrained{event.node, event.reason});
    return;
  }
  step.Record(NodeDrained{event.node, event.reason});
  if (known && node->second.present) RecallNode(step, event.node, JobId());
}

void On(StepContext& step, const UndrainNode& event) {
  step.live.removing.erase(event.node);
  auto node = step.board.nodes.find(event.node);
  if (node == step.board.nodes.end() || !node->second.drained) return;
  step.Record(NodeUndrained{event.node});
}

// ---- What nodes say of themselves --------------------------------------------------------------

void On(StepContext& step, const NodeFull& event) {
  auto at = step.board.nodes.find(event.node);
  if (at == step.board.nodes.end() || !at->second.present) return;
  if (at->second.no_room == event.why) return;
  at->second.no_room = event.why;
  step.board.look_at_gangs |= !step.board.asking_for_gangs.empty();
  if (!event.why.empty()) return RecallNode(step, event.node, JobId());
  step.board.MarkRoomy(event.node, at->second);
  step.board.unpark = true;
}

}  // namespace spate::engine
