// How a command ends with an error: one place for its words and its code.
#pragma once

#include "base/result.h"
#include "cli/exit_code.h"

namespace spate::cli {

// Prints "spate: MESSAGE" to standard error; returns the exit code that belongs to its kind.
int ReportError(const Error& error);

}  // namespace spate::cli
