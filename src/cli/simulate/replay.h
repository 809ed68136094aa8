// A trace's jobs under a policy, in virtual time: the hub's own placement (core/engine/place), told
// of arrivals and ends as the trace has them.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/simulate/simulate_options.h"
#include "core/engine/place/backfill.h"
#include "format/swf/swf.h"

namespace spate::cli {

struct ReplayRules {
  engine::place::BackfillRules backfill;
  ReplayOrder order = ReplayOrder::kSequence;
  bool perfect = false;
};

struct ReplayStart {
  int64_t start = 0;       // in the trace's time
  bool overtakes = false;  // somebody who came earlier still waited
};

// When each job starts. `jobs` are in the order of their submission.
std::vector<ReplayStart> Replay(const std::vector<format::RigidJob>& jobs,
                                const ReplayRules& rules);

}  // namespace spate::cli
