#include "present/text/pool_words.h"

#include <gtest/gtest.h>

namespace spate::present {
namespace {

PoolFacts Pool(std::string name, std::string group, std::string state, std::string why) {
  PoolFacts pool;
  pool.policy.name = std::move(name);
  pool.group = std::move(group);
  pool.state = std::move(state);
  pool.why = std::move(why);
  pool.policy.max_pilots = 1;
  pool.joined = 1;
  pool.nodes = 1;
  return pool;
}

TEST(PoolWords, AGroupIsOne) {
  auto shown = ByGroup({Pool("a", "", "on", ""), Pool("lab-1", "lab", "paused", "by ann"),
                        Pool("lab-2", "lab", "on", ""), Pool("lab-3", "lab", "paused", "by bob"),
                        Pool("z", "", "on", "slow")});
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(shown[0].policy.name, "a");
  EXPECT_EQ(shown[1].policy.name, "lab");
  EXPECT_EQ(shown[1].state, "on");
  EXPECT_EQ(shown[1].joined, 3u);
  EXPECT_EQ(shown[1].policy.max_pilots, 3u);
  EXPECT_EQ(WhyOf(shown[1]), "2 of 3: lab-1: by ann");
  EXPECT_EQ(WhyOf(shown[2]), "slow");
}

TEST(PoolWords, TasksGoToAPoolThatIsThere) {
  std::vector<PoolFacts> pools = {Pool("a", "", "on", ""), Pool("lab-1", "lab", "paused", ""),
                                  Pool("lab-2", "lab", "on", ""), Pool("old", "", "closing", "")};
  for (const char* good : {"a", "lab", "lab-1"}) EXPECT_TRUE(CheckPoolOfSubmit(pools, good, ""));
  auto said = [](const std::vector<PoolFacts>& known, std::string_view name) {
    return CheckPoolOfSubmit(known, name, " --access f").error().message;
  };
  EXPECT_EQ(said(pools, "x"),
            "--pool: there is no pool 'x' for your tasks; there are a, lab; see: spate pool list "
            "--access f");
  EXPECT_EQ(said(pools, "old"),
            "--pool: pool 'old' is being removed; there are a, lab; see: spate pool list --access "
            "f");
  EXPECT_EQ(said({}, "x"),
            "--pool: there is no pool 'x' for your tasks; to add one: spate pool add --access f "
            "SYSTEM NAME");
}

TEST(PoolWords, ThereMayBeTwoReasons) {
  PoolFacts pool = Pool("a", "", "on", "");
  EXPECT_EQ(WhyOf(pool), "");
  pool.trouble = "qstat: no answer";
  EXPECT_EQ(WhyOf(pool), "qstat: no answer");
  pool.why = "asks slowly";
  EXPECT_EQ(WhyOf(pool), "asks slowly; qstat: no answer");
}

}  // namespace
}  // namespace spate::present
