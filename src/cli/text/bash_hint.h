// Signs that a list was written for bash, while /bin/sh reads it.
#pragma once

#include <string>
#include <string_view>

namespace spate::cli {

// The words of a shell's complaint that bash would not make ("[[: not found"), out of what a task
// wrote to standard error; empty when there is none.
std::string BashInErrors(std::string_view errors);

// "{1..3}" in a command, outside of single quotes: other shells leave it as it is. Empty when there
// is none.
std::string_view BashInCommand(std::string_view command);

}  // namespace spate::cli
