// Limits on the arguments of a program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace spate::format {

// kInvalid: one is longer than execve takes, or all are longer than kLimits.argv_bytes, which it
// takes next to an environment of half a megabyte; says what to do.
Status CheckArgv(const std::vector<std::string>& argv);

}  // namespace spate::format
