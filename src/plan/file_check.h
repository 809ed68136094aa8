// Files of tasks on nodes: --put, --get, --forward, and streams in a task's own folder.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "core/model/job.h"
#include "plan/task_list.h"

namespace spate::cli {

// True if any of the tasks may forward something.
bool HasForwards(const TaskList& tasks, const JobSettings& settings);

// Refuses (kInvalid) names that are not known when a file is copied, that several tasks or ranks
// share, or that would be removed with a task's own folder. Errors name the option and the fix.
Status CheckTaskFiles(const TaskList& tasks, const JobSettings& settings);

// The names of all files that --put names for any of the tasks; at most kLimits.put_files.
Result<std::set<std::string>> FilesToPut(const TaskList& tasks, const JobSettings& settings);

}  // namespace spate::cli
