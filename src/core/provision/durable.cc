// Apply, and what a replay is told by. Nothing here looks at a clock or at news: times come with
// records.
#include "core/provision/durable.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "core/model/limits.h"

namespace spate::provision {
namespace {

constexpr size_t kWaits = 5;
constexpr size_t kLives = 4;
// A pool of which nothing is known yet.
constexpr Duration kFirstWait = Duration::Seconds(120);
constexpr Duration kMinute = Duration::Seconds(60);
constexpr Duration kShortestWait = kMinute / 16;
constexpr Duration kLongestWait = kMinute * 2048;
constexpr Duration kRefusedFirst = Duration::Seconds(30);
constexpr Duration kRefusedMost = Duration::Seconds(3600);
constexpr Duration kLimitFirst = Duration::Seconds(60);
constexpr Duration kLimitMost = Duration::Seconds(600);

template <typename T>
void Keep(std::vector<T>& newest, T value, size_t most) {
  newest.push_back(std::move(value));
  if (newest.size() > most) newest.erase(newest.begin());
}

Duration Doubled(Duration first, uint32_t times, Duration most) {
  return times > 20 ? most : std::min(most, first * (int64_t{1} << times));
}

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}
uint64_t Mix(uint64_t hash, const std::string& text) {
  return Mix(hash, std::hash<std::string>()(text));
}
uint64_t Mix(uint64_t hash, Instant at) { return Mix(hash, static_cast<uint64_t>(at.ns)); }
uint64_t Mix(uint64_t hash, Duration time) { return Mix(hash, static_cast<uint64_t>(time.ns)); }

// Whatever lists its fields.
struct FieldMixer {
  uint64_t hash = 0;
  template <typename T>
  void operator()(unsigned, std::string_view, const T& value) {
    Add(value);
  }
  template <typename T>
  void Add(const T& value) {
    if constexpr (HasFields<T>) {
      T::Fields(value, *this);
    } else {
      hash = Mix(hash, value);
    }
  }
  template <typename T>
  void Add(const OrNever<T>& time) {
    Add(time.value);
  }
  template <typename T>
  void Add(const std::vector<T>& list) {
    hash = Mix(hash, uint64_t{list.size()});
    for (const T& each : list) Add(each);
  }
};

uint64_t DigestOf(const Pool& pool) {
  const auto& [policy, learned, waits, lives, paused, closed, words, refused, limited, unjoined,
               last_submit, retry_at, bad, pilots] = pool;
  FieldMixer mixer;
  mixer.Add(policy);
  mixer.Add(uint64_t{learned.has_value()});
  if (learned) mixer.Add(*learned);
  mixer.Add(waits);
  mixer.Add(lives);
  mixer.Add(bad);
  uint64_t hash = Mix(Mix(mixer.hash, uint64_t{paused} << 1 | uint64_t{closed}), words);
  hash = Mix(hash, uint64_t{refused} << 32 | limited);
  hash = Mix(Mix(Mix(hash, uint64_t{unjoined}), last_submit), retry_at);
  for (PilotId pilot : pilots) hash = Mix(hash, uint64_t{pilot.value});
  return hash;
}

uint64_t DigestOf(const Pilot& pilot) {
  const auto& [pool, intended, id, joined, end_of_life, unwanted, words] = pilot;
  uint64_t hash = Mix(Mix(Mix(uint64_t{pool.value}, intended), id), joined.value_or(Instant{-1}));
  hash = Mix(hash, end_of_life);
  return Mix(Mix(hash, unwanted ? static_cast<uint64_t>(*unwanted) + 1 : uint64_t{0}), words);
}

}  // namespace

Duration Pool::Life() const {
  Duration life = policy.Life();
  // A batch system may give less than was asked for. One pilot proves nothing: a hub that was
  // killed may have heard of it late, and if that ended all asking nothing would ever prove the
  // opposite.
  if (lives.size() == kLives) life = std::min(life, *std::max_element(lives.begin(), lives.end()));
  return life;
}

