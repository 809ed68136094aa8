// Tasks of `spate run -- COMMAND ... ::: values`: rows made from sources of values.
#pragma once

#include "cli/run/task_list.h"

namespace spate::cli {

// A pipe, a file or a socket brings values; a terminal or the null device does not.
bool StdinIsSource(int fd);

// Fills in what only the sources tell of the settings: command, value names, whether there is a
// source. Rows are made afresh on every walk and never held together; values of files are.
Result<TaskList> LoadValueList(const RunOptions& options, const LoadContext& context,
                               JobSettings& settings);

}  // namespace spate::cli
