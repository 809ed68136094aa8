// Lists of task ranges, as messages and records carry them.
#pragma once

#include <algorithm>
#include <iterator>
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

// The same for a range, which is not empty.
inline void AppendRange(std::vector<TaskRange>& ranges, TaskRange range) {
  if (!ranges.empty() && ranges.back().first + ranges.back().count == range.first) {
    ranges.back().count += range.count;
  } else {
    ranges.push_back(range);
  }
}

// Appends what a task requests; one that follows the last run and requests the same makes it
// longer.
inline void AppendRequest(std::vector<RequestRun>& runs, TaskIndex index, uint32_t request) {
  if (!runs.empty() && runs.back().first + runs.back().count == index &&
      runs.back().request == request) {
    ++runs.back().count;
  } else {
    runs.push_back({index, 1, request});
  }
}

// Sorted and disjoint ranges over the same tasks.
inline std::vector<TaskRange> Normalized(std::vector<TaskRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const TaskRange& a, const TaskRange& b) { return a.first < b.first; });
  std::vector<TaskRange> merged;
  for (const TaskRange& range : ranges) {
    uint64_t end = merged.empty() ? 0 : uint64_t{merged.back().first} + merged.back().count;
    if (merged.empty() || range.first > end) {
      merged.push_back(range);
    } else if (uint64_t{range.first} + range.count > end) {
      merged.back().count = range.first + range.count - merged.back().first;
    }
  }
  return merged;
}

// The part of `from` that is not in `taken`; both are normalized, and so is the answer.
inline std::vector<TaskRange> Without(const std::vector<TaskRange>& from,
                                      const std::vector<TaskRange>& taken) {
  std::vector<TaskRange> rest;
  auto next = taken.begin();
  for (const TaskRange& range : from) {
    uint64_t at = range.first;
    const uint64_t end = at + range.count;
    while (next != taken.end() && uint64_t{next->first} + next->count <= at) ++next;
    for (auto each = next; each != taken.end() && each->first < end; ++each) {
      if (each->first > at) {
        rest.push_back({static_cast<TaskIndex>(at), static_cast<uint32_t>(each->first - at)});
      }
      at = std::max(at, uint64_t{each->first} + each->count);
    }
    if (at < end) rest.push_back({static_cast<TaskIndex>(at), static_cast<uint32_t>(end - at)});
  }
  return rest;
}

// The task is in one of the ranges, which are normalized.
inline bool SortedContains(const std::vector<TaskRange>& ranges, TaskIndex index) {
  auto after =
      std::upper_bound(ranges.begin(), ranges.end(), index,
                       [](TaskIndex i, const TaskRange& range) { return i < range.first; });
  return after != ranges.begin() && index - std::prev(after)->first < std::prev(after)->count;
}

}  // namespace spate
