// Whether this process is a part of a batch system's job.
#pragma once

#include "os/environment.h"

namespace spate::os {

// By the variables that Slurm, PBS, LSF, Grid Engine and HTCondor give to what they start: one that
// is cancelled is signalled together with all that it has started.
bool IsInBatchJob(const Environment& environment);

}  // namespace spate::os
