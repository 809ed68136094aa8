// A graph of tasks: one DAG file (docs/formats/dag.md).
#pragma once

#include "cli/run/task_list.h"

namespace spate::cli {

// Has the contract of LoadTaskList.
Result<TaskList> LoadGraph(const RunOptions& options, const LoadContext& context,
                           JobSettings& settings);

}  // namespace spate::cli
