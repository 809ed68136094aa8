// Time limits, warnings, and the escalation from TERM to KILL.
#include <algorithm>

#include "core/agent/machine.h"

namespace spate::agent {

void Agent::Machine::WakeAt(Instant when) { out_->wake_at = std::min(out_->wake_at, when); }

std::optional<Duration> Agent::Machine::LimitOf(const Job& job) const {
  if (job.settings->time_limit.ns > 0) return job.settings->time_limit;
  if (job.settings->time_limit_percent == 0) return std::nullopt;
  auto median = job.walls.Get();
  if (!median) return std::nullopt;
  return Duration{median->ns / 100 * job.settings->time_limit_percent};
}

void Agent::Machine::OrderEnd(Given& given, Cause cause, bool kill) {
  if (given.killed) return;
  if (!given.ending) given.cause = cause;
  if (!kill && given.ending) return;
  given.ending = true;
  given.killed = kill;
  given.kill_at = kill ? Instant::Never() : now_ + JobOf(given.ref.job).settings->kill_grace;
  out_->orders.push_back(EndAttempt{given.ref, kill, given.cause});
}

void Agent::Machine::CheckSlot(Slot& slot) {
  Given& given = slot.given.front();
  if (given.ending) {
    if (given.kill_at <= now_) {
      OrderEnd(given, given.cause, /*kill=*/true);
    } else {
      WakeAt(given.kill_at);
    }
    return;
  }
  if (!given.told_start) return;
  const Job& job = JobOf(given.ref.job);
  if (Duration warn = job.settings->warn_time; warn.ns > 0 && !given.warned) {
    if (given.since + warn <= now_) {
      given.warned = true;
      out_->orders.push_back(ReportSlow{given.ref});
    } else {
      WakeAt(given.since + warn);
    }
  }
  if (auto limit = LimitOf(job)) {
    if (given.since + *limit <= now_) {
      OrderEnd(given, Cause::kTimeLimit, /*kill=*/false);
      WakeAt(given.kill_at);
    } else {
      WakeAt(given.since + *limit);
    }
  }
}

void Agent::Machine::CheckTimers() {
  for (Slot& slot : slots_) {
    if (!slot.given.empty()) CheckSlot(slot);
  }
}

}  // namespace spate::agent
