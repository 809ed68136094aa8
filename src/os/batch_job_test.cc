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

}  // namespace
}  // namespace spate::os
