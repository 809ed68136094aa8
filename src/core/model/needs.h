// Needs of one task while it runs, and the offer of a node.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_list.h"
#include "base/result.h"
#include "base/time.h"
#include "core/model/change.h"
#include "core/model/fields.h"
#include "core/model/limits.h"
#include "core/model/why.h"

namespace spate {

// Processors are counted in thousandths, so that a task may ask for half of one.
inline constexpr uint32_t kMilliCpu = 1000;

struct NamedNeed {
  std::string name;  // "gpus" is one of these; upper and lower case differ
  uint32_t count = 0;
  SPATE_FIELDS(1, name, 2, Must(count));
  friend auto operator<=>(const NamedNeed&, const NamedNeed&) = default;
};

struct Needs {
  uint32_t milli_cpus = kMilliCpu;
  uint64_t memory = 0;           // bytes; 0: none asked, none enforced
  std::vector<NamedNeed> named;  // sorted by name, counts > 0
  // How long it may take, for planning: it is started only where so much life is left. Zero: not
  // known.
  Duration time;
  // The node must have all of them; sorted. One that begins with '@' is a feature of its program.
  std::vector<std::string> labels = {};
  std::string on_node = {};              // only on the node of this name; empty: on any
  std::vector<std::string> not_on = {};  // names of nodes; sorted
  static constexpr uint64_t kTextBytes = kLimits.name_bytes;
  SPATE_MESSAGE(1, milli_cpus, 2, Bound(memory, .most = kLimits.size),
                3, Columns(named, .sorted = true, .count = kMostTexts),  // and 4
                5, time, 6, Bound(labels, .sorted = true), 7, on_node,
                8, Bound(not_on, .sorted = true));
  // kInvalid: "needs.labels is not sorted, or has an empty one".
  Status CheckSound() const;
  friend auto operator<=>(const Needs&, const Needs&) = default;
};

// How many processes of a task run at once, and where; a task that asks for none of it is no gang.
// The task's needs are then those of each process.
struct GangShape {
  // Processes that the task's command is started for.
  SPATE_INNER_ENUM(Start,
      kEach, "each",     // each process
      kNode, "node",     // once on each node
      // once, on the first node; the others wait for what it sends them (spate remote)
      kFirst, "first");
  uint32_t procs = 0;  // in all; 0: no gang
  uint32_t nodes = 0;  // on so many nodes, each with as many of them; 0: on any, as there is room
  bool whole = false;  // its nodes run nothing else meanwhile
  Start start = Start::kEach;
  SPATE_FIELDS(1, Bound(procs, .most = kLimits.gang_procs), 2, nodes, 3, whole, 4, start);
  friend auto operator<=>(const GangShape&, const GangShape&) = default;

  bool empty() const { return procs == 0; }
  uint32_t procs_per_node() const { return nodes == 0 ? 0 : procs / nodes; }
};

// The resource that a job's tasks wait for most. Two tasks with the same one slow each other down.
SPATE_ENUM(BoundBy, kUnknown, "", kCpu, "cpu", kMemory, "memory", kNetwork, "network");

// Common properties of equal tasks of a job. They share a queue, so that none of them waits for
// the needs of another class.
struct TaskClass {
  TaskClass() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): most tasks have nothing but needs.
  TaskClass(Needs given, int32_t first = 0, std::optional<uint32_t> tries = std::nullopt)
      : needs(std::move(given)), priority(first), retries(tries) {}

  Needs needs;
  int32_t priority = 0;             // among the tasks of its job: the higher goes first
  std::optional<uint32_t> retries;  // instead of its job's RetryPolicy::retries
  GangShape gang;
  std::optional<Instant> deadline;  // it is of no use afterwards, and ended then
  BoundBy bound = BoundBy::kUnknown;
  static constexpr uint64_t kTextBytes = Needs::kTextBytes;
  SPATE_MESSAGE(0, Embed(needs), 9, priority, 10, Bound(retries, .most = kLimits.retries), 11, gang,
                12, deadline, 13, bound);
  friend auto operator<=>(const TaskClass&, const TaskClass&) = default;
};

// Other needs, for tasks that run again. `named` counts instead of those with its names (0: none),
// and `labels` instead of those that are no features.
using NeedsChange = ChangeOf<Needs>;
Needs Changed(Needs needs, const NeedsChange& change);

struct NamedOffer {
  std::string name;
  std::vector<std::string> indices;  // one label for each piece: "0", "1", or names
  SPATE_FIELDS(1, name, 2, indices);
  friend bool operator==(const NamedOffer&, const NamedOffer&) = default;
};

struct Offer {
  std::string node_name;
  uint32_t slots = 0;  // attempts at once, from 1
  uint32_t milli_cpus = 0;
  uint64_t memory = 0;                     // bytes; 0: unknown, never the bound
  std::vector<NamedOffer> named;           // sorted by name
  std::string user = {};                   // whose tasks it takes; empty or "*": everybody's
  std::vector<std::string> labels = {};    // sorted
  Instant end_of_life = Instant::Never();  // when its machine is taken away
  std::string temp_dir = {};  // where stderr stays that is kept there, for people; empty: not told
  // Features of the node's program (wire/greeting.h). A task that needs one of them has its name,
  // with '@' in front, among its labels.
  std::vector<std::string> features = {};
};
inline constexpr char kFeatureMark = '@';

bool TakesUser(const Offer& offer, std::string_view user);
// A task that starts at `now` and takes as long as planned ends before the node does.
bool OutlivesTask(const Offer& offer, const Needs& needs, Instant now);

// How many attempts with these needs fit into an idle node at once (0: never). Users and planned
// times are other questions (above).
uint32_t FitCount(const Offer& offer, const Needs& needs);
// Why FitCount is 0 ("needs 8 cpus, this machine offers 2"); nullopt when it fits.
std::optional<Reason> WhyNever(const Offer& offer, const Needs& needs);

}  // namespace spate
