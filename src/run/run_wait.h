// `spate job wait` and `spate job progress` about runs of this machine, from any terminal of their
// user.
#pragma once

#include "cli/main.h"

namespace spate::run {

// `bar`: with a bar, where there is a terminal. Reports its own errors; returns the exit code.
int WaitForRuns(const cli::Invocation& invocation, bool bar);

}  // namespace spate::run
