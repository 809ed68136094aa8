// Simulate: what the program spate-sim does.
#pragma once

#include <string>
#include <vector>

#include "sim/options.h"
#include "sim/sabotage.h"
#include "sim/witness.h"

namespace spate::sim {

// One world, of the kind that the options say.
WorldReport RunWorld(const Options& options, Sabotage sabotage, Printer print);

// `args` without the program's name. `print` gets the report, line by line; errors of usage go to
// stderr. Returns the exit status: 0 all promises were kept, 1 one was broken, 2 wrong arguments.
int Simulate(const std::vector<std::string>& args, const Printer& print);

}  // namespace spate::sim
