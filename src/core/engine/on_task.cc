// What happens to attempts: ended, lost. Here a task's fate is decided.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "core/engine/engine_state.h"

namespace spate::engine {
namespace {

struct Fate {
  Verdict verdict;
  bool counts;
};

// It could not be started here, and may on another node: that is this node's failure.
bool StartsElsewhere(const StepContext& step, NodeId node, const JobState& job,
                     const AttemptEnd& end, const Trace& trace) {
  if (end.cause != Cause::kStart || job.starts_nowhere()) return false;
  if (trace.losses + 1u >= step.state.limits.node_losses) return false;
  return OthersTake(step.state, job, job.RequestOf(end.ref.index), node, step.now);
}

Fate Decide(const StepContext& step, NodeId node, const JobState& job, const AttemptEnd& end) {
  const RetryPolicy& retry = job.policy().retry;
  const Limits& limits = step.state.limits;
  if (end.cause == Cause::kSuccess) return {Verdict::kSucceeded, true};
  Trace trace = job.TraceOf(end.ref.index);
  if (StartsElsewhere(step, node, job, end, trace)) return {Verdict::kRetry, false};
  if (end.cause == Cause::kStopped || end.cause == Cause::kNode) {
    // Lost or ended by us: no try is used up, and `once` forbids to repeat what may have run.
    if (retry.once) return {Verdict::kUnknown, false};
    if (end.cause == Cause::kStopped) return {Verdict::kRetry, false};
    if (trace.losses + 1u >= limits.node_losses) return {Verdict::kFailed, false};
    bool wanted = (retry.retry_on & CauseBit(Cause::kNode)) != 0;
    return {wanted ? Verdict::kRetry : Verdict::kFailed, false};
  }
  bool wanted = (retry.retry_on & CauseBit(end.cause)) != 0;
  bool left = trace.tries + 1u <= retry.retries && trace.attempt.value < UINT16_MAX - 1;
  return {wanted && left ? Verdict::kRetry : Verdict::kFailed, true};
}

void EndAttempt(StepContext& step, NodeId node, JobState& job, AttemptEnd end) {
  Fate fate = Decide(step, node, job, end);
  bool cancelled = job.Cancelled(end.ref.index) && fate.verdict != Verdict::kSucceeded;
  if (cancelled) fate.verdict = Verdict::kCancelled;
  uint32_t losses = end.cause == Cause::kNode ? job.TraceOf(end.ref.index).losses + 1u : 0;
  if (losses >= step.state.limits.node_losses) {
    end.note += fmt::format(" (it was present at {} losses)", losses);
  }
  step.out.notices.push_back(NoticeEnded{end, fate.verdict});
  step.Record(AttemptEnded{node, std::move(end), fate.verdict, fate.counts, step.now});
}

// A moving average over about the last eight ends.
void Learn(NodeState& node, const AttemptEnd& end) {
  ++node.ended;
  if (end.cause != Cause::kSuccess && end.cause != Cause::kStopped) ++node.failed;
  Duration& wall = node.jobs[end.ref.job].wall;
  wall = wall.ns == 0 ? end.wall : Duration{wall.ns + (end.wall.ns - wall.ns) / 8};
}

}  // namespace

void On(StepContext& step, const AttemptsEnded& event) {
  auto node = step.state.nodes.find(event.node);
  if (node == step.state.nodes.end()) return;
  for (const AttemptEnd& end : event.ends) {
    JobState* job = step.state.FindJob(end.ref.job);
    if (job == nullptr || !IsCurrent(node->second, *job, end.ref)) continue;  // late news
    node->second.moved = step.now;
    Learn(node->second, end);
    EndAttempt(step, event.node, *job, end);
    if (end.cause != Cause::kSuccess) CheckNode(step, event.node, *job, end);
    CheckJob(step, *job);
  }
}

void EndLeasesOf(StepContext& step, NodeId node, Cause cause, const std::string& note,
                 const std::function<bool(const AttemptRef&)>& keep) {
  // A copy: ending tasks empties the node's leases under way.
  auto leases = step.state.nodes[node].leases;
  for (const auto& [key, range] : leases) {
    JobState& job = *step.state.FindJob(key.job);
    for (TaskIndex i = key.first; i < key.first + range.count; ++i) {
      AttemptEnd end;
      end.ref = {key.job, i, key.attempt};
      if (!IsCurrent(step.state.nodes[node], job, end.ref)) continue;
      if (keep && keep(end.ref)) continue;
      end.cause = cause;
      end.start = step.now;
      end.note = note;
      EndAttempt(step, node, job, std::move(end));
    }
    CheckJob(step, job);
  }
}

}  // namespace spate::engine
