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
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "slots", self.slots);
    visit(2, "milli_cpus", self.milli_cpus);
    visit(3, "memory", self.memory);
    visit(4, "named", self.named);
    visit(5, "labels", self.labels);
    visit(6, "features", self.features);
  }
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
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "init", self.init);
    visit(2, "error", self.error);
    visit(3, "suspended_from", self.suspended_from);
    visit(4, "suspended_until", self.suspended_until);
    visit(5, "silent", self.silent);
    visit(6, "never_joined", self.never_joined);
  }
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
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "user", self.user);
    visit(3, "max_pilots", self.max_pilots);
    visit(4, "min_pilots", self.min_pilots);
    visit(5, "backlog", self.backlog);
    visit(6, "nodes_per_pilot", self.nodes_per_pilot);
    visit(7, "time_limit", self.time_limit);
    visit(8, "lifetime", self.lifetime);
    visit(9, "idle_exit", self.idle_exit);
    visit(10, "submit_interval", self.submit_interval);
    visit(11, "surplus_patience", self.surplus_patience);
    visit(12, "chain", self.chain);
    visit(13, "shape", self.shape);
    visit(14, "watch", self.watch);
    visit(15, "driver", self.driver);
    visit(16, "spread", self.spread);
  }
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
