// Completion scripts for shells, made from the table of commands and options.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/programs.h"

namespace spate::cli {

// "bash", "zsh" or "fish".
Result<std::string> Completion(std::string_view shell, DoorPrograms doors);

}  // namespace spate::cli
