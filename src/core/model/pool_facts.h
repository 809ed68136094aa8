// Pools of a hub: what people wish of one, and what the hub tells of them (wire/questions.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/model/fields.h"
#include "core/model/needs.h"

namespace spate {

// The label that all nodes of a pool have, for `submit --pool`.
inline constexpr std::string_view kPoolLabel = "pool:";
// The label of a pool that tasks need and `labels` lack; null: there is none.
inline const std::string* OtherPool(const Needs& needs, const std::vector<std::string>& labels) {
  auto other = std::ranges::find_if(needs.labels, [&](const std::string& label) {
    return label.starts_with(kPoolLabel) && std::ranges::find(labels, label) == labels.end();
  });
  return other == needs.labels.end() ? nullptr : &*other;
}

// "Never" where a wish has a time: the longest one that a message may hold.
inline constexpr Duration kPoolNever{int64_t{1} << 60};

// Settings of a new pool, or changes to an existing one. A field without a value has the default
// of core/provision/pool.h, or stays as it is.
struct PoolWish {
  // How many pilots, and for how long.
  std::optional<uint32_t> max_pilots, min_pilots, backlog, nodes_per_pilot;
  std::optional<Duration> time_limit, lifetime;  // zero: not known
  std::optional<Duration> idle_exit;
  std::optional<Duration> submit_interval;
  std::optional<bool> chain, spread;
  std::optional<std::string>
      user;  // whose tasks; "*": everybody's; only administrators name others
  // Offer of a node; without it, the first pilot reports it.
  std::optional<uint32_t> slots, milli_cpus;
  std::optional<uint64_t> memory;
  std::optional<std::vector<NamedNeed>> named;
  std::optional<std::vector<std::string>> labels;  // beside kPoolLabel and the name
  // When a pilot that says nothing has failed: ANDY's T0 to T4, and one that runs but never joins.
  std::optional<Duration> watch_init, watch_error, watch_suspended_from, watch_suspended_until,
      watch_silent, watch_joining;
  // Settings of the driver.
  std::optional<std::vector<std::string>> options;  // the batch system's own
  std::optional<std::string> prologue, epilogue;    // shell
  std::optional<std::string> submit_command, query_command, cancel_command, select_command;
  std::optional<std::vector<std::string>> everywhere;    // words for each of these commands
  std::optional<std::vector<std::string>> addresses;     // where nodes call the hub
  std::optional<std::string> folder;                     // of scripts and outputs; absolute
  std::optional<std::string> program;                    // spate, where nodes run; absolute
  std::optional<bool> shared_files;                      // nodes see these files
  std::optional<std::vector<std::string>> node_options;  // further words for `spate node start`
  std::optional<std::string> host;                       // of ssh
  std::optional<std::string> group;                      // a name for several pools
  std::optional<std::string> wrapper;                    // shell, before the node's command

  SPATE_FIELDS(1, max_pilots, 2, min_pilots, 3, backlog, 4, nodes_per_pilot, 5, time_limit,
               6, lifetime, 7, idle_exit, 8, submit_interval, 9, chain, 10, user, 11, slots,
               12, milli_cpus, 13, memory, 14, named, 15, labels, 16, watch_init, 17, watch_error,
               18, watch_suspended_from, 19, watch_suspended_until, 20, watch_silent,
               21, watch_joining, 22, options, 23, prologue, 24, epilogue, 25, submit_command,
               26, query_command, 27, cancel_command, 28, select_command, 29, everywhere,
               30, addresses, 31, folder, 32, program, 33, shared_files, 34, node_options, 35, host,
               36, group, 37, wrapper, 38, spread);
};

struct PilotFacts {
  uint32_t pilot = 0;
  std::string id;      // the batch job's; empty: not known
  std::string state;   // "asked", "queued", "running", "held", "joined", "leaving", "ended"
  std::string why;     // it waits, or is to go
  uint32_t nodes = 0;  // connected
  Instant since;       // it was asked for
  std::optional<Instant> joined, idle, until;
  SPATE_FIELDS(1, pilot, 2, id, 3, state, 4, why, 5, nodes, 6, since, 7, joined, 8, idle, 9, until);
};

struct PoolFacts {
  std::string name;
  std::string group;    // empty: it is in none
  std::string system;   // "slurm", ...
  std::string user;     // whose tasks it serves; "*": everybody's
  std::string account;  // whose batch jobs its pilots are
  std::string state;    // "on", "paused", "closing"
  std::string why;      // it is paused, or asks slowly
  std::string trouble;  // of the newest query; empty: it was answered
  uint32_t max_pilots = 0;
  uint32_t min_pilots = 0;
  uint32_t backlog = 0;
  uint32_t nodes_per_pilot = 1;
  uint32_t queued = 0;  // pilots that have not joined
  uint32_t joined = 0;
  uint32_t leaving = 0;
  uint32_t wanted = 0;  // beside those that have joined
  uint32_t nodes = 0;   // connected
  uint32_t slots = 0;   // of one node; 0: not known yet
  double cpus = 0;
  uint64_t memory = 0;
  Duration time_limit, lifetime;      // zero: not known
  std::optional<Duration> idle_exit;  // absent: never
  bool chain = false;
  bool spread = false;
  std::optional<Instant> next_submit;  // no pilot is asked for before
  std::vector<std::string> options;
  std::vector<PilotFacts> pilots;   // where they were asked for
  std::vector<std::string> avoids;  // hosts on which pilots failed lately
  SPATE_FIELDS(1, Named(name, "pool"), 2, group, 3, system, 4, user, 5, account, 6, state, 7, why,
               8, trouble, 9, max_pilots, 10, min_pilots, 11, backlog, 12, nodes_per_pilot,
               13, queued, 14, joined, 15, leaving, 16, wanted, 17, nodes, 18, slots, 19, cpus,
               20, memory, 21, time_limit, 22, lifetime, 23, idle_exit, 24, chain, 25, next_submit,
               26, options, 27, pilots, 28, spread, 29, avoids);
};

// An event of a pool.
struct PoolEvent {
  Instant at;
  std::string pool;
  uint32_t pilot = 0;  // 0: the pool itself
  std::string id;      // the batch job's, where it became known
  std::string what;    // "asked for", "queued", "joined", "leaves", "ended", "paused", ...
  std::string words;
  SPATE_FIELDS(1, at, 2, pool, 3, pilot, 4, id, 5, what, 6, words);
};

// A variable, or the command that submits and the file that it is. An empty value: none.
struct PoolVariable {
  std::string name;
  std::string value;
  SPATE_FIELDS(1, name, 2, value);
  friend bool operator==(const PoolVariable&, const PoolVariable&) = default;
};
// A setting that decides which batch system is used, and that is not the same for the one who adds
// a pool as for the hub.
struct PoolDifference {
  std::string name;   // of a variable, or of the command that submits
  std::string yours;  // empty: none
  std::string hubs;
  SPATE_FIELDS(1, name, 2, yours, 3, hubs);
  friend bool operator==(const PoolDifference&, const PoolDifference&) = default;
};

// A pool's batch job as it would be, and what the batch system's own test says of it.
struct PoolTrial {
  std::string pool;
  std::string command;  // as a shell would read it
  std::string script;
  std::string words;        // of the test; empty: the system has none
  bool passed = false;      // or there was none
  std::string description;  // that the command reads, where that is not the script
  std::vector<PoolDifference> differences = {};
  SPATE_FIELDS(1, pool, 2, command, 3, script, 4, words, 5, passed, 6, description, 7, differences);
};

}  // namespace spate
