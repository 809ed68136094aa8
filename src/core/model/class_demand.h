// Demand of one class of tasks for nodes that do not exist yet: reported by the engine, used by
// the part that requests nodes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/needs.h"

namespace spate {

// The tasks of a job that make one request, by its number.
struct ClassKey {
  JobId job;
  uint32_t request = 0;
  friend auto operator<=>(const ClassKey&, const ClassKey&) = default;
};
struct ClassDemand {
  ClassKey key;
  std::string user;
  Needs needs;     // of a gang's class: of each process
  GangShape gang;  // empty: its tasks are no gangs
  // Tasks, or processes of gangs, that could start now if a node had room. Not what waits for
  // others, is held, or is over a bound of its user or job.
  uint32_t ready = 0;
  uint32_t running = 0;  // that nodes have, any nodes
  Duration takes;        // one of them, as measured; zero: not known
  friend bool operator==(const ClassDemand&, const ClassDemand&) = default;
};

}  // namespace spate
