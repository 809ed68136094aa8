// `spate simulate`: what a policy would do to the jobs of a trace.
#pragma once

#include "cli/main.h"

namespace spate::cli {

int Simulate(const Invocation& invocation);

}  // namespace spate::cli
