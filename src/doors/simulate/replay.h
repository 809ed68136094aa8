// A trace's jobs under a policy, in virtual time: our own placement (core/engine/place), told of
// arrivals and ends as the trace has them.
#pragma once

#include <cstdint>
#include <vector>

#include "doors/simulate/backfill/backfill.h"
#include "doors/simulate/formats/swf.h"
#include "doors/simulate/machine.h"
#include "doors/simulate/simulate_options.h"

namespace spate::cli {

struct ReplayRules {
  engine::place::BackfillPolicy policy = engine::place::BackfillPolicy::kEasy;
  ReplayOrder order = ReplayOrder::kSequence;
  bool perfect = false;
  // Cpus of each node, which are placed on as a hub does; empty: on one pool of processors.
  std::vector<uint32_t> nodes = {};
  const RequestTable* requests = nullptr;  // of a history, which outlive the replay
};

struct ReplayStart {
  int64_t start = 0;       // in the trace's time
  bool overtakes = false;  // somebody who came earlier still waited
};

// When each job starts. They are in the order of their submission, and each fits the machine.
std::vector<ReplayStart> Replay(const format::Workload& workload, const ReplayRules& rules);

}  // namespace spate::cli
