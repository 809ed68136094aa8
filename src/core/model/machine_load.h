// What a machine has free at the moment, as its node tells it.
#pragma once

#include <cstdint>

namespace spate {

struct MachineLoad {
  uint64_t free_memory = 0;  // bytes
  double load = 0;           // the average of the last minute
  // Percent of the last 10 s in which something waited for it (/proc/pressure, "some"); 0 where the
  // kernel does not tell.
  double cpu_pressure = 0;
  double memory_pressure = 0;
  double io_pressure = 0;
  friend bool operator==(const MachineLoad&, const MachineLoad&) = default;
};

}  // namespace spate
