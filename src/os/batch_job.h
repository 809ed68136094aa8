// Detects that this process is part of a batch system's job, and lists the variables that describe
// such a job.
#pragma once

#include <string>
#include <vector>

#include "os/environment.h"

namespace spate::os {

// By the variables that Slurm, PBS, LSF, Grid Engine and HTCondor give to what they start: one that
// is cancelled is signalled together with all that it has started.
bool IsInBatchJob(const Environment& environment);

// Names of those `entries` (NAME=VALUE) with which Slurm, PBS, Grid Engine or HTCondor describes a
// job and its allocation: what identifies the job first, the others in their order. Settings that
// clients read without a job (SLURM_CONF) and users' defaults (SBATCH_*) are not among them.
std::vector<std::string> BatchVariables(const std::vector<std::string>& entries);
// The same; none if `entries` are not of a batch job.
std::vector<std::string> ForeignVariables(const std::vector<std::string>& entries);

}  // namespace spate::os
