// `spate task cancel`
#include "cli/options/command.h"

namespace spate::cli::command {

extern const Command kJobCancel;

extern const Command kTaskCancel = {
    .order = 210,
    .group = CommandGroup::kRunning,
    .name = "task cancel",
    .arguments = "TASK...",
    .completes = Completes::kTasks,
    .summary = "the same as job cancel",
    .details = "",
    .examples = {{{"spate task cancel 12.3", "one task"},
                  {"spate task cancel 12.3-9", "several tasks"}}},
    .words_min = 1,
    .same_as = &kJobCancel,
};

}  // namespace spate::cli::command
