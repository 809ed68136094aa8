// ClockBlind: when a hub that was suspended takes an attempt's start for another time than it was.
// Messages that a node sent before the suspend are heard afterwards, and their clock is taken for
// new until the node's next report. And an attempt that ran while the hub's machine slept counts,
// from that report on, as begun earlier by the time of the sleep: its start is translated as if the
// clocks had always differed as they do now.
#pragma once

#include <algorithm>

#include "sim/check.h"

namespace spate::sim {

class ClockBlind {
 public:
  void See(const Scene& scene, const Fact& fact) {
    if (std::holds_alternative<LifeBegan>(fact)) *this = ClockBlind();
    const auto* suspended = std::get_if<HubSuspended>(&fact);
    if (suspended == nullptr) return;
    // A node reports at least every ten seconds, and looks every three (HubWorld::AddMachine).
    constexpr Duration kReported = Duration::Seconds(14);
    const Duration late = scene.slack + scene.hub->link_latency * 4;
    const Instant wakes = scene.now + suspended->time;
    until_ = std::max(until_, wakes + kReported + late);
    if (suspended->machine) slept_ = std::max(slept_, wakes);
  }
  // For the start of an attempt that began then.
  bool Is(const Scene& scene, Instant began) const { return scene.now < until_ || began <= slept_; }

 private:
  Instant until_;
  Instant slept_;  // when the machine's last sleep was over
};

}  // namespace spate::sim
