// The messages of a command, and its end with an error: words and code.
#pragma once

#include <string_view>

#include "base/result.h"
#include "cli/exit_code.h"

namespace spate::cli {

// Prints "spate: TEXT" to standard error, in lines that fit if that is a terminal.
void PrintMessage(std::string_view text);

// Prints "spate: MESSAGE" to standard error; returns the exit code that belongs to its kind.
int ReportError(const Error& error);

}  // namespace spate::cli
