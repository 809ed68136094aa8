// Effects of a policy, as an SVG picture: use of the machine, queue and slowdown over time.
#pragma once

#include <string>

#include "doors/simulate/simulation_text.h"

namespace spate::cli {

// The same simulation gives the same bytes.
std::string PlotText(const Simulation& simulation);

}  // namespace spate::cli
