// Events of attempts: ended, lost, returned. Here a task's fate is decided.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/units.h"
#include "core/engine/engine_state.h"
#include "core/model/retry.h"

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
  if (trace.no_starts + 1u >= step.board.limits.node_losses) return false;
  return OthersTake(step.board, job, job.RequestOf(end.ref.index), {node}, step.now);
}

// Its user wishes that what fails on one node is tried on others, at no try (--retry-elsewhere).
bool MayGoElsewhere(const StepContext& step, NodeId node, const JobState& job,
                    const AttemptEnd& end, const Trace& trace) {
  const RetryPolicy& retry = job.policy().retry;
  if (!IsOfProgram(end.cause) || trace.elsewhere >= retry.elsewhere) return false;
  if (!IsRetried(retry, end.cause, end.status)) return false;
  return OthersTake(step.board, job, job.RequestOf(end.ref.index), {node, trace.blamed[0]},
                    step.now);
}

// `node` is the one that the end speaks against.
Fate Decide(const StepContext& step, NodeId node, const JobState& job, const AttemptEnd& end) {
  const RetryPolicy& retry = job.policy().retry;
  const Limits& limits = step.board.limits;
  if (end.cause == Cause::kSuccess) return {Verdict::kSucceeded, true};
  Trace trace = job.TraceOf(end.ref.index);
  if (trace.attempt >= kLastAttempt) {
    return {retry.once ? Verdict::kUnknown : Verdict::kFailed, end.cause != Cause::kStopped};
  }
  if (StartsElsewhere(step, node, job, end, trace)) return {Verdict::kRetry, false};
  if (MayGoElsewhere(step, node, job, end, trace)) return {Verdict::kRetry, false};
  const bool wanted = IsRetried(retry, end.cause, end.status);
  if (end.cause == Cause::kStopped || end.cause == Cause::kNode) {
    // Lost or ended by us: no try is used up, and `once` forbids to repeat what may have run.
    const bool gang = job.GangOf(end.ref.index) != nullptr;
    if (retry.once && (!gang || MayHaveStarted(step, end.ref))) return {Verdict::kUnknown, false};
    if (end.cause == Cause::kStopped) return {Verdict::kRetry, false};
    if (trace.losses + 1u >= limits.node_losses) return {Verdict::kFailed, false};
    return {wanted ? Verdict::kRetry : Verdict::kFailed, false};
  }
  bool left = trace.tries + 1u <= job.RetriesOf(end.ref.index);
  return {wanted && left ? Verdict::kRetry : Verdict::kFailed, true};
}

void EndAttempt(StepContext& step, NodeId node, const JobState& job, AttemptEnd end) {
  NodeId blamed = node;
  if (const GangRun* gang = job.GangOf(end.ref.index)) {
    if (gang->outcome && !job.Decides(*gang, node, end)) blamed = gang->outcome->node;
    auto of_all = EndOfGang(step, node, job, *gang, std::move(end));
    if (!of_all) return;
    end = std::move(*of_all);
  }
  Fate fate = Decide(step, blamed, job, end);
  if (fate.verdict == Verdict::kRetry) {
    if (std::string why = WhyTooLong(step, node, job, end); !why.empty()) {
      fate.verdict = Verdict::kFailed;
      end.note = std::move(why);
    }
  }
  if (fate.verdict == Verdict::kRetry) {
    if (std::string why = WhyNoFurtherTry(step, job, end, fate.counts); !why.empty()) {
      fate.verdict = Verdict::kFailed;
      end.note += (end.note.empty() ? "" : "; ") + why;
    }
  }
  const Trace before = job.TraceOf(end.ref.index);
  bool cancelled = job.Cancelled(end.ref.index) && fate.verdict != Verdict::kSucceeded;
  if (cancelled) fate.verdict = Verdict::kCancelled;
  uint32_t losses = end.cause == Cause::kNode ? before.losses + 1u : 0;
  if (losses >= step.board.limits.node_losses) {
    end.note += IsDiskFull(end)
                    ? fmt::format(" (its node was lost or had a full disk {} times)", losses)
                    : fmt::format(" (it was present at {} losses)", losses);
  }
  if (end.ref.attempt >= kLastAttempt && end.cause != Cause::kSuccess) {
    end.note += fmt::format(" (it was assigned {} times)", FormatCount(end.ref.attempt.value));
  }
  if (fate.verdict == Verdict::kRetry) AskForMemory(step, job, end);
  step.out.notices.push_back(NoticeEnded{end, fate.verdict, fate.counts});
  const Ended of_node{blamed, end.cause, job.RequestOf(end.ref.index), before,
                      end.cause == Cause::kSuccess && !job.SucceededOn(blamed)};
  step.Record(AttemptEnded{node, std::move(end), fate.verdict, fate.counts, step.now});
  if (!job.troubles().empty()) CheckNodes(step, job, of_node);
}

