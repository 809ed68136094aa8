// Free memory and load of a machine at the moment, as its node reports them.
#pragma once

#include <cstdint>

#include "core/model/fields.h"

namespace spate {

struct MachineLoad {
  uint64_t free_memory = 0;  // bytes
  double load = 0;           // the average of the last minute
  // Percent of the last 10 s in which something waited for it (/proc/pressure, "some"); 0 where the
  // kernel does not tell.
  double cpu_pressure = 0;
  double memory_pressure = 0;
  double io_pressure = 0;
  SPATE_FIELDS(1, load, 2, free_memory, 3, cpu_pressure, 4, memory_pressure, 5, io_pressure);
  friend bool operator==(const MachineLoad&, const MachineLoad&) = default;
};

}  // namespace spate
