// How a command ends: its exit code, and what is printed of an error.
#pragma once

#include "base/result.h"
#include "cli/main.h"

namespace spate::cli {

// The exit code. An error is printed to standard error, and with --json also as a line of JSON
// where the command's data goes (docs/formats/json.md, `error`). `hung`: a hub was to be asked that
// is there, and does not answer.
int Conclude(const Invocation& invocation, const Result<int>& code, bool hung = false);

// Writes the data of the command.
std::function<Status(std::string_view)> OutOf(const Invocation& invocation);

}  // namespace spate::cli
