// How people name jobs and tasks on the command line.
//
//   jobs   last   all   3   1-10   1-10:2   1,3,5-8   last,3
//   tasks  JOB.TASKS: 12.3   12.3-9   last.1-100:10   12.3,5,13.1   12 (all of its tasks)
// Numbers count from 1; underscores may stand between digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::format {

// first, first + step, ... up to last; 1 <= first <= last, step >= 1.
struct NumberRange {
  uint32_t first = 1;
  uint32_t last = 1;
  uint32_t step = 1;
  bool Contains(uint32_t number) const {
    return number >= first && number <= last && (number - first) % step == 0;
  }
  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

// The same numbers as few ranges: those of one step that meet are joined. Whoever walks them walks
// each number a few times at most, however often it was typed.
std::vector<NumberRange> Merged(std::vector<NumberRange> ranges);

// Some of the jobs that there are: of all of them, or the last one and those in the ranges.
struct JobSelector {
  bool all = false;
  bool last = false;                // the newest job; the caller knows its number
  std::vector<NumberRange> ranges;  // as typed: may overlap
  bool Contains(uint32_t number, uint32_t last_number) const;
  friend bool operator==(const JobSelector&, const JobSelector&) = default;
};

// Some tasks of one job.
struct TasksOfJob {
  std::optional<uint32_t> job;      // nullopt: the newest one
  bool all = false;                 // all its tasks; else those in the ranges
  std::vector<NumberRange> ranges;  // of task numbers (index + 1)
  bool Contains(uint32_t task_number) const;
  friend bool operator==(const TasksOfJob&, const TasksOfJob&) = default;
};

// Errors (kInvalid) name the part that is wrong and the forms that are understood. One text has at
// most kMostStepped ranges with steps, which cannot be joined as others are.
inline constexpr size_t kMostStepped = 100;
Result<JobSelector> ParseJobSelector(std::string_view text);
// At least one. A part without a dot that follows one with a dot names more tasks of that job.
Result<std::vector<TasksOfJob>> ParseTaskSelector(std::string_view text);

}  // namespace spate::format