Duration Pool::Wait() const {
  Duration wait = kFirstWait;
  if (!waits.empty()) {
    std::vector<Duration> sorted = waits;
    std::sort(sorted.begin(), sorted.end());
    wait = sorted[sorted.size() / 2];
  }
  Duration rounded = kShortestWait;
  while (rounded < wait && rounded < kLongestWait) rounded = rounded * 2;
  return rounded;
}

std::vector<std::string> Pool::Avoided(Instant at) const {
  std::vector<std::string> hosts;
  for (const BadHost& each : bad) {
    if (each.at <= at && at < each.at + kAvoidFor) hosts.push_back(each.host);
  }
  return hosts;
}

const Pool* Durable::FindPool(PoolId id) const {
  auto it = pools_.find(id);
  return it == pools_.end() ? nullptr : &it->second;
}

const Pilot* Durable::FindPilot(PilotId id) const {
  auto it = pilots_.find(id);
  return it == pilots_.end() ? nullptr : &it->second;
}

class Durable::Applier {
 public:
  explicit Applier(Durable& durable) : durable_(durable) {}

  void operator()(const PoolChanged& record) {
    auto [it, added] = durable_.pools_.try_emplace(record.pool);
    durable_.last_pool_ = std::max(durable_.last_pool_, record.pool);
    Pool& pool = it->second;
    bool other = pool.policy.shape != record.policy.shape || record.learn_anew;
    if (other) pool.learned.reset();
    if (other || pool.policy.Life() != record.policy.Life()) pool.lives.clear();
    if (record.learn_anew) pool.waits.clear();
    pool.policy = record.policy;
    // The new policy may have fixed the cause of a refusal, or of a failure on some hosts.
    Forgive(pool);
    pool.bad.clear();
  }
  void operator()(const PoolClosed& record) { PoolOf(record.pool).closed = true; }
  void operator()(const PoolForgotten& record) { durable_.pools_.erase(record.pool); }
  void operator()(const PoolPaused& record) {
    Pool& pool = PoolOf(record.pool);
    pool.paused = true;
    pool.words = record.reason;
  }
  void operator()(const PoolResumed& record) {
    Pool& pool = PoolOf(record.pool);
    pool.paused = false;
    pool.words.clear();
    Forgive(pool);
  }
  void operator()(const PoolLearned& record) { PoolOf(record.pool).learned = record.shape; }
  void operator()(const PilotIntended& record) {
    durable_.last_pilot_ = record.pilot;
    durable_.pilots_[record.pilot] = {.pool = record.pool, .intended = record.at};
    Pool& pool = PoolOf(record.pool);
    pool.pilots.insert(record.pilot);
    pool.last_submit = record.at;
  }
  void operator()(const PilotSubmitted& record) {
    Pilot& pilot = PilotOf(record.pilot);
    pilot.id = record.id;
    Pool& pool = PoolOf(pilot.pool);
    pool.refused = 0;
    pool.limited = 0;
    if (!pool.paused && pool.unjoined == 0) pool.words.clear();
  }
  void operator()(const PilotJoined& record) {
    Pilot& pilot = PilotOf(record.pilot);
    pilot.joined = record.at;
    Pool& pool = PoolOf(pilot.pool);
    Duration life = pool.policy.Life();
    pilot.end_of_life = record.end_of_life;
    if (life != Duration::Max()) {
      pilot.end_of_life = std::min(pilot.end_of_life, record.at + life);
    }
    if (pilot.end_of_life != Instant::Never()) {
      Keep(pool.lives, std::max(pilot.end_of_life - record.at, Duration()), kLives);
    }
    // The intent may be of a life of the hub whose clock was ahead.
    Keep(pool.waits, std::max(record.at - pilot.intended, Duration()), kWaits);
    pool.unjoined = 0;
    if (!pool.paused && pool.refused + pool.limited == 0) pool.words.clear();
  }
  void operator()(const PilotQueuedAgain& record) {
    Pilot& pilot = PilotOf(record.pilot);
    pilot.intended = record.at;
    pilot.joined.reset();
    pilot.end_of_life = Instant::Never();
  }
  void operator()(const PilotUnwanted& record) {
    Pilot& pilot = PilotOf(record.pilot);
    pilot.unwanted = record.why;
    pilot.words = record.words;
    if (record.why == Why::kFailed && !pilot.joined) CountUnjoined(pilot.pool, record.words);
  }
  void operator()(const PilotEnded& record) {
    const Pilot& pilot = PilotOf(record.pilot);
    Pool& pool = PoolOf(pilot.pool);
    if (record.end == End::kRefused && !pool.Avoided(pilot.intended).empty()) {
      pool.bad.clear();  // there may be no other hosts: the next pilot may run on any, at once
    } else if (record.end == End::kRefused) {
      pool.retry_at = record.at + Doubled(kRefusedFirst, pool.refused++, kRefusedMost);
      pool.words = record.words;
    } else if (record.end == End::kLimit) {
      pool.retry_at = record.at + Doubled(kLimitFirst, pool.limited++, kLimitMost);
      pool.words = record.words;
    } else if (!pilot.joined && !pilot.unwanted && record.end != End::kNeverWas) {
      if (Counts(pool, record, pilot.intended)) CountUnjoined(pilot.pool, record.words);
    }
    pool.pilots.erase(record.pilot);
    durable_.pilots_.erase(record.pilot);
  }
  void operator()(const NumbersKept& record) {
    durable_.last_pool_ = record.last_pool;
    durable_.last_pilot_ = record.last_pilot;
  }
  void operator()(const PoolKept& record) {
    durable_.pools_[record.pool] = {.policy = record.policy,
                                    .learned = record.learned,
                                    .waits = record.waits,
                                    .lives = record.lives,
                                    .paused = record.paused,
                                    .closed = record.closed,
                                    .words = record.words,
                                    .refused = record.refused,
                                    .limited = record.limited,
                                    .unjoined = record.unjoined,
                                    .last_submit = record.last_submit,
                                    .retry_at = record.retry_at,
                                    .bad = record.bad,
                                    .pilots = {}};
  }
  void operator()(const PilotKept& record) {
    durable_.pilots_[record.pilot] = {.pool = record.pool,
                                      .intended = record.intended,
                                      .id = record.id,
                                      .joined = record.joined,
                                      .end_of_life = record.end_of_life,
                                      .unwanted = record.unwanted,
                                      .words = record.words};
    PoolOf(record.pool).pilots.insert(record.pilot);
  }

