// Processing units that a process may use, and what they share. Plain data.
#pragma once

#include <cstdint>
#include <vector>

namespace spate {

// A hardware thread, or a core that has only one. The ids are good for one topology only, and mean
// nothing but "the same" and "another": those of the system repeat, have holes and are unsorted.
struct ProcessingUnit {
  int cpu = 0;           // the system's number of it, as taskset and /proc have it
  uint32_t core = 0;     // units of a core share its arithmetic: SMT siblings
  uint32_t numa = 0;     // units of a NUMA node have the same memory near
  uint32_t package = 0;  // the socket
  friend bool operator==(const ProcessingUnit&, const ProcessingUnit&) = default;
};

struct Topology {
  std::vector<ProcessingUnit> units;  // by ascending cpu, none twice; usable ones only
  friend bool operator==(const Topology&, const Topology&) = default;
};

}  // namespace spate
