// Lists of task ranges, as messages and records carry them.
#pragma once

#include <algorithm>
#include <vector>

#include "core/model/job.h"

namespace spate {

// Tasks that a node has by one lease, and whose ends it does not know to be durable.
struct HeldTasks {
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
  friend bool operator==(const HeldTasks&, const HeldTasks&) = default;
};

// Appends a task; one that follows the last range makes it longer.
inline void AppendIndex(std::vector<TaskRange>& ranges, TaskIndex index) {
  if (!ranges.empty() && ranges.back().first + ranges.back().count == index) {
    ++ranges.back().count;
  } else {
    ranges.push_back({index, 1});
  }
}

inline bool Contains(const std::vector<TaskRange>& ranges, TaskIndex index) {
  return std::any_of(ranges.begin(), ranges.end(), [index](TaskRange range) {
    return index >= range.first && index - range.first < range.count;
  });
}

}  // namespace spate
