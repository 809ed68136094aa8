// Words that shells offer. Scripts (cli/manual/shell_scripts.h) ask `spate __complete WORDS...`,
// where WORDS is what stands behind the program's name up to the cursor, the last of them perhaps
// empty. The answer has a word in each line, behind some a tab and what it does; the shell drops
// those that do not fit. A word that ends in = or . is not finished. `:files`, `:folders` and
// `:programs` stand for what the shell knows itself. A door's program stands in front of its words.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command.h"
#include "cli/programs.h"

namespace spate::cli {

// Returns what a command line of spate prints: numbers of jobs, names of nodes.
using AskSpate = std::function<std::string(std::vector<std::string> words)>;

std::string Complete(std::span<const std::string> words, CommandList commands, DoorPrograms doors,
                     const AskSpate& ask);

}  // namespace spate::cli
