// `spate task cat`
#include "cli/options/command.h"

namespace spate::cli::command {

extern const Command kJobCat;

extern const Command kTaskCat = {
    .order = 120,
    .group = CommandGroup::kHistory,
    .name = "task cat",
    .arguments = "[TASK...]",
    .completes = Completes::kTasks,
    .summary = "the same as job cat",
    .details = "",
    .examples = {{{"spate task cat 12.3", "output of task 3 of job 12"},
                  {"spate task cat last.1 --stderr", "standard error, in the newest job"}}},
    .same_as = &kJobCat,
};

}  // namespace spate::cli::command
