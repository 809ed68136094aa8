// From pbs_mom's documentation of a batch job's environment (OpenPBS 23). Not recorded.
#include "pool/pbs/grant.h"

#include <gtest/gtest.h>

namespace spate::pool {
namespace {

Grant Of(std::vector<std::string> entries, std::string nodes) {
  entries.insert(entries.end(), {"PBS_JOBID=52.pbs1", "PBS_ENVIRONMENT=PBS_BATCH",
                                 "PBS_NODEFILE=/nodes", "SPATE_PILOT_STARTED=1000"});
  os::Environment environment(std::move(entries));
  std::vector<GrantFile> files = {{"/nodes", std::move(nodes)}};
  return GrantOfPbs({environment, files});
}

TEST(PbsGrantTest, OneHost) {
  Grant grant = Of({"NCPUS=8", "SPATE_PILOT_SECONDS=60"}, "h1\nh1\n");
  EXPECT_EQ(grant.id, "52.pbs1");
  EXPECT_EQ(grant.cpus, 8);
  EXPECT_EQ(grant.ends, Instant{1060'000000000});
  EXPECT_TRUE(grant.launches.empty());
  EXPECT_EQ(Of({"PBS_NUM_PPN=4", "PBS_WALLTIME=90"}, "").ends, Instant{1090'000000000});
  EXPECT_FALSE(Of({}, "").cpus);
}

TEST(PbsGrantTest, SeveralHosts) {
  Grant grant = Of({"NCPUS=8"}, "h1\nh1\nh2\nh2\nh3\n");
  ASSERT_EQ(grant.launches.size(), 3U);
  using Words = std::vector<std::string>;
  EXPECT_EQ(grant.launches[0].argv,
            (Words{"env", "SPATE_PILOT_PART=1", "SPATE_PILOT_STARTED=1000", "SPATE_PILOT_CPUS=8"}));
  EXPECT_EQ(grant.launches[1].argv, (Words{"pbsdsh", "-n", "2", "--", "env", "SPATE_PILOT_PART=1",
                                           "SPATE_PILOT_STARTED=1000", "SPATE_PILOT_CPUS=8"}));
  EXPECT_EQ(grant.launches[2].argv[2], "4");
  EXPECT_TRUE(Of({"SPATE_PILOT_PART=1"}, "h1\nh2\n").launches.empty());
}

}  // namespace
}  // namespace spate::pool
