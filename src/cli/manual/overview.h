// `spate --help`: all commands in their groups, the programs of Parasol, and the exit codes.
#pragma once

#include <string>

namespace spate::cli {

// Lines have at most 80 columns.
std::string GeneralHelp();

}  // namespace spate::cli
