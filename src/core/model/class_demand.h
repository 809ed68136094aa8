// What one class of tasks wants of nodes that are not there yet: told by the engine, heard by
// whoever asks for nodes.
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
  Needs needs;
  // That could start now if a node had room. Not what waits for others, is held, or is over a
  // bound of its user or job.
  uint32_t ready = 0;
  uint32_t running = 0;  // that nodes have, any nodes
  Duration takes;        // one of them, as measured; zero: not known
  friend bool operator==(const ClassDemand&, const ClassDemand&) = default;
};

}  // namespace spate
