// Tasks that are cut off as their nodes end, again and again: such a task asks for more time than
// it had, so that it is started only where so much life is left; or fails, when it had all that
// nodes ever have.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/units.h"
#include "core/engine/engine_state.h"
#include "core/model/ranges.h"

namespace spate::engine {
namespace {

// Twice what it had, rounded up to 1, 1.5, 2, 3, 4, 6 ... minutes, so that tasks of a job come to
// make few requests.
Duration TimeAfter(Duration had) {
  constexpr Duration kMost = Duration::Seconds(365 * 24 * 3600);
  const Duration wanted = std::min(had, kMost) * 2;
  Duration time = Duration::Seconds(60);
  while (time < wanted && time + time / 2 < wanted) time = time * 2;
  return time >= wanted ? time : time + time / 2;
}

// Most time that nodes to come have for a task of these needs; nullopt: none will come.
std::optional<Duration> LongestToCome(const Live& live, const std::string& user,
                                      const Needs& needs) {
  std::optional<Duration> longest;
  for (const NodesToCome::Kind& kind : live.to_come) {
    if (kind.Takes(user, needs)) longest = std::max(longest.value_or(Duration{}), kind.longest);
  }
  return longest;
}

// Nearly all of a node's life: it takes a while to come, and does not start a task at its first
// moment.
Duration NearlyAll(Duration life) { return life / 10 * 9; }

// The consequences for a task of one more cut-off.
struct Next {
  Duration ask;              // for so much time; zero: as before
  bool is_too_long = false;  // no node will ever have so much
  CutOffs cut;
  Duration longest;  // that nodes have
};

Next NextOf(const StepContext& step, NodeId node, const JobState& job, const AttemptEnd& end) {
  Next next{.cut = job.CutOffsOf(end.ref.index)};
  if (!IsCutOff(end) || end.wall.ns <= 0 || job.policy().retry.once) return next;
  if (job.Cancelled(end.ref.index)) return next;
  next.cut.Add(end.wall);
  if (next.cut.count < step.board.limits.cut_offs) return next;
  Needs needs = job.request(job.RequestOf(end.ref.index));
  next.ask = std::max(needs.time, TimeAfter(next.cut.longest));
  auto longest = LongestToCome(step.live, job.user(), needs);
  if (!longest || next.ask <= *longest) return next;
  needs.time = next.ask;
  // Even one that takes nothing at this moment.
  auto here = [&](const auto& each) {
    const Offer& offer = each.second.offer;
    return each.first != node && TakesUser(offer, job.user()) &&
           OutlivesTask(offer, needs, step.now) && FitCount(offer, needs) > 0;
  };
  if (std::ranges::any_of(step.board.nodes, here)) return next;
  next.longest = *longest;
  next.is_too_long = next.cut.longest >= NearlyAll(*longest);
  next.ask = next.is_too_long ? Duration{} : NearlyAll(*longest);
  return next;
}

// The change of one job's requests.
class Asking {
 public:
  Asking(const JobState& job, const Limits& limits) : job_(job), limits_(limits) {
    changed_.job = job.id();
  }

  void Ask(TaskIndex index, Duration time) {
    const uint32_t request = job_.RequestOf(index);
    if (job_.request(request).time >= time) return;
    if (auto number = NumberOf(request, time)) tasks_[index] = *number;
  }

  NeedsChanged Take() {
    for (auto [index, request] : tasks_) AppendRequest(changed_.runs, index, request);
    return std::move(changed_);
  }

 private:
  // nullopt: the job makes as many requests as it may.
  std::optional<uint32_t> NumberOf(uint32_t request, Duration time) {
    auto known = numbers_.find({request, time});
    if (known != numbers_.end()) return known->second;
    TaskClass wanted = job_.requests()[request];
    wanted.needs.time = time;
    auto same = std::ranges::find(job_.requests(), wanted);
    auto number = static_cast<uint32_t>(same - job_.requests().begin());
    if (same == job_.requests().end()) {
      number += static_cast<uint32_t>(changed_.new_requests.size());
      if (number >= limits_.requests) return std::nullopt;
      changed_.new_requests.push_back(std::move(wanted));
    }
    numbers_[{request, time}] = number;
    return number;
  }

  const JobState& job_;
  const Limits& limits_;
  NeedsChanged changed_;
  std::map<TaskIndex, uint32_t> tasks_;
  std::map<std::pair<uint32_t, Duration>, uint32_t> numbers_;
};

}  // namespace

void AskForTime(StepContext& step, NodeId node, std::span<const AttemptEnd> ends) {
  if (std::ranges::none_of(ends, IsCutOff)) return;
  std::map<JobId, Asking> asking;
  for (const AttemptEnd& end : ends) {
    const JobState* job = step.durable.FindJob(end.ref.job);
    if (job == nullptr || !IsCurrent(step.durable.NodeOf(node), *job, end.ref)) continue;
    Next next = NextOf(step, node, *job, end);
    if (next.ask.ns == 0) continue;
    asking.try_emplace(job->id(), *job, step.board.limits)
        .first->second.Ask(end.ref.index, next.ask);
  }
  for (auto& [id, each] : asking) {
    NeedsChanged changed = each.Take();
    if (!changed.runs.empty()) step.Record(std::move(changed));
  }
}

std::string WhyTooLong(const StepContext& step, NodeId node, const JobState& job,
                       const AttemptEnd& end) {
  Next next = NextOf(step, node, job, end);
  if (!next.is_too_long) return "";
  return fmt::format(
      "it was cut off {} times because its nodes ended, after at most {}, and no pool gives a task "
      "more than {}",
      next.cut.count, FormatDuration(next.cut.longest), FormatDuration(next.longest));
}

bool NodesToCome::Kind::Takes(const std::string& of_user, const Needs& needs) const {
  return (user.empty() || user == of_user) &&
         std::ranges::all_of(needs.labels, [&](const std::string& label) {
           // Their programs' features are known only when they have come.
           return label.starts_with(kFeatureMark) || std::ranges::binary_search(labels, label);
         });
}

void On(StepContext& step, const NodesToCome& event) { step.live.to_come = event.kinds; }

}  // namespace spate::engine
