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

  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "max_pilots", self.max_pilots);
    visit(2, "min_pilots", self.min_pilots);
    visit(3, "backlog", self.backlog);
    visit(4, "nodes_per_pilot", self.nodes_per_pilot);
    visit(5, "time_limit", self.time_limit);
    visit(6, "lifetime", self.lifetime);
    visit(7, "idle_exit", self.idle_exit);
    visit(8, "submit_interval", self.submit_interval);
    visit(9, "chain", self.chain);
    visit(10, "user", self.user);
    visit(11, "slots", self.slots);
    visit(12, "milli_cpus", self.milli_cpus);
    visit(13, "memory", self.memory);
    visit(14, "named", self.named);
    visit(15, "labels", self.labels);
    visit(16, "watch_init", self.watch_init);
    visit(17, "watch_error", self.watch_error);
    visit(18, "watch_suspended_from", self.watch_suspended_from);
    visit(19, "watch_suspended_until", self.watch_suspended_until);
    visit(20, "watch_silent", self.watch_silent);
    visit(21, "watch_joining", self.watch_joining);
    visit(22, "options", self.options);
    visit(23, "prologue", self.prologue);
    visit(24, "epilogue", self.epilogue);
    visit(25, "submit_command", self.submit_command);
    visit(26, "query_command", self.query_command);
    visit(27, "cancel_command", self.cancel_command);
    visit(28, "select_command", self.select_command);
    visit(29, "everywhere", self.everywhere);
    visit(30, "addresses", self.addresses);
    visit(31, "folder", self.folder);
    visit(32, "program", self.program);
    visit(33, "shared_files", self.shared_files);
    visit(34, "node_options", self.node_options);
    visit(35, "host", self.host);
    visit(36, "group", self.group);
    visit(37, "wrapper", self.wrapper);
    visit(38, "spread", self.spread);
  }
};

struct PilotFacts {
  uint32_t pilot = 0;
  std::string id;      // the batch job's; empty: not known
  std::string state;   // "asked", "queued", "running", "held", "joined", "leaving", "ended"
  std::string why;     // it waits, or is to go
  uint32_t nodes = 0;  // connected
  Instant since;       // it was asked for
  std::optional<Instant> joined, idle, until;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "pilot", self.pilot);
    visit(2, "id", self.id);
    visit(3, "state", self.state);
    visit(4, "why", self.why);
    visit(5, "nodes", self.nodes);
    visit(6, "since", self.since);
    visit(7, "joined", self.joined);
    visit(8, "idle", self.idle);
    visit(9, "until", self.until);
  }
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
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "pool", self.name);
    visit(2, "group", self.group);
    visit(3, "system", self.system);
    visit(4, "user", self.user);
    visit(5, "account", self.account);
    visit(6, "state", self.state);
    visit(7, "why", self.why);
    visit(8, "trouble", self.trouble);
    visit(9, "max_pilots", self.max_pilots);
    visit(10, "min_pilots", self.min_pilots);
    visit(11, "backlog", self.backlog);
    visit(12, "nodes_per_pilot", self.nodes_per_pilot);
    visit(13, "queued", self.queued);
    visit(14, "joined", self.joined);
    visit(15, "leaving", self.leaving);
    visit(16, "wanted", self.wanted);
    visit(17, "nodes", self.nodes);
    visit(18, "slots", self.slots);
    visit(19, "cpus", self.cpus);
    visit(20, "memory", self.memory);
    visit(21, "time_limit", self.time_limit);
    visit(22, "lifetime", self.lifetime);
    visit(23, "idle_exit", self.idle_exit);
    visit(24, "chain", self.chain);
    visit(25, "next_submit", self.next_submit);
    visit(26, "options", self.options);
    visit(27, "pilots", self.pilots);
    visit(28, "spread", self.spread);
    visit(29, "avoids", self.avoids);
  }
};

// An event of a pool.
struct PoolEvent {
  Instant at;
  std::string pool;
  uint32_t pilot = 0;  // 0: the pool itself
  std::string id;      // the batch job's, where it became known
  std::string what;    // "asked for", "queued", "joined", "leaves", "ended", "paused", ...
  std::string words;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "at", self.at);
    visit(2, "pool", self.pool);
    visit(3, "pilot", self.pilot);
    visit(4, "id", self.id);
    visit(5, "what", self.what);
    visit(6, "words", self.words);
  }
};

// A variable, or the command that submits and the file that it is. An empty value: none.
struct PoolVariable {
  std::string name;
  std::string value;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "value", self.value);
  }
  friend bool operator==(const PoolVariable&, const PoolVariable&) = default;
};
// A setting that decides which batch system is used, and that is not the same for the one who adds
// a pool as for the hub.
struct PoolDifference {
  std::string name;   // of a variable, or of the command that submits
  std::string yours;  // empty: none
  std::string hubs;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "yours", self.yours);
    visit(3, "hubs", self.hubs);
  }
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
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "pool", self.pool);
    visit(2, "command", self.command);
    visit(3, "script", self.script);
    visit(4, "words", self.words);
    visit(5, "passed", self.passed);
    visit(6, "description", self.description);
    visit(7, "differences", self.differences);
  }
};

}  // namespace spate
