// What a hub shows of itself: to `hub status`, `node list`, `top` and monitors.
//
// Thread: the loop's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/view/json_line.h"
#include "core/engine/engine.h"
#include "hub/service.h"

namespace spate::apps {

struct NodeFacts {
  const hub::Nodes::Node* node = nullptr;
  engine::NodeInfo info;
};
// Those that are not removed, by number.
std::vector<NodeFacts> FactsOfNodes(const hub::Service& service);
// "ready", "away", "silent", "drained", "sick", "joining"
std::string StandingOf(const NodeFacts& facts);

// Numbers only: no names of people, jobs or commands.
struct HubFigures {
  uint64_t jobs = 0;  // that have not ended
  uint64_t queued = 0;
  uint64_t running = 0;                   // tasks that nodes hold
  std::array<uint64_t, 5> ends{};         // of attempts in this life, by engine::Verdict
  std::map<std::string, uint64_t> nodes;  // by StandingOf, each of them
  uint64_t clients = 0;
  uint64_t strangers = 0;                            // who have not said yet who they are
  uint64_t accepted = 0, refused = 0, breaches = 0;  // peers
  uint64_t backlog = 0;                              // bytes that wait to be written
  uint64_t journal_bytes = 0;                        // on disk
  uint64_t life = 0;
  Instant since;  // the start of this life
  Duration lag;   // by which the loop was late at the last look
};
HubFigures FiguresOf(const hub::Service& service);
// In Prometheus' text form (docs/formats/metrics.md).
std::string MetricsText(const HubFigures& figures);

cli::JsonLine JsonOf(const hub::Service& service, const HubFigures& figures);
cli::JsonLine JsonOf(const NodeFacts& facts);

// What `spate top` shows (docs/formats/json.md): one line about the hub, and one for each of the
// nodes and jobs, those at work first, at most kTopMost of each.
inline constexpr size_t kTopMost = 500;
std::string TopLines(const hub::Service& service, const hub::Caller& caller);

}  // namespace spate::apps
