// The scripts by which shells ask spate what to offer (cli/manual/completion.h).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/programs.h"

namespace spate::cli {

// `shell`: "bash", "zsh" or "fish". The script serves the programs of doors, too.
Result<std::string> ShellScript(std::string_view shell, DoorPrograms doors);

}  // namespace spate::cli
