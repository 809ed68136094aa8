// Starts waiting attempts, or lets busy slots hold them ahead.
//
// Short tasks end faster than a decision travels, so a busy slot may hold a few equal ones ahead,
// which it starts by itself and which use its resources in turn. When another slot runs dry while
// such a one is stuck behind a task that turned out long, it is taken back.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "base/units.h"
#include "core/agent/state.h"

namespace spate::agent {
namespace {

// Tasks shorter than this are held ahead; above it a round trip does not matter.
constexpr Duration kShort = Duration::Millis(50);
// So much work is held ahead by one slot, and so many tasks at most.
constexpr Duration kAheadWork = Duration::Millis(10);
constexpr size_t kAheadMost = 32;
// A task held ahead is taken back for an idle slot when the one before it runs longer.
constexpr Duration kStuck = Duration::Millis(20);
// So many ranges of tasks are looked at for one that fits when the first does not.
constexpr size_t kLooksBehind = 64;

// The slot that it waits for is one task's.
Reason WhyTaken(const AttemptRef& by) {
  return {ReasonKind::kSlotsTaken, {1, by.job.value, int64_t{by.index} + 1}};
}

}  // namespace

bool Agent::State::WantsLoad() const { return watchful_ > 0; }

std::string Agent::State::WhyPaused() const {
  if (waiting_.empty()) return "";
  const JobSettings& settings = *jobs_.at(waiting_.front().job).settings;
  if (output_blocked_) return "standard output takes no more";
  if (!no_room_.empty()) return no_room_;
  if (load_ && load_->free_memory < settings.min_free_memory) {
    return fmt::format("{} of memory is free, less than --min-free-memory {}",
                       FormatSize(load_->free_memory), FormatSize(settings.min_free_memory));
  }
  if (load_ && settings.max_load > 0 && load_->load > settings.max_load) {
    return fmt::format("the load is {:.1f}, above --max-load {:.1f}", load_->load,
                       settings.max_load);
  }
  return "";
}

// The reason at the last step.
Reason Agent::State::WhyInLine(const Waiting& waiting) const {
  const Job& job = jobs_.at(waiting.job);
  if (!paused_.empty()) return {ReasonKind::kStartsPaused, {}, {}, {paused_}};
  if (free_slots_.empty()) {
    const bool by_one = offer_.slots == 1 && !slots_.front().given.empty();
    if (by_one) return WhyTaken(slots_.front().given.front().ref);
    return {ReasonKind::kSlotsTaken, {offer_.slots}};
  }
  if (job.next_start > now_) return {ReasonKind::kStartDelay, {}, {job.settings->start_delay}};
  return free_.WhatLacks(waiting.needs).value_or(Reason{ReasonKind::kLineOfNode});
}

std::vector<Line> Agent::State::Lines(Instant begun) const {
  std::map<JobId, Line> lines;
  auto line_of = [&](const AttemptRef& first, const auto& why) -> Line& {
    auto [line, is_first] = lines.try_emplace(first.job);
    if (is_first) line->second = {first, 0, why()};
    return line->second;
  };
  // Held ahead by a slot whose task has turned out long.
  for (const Slot& slot : slots_) {
    for (size_t k = 1; k < slot.given.size(); ++k) {
      if (slot.given[k].since > begun) continue;
      ++line_of(slot.given[k].ref, [&] { return WhyTaken(slot.given.front().ref); }).tasks;
    }
  }
  for (const Waiting& waiting : waiting_) {
    if (waiting.since > begun) continue;
    const AttemptRef first{waiting.job, waiting.tasks.first, waiting.attempt};
    line_of(first, [&] { return WhyInLine(waiting); }).tasks += waiting.tasks.count;
  }
  std::vector<Line> all;
  for (auto& [job, line] : lines) all.push_back(std::move(line));
  return all;
}

// The first sample is under way.
bool Agent::State::WaitsForLoad() const {
  return !load_ && !waiting_.empty() && Watches(*jobs_.at(waiting_.front().job).settings);
}

void Agent::State::OrderStart(uint16_t number, const Given& given) {
  const Slot& slot = slots_[number - 1];
  const JobSettings& settings = *JobOf(given.ref.job).settings;
  bool timed = given.time_limit || settings.time_limit.ns > 0 || settings.time_limit_percent > 0 ||
               settings.warn_time.ns > 0;
  out_->orders.push_back(StartAttempt{given.ref, number, slot.needs, slot.resources, timed,
                                      slot.needs.memory > 0, given.part,
                                      given.ref != slot.given.front().ref, given.time_limit});
}

// One that was stopped before it could start stands still from its first moment.
void Agent::State::Begin(uint16_t number, Given& given) {
  OrderStart(number, given);
  if (given.frozen_at == Instant::Never()) return;
  given.frozen_at = now_;
  out_->orders.push_back(FreezeAttempt{given.ref, true, given.stop});
}

// A part that has its node for itself waits until all others have left, and nothing joins it. A hub
// gives out neither, as far as it knows; what it has given up may still be ending here.
bool Agent::State::MayJoin(const Waiting& waiting) const {
  if (whole_parts_ > 0) return false;
  return !HasWholeNode(waiting.part) ||
         std::ranges::all_of(slots_, [](const Slot& slot) { return slot.given.empty(); });
}

// Starts a waiting attempt in a slot, or takes the slot for a part of a gang; false when its needs
// are not free.
bool Agent::State::Start(size_t position, uint16_t number) {
  Waiting& waiting = waiting_[position];
  Job& job = JobOf(waiting.job);
  Slot& slot = slots_[number - 1];
  bool ahead = !slot.given.empty();
  if (!ahead) {
    if (!MayJoin(waiting)) return false;
    auto resources = free_.Acquire(waiting.needs);
    if (!resources) return false;
    slot.needs = waiting.needs;
    slot.resources = std::move(*resources);
    free_slots_.erase(number);
    if (HasWholeNode(waiting.part)) ++whole_parts_;
  }
  const JobSettings& settings = *job.settings;
  AttemptRef ref{waiting.job, waiting.tasks.first, waiting.attempt};
  const bool is_part = waiting.part != nullptr;
  slot.given.push_back({.ref = ref,
                        .since = now_,
                        .frozen_at = waiting.frozen_at,
                        .stop = waiting.stop,
                        .is_part = is_part,
                        .part = waiting.part,
                        .awaits_go = is_part && !waiting.may_go,
                        .time_limit = waiting.time_limit});
  if (is_part) out_->orders.push_back(ReportRoom{ref});
  if (!slot.given.back().awaits_go) Begin(number, slot.given.back());
  if (settings.start_delay.ns > 0) job.next_start = now_ + settings.start_delay;
  ++waiting.tasks.first;
  if (--waiting.tasks.count == 0) {
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(position));
  }
  return true;
}

