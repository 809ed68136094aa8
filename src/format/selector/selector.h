// How people name jobs and tasks on the command line.
//
//   jobs   last   all   3   1-10   1-10:2   1,3,5-8   last,3
//   tasks  JOB.TASKS: 12.3   12.3-9   last.1-100:10   12.3,5,13.1   12 (all of its tasks)
//          JOB.NAME: last.align_7     what does not begin with a digit, or has other characters
//          than numbers and ranges have, is a task's name; one with a comma is only known by its
//          number. A number that is another task's name, too, is refused when it is looked up
//          (history/pick.h), unless it is written as one of them:
//          last.#2 or last.#1-3, tasks by their numbers; last.name=2, the task that is called 2
// Numbers count from 1; underscores may stand between digits.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/selection.h"

namespace spate::format {

// Errors (kInvalid) name the part that is wrong and the forms that are understood. One text has at
// most kMostStepped ranges with steps, which cannot be joined as others are.
Result<JobSelector> ParseJobSelector(std::string_view text);
// At least one. A part without a dot that follows one with a dot names more tasks of that job.
Result<std::vector<TasksOfJob>> ParseTaskSelector(std::string_view text);

}  // namespace spate::format
