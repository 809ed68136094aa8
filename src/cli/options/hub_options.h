// The options of `spate hub start` and `spate node start`, and what they mean.
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
  bool says_where = false;          // --listen was given
  std::string metrics;              // HOST:PORT; empty: nowhere
  std::string state_dir;            // as typed
  bool daemon = false;
  bool new_key = false;
  bool allow_root = false;
  Duration suspect_after = Duration::Seconds(15);
  Duration lost_after = kLimits.node_patience;  // at least the former
  Duration max_frozen = kLimits.max_frozen;
  Duration forget_nodes = Duration::Seconds(86'400);
  HistoryBound keep{.bytes = UINT64_MAX};  // of any size, unless one is given
  std::optional<GangPolicy> policy;        // not given: as it was
};
Result<HubOptions> MakeHubOptions(const Words& words);

// --policy
Result<GangPolicy> ParseGangPolicy(std::string_view word);

// The target that a task of several cpus is bound to: none, its own units, or their NUMA nodes.
SPATE_ENUM(BindTo, kNone, "none", kCore, "core", kNuma, "numa");
struct NodeOptions {
  std::string access;  // --access as typed
  std::string state_dir;
  std::string metrics;  // as of HubOptions
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
  std::string cgroup;                    // likewise
  std::vector<std::string> users;
  bool allow_root = false;
};
Result<NodeOptions> MakeNodeOptions(const Words& words);
// Slots and cpus that a node offers where it may use `cores`: as typed; what was not typed is
// `cores`, or as much more as the other one needs.
struct NodeRoom {
  uint32_t slots = 0;
  uint32_t milli_cpus = 0;
};
NodeRoom RoomOfNode(const NodeOptions& options, uint32_t cores);

}  // namespace spate::cli