 private:
  Pool& PoolOf(PoolId id) {
    auto it = durable_.pools_.find(id);
    CHECK(it != durable_.pools_.end());
    return it->second;
  }
  Pilot& PilotOf(PilotId id) {
    auto it = durable_.pilots_.find(id);
    CHECK(it != durable_.pilots_.end());
    return it->second;
  }
  // True: the failure is a sign that the whole pool is wrong. It is not when the pilot could not
  // avoid a host that is known to be bad by now: one bad host never pauses a pool that has others.
  static bool Counts(Pool& pool, const PilotEnded& record, Instant requested) {
    if (record.host.empty()) return true;
    const auto known = std::ranges::find(pool.bad, record.host, &BadHost::host);
    const bool is_new = known == pool.bad.end();
    if (!is_new && requested < known->at + kAvoidFor) return requested >= known->at;
    if (!is_new) pool.bad.erase(known);
    Keep(pool.bad, BadHost{record.host, record.at}, kBadHosts);
    return is_new;
  }
  void CountUnjoined(PoolId id, const std::string& words) {
    Pool& pool = PoolOf(id);
    ++pool.unjoined;
    if (!pool.paused) pool.words = words;
  }
  static void Forgive(Pool& pool) {
    pool.refused = 0;
    pool.limited = 0;
    pool.unjoined = 0;
    pool.retry_at = {0};
  }

  Durable& durable_;
};

void Durable::Apply(const Record& record) { std::visit(Applier(*this), record); }

