// A job's knowledge of the nodes that it runs on: where its tasks succeed, and where they fail one
// after the other. All of it follows from the ends of its attempts; sick.cc decides on the
// consequences, and docs/design/023-bad-nodes.md explains them.
#include <algorithm>

#include "core/engine/job_state.h"
#include "core/model/limits.h"
#include "core/model/retry.h"

namespace spate::engine {
namespace {

// Between two tasks on a node that seems to fail all of them: at first, and at most.
constexpr Duration kFirstPause = Duration::Seconds(1);
constexpr Duration kLongestPause = Duration::Seconds(600);

}  // namespace

bool JobState::Avoids(NodeId node) const {
  auto it = troubles_->find(node);
  return it != troubles_->end() && (it->second.set_aside || it->second.no_start);
}

bool JobState::SucceededOn(NodeId node) const {
  return std::binary_search(good_nodes_.begin(), good_nodes_.end(), node);
}

bool JobState::SucceededBeside(NodeId node) const {
  return good_nodes_.size() > (SucceededOn(node) ? 1u : 0u);
}

// After a success, tasks that fail for their own reasons may well come in a row.
uint32_t JobState::FewFailuresOn(NodeId node) const {
  constexpr uint32_t kWhereSomeSucceed = 3;
  return kLimits.node_failures * (SucceededOn(node) ? kWhereSomeSucceed : 1);
}

bool JobState::Suspects(NodeId node) const {
  auto it = troubles_->find(node);
  return it != troubles_->end() && it->second.failures >= FewFailuresOn(node);
}

Instant JobState::TrialOn(NodeId node) const {
  auto it = troubles_->find(node);
  return it == troubles_->end() ? Instant() : it->second.trial_at;
}

uint32_t JobState::FailuresBesideWorst() const {
  uint32_t worst = 0;
  for (const auto& [node, failures] : *row_) worst = std::max(worst, failures);
  return failures_in_row_ - worst;
}

void JobState::EndRow() {
  failures_in_row_ = 0;
  row_.Clear();
}

// Learns nodes that fail the job's tasks. A success is the common case, and costs next to nothing.
void JobState::Learn(const AttemptEnded& ended, NodeId node) {
  if (ended.end.cause != Cause::kSuccess) {
    if (IsFailure(ended.end.cause)) LearnFailure(ended, node);
    return;
  }
  if (!troubles_->empty()) {
    auto& troubles = troubles_.Edit();
    if (auto it = troubles.find(node); it != troubles.end()) {
      it->second = {.set_aside = it->second.set_aside};
      if (!it->second.set_aside) troubles.erase(it);
    }
  }
  auto at = std::lower_bound(good_nodes_.begin(), good_nodes_.end(), node);
  if (at == good_nodes_.end() || *at != node) good_nodes_.insert(at, node);
  // An open job outlives many nodes: those with the lowest numbers came first.
  if (good_nodes_.size() > kGoodNodes) good_nodes_.erase(good_nodes_.begin());
  if (failures_in_row_ > 0) EndRow();
  starts_nowhere_ = false;
}

void JobState::LearnFailure(const AttemptEnded& ended, NodeId node) {
  const Trace trace = TraceOf(ended.end.ref.index);
  const bool first = trace.tries == 0 && trace.elsewhere == 0 && trace.no_starts == 0;
  if (first) {
    ++failures_in_row_;
    ++row_.Edit()[node];
  }
  // It failed on different nodes, and on the last one others of its job succeed.
  const bool tried_elsewhere =
      trace.blamed[0] != NodeId() && (trace.blamed[0] != node || trace.blamed[1] != NodeId());
  if (ended.verdict == Verdict::kFailed && tried_elsewhere && SucceededOn(node)) {
    for (NodeId blamed : trace.blamed) {
      auto it = troubles_.Edit().find(blamed);
      if (it != troubles_->end() && it->second.failures > 0) --it->second.failures;
    }
    return;
  }
  Trouble& trouble = troubles_.Edit()[node];
  if (!trace.Blames(node)) ++trouble.failures;
  trouble.cause = ended.end.cause;
  trouble.status = ended.end.status;
  trouble.note = ended.end.note;
  trouble.failed_at = ended.ended;
  if (const uint32_t few = FewFailuresOn(node); trouble.failures >= few) {
    if (trouble.pause.ns == 0 || trouble.failures == few) {
      trouble.pause = kFirstPause;
    } else if (ended.ended >= trouble.trial_at) {
      trouble.pause = std::min(trouble.pause * 2, kLongestPause);
    }
    trouble.trial_at = std::max(trouble.trial_at, ended.ended + trouble.pause);
  }
  if (ended.end.cause != Cause::kStart) return;
  if (!ended.counts) {
    trouble.no_start = true;
  } else if (!starts_nowhere_) {
    // No node was left to try.
    starts_nowhere_ = true;
    for (auto& [each, other] : troubles_.Edit()) other.no_start = false;
  }
}

}  // namespace spate::engine
