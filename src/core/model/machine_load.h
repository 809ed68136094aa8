// Free memory and load of a machine at the moment, as its node reports them.
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
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "load", self.load);
    visit(2, "free_memory", self.free_memory);
    visit(3, "cpu_pressure", self.cpu_pressure);
    visit(4, "memory_pressure", self.memory_pressure);
    visit(5, "io_pressure", self.io_pressure);
  }
  friend bool operator==(const MachineLoad&, const MachineLoad&) = default;
};

}  // namespace spate
