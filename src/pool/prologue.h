// Changes by a pool's prologue and wrapper in the environment of its pilot: tasks have them,
// whatever they were submitted with. A prologue is mostly `module load`, and without that their
// commands would not be found: a job brings the whole environment of its submitter, PATH included.
//
// The pilot's script (script.cc) writes the environment of before to a file, SPATE_PILOT_BEFORE
// (NAME=VALUE, NUL behind each). The first program of the pilot reads and removes it, and hands on
// the names in SPATE_PILOT_CHANGED to the nodes that it starts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "os/environment.h"

namespace spate::pool {

// Names of variables that are there with another value than in `before`, or are there no more; what
// belongs to the script and its shell (PWD, SHLVL, _, SPATE_PILOT...) is left out. Sorted.
std::vector<std::string> ChangedNames(std::string_view before, const os::Environment& now);

// The names of SPATE_PILOT_CHANGED as variables: "NAME=VALUE" as they are now; "NAME": unset
// (os::WithChanges).
std::vector<std::string> ChangedVariables(const os::Environment& now);

}  // namespace spate::pool
