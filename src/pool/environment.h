// The environment of the commands of batch systems.
#pragma once

#include "os/environment.h"

namespace spate::pool {

// What this process has, without what an enclosing batch job has set: commands would take it for
// options (sbatch reads SLURM_*), and pilots, to which it is handed on, for their own allocation.
// Settings of the batch systems stay, and so do a user's defaults for its commands (SBATCH_*).
os::Environment CommandEnvironment(const os::Environment& environment);

}  // namespace spate::pool
