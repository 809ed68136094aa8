// `spate version`
#include "cli/main.h"
#include "cli/options/command.h"

namespace spate::cli::command {

extern const Command kSpateVersion = {
    .order = 580,
    .group = CommandGroup::kGeneral,
    .name = "version",
    .arguments = "",
    .summary = "print the version",
    .details = "",
    .examples = {{{"spate version", "its number"}, {"spate --version", "the same"}}},
    .words_max = 0,
    .run = [](const Invocation&) { return TellVersion(); },
};

}  // namespace spate::cli::command
