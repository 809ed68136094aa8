// Metrics of hubs and nodes for monitors, in Prometheus' text form (docs/formats/metrics.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/facts.h"
#include "core/model/pool_facts.h"

namespace spate::daemon {

// `pools`: all of the hub.
std::string MetricsText(const HubFacts& hub, const std::vector<PoolFacts>& pools);
struct NodeMetrics {
  bool connected = false;
  uint32_t slots = 0;
  uint32_t running = 0;  // attempts
  uint32_t waiting = 0;  // tasks that have no slot yet
  bool held = false;     // ends that the hub has not been told of (node::Doubt)
  std::string program;   // version
};
std::string NodeMetricsText(const NodeMetrics& node);
// Metrics of this process.
std::string ProcessMetricsText();

}  // namespace spate::daemon
