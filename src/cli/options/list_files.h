// Checks that the named job lists can be read, before anything is opened or stored.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options/command.h"

namespace spate::cli {

// Missing, unreadable, or a directory: an error (kInvalid) that names the file and the fix. "-",
// pipes and devices pass; nothing is read.
Status CheckListFiles(std::span<const std::string> files);

// Refuses a command that lacks the `--` before it ("gzip -9 {} ::: a"): its options would count as
// spate's. `argv`: what was typed after the command's name; `path`: the value of PATH.
Status CheckDashes(const Command& command, std::span<const std::string> argv,
                   std::string_view path);

}  // namespace spate::cli
