// The end of one pilot: it fails, becomes unwanted, is cancelled, ends.
#include <algorithm>

#include "base/check.h"
#include "core/provision/state.h"

namespace spate::provision {

void Provisioner::State::Check(PilotId id) {
  const Pilot& pilot = *durable_.FindPilot(id);
  LivePilot& live = live_pilots_.at(id);
  if (pilot.unwanted) return Drive(id);
  if (!live.connected()) {
    const WatchTimes& times = durable_.FindPool(pilot.pool)->policy.watch;
    if (auto why = live.watch.Verdict(times, now_)) return Unwant(id, Why::kFailed, *why);
  }
  ResetTimer(id);
}

void Provisioner::State::Unwant(PilotId id, Why why, std::string words) {
  Emit(PilotUnwanted{id, why, Cut(std::move(words))});
  live_pools_.at(durable_.FindPilot(id)->pool).stirred = now_;
  Drive(id);
}

// Whatever brings a pilot that is to go nearer to its end.
void Provisioner::State::Drive(PilotId id) {
  const Pilot& pilot = *durable_.FindPilot(id);
  CHECK(pilot.unwanted.has_value());
  LivePilot& live = live_pilots_.at(id);
  if (live.connected()) {
    if (live.let_go_at <= now_) {
      out_->asks.emplace_back(LetGo{pilot.pool, id});
      live.let_go_at = now_ + kLetGoAgain;
    }
  } else if (!pilot.id.empty() && live.cancel_at <= now_) {
    out_->asks.emplace_back(Cancel{pilot.pool, id, pilot.id});
    live.cancel_at = now_ + kCancelAgain;
  }
  ResetTimer(id);
}

void Provisioner::State::EndPilot(PilotId id, End end, std::string words, const std::string& host) {
  const Pilot& pilot = *durable_.FindPilot(id);
  LivePool& pool = live_pools_.at(pilot.pool);
  bool doubtful = end == End::kNeverWas || (end == End::kForgotten && !pilot.unwanted);
  if (doubtful) pool.look_until = now_ + kLookFor;
  const LivePilot& live = live_pilots_.at(id);
  if (pilot.joined && !live.was_busy && pool.demand.any() && pilot.unwanted != Why::kClosed) {
    pool.retry_at = now_ + std::min(Duration::Seconds(3600),
                                    Duration::Seconds(30) * (int64_t{1} << pool.fruitless));
    pool.fruitless = std::min(pool.fruitless + 1, 10u);
  }
  if (words.empty()) words = !pilot.words.empty() ? pilot.words : live.words;
  words = Cut(std::move(words));
  if (!words.contains(host)) words = Cut("on host " + host + ": " + words);
  Emit(PilotEnded{id, end, std::move(words), now_, host});
}

void Provisioner::State::LearnId(PilotId id, const std::string& batch_id) {
  Relist(id, [](LivePilot& live) { live.misses = 0; });
  Emit(PilotSubmitted{id, batch_id});
  if (durable_.FindPilot(id)->unwanted) Drive(id);
}

void Provisioner::State::ResetTimer(PilotId id) {
  const Pilot& pilot = *durable_.FindPilot(id);
  LivePilot& live = live_pilots_.at(id);
  Instant at = Instant::Never();
  if (live.connected()) {
    if (pilot.unwanted) at = std::max(live.let_go_at, now_ + Duration{1});
  } else {
    if (!pilot.unwanted) {
      at = live.watch.NextVerdict(durable_.FindPool(pilot.pool)->policy.watch, now_);
    } else if (!pilot.id.empty()) {
      at = std::max(live.cancel_at, now_ + Duration{1});
    }
  }
  if (at == live.timer) return;
  pilot_timers_.erase({live.timer, id});
  live.timer = at;
  if (at != Instant::Never()) pilot_timers_.insert({at, id});
}

void Provisioner::State::CancelStray(PoolId pool, PilotId pilot, const std::string& id) {
  LivePool* live = FindLive(pool);
  if (live != nullptr) live->look_until = now_ + kLookFor;
  out_->asks.emplace_back(Cancel{pool, pilot, id});
}

}  // namespace spate::provision
