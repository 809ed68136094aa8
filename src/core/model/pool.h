// A pool of a batch system: its policy, the shape of its nodes, the users it serves, and the
// settings of its driver.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/model/change.h"
#include "core/model/fields.h"
#include "core/model/needs.h"

namespace spate {

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

// When a pilot counts as failed: see core/provision/watch.h. Duration::Max(): never.
struct WatchTimes {
  Duration init = Duration::Max();                  // ANDY's T0
  Duration error = Duration::Seconds(300);          // T1
  Duration suspended_from = {};                     // T2
  Duration suspended_until = Duration::Max();       // T3
  Duration silent = Duration::Seconds(300);         // T4
  Duration never_joined = Duration::Seconds(1200);  // runs, and no node of it has come
  SPATE_FIELDS(1, OrNever(init), 2, OrNever(error), 3, OrNever(suspended_from),
               4, OrNever(suspended_until), 5, OrNever(silent), 6, OrNever(never_joined));
  friend bool operator==(const WatchTimes&, const WatchTimes&) = default;
};

// Orders for its driver (pool/driver.h).
struct PoolSettings {
  std::string system;                // a driver's name
  std::string account;               // whose batch jobs its pilots are
  std::string group;                 // a name for several pools; empty: none
  std::vector<std::string> options;  // the batch system's own
  std::string submit_command, query_command, cancel_command, select_command;
  std::vector<std::string> everywhere;  // words for each of these commands
  std::string host;                     // of ssh
  std::string prologue, epilogue;
  std::string wrapper;                    // PilotSpec::wrapper
  std::vector<std::string> addresses;     // where nodes call; empty: where the hub listens
  std::string folder;                     // absolute; of scripts, credentials and outputs
  std::string program;                    // spate, where nodes run; empty: the hub's own
  std::vector<std::string> node_options;  // further words for `spate node start`
  bool shared_files = true;               // nodes see `folder` and `program`
  SPATE_FIELDS(1, system, 2, account, 3, group, 4, options, 5, submit_command, 6, query_command,
               7, cancel_command, 8, select_command, 9, everywhere, 10, host, 11, prologue,
               12, epilogue, 13, addresses, 14, folder, 15, program, 16, node_options,
               17, shared_files, 18, wrapper);
  friend bool operator==(const PoolSettings&, const PoolSettings&) = default;
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
  PoolSettings settings;
  SPATE_FIELDS(1, Named(name, "pool"), 2, user, 3, max_pilots, 4, min_pilots, 5, backlog,
               6, nodes_per_pilot, 7, time_limit, 8, lifetime, 9, OrNever(idle_exit),
               10, NotInJson(submit_interval), 11, NotInJson(surplus_patience), 12, chain,
               13, NotInJson(shape), 14, NotInJson(watch), 15, NotInJson(settings), 16, spread);
  // How long a pilot's nodes are there at most. Max(): not known.
  Duration Life() const;
  // An error says what is wrong with it, and how to fix it.
  Status CheckSound() const;
  friend bool operator==(const PoolPolicy&, const PoolPolicy&) = default;
};

using PoolChange = ChangeOf<PoolPolicy>;

}  // namespace spate
