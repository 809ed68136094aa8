// What a person types for `spate hub start`, `spate hub access` and `spate node start`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/options/values.h"
#include "cli/options/words.h"
#include "core/model/gang.h"
#include "core/model/limits.h"
#include "core/model/needs.h"

namespace spate::cli {

// Parasol has 18140 and 18141.
inline constexpr uint16_t kHubPort = 18150;

struct HubOptions {
  std::vector<std::string> listen;  // HOST[:PORT]; empty: nowhere but the local socket
  std::string metrics;              // HOST:PORT; empty: nowhere
  std::string state_dir;            // as typed
  bool daemon = false;
  bool allow_root = false;
  Duration suspect_after = Duration::Seconds(15);
  Duration lost_after = kLimits.node_patience;  // at least the former
  Duration forget_nodes = Duration::Seconds(86'400);
  HistoryBound keep{.bytes = UINT64_MAX};  // of any size, unless one is given
  std::optional<GangPolicy> policy;        // not given: as it was
};
Result<HubOptions> MakeHubOptions(const Words& words);

struct HubChange {
  GangPolicy policy = GangPolicy::kFair;
};
Result<HubChange> MakeHubChange(const Words& words);

enum class AccessRole : uint8_t { kNode = 1, kClient = 2, kAdmin = 3 };
struct AccessOptions {
  enum class Verb : uint8_t { kAdd, kList, kRevoke } verb = Verb::kList;
  AccessRole role = AccessRole::kClient;
  std::string user;                  // empty: who asks
  std::optional<Duration> lifetime;  // not given: for ever
  std::vector<uint64_t> serials;     // of revoke
};
Result<AccessOptions> MakeAccessOptions(const Words& words);

struct UserOptions {
  std::string user;  // empty: all of them
  std::optional<uint32_t> weight, max_running, max_queued;
  std::optional<uint64_t> max_output;
  bool changes() const { return weight || max_running || max_queued || max_output; }
};
Result<UserOptions> MakeUserOptions(const Words& words);

// What a task of several cpus is bound to: nothing, its own units, or the NUMA nodes of these.
enum class BindTo : uint8_t { kNone, kCore, kNuma };
struct NodeOptions {
  std::string access;  // --access as typed
  std::string state_dir;
  bool daemon = false;
  std::string name;  // empty: the host's
  SlotRule slots;
  std::optional<uint32_t> milli_cpus;
  BindTo bind = BindTo::kNone;
  std::optional<uint64_t> memory;
  std::optional<std::vector<std::string>> gpus;  // not given: those found
  std::vector<NamedOffer> offers;                // sorted by name
  std::vector<std::string> labels;               // sorted, each once
  std::optional<Duration> lifetime;
  std::optional<Duration> idle_exit;
  std::optional<Duration> hub_patience;  // without a hub it ends after this
  std::optional<uint16_t> gang_port;     // 0: none; not given: some free one
  bool pilot = false;                    // it is a part of an allocation
  std::string tmp;                       // as typed
  std::vector<std::string> users;
  bool allow_root = false;
};
Result<NodeOptions> MakeNodeOptions(const Words& words);

}  // namespace spate::cli
