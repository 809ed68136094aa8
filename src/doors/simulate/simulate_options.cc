#include "doors/simulate/simulate_options.h"

namespace spate::cli {

using engine::place::BackfillPolicy;
using format::SwfFilter;

std::string_view PolicyName(BackfillPolicy policy) {
  switch (policy) {
    case BackfillPolicy::kFcfs:
      return "fcfs";
    case BackfillPolicy::kEasy:
      return "easy";
    case BackfillPolicy::kEasySjbf:
      return "easy-sjbf";
    case BackfillPolicy::kConservative:
      return "conservative";
    case BackfillPolicy::kFair:
      return "fair";
  }
  return "";
}

std::string_view OrderName(ReplayOrder order) {
  return order == ReplayOrder::kSequence ? "seq" : "batch";
}

std::string_view EstimatesName(bool perfect) { return perfect ? "perfect" : "user"; }

std::string_view PlacementName(bool on_nodes) { return on_nodes ? "nodes" : "pool"; }

std::string_view FilterName(SwfFilter filter) {
  return filter == SwfFilter::kStudy ? "study" : "loose";
}

}  // namespace spate::cli
