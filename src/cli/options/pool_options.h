// Command lines of `spate pool add` and `spate pool set`, parsed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/pool_hosts.h"
#include "cli/options/words.h"
#include "core/model/pool.h"

namespace spate::cli {

namespace opt {
extern const Option kHosts, kNoTest, kPoolDryRun;
// Options of both commands: number of pilots, resources of their nodes, how pilots start.
extern const OptionGroup kPoolWishes;
}  // namespace opt

struct NewPool {
  std::string system;
  std::string name;  // of the pool; with hosts of their group
  PoolChange wish;
  std::vector<PoolHost> hosts;  // of ssh; else empty
  bool test = true;
  bool dry_run = false;
};
Result<NewPool> MakeNewPool(const Words& words);

// Hint for `pool add` and `pool set`, for options of a batch system before the --.
std::optional<std::string> OwnOptionHint(std::string_view typed);
// True if words follow `--`, so that the batch system has to be known.
bool HasOwnOptions(const Words& words);
// For `pool set`; changes something. `system` is the pools', and only looked at with HasOwnOptions.
Result<PoolChange> MakePoolChange(const Words& words, std::string_view system);

// The change that the options of kPoolWishes make.
Result<PoolChange> ReadPoolChange(const Words& words);

// The time from one submit to the next: "2", "0.5/s", "10/m", "100/h".
Result<Duration> ParseSubmitRate(std::string_view text);
struct TimeSpan {
  Duration from, to;
  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};
// "10m-2h", "0s-never"
Result<TimeSpan> ParseTimeSpan(std::string_view text);

}  // namespace spate::cli
