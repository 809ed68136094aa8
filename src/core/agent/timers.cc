// Time limits, warnings, and the escalation from TERM to KILL.
#include <algorithm>

#include "core/agent/state.h"

namespace spate::agent {

void Agent::State::WakeAt(Instant when) { out_->wake_at = std::min(out_->wake_at, when); }

std::optional<Duration> Agent::State::LimitOf(const Job& job) const {
  if (job.settings->time_limit.ns > 0) return job.settings->time_limit;
  if (job.settings->time_limit_percent == 0) return std::nullopt;
  auto median = job.walls.Get();
  if (!median) return std::nullopt;
  return Duration{median->ns / 100 * job.settings->time_limit_percent};
}

void Agent::State::On(FreezeArrived& event) {
  auto found = Find(event.ref);
  if (!found || found->second != 0) return;
  Given& given = slots_[found->first - 1].given.front();
  bool is_frozen = given.frozen_at != Instant::Never();
  if (given.ending || given.awaits_go || is_frozen == event.frozen) return;
  Thaw(given);
  if (event.frozen) given.frozen_at = now_;
  out_->orders.push_back(FreezeAttempt{event.ref, event.frozen});
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
  if (!given.told_start || given.frozen_at != Instant::Never()) return;
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
  if (auto limit = LimitOf(job)) {
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
    if (!slot.given.empty()) CheckSlot(slot);
  }
}

}  // namespace spate::agent
