// The state of a machine that its node measures when somebody asks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/model/fields.h"
#include "core/model/machine_load.h"

namespace spate {

struct NodeMeasures {
  // The disk of a folder that the node or its tasks write to.
  struct Disk {
    std::string folder;
    uint64_t free = 0;  // bytes that the node may still write
    uint64_t size = 0;
    SPATE_FIELDS(1, folder, 2, free, 3, size);
  };
  std::string node;
  Instant measured;                    // by the node's clock
  std::optional<MachineLoad> machine;  // nullopt: the node measures no load
  uint64_t memory = 0;                 // bytes that it offers to tasks; 0: it does not say
  uint64_t processes = 0;              // of the machine, as far as the node sees them
  std::vector<Disk> disks;
  SPATE_FIELDS(1, node, 2, measured, 3, Into(machine), 4, memory, 5, processes, 6, disks);
};

// The question (node/questions/measures.cc).
struct MeasureNode {
  static constexpr uint32_t kNumber = 16;
  using Answer = NodeMeasures;
  SPATE_FIELDS();
};

}  // namespace spate
