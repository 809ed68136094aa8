// How many pilots a pool is to have, and the way there: let go, cancel, submit.
#include <fmt/format.h>

#include <algorithm>

#include "core/provision/state.h"

namespace spate::provision {
namespace {

// A chain whose first pilots end within the horizon is checked again at this interval.
constexpr Duration kChainStep = Duration::Seconds(30);

}  // namespace

void Provisioner::State::Balance(PoolId id) {
  const Pool* pool = durable_.FindPool(id);
  LivePool& live = live_pools_.at(id);
  if (live.demand.IsStale()) {
    live.demand.Renew(pool->closed ? std::map<ClassKey, ClassDemand>() : classes_);
  }
  if (pool->closed && pool->pilots.empty()) {
    Emit(PoolForgotten{id});
    touched_.erase(id);
    return;
  }
  PauseIfFailing(id);
  if (demand_known_) {
    ReleaseIdle(id, live);
    uint32_t wanted = Wanted(*pool, live);
    CancelSurplus(id, live, wanted);
    SubmitMore(id, live, wanted);
  }
  MaybeQuery(id, live);
  SetPoolTimer(id, live);
  touched_.erase(id);  // by the records above
}

void Provisioner::State::PauseIfFailing(PoolId id) {
  const Pool& pool = *durable_.FindPool(id);
  if (pool.paused || pool.closed || pool.unjoined < kUnjoinedMost) return;
  std::string words = fmt::format("{} pilots in a row ended before they joined", pool.unjoined);
  if (!pool.words.empty()) words += "; the last one said: " + pool.words;
  Emit(PoolPaused{id, Cut(std::move(words)), now_});
}

// Pilots whose end comes before a new one would begin. `missing`: the time by which they do not
// reach so far, in all.
uint32_t Provisioner::State::Ending(const LivePool& live, Duration& missing) const {
  uint32_t ending = 0;
  Instant horizon = now_ + live.demand.horizon();
  for (const auto& [end, id] : live.ends) {
    if (end > horizon) break;
    ++ending;
    missing = missing + (horizon - std::max(end, now_));
  }
  return ending;
}

// Idle pilots that are about to be given what is ready.
uint32_t Provisioner::State::UsableIdle(const LivePool& live) const {
  Instant needed = now_ + live.demand.longest();
  uint32_t usable = 0;
  for (const auto& [since, id] : live.idle) {
    usable += durable_.FindPilot(id)->end_of_life >= needed ? 1 : 0;
  }
  return usable;
}

uint32_t Provisioner::State::Wanted(const Pool& pool, const LivePool& live) const {
  if (pool.closed) return 0;
  uint32_t wanted = 0;
  if (live.demand.any()) {
    Duration missing;
    if (pool.policy.chain) Ending(live, missing);
    wanted = live.demand.Wanted(missing);
    wanted -= std::min(wanted, UsableIdle(live));
  }
  if (live.demand.probes()) wanted = std::max(wanted, 1u);
  auto here = static_cast<uint32_t>(live.here.size());
  if (uint64_t{here} + wanted < pool.policy.min_pilots) wanted = pool.policy.min_pilots - here;
  return wanted;
}

uint32_t Provisioner::State::Bound(const Pool& pool, const LivePool& live) const {
  uint32_t most = pool.policy.max_pilots;
  if (!pool.policy.chain) return most;
  Duration missing;
  return most + std::min(most, Ending(live, missing));
}

// A gang waits, and further pilots for it are on their way: those that are here wait for them.
bool Provisioner::State::IsGathering(const Pool& pool, const LivePool& live) const {
  if (live.demand.at_once() == 0 || pool.closed) return false;
  if (!live.coming.empty()) return true;
  return !pool.paused && Wanted(pool, live) > 0 && pool.pilots.size() < Bound(pool, live) &&
         NextSubmit(pool, live) <= now_ + pool.policy.idle_exit;
}

// Since when the pilot that is idle longest has had nothing to do, for idle-exit.
Instant Provisioner::State::IdleSince(const LivePool& live) {
  const Instant since = live.idle.begin()->first;
  // Before the newest pilot came, a gang may have had too few of them.
  return live.demand.at_once() > 0 ? std::max(since, live.newest_join) : since;
}

void Provisioner::State::ReleaseIdle(PoolId id, LivePool& live) {
  const Pool& pool = *durable_.FindPool(id);
  const PoolPolicy& policy = pool.policy;
  if (policy.idle_exit == Duration::Max()) return;
  if (live.idle.empty() || IsGathering(pool, live)) return;
  while (!live.idle.empty() && live.here.size() > policy.min_pilots) {
    if (IdleSince(live) + policy.idle_exit > now_) return;
    Unwant(live.idle.begin()->second, Why::kIdle, "it was idle");
  }
}

void Provisioner::State::CancelSurplus(PoolId id, LivePool& live, uint32_t wanted) {
  if (live.coming.size() <= wanted) {
    live.surplus_since.reset();
    return;
  }
  if (!live.surplus_since) live.surplus_since = now_;
  if (now_ - *live.surplus_since < durable_.FindPool(id)->policy.surplus_patience) return;
  // The newest ones: the others have waited for longer.
  while (live.coming.size() > wanted) {
    Unwant(*live.coming.rbegin(), Why::kSurplus, "there is no work for it");
  }
  live.surplus_since.reset();
}

Instant Provisioner::State::NextSubmit(const Pool& pool, const LivePool& live) const {
  Instant by_rate = pool.last_submit + pool.policy.submit_interval;
  return std::max({by_rate, pool.retry_at, live.retry_at});
}

void Provisioner::State::SubmitMore(PoolId id, LivePool& live, uint32_t wanted) {
  const Pool& pool = *durable_.FindPool(id);
  if (pool.paused || pool.closed) return;
  uint32_t bound = Bound(pool, live);
  while (live.coming.size() < wanted && pool.pilots.size() < bound &&
         live.coming.size() + live.leaving_unjoined < pool.policy.backlog &&
         NextSubmit(pool, live) <= now_) {
    PilotId pilot(durable_.last_pilot().value + 1);
    Emit(PilotIntended{id, pilot, now_});
    out_->asks.emplace_back(Submit{id, pilot, pool.Avoided(now_)});
  }
}

void Provisioner::State::SetPoolTimer(PoolId id, LivePool& live) {
  const Pool& pool = *durable_.FindPool(id);
  Instant next = Instant::Never();
  auto consider = [&](Instant at) {
    if (at > now_) next = std::min(next, at);
  };
  consider(QueryDue(live));
  if (demand_known_) {
    if (Wanted(pool, live) > live.coming.size() && !pool.paused) consider(NextSubmit(pool, live));
    if (live.surplus_since) consider(*live.surplus_since + pool.policy.surplus_patience);
    if (!live.idle.empty() && pool.policy.idle_exit != Duration::Max()) {
      consider(IdleSince(live) + pool.policy.idle_exit);
    }
    if (live.demand.any()) {
      for (const auto& [since, pilot] : live.idle) {  // it is no longer of use for the longest
        consider(durable_.FindPilot(pilot)->end_of_life - live.demand.longest() + Duration{1});
      }
      if (pool.policy.chain && !live.ends.empty()) {
        Instant first = live.ends.begin()->first - live.demand.horizon();
        consider(first > now_ ? first : now_ + kChainStep);
      }
    }
  }
  if (next == live.timer) return;
  pool_timers_.erase({live.timer, id});
  live.timer = next;
  if (next != Instant::Never()) pool_timers_.insert({next, id});
}

}  // namespace spate::provision
