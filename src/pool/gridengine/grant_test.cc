// The variables and the first PE_HOSTFILE were recorded from a private Son of Grid Engine 8.1.9;
// the file of several hosts is from sge_pe(5).
#include "pool/gridengine/grant.h"

#include <gtest/gtest.h>

namespace spate::pool {
namespace {

Grant Of(std::vector<std::string> entries, std::string hosts = "") {
  entries.insert(entries.end(),
                 {"JOB_ID=15", "JOB_NAME=spate-b-1", "SGE_TASK_ID=undefined", "PE_HOSTFILE=/pe",
                  "SPATE_PILOT=spate-b-1", "SPATE_PILOT_STARTED=1795450955"});
  os::Environment environment(std::move(entries));
  std::vector<GrantFile> files;
  if (!hosts.empty()) files.push_back({"/pe", hosts});
  return GrantOfGridEngine({environment, files});
}

TEST(GridEngineGrantTest, OneHost) {
  Grant grant =
      Of({"NSLOTS=3", "SPATE_PILOT_SECONDS=600"}, "localhost 3 all.q@localhost UNDEFINED\n");
  EXPECT_EQ(grant.id, "15");
  EXPECT_EQ(grant.cpus, 3);
  EXPECT_FALSE(grant.memory);
  EXPECT_EQ(grant.ends, Instant{1795451555'000000000});
  EXPECT_TRUE(grant.launches.empty());
  EXPECT_EQ(Of({"NSLOTS=1"}).cpus, 1);
  EXPECT_EQ(Of({"NSLOTS=1"}).ends, Instant::Never());
}

TEST(GridEngineGrantTest, SeveralHosts) {
  const std::string kHosts =
      "h1.site 2 a.q@h1.site UNDEFINED\nh2.site 4 a.q@h2.site UNDEFINED\n"
      "h1.site 1 b.q@h1.site <NULL>\n";
  Grant grant = Of({"NSLOTS=7"}, kHosts);
  EXPECT_EQ(grant.cpus, 3);
  ASSERT_EQ(grant.launches.size(), 2U);
  using Words = std::vector<std::string>;
  EXPECT_EQ(grant.launches[0].argv,
            (Words{"env", "SPATE_PILOT_PART=1", "SPATE_PILOT=spate-b-1",
                   "SPATE_PILOT_STARTED=1795450955", "SPATE_PILOT_CPUS=3"}));
  EXPECT_FALSE(grant.launches[0].quoted);
  EXPECT_EQ(
      grant.launches[1].argv,
      (Words{"qrsh", "-inherit", "-nostdin", "h2.site", "env", "SPATE_PILOT_PART=1",
             "SPATE_PILOT=spate-b-1", "SPATE_PILOT_STARTED=1795450955", "SPATE_PILOT_CPUS=4"}));
  EXPECT_TRUE(grant.launches[1].quoted);

  Grant part = Of({"NSLOTS=7", "SPATE_PILOT_PART=1", "SPATE_PILOT_CPUS=4"}, kHosts);
  EXPECT_EQ(part.cpus, 4);
  EXPECT_TRUE(part.launches.empty());
}

}  // namespace
}  // namespace spate::pool
