// `spate task tail`
#include "cli/options/command.h"

namespace spate::cli::command {

extern const Command kJobTail;

extern const Command kTaskTail = {
    .order = 125,
    .group = CommandGroup::kHistory,
    .name = "task tail",
    .arguments = "[TASK]",
    .completes = Completes::kTasks,
    .summary = "the same as job tail",
    .details = "",
    .examples = {{{"spate task tail -f 12.3", "what task 3 of job 12 writes, until it ends"},
                  {"spate task tail last.1 --stderr", "standard error, in the newest job"}}},
    .same_as = &kJobTail,
};

}  // namespace spate::cli::command
