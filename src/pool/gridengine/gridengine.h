// Grid Engine: qsub, qstat, qdel. Of Son of Grid Engine 8.1.9, and its relatives.
#pragma once

#include <memory>

#include "pool/driver.h"

namespace spate::pool {

std::unique_ptr<PoolDriver> MakeGridEngine(Tools tools);

}  // namespace spate::pool
