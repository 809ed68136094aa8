// What a person types for `spate pool add` and `spate pool set`, understood.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/words.h"
#include "cli/pool/pool_hosts.h"
#include "core/model/pool_facts.h"

namespace spate::cli {

struct NewPool {
  std::string system;
  std::string name;  // of the pool; with hosts of their group
  PoolWish wish;
  std::vector<PoolHost> hosts;  // of ssh; else empty
  bool test = true;
  bool dry_run = false;
};
Result<NewPool> MakeNewPool(const Words& words);

// Whether there is something behind `--`, so that the batch system has to be known.
bool HasOwnOptions(const Words& words);
// For `pool set`; changes something. `system` is the pools', and only looked at with HasOwnOptions.
Result<PoolWish> MakePoolChange(const Words& words, std::string_view system);

// The time from one submit to the next: "2", "0.5/s", "10/m", "100/h".
Result<Duration> ParseSubmitRate(std::string_view text);
struct TimeSpan {
  Duration from, to;
  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};
// "10m-2h", "0s-never"
Result<TimeSpan> ParseTimeSpan(std::string_view text);

}  // namespace spate::cli
