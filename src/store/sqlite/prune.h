// Prune: keeps the history within bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spate::store {

struct PruneOptions {
  Duration keep_age = Duration::Seconds(90LL * 24 * 3600);  // since the job's folder last changed
  uint64_t keep_size = 20ull << 30;                         // bytes of all jobs together
  // Does nothing when the last prune is younger than this; it is cheap to call after each run.
  Duration at_most_every;
  // Removes so many jobs, or looks into so many of the last days, and leaves the rest to a later
  // prune.
  size_t most_steps = SIZE_MAX;
};

struct PruneReport {
  bool skipped = false;           // by at_most_every
  std::vector<uint32_t> removed;  // ascending
  uint64_t freed_bytes = 0;       // of removed folders and of folded logs
  uint64_t jobs = 0;              // that remain
  uint64_t bytes = 0;             // that they take
};

// Removes, oldest first: jobs that nobody runs and that have not changed for keep_age; then, while
// the rest takes more than keep_size, finished jobs (one that can be resumed is not given up for
// space). Jobs that were never accepted go after a minute. Folds the logs that killed runs left
// behind. Two prunes at once are harmless. Jobs that somebody runs are passed over at once.
// Cost: some calls of stat for each job, a database opened only for candidates and for what has
// changed in the last days.
Result<PruneReport> Prune(const std::string& state_dir, const PruneOptions& options, Instant now);

}  // namespace spate::store
