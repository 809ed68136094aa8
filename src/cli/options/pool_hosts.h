// The hosts of `spate pool add ssh --hosts`, and the names of their pools.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::cli {

struct PoolHost {
  std::string host;    // as ssh takes it: "pc1", "ann@pc1", "fe80::1"
  uint32_t slots = 0;  // 0: not given
  friend bool operator==(const PoolHost&, const PoolHost&) = default;
};
// HOST or HOST:SLOTS; an address with colons stands in [] when slots follow.
Result<PoolHost> ParseHost(std::string_view text);
// "HOST,HOST:SLOTS", or a file with one a line, # before comments: when it has a / or is there.
// Each host once; at least one.
Result<std::vector<PoolHost>> ReadHosts(const std::string& value);

// With a name this long there is room for hosts behind it.
inline constexpr size_t kGroupNameBytes = 20;
// NAME-HOST for each, all different, and names of pools.
std::vector<std::string> PoolNamesOf(std::string_view group, std::span<const PoolHost> hosts);

}  // namespace spate::cli
