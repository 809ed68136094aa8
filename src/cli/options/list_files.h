// Whether the named job lists can be read, before anything is opened or stored.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spate::cli {

// Missing, unreadable, or a directory: an error (kInvalid) that names the file and the fix. A
// first word that looks like a command gets the advice to write `--` before it. `path` is the
// value of PATH. "-", pipes and devices pass; nothing is read.
Status CheckListFiles(std::span<const std::string> files, std::string_view path);

}  // namespace spate::cli