// How long the job's tasks take there: a moving average over about the last eight ends. The first
// failures say nothing of it beside other nodes.
void LearnSpeed(StepContext& step, NodeId id, place::Node& node, const JobState& job,
                const AttemptEnd& end) {
  bool success = end.cause == Cause::kSuccess;
  // A stopped attempt tells nothing about the node.
  bool stopped = end.cause == Cause::kStopped;
  node.ended += stopped ? 0 : 1;
  node.failed += success || stopped ? 0 : 1;
  if (!success && step.board.nodes.size() > 1 && !job.SucceededOn(id)) return;
  // The time that gangs take is no evidence for single tasks.
  if (job.GangOf(end.ref.index) != nullptr) {
    if (success) step.board.LearnGang(job.id(), end.wall);
    return;
  }
  step.board.Learn(node, end.ref.job, end.wall, success);
}

}  // namespace

void On(StepContext& step, const AttemptsEnded& event) {
  auto node = step.board.nodes.find(event.node);
  if (node == step.board.nodes.end()) return;
  AskForTime(step, event.node, event.ends);
  for (const AttemptEnd& end : event.ends) {
    const JobState* job = step.durable.FindJob(end.ref.job);
    if (job == nullptr) continue;
    if (!IsCurrent(step.durable.NodeOf(event.node), *job, end.ref)) continue;  // late news
    node->second.moved = step.now;
    LearnSpeed(step, event.node, node->second, *job, end);
    // Nearly every end is a success, and nearly no node has anything to be forgiven.
    if (end.cause == Cause::kSuccess && !node->second.set_aside.empty()) {
      ForgetBlames(step, event.node);
    }
    AttemptEnd told = end;
    const bool removed = end.cause == Cause::kStopped && step.live.removing.contains(event.node);
    if (removed && end.note.empty()) told.note = "its node is being removed";
    EndAttempt(step, event.node, *job, std::move(told));
    CheckJob(step, *job);
  }
}

namespace {

// Ranges that a node held, in the order in which it got them.
struct Held {
  LeaseKey key;
  LeasedRange range;
};

std::vector<Held> HeldInOrder(const NodeRecord& node) {
  std::vector<Held> held;
  for (const auto& [key, range] : node.leases) held.push_back({key, range});
  std::sort(held.begin(), held.end(),
            [](const Held& a, const Held& b) { return a.range.sequence < b.range.sequence; });
  return held;
}

// How long what the node was given last of the job may have run there until then; zero: that is not
// known.
Duration TimeHad(const place::Node& node, JobId job, Instant until) {
  const auto here = node.jobs.find(job);
  if (here == node.jobs.end() || here->second.given_at == Instant()) return {};
  return std::max(until - here->second.given_at, Duration{});
}

// " (n2)", " (n2, ranks 2-3)"; a node that has not joined in this life has no name.
std::string WhereLost(const std::string& name, const GangRun* gang, NodeId node) {
  const std::string ranks = gang == nullptr ? "" : gang->RanksOf(node).Text();
  if (name.empty() && ranks.empty()) return "";
  return fmt::format(" ({}{}{})", name, name.empty() || ranks.empty() ? "" : ", ", ranks);
}

}  // namespace

