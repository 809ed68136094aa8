// `spate completion`
#include "cli/main.h"
#include "cli/options/command.h"

namespace spate::cli::command {

extern const Command kSpateCompletion = {
    .order = 575,
    .group = CommandGroup::kGeneral,
    .name = "completion",
    .arguments = "bash | zsh | fish",
    .summary = "print the script that completes spate's words in a shell",
    .details =
        "Installed packages bring these scripts along. For a program that was copied by hand, "
        "have the shell read the script when it starts.",
    .examples = {{{"spate completion bash > spate.bash", "to be read by ~/.bashrc: . spate.bash"},
                  {"spate completion zsh > _spate", "for a folder of zsh's $fpath"},
                  {"spate completion fish > spate.fish", "for ~/.config/fish/completions"}}},
    .words_min = 1,
    .words_max = 1,
    .run =
        [](const Invocation& invocation) {
          return TellCompletion(invocation.words.words.front(), *invocation.wiring);
        },
};

}  // namespace spate::cli::command
