// Blocks: what a drawing moves as one. A task; or, where several have the same parents and the same
// children, all of these together, as a grid with one edge for all. Where a level is so wide that
// nobody could follow its edges, tasks share a grid when they lead into the same blocks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "present/graph/shape.h"

namespace spate::present {

inline constexpr size_t kLeastGrid = 5;      // fewer are drawn one by one
inline constexpr size_t kLeastLoneGrid = 2;  // of tasks without edges
inline constexpr size_t kWideLevel = 64;     // blocks of one component in a level

struct Block {
  std::vector<TaskIndex> tasks;  // ascending
  uint32_t level = 0;            // above those of its children; without parents: just above them
  uint32_t component = 0;        // blocks joined by edges have the same
};

struct BlockEdge {
  uint32_t parent = 0;
  uint32_t child = 0;
  friend auto operator<=>(const BlockEdge&, const BlockEdge&) = default;
};

struct Blocks {
  std::vector<Block> blocks;
  std::vector<uint32_t> of;      // by task
  std::vector<BlockEdge> edges;  // ascending, each once
  uint32_t components = 0;
};

Blocks BlocksOf(const Shape& shape);

}  // namespace spate::present
