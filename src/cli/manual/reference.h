// The reference of the command line as a Markdown page (docs/user/reference.md), made from the
// table.
#pragma once

#include <string>

#include "cli/options/command.h"

namespace spate::cli {

std::string ReferencePage(CommandList commands);

}  // namespace spate::cli
