// Time limits, warnings, and the escalation from TERM to KILL.
#include <algorithm>
#include <utility>

#include "core/agent/state.h"

namespace spate::agent {

void Agent::State::WakeAt(Instant when) { out_->wake_at = std::min(out_->wake_at, when); }

std::optional<Duration> Agent::State::LimitOf(const Given& given) const {
  if (given.time_limit) return given.time_limit;
  const Job& job = jobs_.at(given.ref.job);
  if (job.settings->time_limit.ns > 0) return job.settings->time_limit;
  if (job.settings->time_limit_percent == 0) return std::nullopt;
  auto median = job.walls.Get();
  if (!median) return std::nullopt;
  return Duration{median->ns / 100 * job.settings->time_limit_percent};
}

void Agent::State::On(FreezeArrived& event) {
  const std::vector<TaskRange> tasks = Normalized(std::move(event.tasks));
  auto meant = [&](const AttemptRef& ref) {
    return ref.job == event.job && SortedContains(tasks, ref.index);
  };
  if (event.frozen) {
    ReturnWaiting(meant, /*but_parts=*/true);
    WithdrawAhead(meant);
  }
  for (Waiting& waiting : waiting_) {
    if (!meant({waiting.job, waiting.tasks.first, waiting.attempt})) continue;
    waiting.frozen_at = event.frozen ? now_ : Instant::Never();
    waiting.stop = event.stop;
  }
  // One that is being taken back may start before that is heard.
  for (Slot& slot : slots_) {
    for (Given& given : slot.given) {
      if (meant(given.ref)) SetFrozen(given, event);
    }
  }
  // Its slot starts nothing for long.
  WithdrawAhead([this](const AttemptRef& ref) {
    const Slot& slot = slots_[Find(ref)->first - 1];
    return slot.given.size() > 1 && slot.given.front().ref != ref &&
           slot.given.front().frozen_at != Instant::Never();
  });
}

void Agent::State::SetFrozen(Given& given, const FreezeArrived& event) {
  const bool is_frozen = given.frozen_at != Instant::Never();
  if (given.ending || (!event.frozen && !is_frozen)) return;
  given.stop = event.stop;
  given.froze_itself = false;
  if (is_frozen != event.frozen) Thaw(given);
  if (event.frozen && !is_frozen) given.frozen_at = now_;
  // Said again, so that whoever asks hears again that it is so.
  if (!given.awaits_go) out_->orders.push_back(FreezeAttempt{given.ref, event.frozen, event.stop});
}

void Agent::State::On(AllPaused& event) {
  if (event.paused == (paused_at_ != Instant::Never())) return;
  if (event.paused) {
    paused_at_ = event.when;
    return;
  }
  const Instant paused = std::exchange(paused_at_, Instant::Never());
  for (Slot& slot : slots_) {
    if (slot.given.empty()) continue;
    Given& given = slot.given.front();
    if (given.frozen_at != Instant::Never()) continue;  // it stood still anyway
    const Instant from = std::max(paused, given.since);
    if (from < event.when) given.frozen = given.frozen + (event.when - from);
  }
}

void Agent::State::Thaw(Given& given) {
  if (given.frozen_at != Instant::Never()) given.frozen = given.frozen + (now_ - given.frozen_at);
  given.frozen_at = Instant::Never();
}

void Agent::State::OrderEnd(Given& given, Cause cause, bool kill) {
  if (given.killed) return;
  if (!given.ending) given.cause = cause;
  if (!kill && given.ending) return;
  Thaw(given);  // who ends it lets it go
  given.ending = true;
  given.killed = kill;
  given.kill_at = kill ? Instant::Never() : now_ + JobOf(given.ref.job).settings->kill_grace;
  out_->orders.push_back(EndAttempt{given.ref, kill, given.cause});
}

void Agent::State::CheckSlot(Slot& slot) {
  Given& given = slot.given.front();
  if (given.ending) {
    if (given.kill_at <= now_) {
      OrderEnd(given, given.cause, /*kill=*/true);
    } else {
      WakeAt(given.kill_at);
    }
    return;
  }
  const bool stands_still = given.frozen_at != Instant::Never() || paused_at_ != Instant::Never();
  if (!given.told_start || stands_still) return;
  Instant since = given.since + given.frozen;
  const Job& job = JobOf(given.ref.job);
  if (Duration warn = job.settings->warn_time; warn.ns > 0 && !given.warned) {
    if (since + warn <= now_) {
      given.warned = true;
      out_->orders.push_back(ReportSlow{given.ref});
    } else {
      WakeAt(since + warn);
    }
  }
  if (auto limit = LimitOf(given)) {
    if (since + *limit <= now_) {
      OrderEnd(given, Cause::kTimeLimit, /*kill=*/false);
      WakeAt(given.kill_at);
    } else {
      WakeAt(since + *limit);
    }
  }
}

void Agent::State::CheckTimers() {
  for (Slot& slot : slots_) {
    if (slot.given.empty()) continue;
    CheckResize(slot);
    CheckSlot(slot);
  }
}

}  // namespace spate::agent