void EndLeasesOf(StepContext& step, NodeId id, const AttemptEnd& like,
                 const std::function<bool(const AttemptRef&)>& keep) {
  // A node starts tasks in the order of their leases, as they fit: the others had hardly been
  // started, and were not present at its loss.
  place::Amounts running;
  // A copy: ending tasks empties the node's leases under way.
  for (const auto& [key, range] : HeldInOrder(step.durable.NodeOf(id))) {
    const JobState& job = *step.durable.FindJob(key.job);
    const Offer& offer = step.board.nodes[id].offer;
    const TaskClass& of_tasks = job.requests()[range.request];
    const Needs needs = NeedsOfPart(of_tasks.needs, std::max(range.procs, 1u));
    const Duration had = TimeHad(step.board.nodes[id], key.job, like.start);
    for (TaskIndex i = key.first; i < key.first + range.count; ++i) {
      AttemptRef ref{key.job, i, key.attempt};
      if (!IsCurrent(step.durable.NodeOf(id), job, ref)) continue;
      // The offer of a node that has not joined in this life is not known.
      bool present =
          offer.slots == 0 || running == place::Amounts() || place::Starts(offer, running, needs);
      if (range.procs > 0) present = MayHaveStarted(step, ref);
      const bool over = step.board.nodes[id].over.contains({key.job, i});
      if (present && !over) place::AddTasks(running, offer, needs, 1);
      if (keep && keep(ref)) continue;
      AttemptEnd end = like;
      end.ref = ref;
      end.start = step.now;
      if ((like.cause == Cause::kNode || IsCutOff(like)) && !present) {
        end.cause = Cause::kStopped;
        end.status = 0;
        end.note += " before its turn came";
      }
      end.note += WhereLost(offer.node_name, job.GangOf(i), id);
      if (IsCutOff(end) && had.ns > 0) {
        end.wall = had;
        AskForTime(step, id, {&end, 1});
      }
      EndAttempt(step, id, job, std::move(end));
    }
    CheckJob(step, job);
  }
}

namespace {

// Takes parts of gangs out of `tasks`: all of such a gang goes back, once all of it is here.
void ReturnParts(StepContext& step, NodeId node, const JobState& job, Attempt attempt,
                 std::vector<TaskRange>& tasks) {
  std::vector<TaskRange> others;
  for (const TaskRange& range : tasks) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      if (job.GangOf(i) == nullptr) {
        AppendIndex(others, i);
        continue;
      }
      EndAttempt(step, node, job,
                 {.ref = {job.id(), i, attempt},
                  .cause = Cause::kStopped,
                  .start = step.now,
                  .note = "it was returned before it started"});
    }
  }
  tasks = std::move(others);
}

}  // namespace

void On(StepContext& step, const TasksReturned& event) {
  const JobState* job = step.durable.FindJob(event.job);
  auto node = step.board.nodes.find(event.node);
  if (job == nullptr || node == step.board.nodes.end()) return;
  // Keep what this node really holds under this attempt; the rest is late news.
  auto tasks = SelectHeld(step.durable.NodeOf(event.node), *job, event.attempt, event.tasks);
  if (tasks.empty()) return;
  node->second.recalled = false;
  ReturnParts(step, event.node, *job, event.attempt, tasks);
  if (tasks.empty()) return CheckJob(step, *job);
  if (event.attempt < kLastAttempt) {
    step.Record(Returned{event.node, event.job, event.attempt, std::move(tasks)});
    step.out.notices.push_back(NoticeReturned{event.job});
  } else {
    for (const TaskRange& range : tasks) {
      for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
        AttemptRef ref{event.job, i, event.attempt};
        EndAttempt(step, event.node, *job,
                   {.ref = ref, .cause = Cause::kStopped, .start = step.now});
      }
    }
  }
  CheckJob(step, *job);
}

}  // namespace spate::engine
