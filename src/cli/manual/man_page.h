// Man pages in roff, made from the table of commands and options.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options/command.h"
#include "cli/programs.h"

namespace spate::cli {

// "spate", "spate-run", "spate-job", ..., and the names of the doors' programs; other names are an
// error that lists them.
Result<std::string> ManPage(std::string_view name, CommandList commands, DoorPrograms doors);

}  // namespace spate::cli
