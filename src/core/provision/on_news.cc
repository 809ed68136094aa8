// News of people, of demand, of the driver's commands and of nodes.
#include <algorithm>

#include "core/provision/state.h"

namespace spate::provision {

void Provisioner::State::On(const SetPool& event) {
  const Pool* known = durable_.FindPool(event.pool);
  if (known == nullptr) {
    bool room = durable_.pools().size() < limits_.pools;
    if (!room || event.pool <= durable_.last_pool()) return;
  } else if (known->closed || (known->policy == event.policy && !event.learn_anew)) {
    return;
  }
  if (!event.policy.CheckSound()) return;
  Emit(PoolChanged{event.pool, event.policy, event.learn_anew});
  LivePool& live = live_pools_.at(event.pool);
  live.last_query = std::max(live.last_query, now_);
  live.demand.Renew(classes_);
  live.retry_at = {0};
  live.query_failures = 0;
  for (PilotId id : durable_.FindPool(event.pool)->pilots) ResetTimer(id);
}

void Provisioner::State::On(const RemovePool& event) {
  const Pool* pool = durable_.FindPool(event.pool);
  if (pool == nullptr || pool->closed) return;
  Emit(PoolClosed{event.pool});
  LivePool& live = live_pools_.at(event.pool);
  live.demand.Renew({});
  live.query_failures = 0;  // somebody waits
  std::vector<PilotId> pilots(pool->pilots.begin(), pool->pilots.end());
  for (PilotId id : pilots) {
    const Pilot& pilot = *durable_.FindPilot(id);
    // After a restart, nobody waits any longer for its nodes to come back.
    Instant& expected = live_pilots_.at(id).expected;
    if (!pilot.id.empty()) expected = std::min(expected, now_);
    if (!pilot.unwanted) Unwant(id, Why::kClosed, "its pool is removed");
  }
}

void Provisioner::State::On(const PausePool& event) {
  const Pool* pool = durable_.FindPool(event.pool);
  if (pool != nullptr && !pool->paused) Emit(PoolPaused{event.pool, Cut(event.reason), now_});
}

void Provisioner::State::On(const ResumePool& event) {
  const Pool* pool = durable_.FindPool(event.pool);
  if (pool == nullptr) return;
  bool slowed = pool->refused + pool->limited + pool->unjoined > 0;
  if (pool->paused || slowed) Emit(PoolResumed{event.pool});
  LivePool& live = live_pools_.at(event.pool);
  live.retry_at = {0};
  live.unavailable = 0;
  live.fruitless = 0;
  live.query_failures = 0;
  touched_.insert(event.pool);
}

void Provisioner::State::On(const DemandChanged& event) {
  if (!demand_known_) {
    demand_known_ = true;
    for (const auto& [id, live] : live_pools_) touched_.insert(id);
  }
  for (const ClassDemand& demand : event.classes) {
    if (demand.ready == 0) {
      if (classes_.erase(demand.key) == 0) continue;
    } else {
      ClassDemand& known = classes_[demand.key];
      if (known == demand) continue;
      known = demand;
    }
    for (auto& [id, live] : live_pools_) {
      live.demand.Set(demand);
      touched_.insert(id);
    }
  }
}

void Provisioner::State::On(const SubmitAnswered& event) {
  const Pilot* pilot = durable_.FindPilot(event.pilot);
  LivePool* live = FindLive(event.pool);
  if (event.id.empty()) return;  // says no more than no answer does
  if (live == nullptr) return CancelStray(event.pool, event.pilot, event.id);
  live->unavailable = 0;
  if (pilot == nullptr || (!pilot->id.empty() && pilot->id != event.id)) {
    return CancelStray(event.pool, event.pilot, event.id);
  }
  live_pilots_.at(event.pilot).expected = now_;  // queries from now on must have it
  if (pilot->id.empty()) LearnId(event.pilot, event.id);
  live->stirred = now_;
}

void Provisioner::State::On(const SubmitFailed& event) {
  const Pilot* pilot = durable_.FindPilot(event.pilot);
  if (pilot == nullptr || !pilot->id.empty() || pilot->joined) return;
  if (event.failure != Failure::kUnavailable) {
    bool limit = event.failure == Failure::kLimit;
    return EndPilot(event.pilot, limit ? End::kLimit : End::kRefused, event.words);
  }
  // It may be there all the same: a query will tell.
  LivePilot& known = live_pilots_.at(event.pilot);
  known.expected = std::min(known.expected, now_ + kSubmitSettles);
  known.words = Cut(event.words);
  LivePool& live = live_pools_.at(pilot->pool);
  live.trouble = Cut(event.words);
  live.retry_at = now_ + std::min(Duration::Seconds(900),
                                  Duration::Seconds(15) * (int64_t{1} << live.unavailable));
  live.unavailable = std::min(live.unavailable + 1, 10u);
  touched_.insert(pilot->pool);
}

void Provisioner::State::On(const CancelAnswered& event) {
  auto it = live_pilots_.find(event.pilot);
  if (it == live_pilots_.end()) return;
  if (event.done) return;
  it->second.words = Cut(event.words);
  it->second.cancel_at = std::min(it->second.cancel_at, now_ + kQueryUneasy);
  ResetTimer(event.pilot);
}

void Provisioner::State::QueuedAgain(PilotId pilot) {
  live_pilots_.at(pilot).cancel_at = {0};  // it does not end by itself
  Emit(PilotQueuedAgain{pilot, now_});
}

// Batch systems begin a job anew that they have preempted: it ends as much later.
bool Provisioner::State::HasBegunAgain(const Pilot& pilot, Instant end) const {
  constexpr Duration kClocks = Duration::Seconds(60);
  if (!pilot.joined || pilot.unwanted || end == Instant::Never()) return false;
  const Duration life = durable_.FindPool(pilot.pool)->policy.Life();
  bool possible = life == Duration::Max() || end <= now_ + life + kClocks;
  return possible && end > pilot.end_of_life + kClocks;
}

void Provisioner::State::On(const NodeJoined& event) {
  const Pilot* pilot = durable_.FindPilot(event.pilot);
  if (pilot == nullptr) {
    out_->asks.emplace_back(TurnAway{event.pilot, event.node});
    return;
  }
  Relist(event.pilot, [&](LivePilot& live) {
    live.nodes[event.node] = now_;  // until it is given something
    live.silent_nodes.erase(event.node);
    live.watch.Ping(now_);
    live.misses = 0;
    live.took_leave = false;
  });
  if (HasBegunAgain(*pilot, event.end_of_life)) QueuedAgain(event.pilot);
  if (pilot->waits()) {
    Emit(PilotJoined{event.pilot, now_, event.end_of_life});
    live_pools_.at(pilot->pool).newest_join = now_;
    const Pool& pool = *durable_.FindPool(pilot->pool);
    if (event.shape.milli_cpus > 0 && event.shape != pool.shape()) {
      Emit(PoolLearned{pilot->pool, event.shape});
    }
  }
  touched_.insert(pilot->pool);
  if (pilot->unwanted) return Drive(event.pilot);
  ResetTimer(event.pilot);
}

void Provisioner::State::On(const NodeSilent& event) {
  const Pilot* pilot = durable_.FindPilot(event.pilot);
  if (pilot == nullptr || !live_pilots_.at(event.pilot).nodes.contains(event.node)) return;
  Relist(event.pilot, [&](LivePilot& live) {
    live.silent_nodes.insert(event.node);
    live.expected = std::max(live.expected, now_);  // what was asked before says nothing
  });
  live_pools_.at(pilot->pool).stirred = now_;
  touched_.insert(pilot->pool);
}

void Provisioner::State::On(const NodeLeft& event) {
  const Pilot* pilot = durable_.FindPilot(event.pilot);
  if (pilot == nullptr) return;
  if (!live_pilots_.at(event.pilot).nodes.contains(event.node)) return;
  Relist(event.pilot, [&](LivePilot& live) {
    live.nodes.erase(event.node);
    live.silent_nodes.erase(event.node);
    live.watch.Ping(now_);  // until now it was heard
    live.took_leave = event.took_leave && !live.connected();
    // A pilot that ends by itself need not be cancelled, nor be kept from its epilogue. A pilot
    // that is queued again does not end by itself.
    if (pilot->joined) live.cancel_at = now_ + kCancelAgain;
    live.expected = now_;
  });
  live_pools_.at(pilot->pool).stirred = now_;
  touched_.insert(pilot->pool);
  ResetTimer(event.pilot);
}

void Provisioner::State::On(const NodeBusy& event) {
  const Pilot* pilot = durable_.FindPilot(event.pilot);
  if (pilot == nullptr || !live_pilots_.at(event.pilot).nodes.contains(event.node)) return;
  Relist(event.pilot, [&](LivePilot& live) {
    live.nodes[event.node].reset();
    live.was_busy = true;
  });
  live_pools_.at(pilot->pool).fruitless = 0;
  touched_.insert(pilot->pool);
}

void Provisioner::State::On(const NodeIdle& event) {
  const Pilot* pilot = durable_.FindPilot(event.pilot);
  if (pilot == nullptr || !live_pilots_.at(event.pilot).nodes.contains(event.node)) return;
  Relist(event.pilot,
         [&](LivePilot& live) { live.nodes[event.node] = std::min(event.since, now_); });
  touched_.insert(pilot->pool);
}

}  // namespace spate::provision
