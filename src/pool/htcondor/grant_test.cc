// Ads as the manual of HTCondor 25 describes them; no HTCondor was at hand.
#include "pool/htcondor/grant.h"

#include <gtest/gtest.h>

namespace spate::pool {
namespace {

Grant Of(std::vector<std::string> more, std::string machine, std::string job) {
  more.insert(more.end(),
              {"_CONDOR_MACHINE_AD=/m", "_CONDOR_JOB_AD=/j", "SPATE_PILOT_STARTED=1000"});
  os::Environment environment(std::move(more));
  std::vector<GrantFile> files = {{"/m", std::move(machine)}, {"/j", std::move(job)}};
  return GrantOfHtCondor({environment, files});
}

TEST(HtCondorGrantTest, Ads) {
  Grant grant = Of({"_CONDOR_AssignedGPUs=CUDA0,GPU-ab12"},
                   "CpuBusy = false\nCpus = 4\nTotalCpus = 64.0\nMemory = 2048\n",
                   "AllowedJobDuration = 3600\nClusterId = 12\nProcId = 0\n");
  EXPECT_EQ(grant.id, "12.0");
  EXPECT_EQ(grant.cpus, 4);
  EXPECT_EQ(grant.memory, 2048ULL << 20);
  EXPECT_EQ(grant.ends, Instant{4600'000000000});
  EXPECT_EQ(grant.gpus, (std::vector<std::string>{"0", "GPU-ab12"}));
  EXPECT_TRUE(grant.launches.empty());
}

TEST(HtCondorGrantTest, WhatIsMissing) {
  Grant grant = Of({"SPATE_PILOT_SECONDS=60"}, "Cpus = undefined\n", "");
  EXPECT_EQ(grant.id, "");
  EXPECT_FALSE(grant.cpus);
  EXPECT_FALSE(grant.memory);
  EXPECT_FALSE(grant.gpus);
  EXPECT_EQ(grant.ends, Instant{1060'000000000});
}

}  // namespace
}  // namespace spate::pool
