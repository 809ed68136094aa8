// The environment of the commands of batch systems.
#pragma once

#include "os/environment.h"

namespace spate::pool {

// Environment of this process, without what an enclosing batch job has set: commands would read it
// as options (sbatch reads SLURM_*), and pilots, which inherit it, as their own allocation.
// Settings of the batch systems stay, and so do a user's defaults for its commands (SBATCH_*).
os::Environment CommandEnvironment(const os::Environment& environment);

}  // namespace spate::pool
