// `parasol` (doors/parasol/programs/parasol.h), where it is typed.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace spate::parasol {

// What stands behind the program's name; the exit code.
Result<int> RunParasol(std::span<const std::string> args);

}  // namespace spate::parasol
