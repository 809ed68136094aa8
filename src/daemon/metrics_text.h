// Metrics of a hub for monitors, in Prometheus' text form (docs/formats/metrics.md).
#pragma once

#include <string>
#include <vector>

#include "core/model/facts.h"
#include "core/model/pool_facts.h"

namespace spate::daemon {

// `pools`: all of the hub.
std::string MetricsText(const HubFacts& hub, const std::vector<PoolFacts>& pools);
// Of this process.
std::string ProcessMetricsText();

}  // namespace spate::daemon
