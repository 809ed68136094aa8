// Simulate: what the program spate-sim does.
#pragma once

#include <string>
#include <vector>

#include "sim/trace.h"

namespace spate::sim {

// `args` without the program's name. `print` gets the report, line by line; errors of usage go to
// stderr. Returns the exit status: 0 all promises were kept, 1 one was broken, 2 wrong arguments.
int Simulate(const std::vector<std::string>& args, const Printer& print);

}  // namespace spate::sim
