// Tasks of --pipepart: parts of the files of -a, cut at the ends of records.
#pragma once

#include "cli/run/task_list.h"

namespace spate::cli {

// Reads the files only where they are cut. Fills in what only the files tell of the settings.
Result<TaskList> LoadPartList(const RunOptions& options, const LoadContext& context,
                              JobSettings& settings);

}  // namespace spate::cli
