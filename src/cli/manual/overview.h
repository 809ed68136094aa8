// `spate --help`: all commands in their groups, the programs of doors, and the exit codes.
#pragma once

#include <string>

#include "cli/options/command.h"
#include "cli/programs.h"

namespace spate::cli {

// Lines have at most 80 columns.
std::string GeneralHelp(CommandList commands, DoorPrograms doors);

}  // namespace spate::cli
