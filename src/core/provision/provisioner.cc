// The step: news one after another, what is due, and then a balance of each pool that was touched.
#include "core/provision/provisioner.h"

#include <algorithm>

#include "base/check.h"
#include "core/provision/state.h"

namespace spate::provision {

void Output::Clear() {
  records.clear();
  asks.clear();
  wake_at = Instant::Never();
}

std::optional<Instant> LivePilot::IdleSince() const {
  if (nodes.empty()) return std::nullopt;
  Instant newest{0};
  for (const auto& [node, idle] : nodes) {
    if (!idle) return std::nullopt;
    newest = std::max(newest, *idle);
  }
  return newest;
}

void Provisioner::State::Resume(Instant now, Output& out) {
  CHECK(live_pools_.empty());
  now_ = now;
  out_ = &out;
  for (const auto& [id, pool] : durable_.pools()) {
    LivePool& live = live_pools_.try_emplace(id, pool).first->second;
    live.last_query = now;
    live.query_now = true;  // what was under way when the last life ended shows itself
    live.look_until = now + kLookFor;
    touched_.insert(id);
  }
  for (const auto& [id, pilot] : durable_.pilots()) {
    LivePilot& live = live_pilots_.try_emplace(id, now, pilot.joined.has_value()).first->second;
    // Nobody waits for nodes of a pool that is removed.
    const bool closes = durable_.FindPool(pilot.pool)->closed;
    const Duration return_time = closes ? Duration{} : kReturnTime;
    live.expected = now + (pilot.id.empty() ? kSubmitTimeout : return_time);
    live.was_busy = pilot.joined.has_value();  // for all that is known
    List(id);
  }
  for (const auto& [id, pilot] : durable_.pilots()) ResetTimer(id);
  Step({now, {}}, out);
}

void Provisioner::State::Step(const Input& input, Output& out) {
  now_ = std::max(now_, input.now);
  out_ = &out;
  for (const Event& event : input.events) {
    std::visit([this](const auto& each) { On(each); }, event);
  }
  std::vector<PilotId> due;
  for (auto it = pilot_timers_.begin(); it != pilot_timers_.end() && it->first <= now_; ++it) {
    due.push_back(it->second);
  }
  for (PilotId id : due) Check(id);
  while (!pool_timers_.empty() && pool_timers_.begin()->first <= now_) {
    auto [at, id] = *pool_timers_.begin();
    pool_timers_.erase(pool_timers_.begin());
    live_pools_.at(id).timer = Instant::Never();
    touched_.insert(id);
  }
  while (!touched_.empty()) {
    PoolId id = *touched_.begin();
    touched_.erase(touched_.begin());
    Balance(id);
  }
  if (!pilot_timers_.empty()) out.wake_at = pilot_timers_.begin()->first;
  if (!pool_timers_.empty()) out.wake_at = std::min(out.wake_at, pool_timers_.begin()->first);
  out_ = nullptr;
}

void Provisioner::State::Emit(Record record) {
  PilotId pilot;
  PoolId pool;
  std::visit(
      [&](const auto& each) {
        if constexpr (requires { each.pilot; }) pilot = each.pilot;
        if constexpr (requires { each.pool; }) pool = each.pool;
      },
      record);
  const Pilot* known = durable_.FindPilot(pilot);
  if (known != nullptr) {
    pool = known->pool;
    Unlist(pilot);
  }
  if (std::holds_alternative<PoolForgotten>(record)) {
    pool_timers_.erase({live_pools_.at(pool).timer, pool});
    live_pools_.erase(pool);  // before the pool that it refers to
  }
  durable_.Apply(record);
  if (const Pool* now = durable_.FindPool(pool)) live_pools_.try_emplace(pool, *now);
  if (durable_.FindPilot(pilot) != nullptr) {
    if (known == nullptr) {
      live_pilots_.try_emplace(pilot, now_, false).first->second.expected = now_ + kSubmitTimeout;
    }
    List(pilot);
  } else if (known != nullptr) {
    auto it = live_pilots_.find(pilot);
    pilot_timers_.erase({it->second.timer, pilot});
    live_pilots_.erase(it);
  }
  if (durable_.FindPool(pool) != nullptr) touched_.insert(pool);
  out_->records.push_back(std::move(record));
}

void Provisioner::State::List(PilotId id) {
  const Pilot& pilot = *durable_.FindPilot(id);
  const LivePilot& live = live_pilots_.at(id);
  LivePool& pool = live_pools_.at(pilot.pool);
  if (pilot.unwanted) {
    pool.leaving.insert(id);
    pool.leaving_unjoined += pilot.waits() ? 1 : 0;
  } else if (pilot.waits()) {
    pool.coming.insert(id);
  } else {
    pool.here.insert(id);
    pool.ends.insert({pilot.end_of_life, id});
    if (auto idle = live.IdleSince()) pool.idle.insert({*idle, id});
  }
  bool wait_for_end = pilot.unwanted || pilot.joined;
  if ((!live.connected() || live.silent()) &&
      (wait_for_end || pilot.id.empty() || live.misses > 0)) {
    pool.uneasy.insert(id);
  }
}

void Provisioner::State::Unlist(PilotId id) {
  const Pilot& pilot = *durable_.FindPilot(id);
  const LivePilot& live = live_pilots_.at(id);
  LivePool& pool = live_pools_.at(pilot.pool);
  if (pool.leaving.erase(id) > 0 && pilot.waits()) --pool.leaving_unjoined;
  pool.coming.erase(id);
  pool.here.erase(id);
  pool.ends.erase({pilot.end_of_life, id});
  if (auto idle = live.IdleSince()) pool.idle.erase({*idle, id});
  pool.uneasy.erase(id);
}

std::string Provisioner::State::Cut(std::string words) const {
  if (words.size() > limits_.words_bytes) words.resize(limits_.words_bytes);
  return words;
}

LivePool* Provisioner::State::FindLive(PoolId id) {
  auto it = live_pools_.find(id);
  return it == live_pools_.end() ? nullptr : &it->second;
}

void Provisioner::State::CheckInvariants() const {
  durable_.CheckInvariants();
  CHECK(live_pools_.size() == durable_.pools().size());
  CHECK(live_pilots_.size() == durable_.pilots().size());
  for (const auto& [id, live] : live_pools_) {
    const Pool& pool = *durable_.FindPool(id);
    CHECK(live.coming.size() + live.here.size() + live.leaving.size() == pool.pilots.size());
    CHECK(live.leaving_unjoined <= live.leaving.size());
    CHECK(live.ends.size() == live.here.size());
    CHECK(live.idle.size() <= live.here.size());
    CHECK(live.timer == Instant::Never() || pool_timers_.contains({live.timer, id}));
    CHECK(!live.demand.IsStale());
    live.demand.CheckInvariants();
  }
  for (const auto& [id, live] : live_pilots_) {
    CHECK(live.timer == Instant::Never() || pilot_timers_.contains({live.timer, id}));
  }
  CHECK(pilot_timers_.size() <= live_pilots_.size());
  CHECK(pool_timers_.size() <= live_pools_.size());
}

PoolInfo Provisioner::State::Info(PoolId id, const Pool& pool) const {
  const LivePool& live = live_pools_.at(id);
  return {.pool = id,
          .policy = pool.policy,
          .paused = pool.paused,
          .closed = pool.closed,
          .words = pool.words,
          .shape = pool.shape(),
          .queued = static_cast<uint32_t>(live.coming.size()),
          .joined = static_cast<uint32_t>(live.here.size()),
          .leaving = static_cast<uint32_t>(live.leaving.size()),
          .wanted = Wanted(pool, live),
          .next_submit = NextSubmit(pool, live),
          .trouble = live.trouble,
          .avoided = pool.Avoided(now_)};
}

PilotInfo Provisioner::State::Info(PilotId id, const Pilot& pilot) const {
  const LivePilot& live = live_pilots_.at(id);
  return {.pilot = id,
          .pool = pilot.pool,
          .id = pilot.id,
          .status = live.watch.status(),
          .words = pilot.unwanted ? pilot.words : live.words,
          .nodes = static_cast<uint32_t>(live.nodes.size()),
          .intended = pilot.intended,
          .joined = pilot.joined,
          .idle = live.IdleSince(),
          .end_of_life = pilot.end_of_life,
          .unwanted = pilot.unwanted};
}

// ---- The face ----------------------------------------------------------------------------------

Provisioner::Provisioner(const Limits& limits) : state_(std::make_unique<State>(limits)) {}
Provisioner::~Provisioner() = default;
void Provisioner::Apply(const Record& record) { state_->Apply(record); }
PilotId Provisioner::last_pilot() const { return state_->durable().last_pilot(); }
bool Provisioner::Admits(const Record& record) const { return state_->durable().Admits(record); }
std::vector<Record> Provisioner::Images() const { return state_->durable().Images(); }
void Provisioner::Resume(Instant now, Output& out) { state_->Resume(now, out); }
void Provisioner::Step(const Input& input, Output& out) { state_->Step(input, out); }
void Provisioner::CheckInvariants() const { state_->CheckInvariants(); }
uint64_t Provisioner::Digest() const { return state_->durable().Digest(); }

std::vector<PoolInfo> Provisioner::Pools() const {
  std::vector<PoolInfo> infos;
  for (const auto& [id, pool] : state_->durable().pools()) infos.push_back(state_->Info(id, pool));
  return infos;
}

std::vector<PilotInfo> Provisioner::Pilots(PoolId id) const {
  std::vector<PilotInfo> infos;
  const Pool* pool = state_->durable().FindPool(id);
  if (pool == nullptr) return infos;
  for (PilotId pilot : pool->pilots) {
    infos.push_back(state_->Info(pilot, *state_->durable().FindPilot(pilot)));
  }
  return infos;
}

std::optional<PoolInfo> Provisioner::Info(PoolId id) const {
  const Pool* pool = state_->durable().FindPool(id);
  if (pool == nullptr) return std::nullopt;
  return state_->Info(id, *pool);
}

PoolId Provisioner::NextPool() const { return PoolId(state_->durable().last_pool().value + 1); }

std::optional<Reason> Provisioner::WhyNot(PoolId id, const TaskClass& of_tasks,
                                          std::string_view user) const {
  const Pool* pool = state_->durable().FindPool(id);
  CHECK(pool != nullptr);
  return WhyNotHere(*pool, of_tasks.needs, of_tasks.gang, user);
}

}  // namespace spate::provision
