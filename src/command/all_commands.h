// All commands of `spate`: the sum of what the files of this folder define. A file NOUN/VERB.cc
// without a header defines `extern const Command kNounVerb`; the build makes the list of them
// (CMakeLists.txt). Commands of one word have the noun `spate`.
#pragma once

#include <memory>

#include "cli/options/command.h"
#include "cli/world.h"

namespace spate::cli::command {

// By Command::order.
CommandList AllCommands();

// The side that the program's commands ask: the hub that the words mean, by its client, and the
// journals of this machine's runs. Their answers go to standard output and standard error.
std::unique_ptr<World> MakeProgramWorld();

}  // namespace spate::cli::command
