#include "os/batch_job.h"

#include <gtest/gtest.h>

namespace spate::os {
namespace {

TEST(BatchJob, IsKnownByItsVariables) {
  auto is_in = [](std::vector<std::string> entries) {
    return IsInBatchJob(Environment(std::move(entries)));
  };
  EXPECT_FALSE(is_in({}));
  EXPECT_FALSE(is_in({"JOB_ID=7", "SLURM_CONF=/etc/slurm.conf", "HOME=/root"}));
  EXPECT_TRUE(is_in({"SLURM_JOB_ID=7"}));
  EXPECT_TRUE(is_in({"PBS_JOBID=7.server"}));
  EXPECT_TRUE(is_in({"LSB_JOBID=7"}));
  EXPECT_TRUE(is_in({"JOB_ID=7", "NSLOTS=1"}));
  EXPECT_TRUE(is_in({"_CONDOR_SCRATCH_DIR=/tmp/dir"}));
}

TEST(BatchJob, ItsVariablesAreThoseOfTheJobAlone) {
  using Words = std::vector<std::string>;
  struct Case {
    std::string what;
    Words given, foreign;
  };
  const Case cases[] = {
      {"none", {"PATH=/bin", "SLURM_CONF=/c", "OMP_NUM_THREADS=4", "CUDA_VISIBLE_DEVICES=0"}, {}},
      {"slurm",
       {"PATH=/bin", "SLURM_NNODES=64", "SLURM_CONF=/c", "SBATCH_ACCOUNT=a", "SLURM_JOB_ID=9",
        "SLURM_ARRAY_TASK_ID=3", "CUDA_VISIBLE_DEVICES=0", "OMP_NUM_THREADS=4", "TMPDIR=/mine/9"},
       {"SLURM_JOB_ID", "SLURM_NNODES", "SLURM_ARRAY_TASK_ID", "CUDA_VISIBLE_DEVICES"}},
      {"pbs",
       {"NCPUS=4", "PBS_JOBID=1.srv", "PBS_SERVER=srv", "PBS_NODEFILE=/n", "OMP_NUM_THREADS=4",
        "MKL_NUM_THREADS=14", "TMPDIR=/var/tmp/pbs.1.srv", "TMP=/scratch"},
       {"PBS_JOBID", "NCPUS", "PBS_NODEFILE", "OMP_NUM_THREADS", "TMPDIR"}},
      {"a number of threads that the user has set",
       {"PBS_JOBID=1.srv", "NCPUS=4", "OMP_NUM_THREADS=1"},
       {"PBS_JOBID", "NCPUS"}},
      {"grid engine",
       {"SGE_ROOT=/r", "SGE_TASK_ID=2", "NSLOTS=2", "JOB_ID=7", "QUEUE=q", "TMPDIR=/tmp/7.2.q",
        "TMP=/tmp/7.2.q", "TEMP=/scratch/17.2"},
       {"JOB_ID", "SGE_TASK_ID", "NSLOTS", "QUEUE", "TMPDIR", "TMP"}},
      {"names like grid engine's", {"JOB_ID=7", "NSLOTS=2", "QUEUE=q"}, {}},
      {"htcondor",
       {"_CONDOR_SLOT=slot1", "_CONDOR_SCRATCH_DIR=/e/dir_7", "_CONDOR_COLLECTOR_HOST=h",
        "TMPDIR=/e/dir_7", "GOMAXPROCS=2", "OMP_THREAD_LIMIT=2", "OMP_NUM_THREADS=1"},
       {"_CONDOR_SCRATCH_DIR", "_CONDOR_SLOT", "TMPDIR", "GOMAXPROCS", "OMP_THREAD_LIMIT"}},
  };
  for (const Case& each : cases) EXPECT_EQ(ForeignVariables(each.given), each.foreign) << each.what;
}

}  // namespace
}  // namespace spate::os
