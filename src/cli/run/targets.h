// --target: some tasks of a list and what they need.
#pragma once

#include <string>
#include <vector>

#include "cli/run/task_list.h"

namespace spate::cli {

// Leaves out every task that is not named and that no named task waits for, directly or through
// others. `targets`: lists of names and numbers with commas. Errors are kInvalid.
Status KeepTargets(const std::vector<std::string>& targets, RowKind kind, TaskList& list);

}  // namespace spate::cli
