// Pools of a hub: what it tells of them (wire/questions.h).
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
#include "core/model/pool.h"

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
  PoolPolicy policy;    // without its shape and settings, but for those that follow
  std::string group;    // empty: it is in none
  std::string system;   // "slurm", ...
  std::string account;  // whose batch jobs its pilots are
  std::vector<std::string> options;
  std::string state;    // "on", "paused", "closing"
  std::string why;      // it is paused, or asks slowly
  std::string trouble;  // of the newest query; empty: it was answered
  uint32_t queued = 0;  // pilots that have not joined
  uint32_t joined = 0;
  uint32_t leaving = 0;
  uint32_t wanted = 0;  // beside those that have joined
  uint32_t nodes = 0;   // connected
  uint32_t slots = 0;   // of one node; 0: not known yet
  double cpus = 0;
  uint64_t memory = 0;
  std::optional<Instant> next_submit;  // no pilot is asked for before
  std::vector<PilotFacts> pilots;      // where they were asked for
  std::vector<std::string> avoids;     // hosts on which pilots failed lately
  SPATE_FIELDS(30, Into(policy), 2, group, 3, system, 5, account, 6, state, 7, why, 8, trouble,
               13, queued, 14, joined, 15, leaving, 16, wanted, 17, nodes, 18, slots, 19, cpus,
               20, memory, 25, next_submit, 26, options, 27, pilots, 29, avoids);
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
