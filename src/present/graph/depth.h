// Progress by depth: how many tasks of each depth are in each phase.
#pragma once

#include <string>
#include <vector>

#include "present/graph/phase.h"

namespace spate::present {

// Neighbouring depths; 0: tasks without parents.
struct DepthRange {
  uint32_t first = 0;
  uint32_t last = 0;
  PhaseCounts counts;
};

// Progress of all depths; if there are more than `most` (at least 1), of ranges of equal length but
// the last one. Linear.
std::vector<DepthRange> ProgressByDepth(const std::vector<Phase>& phases, const Shape& shape,
                                        uint32_t most);

// "1", "1-8": for people, depths begin with 1.
std::string DepthText(const DepthRange& range);

// A line for each range, none wider than `width`. A phase in which no task is has no column.
std::string DepthTable(const std::vector<DepthRange>& ranges, uint32_t width, bool colour);

}  // namespace spate::present
