// Layout: where the boxes and edges of a graph are drawn, parents above children.
//
// Tasks of the same parents and children share a grid; rows that would be too wide stand upright;
// parts that no edge joins are packed side by side; and what is far taller than wide goes on in a
// further column, as the lines of a newspaper.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "present/graph/blocks.h"

namespace spate::present {

struct Point {
  double x = 0, y = 0;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;  // of the corner at the upper left
  bool upright = false;                        // its text is to be read from below
};

// An edge between two blocks: a start, and curves (two handles, an end) one after another.
struct Route {
  uint32_t parent = 0, child = 0;
  Point start;
  std::vector<std::array<Point, 3>> curves;
  bool is_far = false;  // straight through whatever is in between
  Point end() const { return curves.back()[2]; }
};

struct Layout {
  std::vector<Box> boxes;     // by task
  std::vector<Box> frames;    // of grids
  std::vector<Route> routes;  // as Blocks::edges
  Blocks blocks;
  double width = 0, height = 0;
  uint32_t columns = 1;  // the most that a part was broken into
  uint64_t work = 0;     // nodes and neighbours looked at
};

inline constexpr double kBoxHeight = 26;
// Bends of all edges together; beyond it the longest edges go straight.
inline constexpr size_t kMostBends = 20'000;

// Boxes are `box_width` wide. For as many tasks and edges as a picture can show.
Layout LayoutOf(const Shape& shape, double box_width);

}  // namespace spate::present
