// `spate task list`
#include "cli/options/command.h"

namespace spate::cli::command {

extern const Command kJobTasks;

extern const Command kTaskList = {
    .order = 110,
    .group = CommandGroup::kHistory,
    .name = "task list",
    .arguments = "[TASK...]",
    .completes = Completes::kTasks,
    .summary = "the same as job tasks",
    .details = "",
    .examples = {{{"spate task list 12", "all tasks of job 12"},
                  {"spate task list --filter failed", "failed tasks of the newest job"}}},
    .same_as = &kJobTasks,
};

}  // namespace spate::cli::command
