// Policy of a pool of a batch system: its limits, the shape of its nodes, and the users it serves.
// Numbers of pools and pilots are never used again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/model/class_demand.h"
#include "core/model/fields.h"
#include "core/model/needs.h"

namespace spate::provision {

using PoolId = Id<struct PoolTag>;    // from 1; 0 is none
using PilotId = Id<struct PilotTag>;  // from 1; 0 is none
using spate::ClassDemand;
using spate::ClassKey;

// Offer of one node of a pool, as its owner stated it or the newest pilot showed it.
struct NodeShape {
  uint32_t slots = 0;
  uint32_t milli_cpus = 0;          // 0: not known, and nothing else but labels is
  uint64_t memory = 0;              // bytes; 0: not known
  std::vector<NamedNeed> named;     // sorted by name
  std::vector<std::string> labels;  // sorted; those that all nodes of the pool will have
  std::vector<std::string> features;
  SPATE_FIELDS(1, slots, 2, milli_cpus, 3, memory, 4, named, 5, labels, 6, features);
  friend bool operator==(const NodeShape&, const NodeShape&) = default;
};
Offer OfferOf(const NodeShape& shape, std::string_view pool_name);

// When a pilot counts as failed: see core/provision/watch.h. Duration::Max(): never.
struct WatchTimes {
  Duration init = Duration::Max();                  // T0
  Duration error = Duration::Seconds(300);          // T1
  Duration suspended_from = {};                     // T2
  Duration suspended_until = Duration::Max();       // T3
  Duration silent = Duration::Seconds(300);         // T4
  Duration never_joined = Duration::Seconds(1200);  // runs, and no node of it has come
  SPATE_FIELDS(1, init, 2, error, 3, suspended_from, 4, suspended_until, 5, silent,
               6, never_joined);
  friend bool operator==(const WatchTimes&, const WatchTimes&) = default;
};

struct PoolPolicy {
  std::string name;
  std::string user;          // whose tasks it serves; empty or "*": everybody's
  uint32_t max_pilots = 10;  // that there are at once, queued or running
  uint32_t min_pilots = 0;   // kept also without work
  uint32_t backlog = 4;      // that wait in the batch system's queue at once
  uint32_t nodes_per_pilot = 1;
  Duration time_limit;                                // of the allocation; zero: not known
  Duration lifetime;                                  // of its nodes, where shorter; zero: the same
  Duration idle_exit = Duration::Seconds(300);        // Max(): an idle pilot stays
  Duration submit_interval = Duration::Millis(100);   // between two submits; `backlog` bounds more
  Duration surplus_patience = Duration::Seconds(10);  // queued pilots without work go after it
  // A pilot's successor queues while it still runs: one for each, beyond max_pilots.
  bool chain = false;
  // A pilot for all ready tasks that find no room, however little work they are.
  bool spread = false;
  NodeShape shape;  // what nodes will offer
  WatchTimes watch;
  std::string driver;  // what its driver is to do, in bytes that only the shell reads
  SPATE_FIELDS(1, name, 2, user, 3, max_pilots, 4, min_pilots, 5, backlog, 6, nodes_per_pilot,
               7, time_limit, 8, lifetime, 9, idle_exit, 10, submit_interval, 11, surplus_patience,
               12, chain, 13, shape, 14, watch, 15, driver, 16, spread);
  friend bool operator==(const PoolPolicy&, const PoolPolicy&) = default;
};
// True if the pool is for tasks of this user.
bool Serves(const PoolPolicy& policy, std::string_view user);
// An error says what is wrong with it, and how to fix it.
Status Check(const PoolPolicy& policy);
// How long a pilot's nodes are there at most. Max(): not known.
Duration LifeOf(const PoolPolicy& policy);
// The longest time that a task on them may be planned to take.
Duration LongestTask(const PoolPolicy& policy);

// The name of a pilot's batch job, "spate-POOL-HUB-N": people see it in the batch system's lists.
// At most 60 characters (pool/driver.h, ValidTag); of a longer pool name its beginning. `hub` is up
// to 6 letters or digits, and different for each hub of a user.
std::string TagOf(std::string_view hub, std::string_view pool, PilotId pilot);
// Prefix of the tags of all pilots of this pool; pools of names that begin alike may share it.
std::string TagPrefix(std::string_view hub, std::string_view pool);
std::optional<PilotId> PilotOfTag(std::string_view hub, std::string_view tag);
// The pilot's number in the name of its node, POOL.N or POOL.N.HOST. nullopt: a name of another
// form.
std::optional<PilotId> PilotNumberIn(std::string_view name);

}  // namespace spate::provision
