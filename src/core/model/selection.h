// A selection of jobs and tasks. People write it as text (format/selector/selector.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/fields.h"

namespace spate {

// first, first + step, ... up to last; 1 <= first <= last, step >= 1.
struct NumberRange {
  uint32_t first = 1;
  uint32_t last = 1;
  uint32_t step = 1;
  bool Contains(uint32_t number) const {
    return number >= first && number <= last && (number - first) % step == 0;
  }
  bool IsSound() const { return 1 <= first && first <= last && step >= 1; }
  SPATE_FIELDS(1, first, 2, last, 3, step);
  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

// So many of them with steps, which cannot be joined as others are, may be put together.
inline constexpr size_t kMostStepped = 100;

// The same numbers as few ranges: those of one step that meet are joined. A walk over them walks
// each number a few times at most, however often it was typed.
std::vector<NumberRange> Merged(std::vector<NumberRange> ranges);

// Some of the jobs that there are: of all of them, or the last one and those in the ranges.
struct JobSelector {
  bool all = false;
  bool last = false;                // the newest job; the caller knows its number
  std::vector<NumberRange> ranges;  // as typed: may overlap
  bool Contains(uint32_t number, uint32_t last_number) const;
  SPATE_FIELDS(1, all, 2, last, 3, ranges);
  friend bool operator==(const JobSelector&, const JobSelector&) = default;
};

// Some tasks of one job.
struct TasksOfJob {
  std::optional<uint32_t> job;      // nullopt: the newest one
  bool all = false;                 // all its tasks; else those in the ranges
  std::vector<NumberRange> ranges;  // of task numbers (index + 1)
  std::vector<std::string> names;   // of tasks, as their list calls them
  // `names` do not count: they have been looked up by then.
  bool Contains(uint32_t task_number) const;
  SPATE_FIELDS(1, job, 2, all, 3, ranges, 4, names);
  friend bool operator==(const TasksOfJob&, const TasksOfJob&) = default;
};

}  // namespace spate
