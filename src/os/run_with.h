// Starts a program that keeps a descriptor of this process, say a lock.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace spate::os {

enum class RunWhere : uint8_t {
  kBackground,  // with the null device as standard input; this process goes on
  kForeground,  // this process waits for it
};
// `argv` is looked for in PATH. The program and what it starts hold `kept` open. Returns the exit
// code as a shell has it (128 and the signal), 0 in the background; 127 or 126 when it cannot be
// started. While the process has one thread.
Result<int> RunWith(const std::vector<std::string>& argv, int kept, RunWhere where);

}  // namespace spate::os
