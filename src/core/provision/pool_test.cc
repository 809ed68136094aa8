#include "core/provision/pool.h"

#include <gtest/gtest.h>

#include "core/provision/durable.h"

namespace spate::provision {
namespace {

TEST(Tag, IsFoundAgain) {
  for (uint32_t number : {1u, 35u, 36u, 1000u, 4'000'000'000u, UINT32_MAX}) {
    std::string tag = TagOf("a1b2c3", PilotId(number));
    EXPECT_LE(tag.size(), 15u) << tag;
    EXPECT_EQ(PilotOfTag("a1b2c3", tag), PilotId(number)) << tag;
    EXPECT_EQ(PilotOfTag("a1b2c4", tag), std::nullopt) << tag;
  }
}

TEST(Tag, OthersAreNotOurs) {
  for (const char* tag : {"", "s", "sa1b2c3", "sa1b2c3-", "sa1b2c3-0", "sa1b2c3-01", "sa1b2c3-A",
                          "sa1b2c3-1 ", "sa1b2c3-zzzzzzz", "sa1b2c3-zzzzzzzz", "ta1b2c3-1"}) {
    EXPECT_EQ(PilotOfTag("a1b2c3", tag), std::nullopt) << tag;
  }
}

TEST(Policy, WrongOnesAreTold) {
  struct {
    const char* what;
    void (*change)(PoolPolicy&);
  } const kCases[] = {
      {"a pool needs a name", [](PoolPolicy& p) { p.name.clear(); }},
      {"pool p: --max-pilots is from 1 to 10000", [](PoolPolicy& p) { p.max_pilots = 0; }},
      {"pool p: --max-pilots is from 1 to 10000", [](PoolPolicy& p) { p.max_pilots = 10'001; }},
      {"pool p: --min-pilots is above --max-pilots", [](PoolPolicy& p) { p.min_pilots = 11; }},
      {"pool p: --backlog is at least 1, or no pilot could ever queue",
       [](PoolPolicy& p) { p.backlog = 0; }},
      {"pool p: --nodes-per-pilot is at least 1", [](PoolPolicy& p) { p.nodes_per_pilot = 0; }},
      {"pool p: times are not below zero", [](PoolPolicy& p) { p.idle_exit = {-1}; }},
      {"pool p: --chain needs --time-limit: nothing else says when a successor is wanted",
       [](PoolPolicy& p) { p.chain = true; }},
  };
  PoolPolicy good{.name = "p"};
  EXPECT_TRUE(Check(good));
  for (const auto& each : kCases) {
    PoolPolicy policy = good;
    each.change(policy);
    auto status = Check(policy);
    ASSERT_FALSE(status) << each.what;
    EXPECT_EQ(status.error().message, each.what);
  }
}

// A journal that is damaged gives no record that Apply would abort on.
TEST(Durable, AdmitsWhatFollows) {
  Durable durable;
  PoolChanged added{PoolId(1), {.name = "p"}};
  PilotIntended intended{PoolId(1), PilotId(1), Instant{5}};
  EXPECT_FALSE(durable.Admits(intended));
  EXPECT_FALSE(durable.Admits(PoolPaused{PoolId(1)}));
  EXPECT_FALSE(durable.Admits(PoolChanged{PoolId(1), {}}));
  EXPECT_TRUE(durable.Admits(added));
  durable.Apply(added);
  EXPECT_FALSE(durable.Admits(PilotJoined{PilotId(1)}));
  durable.Apply(intended);
  EXPECT_FALSE(durable.Admits(intended));
  EXPECT_TRUE(durable.Admits(PilotSubmitted{PilotId(1), "7"}));
  EXPECT_FALSE(durable.Admits(PoolForgotten{PoolId(1)}));
  durable.Apply(PilotEnded{PilotId(1)});
  EXPECT_FALSE(durable.Admits(PilotEnded{PilotId(1)}));
  EXPECT_FALSE(durable.Admits(intended));  // numbers are never used again
  durable.Apply(PoolClosed{PoolId(1)});
  EXPECT_FALSE(durable.Admits(added));
  durable.Apply(PoolForgotten{PoolId(1)});
  EXPECT_FALSE(durable.Admits(added));
}

// Less than was asked for is believed when several pilots in a row had it, and then the most of it.
TEST(Pool, LearnsLivesSlowly) {
  Pool pool;
  pool.policy.time_limit = Duration::Seconds(3600);
  for (int64_t seconds : {5, 1800, 1700}) {
    pool.lives.push_back(Duration::Seconds(seconds));
    EXPECT_EQ(pool.Life(), Duration::Seconds(3600));
  }
  pool.lives.push_back(Duration::Seconds(1750));
  EXPECT_EQ(pool.Life(), Duration::Seconds(1800));
}

TEST(Pool, WaitIsTheMedianInRoundMinutes) {
  Pool pool;
  EXPECT_EQ(pool.Wait(), Duration::Seconds(120));
  pool.waits = {Duration::Seconds(5)};
  EXPECT_EQ(pool.Wait(), Duration::Seconds(60));
  pool.waits = {Duration::Seconds(5), Duration::Seconds(200), Duration::Seconds(90'000)};
  EXPECT_EQ(pool.Wait(), Duration::Seconds(240));
}

}  // namespace
}  // namespace spate::provision
