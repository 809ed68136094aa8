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
  static constexpr uint64_t kMost = 999'999'999;
  SPATE_FIELDS(1, Bound(load, .least = 0, .most = kMost), 2, free_memory,
               3, Bound(cpu_pressure, .least = 0, .most = kMost),
               4, Bound(memory_pressure, .least = 0, .most = kMost),
               5, Bound(io_pressure, .least = 0, .most = kMost));
  friend bool operator==(const MachineLoad&, const MachineLoad&) = default;
};

}  // namespace spate
