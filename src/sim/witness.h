// Witness: sees all that happens in a world. It traces the facts and lets the checkers judge them,
// counts for the report, and watches that the world neither stands still nor spins.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/check.h"
#include "sim/options.h"
#include "sim/sim_store.h"
#include "sim/trace.h"
#include "sim/workload.h"

namespace spate::sim {

struct WorldReport {
  std::vector<Findings::Line> findings;  // empty: all promises were kept
  std::vector<std::string> last_events;
  Instant now;
  uint32_t lives = 0;
  uint32_t crashes = 0;
  uint32_t store_failures = 0;
  uint32_t cuts = 0;
  uint32_t silent_nodes = 0;
  uint32_t node_crashes = 0;
  uint64_t frozen = 0;       // attempts that were frozen
  uint64_t signalled = 0;    // processes that got a signal
  uint64_t odd_answers = 0;  // of nodes: late, twice, never, or of what is not theirs
  uint64_t executions = 0;
  // Events of a batch system.
  uint64_t pilots = 0;        // that it took
  uint64_t unanswered = 0;    // submits that it took, and nobody heard the id
  uint64_t refused = 0;       // submits
  uint64_t garbled = 0;       // answers
  uint64_t left_out = 0;      // pilots of lists
  uint64_t forgotten = 0;     // pilots, for long
  uint64_t killed = 0;        // pilots, early
  uint64_t requeued = 0;      // pilots
  uint64_t never_joined = 0;  // pilots whose node never came
  // Effects of greedy users and of short lives of pilots.
  uint64_t gluttonous = 0;       // executions of a glutton's tasks
  uint64_t hopeless = 0;         // tasks that could not start, and were cancelled
  uint64_t gangs_given_up = 0;   // of them, as their pilots were never there at the same time
  uint64_t parts_on_pilots = 0;  // executions of parts of gangs
  uint64_t cut_off = 0;          // attempts that ended with their node
  uint64_t orphans = 0;          // executions on a node that was cut off
  uint64_t commits = 0;
  uint64_t cut_commits = 0;        // see SimDisk
  uint64_t kept_commits = 0;       // the same
  uint64_t steps = 0;              // turns of the loop
  uint64_t first_life_points = 0;  // at which the first life could have died
  Duration virtual_time;
  uint64_t trace_hash = 0;
  uint64_t digest = 0;  // of the engine at the end
};

class Witness {
 public:
  // Both outlive it. `print` gets every event as it happens; null: they are not printed.
  Witness(const Workload& workload, const Options& options, Printer print);

  void Observe(Instant now, const Fact& fact);
  // Adds a defect that no checker can see from facts.
  void Find(const char* checker, std::string text);
  bool Found() const { return !judge_.findings().empty() || !findings_.lines().empty(); }
  // A turn of the loop has been made. When no task has moved for long, `why` says more of that.
  void Turned(Instant now, const std::function<std::string()>& why);
  // Nothing was to be expected before now.
  void Expect(Instant now);

  TaskBook& book() { return judge_.book(); }
  WorldReport& report() { return report_; }
  // The report, completed.
  WorldReport Finish(Instant now, const SimDisk& disk);

 private:
  const Duration standstill_;
  Trace trace_;
  Judge judge_;
  Findings findings_;
  WorldReport report_;
  Instant moment_;
  uint64_t turns_at_moment_ = 0;
  Instant last_progress_;
};

}  // namespace spate::sim
