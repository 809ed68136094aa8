// All commands of `spate`: the sum of what the files of this folder define. A file NOUN/VERB.cc
// defines `extern const Command kNounVerb`; the build makes the list of them (CMakeLists.txt).
// Commands of one word have the noun `spate`.
#pragma once

#include "cli/options/command.h"

namespace spate::cli::command {

// By Command::order.
CommandList AllCommands();

}  // namespace spate::cli::command
