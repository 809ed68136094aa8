// `spate help`
#include "cli/main.h"
#include "cli/options/command.h"

namespace spate::cli::command {

extern const Command kSpateHelp = {
    .order = 570,
    .group = CommandGroup::kGeneral,
    .name = "help",
    .arguments = "[COMMAND]",
    .completes = Completes::kCommands,
    .summary = "explain a command",
    .details = "",
    .examples = {{{"spate help run", "with all details"},
                  {"spate help job", "the commands about jobs"}}},
    .words_max = 2,
    .run =
        [](const Invocation& invocation) {
          return TellHelp(invocation.words.words, *invocation.wiring);
        },
};

}  // namespace spate::cli::command
