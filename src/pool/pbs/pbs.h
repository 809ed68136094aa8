// PBS: qsub, qselect, qstat, qdel. Of OpenPBS 20 or newer, and PBS Professional.
#pragma once

#include <memory>

#include "pool/driver.h"

namespace spate::pool {

std::unique_ptr<PoolDriver> MakePbs(Tools tools);

}  // namespace spate::pool
