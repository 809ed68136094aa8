// The reference of the command line as a Markdown page (docs/reference.md), made from the table.
#pragma once

#include <string>

namespace spate::cli {

std::string ReferencePage();

}  // namespace spate::cli
