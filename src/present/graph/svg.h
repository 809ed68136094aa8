// A graph as an SVG picture, without a program that lays it out.
#pragma once

#include "present/graph/critical_path.h"
#include "present/graph/graph.h"

namespace spate::present {

// More than these are drawn by depth: a bar of counts for each, with the names of a few tasks.
inline constexpr size_t kMostBoxes = 3'000;
inline constexpr size_t kMostLines = 20'000;
inline constexpr uint32_t kMostBars = 200;

struct SvgInput {
  const TaskGraph& graph;
  const Shape& shape;
  const CriticalPath& critical;
  std::string title;  // any bytes
};

bool IsDrawnByDepth(const Shape& shape);

// A box for each task, a path for each edge (one for all edges of a grid's frame); by depth where
// that is too much. The same input gives the same bytes.
void WriteSvg(const SvgInput& input, const TextSink& sink);

}  // namespace spate::present
