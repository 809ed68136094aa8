// For tests of what a hub keeps of its pools: a life of some pools, and how it comes back.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "core/provision/durable.h"
#include "store/pool_codec.h"
#include "store/sqlite/testing_hub.h"

namespace spate::store {

inline std::string BytesOf(const provision::Record& record) {
  EncodedRecord encoded = EncodePoolRecord(record);
  return std::to_string(encoded.kind) + encoded.data;
}

// Records as a provisioner might make them, the same each time.
class PoolLife {
 public:
  static constexpr uint32_t kPools = 3;

  // Goes on from there.
  void Begin(provision::Durable durable) {
    durable_ = std::move(durable);
    log_.clear();
  }
  std::vector<provision::Record> Next(size_t count) {
    std::vector<provision::Record> records;
    while (records.size() < count) {
      provision::Record record = One();
      now_ = now_ + Duration::Millis(1 + static_cast<int64_t>(prng_.Below(90'000)));
      records.push_back(record);
      durable_.Apply(record);
    }
    for (const provision::Record& record : records) {
      log_.push_back({pool_of_.Of(record), {Instant{now_.ns / 1000 * 1000}, record}});
    }
    return records;
  }
  Instant now() const { return now_; }
  const provision::Durable& durable() const { return durable_; }
  // All of its rows.
  std::vector<PoolLogRow> LogOf(provision::PoolId pool) const {
    std::vector<PoolLogRow> rows;
    for (const auto& [of, row] : log_) {
      if (of == pool) rows.push_back(row);
    }
    return rows;
  }

 private:
  provision::Record One() {
    using provision::End, provision::PilotEnded, provision::PilotId, provision::PilotIntended,
        provision::PilotJoined, provision::PilotQueuedAgain, provision::PilotSubmitted,
        provision::PilotUnwanted, provision::PoolChanged, provision::PoolId, provision::PoolLearned,
        provision::PoolPaused, provision::PoolPolicy, provision::PoolResumed, provision::Why;
    if (durable_.pools().size() < kPools) {
      PoolPolicy policy;
      policy.name = "pool" + std::to_string(durable_.last_pool().value);
      policy.settings.prologue = std::string("\0driver", 7);
      return PoolChanged{PoolId(durable_.last_pool().value + 1), policy};
    }
    auto at = durable_.pools().begin();
    std::advance(at, prng_.Below(kPools));
    if (durable_.pilots().size() < 5) {
      return PilotIntended{at->first, PilotId(durable_.last_pilot().value + 1), now_};
    }
    switch (prng_.Below(20)) {
      case 0:
        return PoolPaused{at->first, "a wish", now_};
      case 1:
        return PoolResumed{at->first};
      case 2:
        return PoolLearned{at->first, {.slots = 4, .milli_cpus = 4000}};
      default:
        break;
    }
    auto pilot = durable_.pilots().begin();
    std::advance(pilot, prng_.Below(durable_.pilots().size()));
    const auto& [id, known] = *pilot;
    if (known.id.empty()) return PilotSubmitted{id, "batch" + std::to_string(id.value)};
    if (!known.joined) return PilotJoined{id, now_, now_ + Duration::Seconds(3600)};
    if (prng_.Chance(10)) return PilotQueuedAgain{id, now_};
    if (!known.unwanted) return PilotUnwanted{id, Why::kIdle, "idle"};
    return PilotEnded{id, End::kEnded, "it has ended", now_};
  }

  Prng prng_{17};
  Instant now_{1'700'000'000'000'000'000};
  provision::Durable durable_;
  PoolOfRecord pool_of_;
  std::vector<std::pair<provision::PoolId, PoolLogRow>> log_;
};

// A provisioner's state after a start, and the number of its records.
inline std::pair<provision::Durable, size_t> Replayed(HubWorld& world) {
  std::pair<provision::Durable, size_t> replayed;
  auto status = world.store().ReplayPools([&](const provision::Record& record) {
    EXPECT_TRUE(replayed.first.Admits(record));
    replayed.first.Apply(record);
    ++replayed.second;
  });
  EXPECT_TRUE(status) << MessageOf(status.error());
  return replayed;
}

}  // namespace spate::store
