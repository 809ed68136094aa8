// Limits of the system on the arguments of a program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace spate::format {

// kInvalid: more than execve takes; says what to do.
Status CheckArgv(const std::vector<std::string>& argv);

}  // namespace spate::format
