// Placement: how many tasks of a request a node should be given now. Views in, numbers out; no
// state.
//
// A node's room is counted in tasks of the request at hand: as many as fit at once, plus what it
// works off in `limits.lease_ahead`, less what it holds already. Other requests that it holds
// count by their share of the node. A node is refilled only when half of its ahead is used up, so
// that leases stay batches.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "core/model/limits.h"

namespace spate::engine::place {

// The share of a node is counted in billionths.
inline constexpr uint64_t kWhole = 1'000'000'000;

struct NodeView {
  uint32_t fit = 0;   // tasks of this request that the idle node runs at once; 0: never
  uint64_t used = 0;  // share of the node that this job's leases take, what waits included
  uint64_t used_by_others = 0;  // by what other jobs run there
  Duration task_wall;           // what a task of this job took there lately; zero: not known yet
  bool contended = false;       // others want the node, or there are others: long tasks do not wait
  bool served = false;          // it is being refilled, so any room is given
};

// How many tasks the node should be given now; 0 when it is well supplied.
uint32_t Room(const NodeView& view, const Limits& limits);

}  // namespace spate::engine::place
