// Slurm: sbatch, squeue, scancel. Of version 20.11 or newer.
#pragma once

#include <memory>

#include "pool/driver.h"

namespace spate::pool {

std::unique_ptr<PoolDriver> MakeSlurm(Tools tools);

}  // namespace spate::pool
