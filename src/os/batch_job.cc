#include "os/batch_job.h"

namespace spate::os {

bool IsInBatchJob(const Environment& environment) {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "_CONDOR_SCRATCH_DIR"}) {
    if (environment.Get(name)) return true;
  }
  // Others use the name as well.
  return environment.Get("JOB_ID") && environment.Get("NSLOTS");
}

}  // namespace spate::os
