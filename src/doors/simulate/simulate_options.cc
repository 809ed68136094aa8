#include "doors/simulate/simulate_options.h"

namespace spate::cli {

std::string_view EstimatesName(bool perfect) { return perfect ? "perfect" : "user"; }

std::string_view PlacementName(bool on_nodes) { return on_nodes ? "nodes" : "pool"; }

}  // namespace spate::cli
