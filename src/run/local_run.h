// `spate run` and `spate job retry` on this machine: what to run is read and checked, the job's
// folder is made (or an earlier one opened), and a Foreground runs it.
#pragma once

#include "cli/main.h"

namespace spate::run {

// They report their own errors. Return the exit code.
int RunLocally(const cli::Invocation& invocation);
int RetryLocally(const cli::Invocation& invocation);

}  // namespace spate::run
