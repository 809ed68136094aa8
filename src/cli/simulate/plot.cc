#include "cli/simulate/plot.h"

namespace spate::cli {

std::string PlotText(const Simulation&) { return ""; }

}  // namespace spate::cli
