#include "doors/pmc/run/hosts.h"

#include <gtest/gtest.h>

namespace spate::pmc {
namespace {

TEST(Hosts, AreInTheOrderOfTheirFirstWorkersAndRankZeroIsNone) {
  std::vector<std::string> told = {TextOf({"a", 100, 4}), TextOf({"b c", 200, 8}),
                                   TextOf({"a", 100, 4}), TextOf({"b c", 999, 9})};
  auto hosts = HostsOf(told);
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].facts.name, "b c");
  EXPECT_EQ(hosts[0].facts.memory_mb, 200u);
  EXPECT_EQ(hosts[0].facts.cpus, 8u);
  EXPECT_EQ(hosts[0].ranks, (std::vector<int>{1, 3}));
  EXPECT_EQ(hosts[1].facts.name, "a");
  EXPECT_EQ(hosts[1].ranks, (std::vector<int>{2}));
}

TEST(Hosts, ASlotIsAProcess) {
  const Host host{.facts = {}, .ranks = {2, 5}};
  EXPECT_EQ(RankOf(host, 0), 2);
  EXPECT_EQ(RankOf(host, 1), 2);
  EXPECT_EQ(RankOf(host, 2), 5);
  EXPECT_EQ(RankOf(host, 9), 5);
}

TEST(Hosts, NoWorkerIsNoHost) {
  EXPECT_TRUE(HostsOf(std::vector<std::string>{TextOf({"a", 1, 1})}).empty());
}

}  // namespace
}  // namespace spate::pmc
