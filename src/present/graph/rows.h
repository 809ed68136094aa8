// Rows: the blocks of one component in rows, edges from each to the next one only. An edge that
// crosses rows has a bend in each of them, which takes part as blocks do.
#pragma once

#include <cstdint>
#include <vector>

#include "present/graph/blocks.h"

namespace spate::present {

struct RowNode {
  static constexpr uint32_t kBend = ~0u;
  uint32_t block = kBend;
  uint32_t row = 0;
  double width = 0, height = 0;
  double x = 0;                        // of its middle
  std::vector<uint32_t> above, below;  // neighbours in the rows beside
  bool is_bend() const { return block == kBend; }
};

// An edge as nodes from its parent to its child, one a row. A far one has only its two ends, which
// are not each other's neighbours.
struct Chain {
  std::vector<uint32_t> nodes;
  bool is_far = false;
};

struct Rows {
  std::vector<RowNode> nodes;
  std::vector<std::vector<uint32_t>> rows;  // from left to right
  std::vector<Chain> chains;                // in the order of `edges`
  uint64_t work = 0;                        // nodes and neighbours looked at
};

// `members` and `edges` are those of one component; an edge over more than `most_span` rows is far.
Rows RowsOf(const Blocks& all, const std::vector<uint32_t>& members,
            const std::vector<BlockEdge>& edges, uint32_t most_span);

// Brings rows into an order of few crossings (sweeps by barycenter), the same one each time.
void Untangle(Rows& rows);

// Pairs of edges that cross, far ones left out.
uint64_t Crossings(const Rows& rows);

// Sets each node's x: near its neighbours, at a distance from those beside it.
void Place(Rows& rows);

}  // namespace spate::present
