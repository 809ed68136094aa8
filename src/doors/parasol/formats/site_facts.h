// Facts that paraHub passes to its hub, for Parasol's programs to query (HubFacts::site).
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/fields.h"
#include "doors/parasol/formats/machine_list.h"

namespace spate::parasol {

struct ParasolSite {
  std::vector<ParasolMachine> machines;  // as the list has them; there is at least one
  uint64_t ram_unit = 0;                 // bytes
  uint64_t default_ram = 0;              // of a job that does not say, bytes
  SPATE_FIELDS(1, machines, 2, ram_unit, 3, default_ram);
};

}  // namespace spate::parasol
