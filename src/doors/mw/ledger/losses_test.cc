// policy::losses: slaves that are lost count for the task that they had begun, and for no other
// one.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "doors/mw/ledger/testing_world.h"

namespace spate::mw {
namespace {

using Ids = std::vector<uint64_t>;

// A slave with some packets ahead, whose tasks have the numbers from 31.
void GiveSome(World& world, size_t count, policy how) {
  world.Arrive(1);
  world.SubmitAll(30);
  world.ComputeAll(1);
  world.results.clear();
  world.SubmitAll(count, how);
  ASSERT_GE(world.Leased(1), 2u);
}

TEST(LossesTest, ThePolicyLimitsTheSlavesThatATaskMayLose) {
  for (uint32_t most : {1u, 2u, 5u, 7u}) {
    World world;
    world.Submit({.losses = most});
    uint64_t slave = 0;
    for (; world.results.empty() && slave < 30;) {
      world.Arrive(++slave);
      world.Begin(slave);
      world.Lose(slave);
    }
    EXPECT_EQ(slave, most);
    ASSERT_EQ(world.results.size(), 1u);
    EXPECT_EQ(world.results[0].failure,
              fmt::format("lost slaves that computed it: {} (policy::losses)", most));
    world.Arrive(31);
    EXPECT_EQ(world.Compute(31), Ids{});
    EXPECT_EQ(world.ledger().size(), 0u);
  }
}

TEST(LossesTest, ASlaveThatHasBegunNothingCountsForNoTask) {
  World world;
  GiveSome(world, 3, {.losses = 1});
  EXPECT_EQ(world.Compute(1), Ids{31});
  world.Lose(1);
  world.Arrive(2);
  EXPECT_EQ(world.ComputeAll(2), (Ids{32, 33}));
  ASSERT_EQ(world.results.size(), 3u);
  for (const result& each : world.results) EXPECT_TRUE(each.ok());
}

// The engine only knows which one came first.
TEST(LossesTest, TheTaskThatWasBegunCountsWhicheverCameFirst) {
  World world;
  GiveSome(world, 3, {.losses = 1});
  EXPECT_TRUE(world.MayBegin(1, 1));
  world.Lose(1);
  ASSERT_EQ(world.results.size(), 1u);
  EXPECT_EQ(world.results[0].task.value, 32u);
  EXPECT_EQ(world.results[0].failure, "lost slaves that computed it: 1 (policy::losses)");
  world.Arrive(2);
  EXPECT_EQ(world.ComputeAll(2), (Ids{31, 33}));
  EXPECT_EQ(world.ledger().size(), 0u);
}

// Another slave may have been given it before anybody knew that it has failed.
TEST(LossesTest, ATaskThatHasLostItsLastSlaveIsNotBegunAgain) {
  World world;
  world.Arrive(1);
  world.Submit({.losses = 1});
  world.Begin(1);
  world.Arrive(2);
  world.Lose(1);
  ASSERT_EQ(world.results.size(), 1u);
  ASSERT_EQ(world.Leased(2), 1u);
  EXPECT_FALSE(world.MayBegin(2));
}

TEST(LossesTest, ATaskThatNoSlaveSurvivesComesBackAsAFailure) {
  World world(10);
  world.SubmitAll(2, {.losses = 5});
  for (uint64_t slave = 1; world.results.size() < 2; ++slave) {
    ASSERT_LT(slave, 100u);
    world.Arrive(slave);
    Ids tasks = world.Begin(slave);
    if (std::ranges::find(tasks, 2) != tasks.end() || tasks.size() > 1) {
      world.Lose(slave);
    } else {
      world.Compute(slave);
      if (!world.Begin(slave).empty()) world.Lose(slave);
    }
  }
  for (const result& each : world.results) EXPECT_EQ(each.ok(), each.task.value == 1);
}

}  // namespace
}  // namespace spate::mw