// One behind the first one, which has to wait, goes before it: if it takes nothing that the first
// one is short of, and leaves it a slot and what else it needs; one of the same job for a while
// whatever it takes.
bool Agent::State::MayPass(const Waiting& each, const Waiting& first) const {
  if (HasWholeNode(first.part)) return false;
  bool lately = now_ < first.no_room + limits_.passed_for;
  if (each.job == first.job && lately) return free_.CanTake(each.needs);
  return free_slots_.size() > 1 && free_.CanTakeBefore(each.needs, first.needs);
}

bool Agent::State::StartBehind() {
  Waiting& first = waiting_.front();
  first.no_room = std::min(first.no_room, now_);
  for (size_t i = 1; i < std::min(waiting_.size(), kLooksBehind); ++i) {
    const Waiting& each = waiting_[i];
    const Job& job = JobOf(each.job);
    if (job.next_start > now_ || Watches(*job.settings)) continue;
    if (MayPass(each, first)) return Start(i, *free_slots_.begin());
  }
  return false;
}

void Agent::State::Fill() {
  std::string paused = WhyPaused();
  if (paused.empty() != paused_.empty()) out_->orders.push_back(ReportPaused{paused});
  paused_ = paused;
  if (!paused.empty() || WaitsForLoad()) return;
  while (!waiting_.empty() && !free_slots_.empty()) {
    Instant next = JobOf(waiting_.front().job).next_start;
    if (next > now_) {
      WakeAt(next);
      return;
    }
    if (!Start(0, *free_slots_.begin()) && !StartBehind()) break;
  }
  HoldAhead();
  Unstick();
}

size_t Agent::State::AheadOf(const Job& job) const {
  const JobSettings& settings = *job.settings;
  bool immediate =
      settings.start_delay.ns == 0 && settings.min_free_memory == 0 && settings.max_load == 0;
  if (!immediate || job.wall.ns == 0 || job.wall >= kShort) return 0;
  auto count = static_cast<size_t>(kAheadWork.ns / std::max<int64_t>(job.wall.ns, 1));
  return std::clamp<size_t>(count, 1, kAheadMost);
}

void Agent::State::HoldAhead() {
  if (waiting_.empty()) return;
  for (size_t depth = 1; depth <= kAheadMost; ++depth) {
    for (size_t number = 1; number <= slots_.size(); ++number) {
      if (waiting_.empty()) return;
      const Waiting& front = waiting_.front();
      if (front.part) return;
      if (depth > AheadOf(JobOf(front.job))) return;
      const Slot& slot = slots_[number - 1];
      if (slot.given.size() != depth || slot.needs != front.needs || slot.adopted) continue;
      const Given& first = slot.given.front();
      if (first.ref.job != front.job || first.ending || first.is_part) continue;
      if (first.frozen_at != Instant::Never() || first.resize) continue;
      Start(0, static_cast<uint16_t>(number));
    }
  }
}

void Agent::State::Unstick() {
  if (!waiting_.empty() || free_slots_.empty()) return;
  // One at a time, since each changes what is free for the next.
  for (const Slot& slot : slots_) {
    for (size_t k = 1; k < slot.given.size(); ++k) {
      if (slot.given[k].taking_back) return;
    }
  }
  for (Slot& slot : slots_) {
    if (slot.given.size() < 2 || !free_.CanTake(slot.needs)) continue;
    Instant stuck_at = slot.given.front().since + kStuck;
    if (stuck_at > now_) {
      WakeAt(stuck_at);
      continue;
    }
    Given& last = slot.given.back();
    last.taking_back = true;
    out_->orders.push_back(Withdraw{last.ref});
    return;
  }
}

}  // namespace spate::agent
