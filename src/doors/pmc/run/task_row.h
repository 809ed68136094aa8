// How a TASK record becomes what runs on a host: what pegasus-mpi-cluster adds to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "doors/pmc/formats/options.h"
#include "doors/pmc/run/surroundings.h"
#include "format/dialect.h"

namespace spate::pmc {

// Its variables (PMC_TASK, PMC_MEMORY, PMC_CPUS, PMC_RANK, PMC_HOST_RANK), its program in the
// current folder before the PATH, and limits of memory where they are strict. `ranks` are the
// host's workers, by slot - 1, and `slots` their surroundings; those that are not there are the
// same as ours.
std::shared_ptr<const format::RowDialect> MakeDialect(const Options& options,
                                                      std::vector<int> ranks,
                                                      std::vector<SlotSurroundings> slots);

}  // namespace spate::pmc
