// Signs that a task was written for bash, while /bin/sh read it.
#pragma once

#include <string>
#include <string_view>

namespace spate::present {

// The words of a shell's complaint that bash would not make ("[[: not found"), out of what a task
// wrote to standard error; empty when there is none.
std::string BashInErrors(std::string_view errors);

}  // namespace spate::present
