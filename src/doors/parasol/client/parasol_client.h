// `parasol` (doors/parasol/programs/parasol.h), where it is typed.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace spate::parasol {

// Runs the words after the program's name; returns the exit code.
Result<int> RunParasol(std::span<const std::string> args);

}  // namespace spate::parasol
