// Metrics of a hub for monitors, in Prometheus' text form (docs/formats/metrics.md).
#pragma once

#include <string>

#include "core/model/facts.h"

namespace spate::daemon {

std::string MetricsText(const HubFacts& hub);
// Of this process.
std::string ProcessMetricsText();

}  // namespace spate::daemon
