// Placement: which node gets how many tasks of which queue. Views in, assignments out; no state.
//
// A node's room is counted in tasks of the request at hand: as many as fit at once, plus what it
// works off in `limits.lease_ahead`, less what it holds already. Other requests that it holds
// count by their share of the node. A node is refilled only when half of its ahead is used up, so
// that leases stay batches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/limits.h"

namespace spate::engine::place {

// The share of a node is counted in billionths.
inline constexpr uint64_t kWhole = 1'000'000'000;

struct NodeView {
  NodeId node;
  uint32_t fit = 0;    // tasks of this request that the idle node runs at once; 0: never
  uint64_t used = 0;   // share of the node that its leases take; above kWhole when ahead
  Duration task_wall;  // what a task of this job took there lately; zero: not known yet
};

// How many tasks the node should be given now; 0 when it is well supplied.
uint32_t Room(const NodeView& view, const Limits& limits);

struct Assignment {
  NodeId node;
  uint32_t count = 0;
};

// Spreads up to `ready` equal tasks over nodes: those with the most room first, so that idle
// nodes are not left behind busy ones. Cost: nodes * log(nodes).
std::vector<Assignment> Spread(std::vector<NodeView> views, uint32_t ready, const Limits& limits);

}  // namespace spate::engine::place
