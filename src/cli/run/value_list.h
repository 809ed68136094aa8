// Tasks of `spate run -- COMMAND ... ::: values`: rows made from sources of values.
#pragma once

#include "cli/run/task_list.h"

namespace spate::cli {

Result<TaskList> LoadValueList(const RunOptions& options, const LoadContext& context);

}  // namespace spate::cli