std::vector<Record> Durable::Images() const {
  std::vector<Record> images = {NumbersKept{last_pool_, last_pilot_}};
  images.reserve(1 + pools_.size() + pilots_.size());
  for (const auto& [id, pool] : pools_) {
    const auto& [policy, learned, waits, lives, paused, closed, words, refused, limited, unjoined,
                 last_submit, retry_at, bad, pilots] = pool;
    images.emplace_back(PoolKept{id, policy, learned, waits, lives, paused, closed, words, refused,
                                 limited, unjoined, last_submit, retry_at, bad});
  }
  for (const auto& [id, pilot] : pilots_) {
    const auto& [pool, intended, batch_id, joined, end_of_life, unwanted, words] = pilot;
    images.emplace_back(
        PilotKept{id, pool, intended, batch_id, joined, end_of_life, unwanted, words});
  }
  return images;
}

bool Durable::Admits(const Record& record) const {
  return std::visit([this](const auto& each) { return Follows(each); }, record);
}

bool Durable::Follows(const PoolChanged& record) const {
  const Pool* pool = FindPool(record.pool);
  return record.policy.CheckSound().has_value() &&
         (pool != nullptr ? !pool->closed : record.pool > last_pool_);
}

bool Durable::Follows(const PoolForgotten& record) const {
  const Pool* pool = FindPool(record.pool);
  return pool != nullptr && pool->pilots.empty();
}

bool Durable::Follows(const PilotIntended& record) const {
  return FindPool(record.pool) != nullptr && record.pilot > last_pilot_;
}

bool Durable::Follows(const PilotQueuedAgain& record) const {
  const Pilot* pilot = FindPilot(record.pilot);
  return pilot != nullptr && pilot->joined.has_value();
}

bool Durable::Follows(const NumbersKept& record) const {
  return record.last_pool >= last_pool_ && record.last_pilot >= last_pilot_;
}

bool Durable::Follows(const PoolKept& record) const {
  bool is_new = record.pool.value > 0 && record.pool <= last_pool_ && !FindPool(record.pool);
  return is_new && record.policy.CheckSound().has_value() && record.waits.size() <= kWaits &&
         record.lives.size() <= kLives && record.words.size() <= kLimits.words_bytes &&
         record.bad.size() <= kBadHosts;
}

bool Durable::Follows(const PilotKept& record) const {
  bool is_new = record.pilot.value > 0 && record.pilot <= last_pilot_ && !FindPilot(record.pilot);
  return is_new && FindPool(record.pool) != nullptr;
}

template <typename T>
bool Durable::Follows(const T& record) const {
  if constexpr (requires { record.pool; }) {
    return FindPool(record.pool) != nullptr;
  } else {
    return FindPilot(record.pilot) != nullptr;
  }
}

uint64_t Durable::Digest() const {
  uint64_t hash = uint64_t{last_pilot_.value} << 32 | last_pool_.value;
  for (const auto& [id, pool] : pools_) hash = Mix(Mix(hash, uint64_t{id.value}), DigestOf(pool));
  for (const auto& [id, pilot] : pilots_) {
    hash = Mix(Mix(hash, uint64_t{id.value}), DigestOf(pilot));
  }
  return hash;
}

void Durable::CheckInvariants() const {
  size_t listed = 0;
  for (const auto& [id, pool] : pools_) {
    CHECK(id.value > 0);
    CHECK(id <= last_pool_);
    CHECK(pool.waits.size() <= kWaits);
    CHECK(pool.lives.size() <= kLives);
    CHECK(pool.words.size() <= kLimits.words_bytes);
    CHECK(pool.bad.size() <= kBadHosts);
    listed += pool.pilots.size();
    for (PilotId pilot : pool.pilots) {
      const Pilot* known = FindPilot(pilot);
      CHECK(known != nullptr);
      CHECK(known->pool == id);
    }
  }
  CHECK(listed == pilots_.size());
  CHECK(pilots_.empty() || pilots_.rbegin()->first <= last_pilot_);
}

}  // namespace spate::provision
