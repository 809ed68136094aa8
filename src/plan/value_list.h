// Tasks of `spate run -- COMMAND`: rows made from sources of values (`::: values`), from numbers
// (--array), or from parts of files (--pipepart).
#pragma once

#include "plan/task_list.h"

namespace spate::cli {

// A pipe, a file or a socket brings values; a terminal or the null device does not.
bool StdinIsSource(int fd);

// Fills in what only the sources tell of the settings: command, value names, whether there is a
// source. Rows are made afresh on every walk and never held together; values of files are.
Result<TaskList> LoadValueList(const RunOptions& options, const LoadContext& context,
                               JobSettings& settings);

// The numbers of --array, as values of the command.
Result<TaskList> LoadArray(const RunOptions& options, JobSettings& settings);

// Tasks of --pipepart: parts of the files of -a, cut at the ends of records. Reads the files only
// where they are cut. Fills in what only the files tell of the settings.
Result<TaskList> LoadPartList(const RunOptions& options, const LoadContext& context,
                              JobSettings& settings);

}  // namespace spate::cli
