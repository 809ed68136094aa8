// `spate simulate`: what a policy would do to the jobs of a trace.
#pragma once

#include "doors/simulate/simulate_options.h"

namespace spate::cli {

// Reports its own errors; returns the exit code.
int Simulate(SimulateOptions options);

}  // namespace spate::cli
