#include "doors/mw/ledger/ledger.h"

#include <gtest/gtest.h>

#include "doors/mw/ledger/testing_world.h"

namespace spate::mw {
namespace {

using Ids = std::vector<uint64_t>;

TEST(LedgerTest, AResultSaysWhoseItIs) {
  World world;
  world.Arrive(1);
  world.Submit({.tag = "red"});
  EXPECT_EQ(world.ComputeAll(1), Ids{1});
  ASSERT_EQ(world.results.size(), 1u);
  const result& got = world.results[0];
  EXPECT_EQ(got.task, task_id{1});
  EXPECT_EQ(got.slave, slave_id{1});
  EXPECT_EQ(got.tag, "red");
  EXPECT_EQ(got.algorithm, "a");
  EXPECT_EQ(got.bytes, "value");
  EXPECT_EQ(got.compute_time, std::chrono::milliseconds(1));
  EXPECT_TRUE(got.ok());
  EXPECT_EQ(world.ledger().size(), 0u);
}

TEST(LedgerTest, SlavesFillTheGroupsThatAreWanted) {
  World world;
  world.ledger().AdjustWanted(group::unordered, 5);
  world.ledger().AdjustWanted(group::intermingle, 1);
  world.ledger().AdjustWanted(group::ordered, 2);
  EXPECT_EQ(world.ledger().Missing(), 8u);
  EXPECT_EQ(world.Arrive(1), group::ordered);
  EXPECT_EQ(world.Arrive(2), group::ordered);
  EXPECT_EQ(world.Arrive(3), group::intermingle);
  EXPECT_EQ(world.Arrive(4), group::unordered);
  EXPECT_EQ(world.ledger().Missing(), 4u);
  ASSERT_EQ(world.arrived.size(), 3u);
  EXPECT_EQ(world.arrived[2].id, slave_id{3});
  EXPECT_EQ(world.arrived[2].group, group::intermingle);
  world.Lose(1);
  world.Lose(4);
  EXPECT_EQ(world.ledger().Missing(), 6u);
  ASSERT_EQ(world.lost.size(), 1u);  // of unordered ones nobody hears
  EXPECT_EQ(world.lost[0].id, slave_id{1});
  EXPECT_EQ(world.Arrive(5), group::ordered);
  world.ledger().AdjustWanted(group::unordered, -100);
  EXPECT_EQ(world.ledger().Missing(), 0u);
}

TEST(LedgerTest, AnOrderedSlaveComputesItsOwnInTheirOrder) {
  World world;
  world.ledger().AdjustWanted(group::ordered, 1);
  world.Arrive(1);
  world.SubmitAll(3);
  EXPECT_EQ(world.Compute(1), Ids{});
  world.Submit({.slave = {1}});
  world.Submit({.slave = {1}, .do_it_anyway = true});
  world.Submit({.slave = {1}, .retry = false});
  EXPECT_EQ(world.ComputeAll(1), (Ids{4, 5, 6}));
  world.Arrive(2);
  EXPECT_EQ(world.ComputeAll(2), (Ids{1, 2, 3}));
}

TEST(LedgerTest, AnIntermingleSlaveComputesItsOwnFirst) {
  World world;
  world.ledger().AdjustWanted(group::intermingle, 1);
  world.SubmitAll(2);
  world.Arrive(1);
  world.Submit({.slave = {1}});
  const Ids all = world.ComputeAll(1);
  ASSERT_EQ(all.size(), 3u);
  world.SubmitAll(100);
  world.Submit({.slave = {1}});
  // Packets given before delay it by a few at most.
  const Ids more = world.ComputeAll(1);
  EXPECT_LT(std::ranges::find(more, 104) - more.begin(), 50);
}

TEST(LedgerTest, AFreedSlaveTakesOthers) {
  World world;
  world.ledger().AdjustWanted(group::ordered, 1);
  world.Arrive(1);
  world.Submit();
  world.Submit({.slave = {1}});
  world.Free(1);
  EXPECT_EQ(world.ComputeAll(1), (Ids{2, 1}));
  EXPECT_FALSE(world.ledger().Free({9}));
  world.Submit({.slave = {1}});  // it takes none of its own now
  ASSERT_EQ(world.unrunnable.size(), 1u);
  EXPECT_EQ(world.unrunnable[0].reason, "SLAVE-1 accepts no tasks of its own");
}

TEST(LedgerTest, WhileItIsHeldNothingIsGivenOut) {
  World world;
  world.ledger().AdjustWanted(group::intermingle, 1);
  world.Arrive(1);
  world.Arrive(2);
  world.SubmitAll(200);
  // Slaves have some packets ahead when it is known how short they are.
  for (int i = 0; i < 50; ++i) {
    world.Compute(1);
    world.Compute(2);
  }
  EXPECT_EQ(world.Begin(1).size(), 1u);
  EXPECT_EQ(world.Begin(2).size(), 1u);
  ASSERT_GT(world.Leased(2), 1u);
  world.Hold(true);
  EXPECT_EQ(world.HeldOf(JobId(1)), HoldReason::kResults);
  // Begun packets stay; the rest came back.
  EXPECT_EQ(world.Leased(1), 1u);
  EXPECT_EQ(world.Leased(2), 1u);
  EXPECT_EQ(world.ledger().runnable(), 98u);
  EXPECT_EQ(world.ComputeAll(2).size(), 1u);
  world.Submit();
  world.Submit({.slave = {1}});
  world.Submit({.retry = false});
  world.Arrive(3);
  world.Pass(Duration::Seconds(100));
  world.Speculate();
  EXPECT_EQ(world.ComputeAll(1).size(), 1u);
  EXPECT_EQ(world.ComputeAll(3), Ids{});
  world.Hold(false);
  size_t computed = 0;
  for (uint64_t slave : {1, 2, 3}) computed += world.ComputeAll(slave).size();
  EXPECT_EQ(computed, 101u);
  EXPECT_EQ(world.results.size(), 203u);
  EXPECT_EQ(world.ledger().size(), 0u);
}

TEST(LedgerTest, ATaskForASlaveThatIsNotThere) {
  World world;
  world.Submit({.slave = {7}, .tag = "t"}, "arguments");
  ASSERT_EQ(world.unrunnable.size(), 1u);
  EXPECT_EQ(world.unrunnable[0].reason, "SLAVE-7 is not connected");
  EXPECT_EQ(world.unrunnable[0].arguments, "arguments");
  EXPECT_EQ(world.unrunnable[0].how.tag, "t");
  world.Submit({.slave = {7}, .do_it_anyway = true});
  world.Arrive(1);
  EXPECT_EQ(world.ComputeAll(1), Ids{2});
}

// By policy, for each way in which a task may be with a slave that goes.
TEST(LedgerTest, WhatBecomesOfTasksWhoseSlaveGoes) {
  World world;
  world.ledger().AdjustWanted(group::ordered, 1);
  world.Arrive(1);
  for (int round = 0; round < 2; ++round) {  // the first one is there, others wait
    world.Submit({.slave = {1}});
    world.Submit({.slave = {1}, .do_it_anyway = true});
    world.Submit({.slave = {1}, .retry = false});
    world.Submit({.slave = {1}, .do_it_anyway = true, .retry = false});
  }
  world.Begin(1);
  world.Lose(1);
  Ids back;
  for (const task& each : world.unrunnable) back.push_back(each.id.value);
  EXPECT_EQ(back, (Ids{1, 3, 4, 5, 7, 8}));
  EXPECT_EQ(world.unrunnable[0].reason, "SLAVE-1 disconnected");
  world.Arrive(2);
  world.Arrive(3);
  EXPECT_EQ(world.ComputeAll(3), (Ids{2, 6}));
  EXPECT_EQ(world.ledger().size(), 0u);
}

TEST(LedgerTest, WhatBecomesOfUnorderedTasksWhoseSlaveGoes) {
  World world;
  world.Arrive(1);
  world.Submit();
  world.Submit({.retry = false});
  world.Begin(1);
  const size_t held = world.Leased(1);
  world.Lose(1);
  world.Arrive(2);
  Ids done = world.ComputeAll(2);
  EXPECT_EQ(done.size() + world.unrunnable.size(), 2u);
  EXPECT_NE(std::ranges::find(done, 1), done.end());
  // One that it had never been given may be computed.
  EXPECT_EQ(world.unrunnable.size(), held == 2 ? 1u : 0u);
}

TEST(LedgerTest, ATaskIsRetriedHoweverManySlavesAreLost) {
  for (uint32_t packet : {1u, 2u}) {
    World world(packet);
    world.SubmitAll(2);
    for (uint64_t slave = 1; slave <= 30; ++slave) {
      world.Arrive(slave);
      world.Begin(slave);
      world.Lose(slave);
    }
    EXPECT_EQ(world.results.size(), 0u);
    world.Arrive(31);
    world.ComputeAll(31);
    ASSERT_EQ(world.results.size(), 2u);
    for (const result& each : world.results) EXPECT_TRUE(each.ok());
  }
}

TEST(LedgerTest, TheResultOfATaskThatWentOnAtOnceSaysWhoseItIs) {
  World world;
  world.Arrive(1);
  world.Submit();
  world.Begin(1);
  world.Arrive(2);
  world.Lose(1);
  EXPECT_TRUE(world.ledger().IsBusy({2}));
  EXPECT_EQ(world.Compute(2), Ids{1});
  ASSERT_EQ(world.results.size(), 1u);
  EXPECT_EQ(world.results[0].slave, slave_id{2});
}

TEST(LedgerTest, TasksWithoutASlaveWantOne) {
  World world;
  EXPECT_EQ(world.ledger().Missing(), 0u);
  world.SubmitAll(3);
  EXPECT_EQ(world.ledger().Missing(), 1u);
  world.ledger().AdjustWanted(group::unordered, 2);
  EXPECT_EQ(world.ledger().Missing(), 2u);
  world.ledger().AdjustWanted(group::unordered, -2);
  world.Arrive(1);
  EXPECT_EQ(world.ledger().Missing(), 0u);
  world.Lose(1);
  EXPECT_EQ(world.ledger().Missing(), 1u);
  world.Arrive(2);
  world.ComputeAll(2);
  world.Lose(2);
  EXPECT_EQ(world.ledger().Missing(), 0u);
}

TEST(LedgerTest, PacketsHaveSoManyTasksAtMost) {
  World world(3);
  world.Arrive(1);
  world.SubmitAll(7);
  EXPECT_EQ(world.Compute(1), (Ids{1, 2, 3}));
  EXPECT_EQ(world.Compute(1), (Ids{4, 5, 6}));
  EXPECT_EQ(world.Compute(1), (Ids{7}));
  EXPECT_EQ(world.results.size(), 7u);
}

TEST(LedgerTest, RunnableIsWhatNobodyHas) {
  World world(3);
  world.SubmitAll(3);
  EXPECT_EQ(world.ledger().runnable(), 3u);
  world.Arrive(1);
  EXPECT_EQ(world.ledger().runnable(), 0u);
  world.Lose(1);
  EXPECT_EQ(world.ledger().runnable(), 3u);
  world.ledger().AdjustWanted(group::ordered, 1);
  world.Arrive(2);
  world.Submit({.slave = {2}, .do_it_anyway = true});
  EXPECT_EQ(world.ledger().runnable(), 3u);
  world.Lose(2);
  EXPECT_EQ(world.ledger().runnable(), 4u);
  world.Arrive(3);
  world.Free(3);
  world.ComputeAll(3);
  EXPECT_EQ(world.ledger().runnable(), 0u);
  EXPECT_EQ(world.results.size(), 4u);
}

TEST(LedgerTest, LargeArgumentsMakeSmallPackets) {
  World world(100);
  world.Arrive(1);
  world.SubmitAll(3, {}, std::string(600'000, 'x'));
  EXPECT_EQ(world.Compute(1), (Ids{1}));
  EXPECT_EQ(world.Compute(1), (Ids{2}));
}

// Also among those that were submitted when packets of others waited already.
TEST(LedgerTest, TheHighestPriorityThatWaitsGoesOutNext) {
  World world;
  auto compute = [&] { return world.Compute(1, CallEnd::kDone, Duration::Seconds(1)); };
  world.Arrive(1);
  world.Submit();
  EXPECT_EQ(compute(), Ids{1});
  world.Submit();                    // 2
  world.Submit({.priority = 2});     // 3
  world.Submit({.priority = -0.5});  // 4
  world.Submit({.priority = 2});     // 5
  EXPECT_EQ(world.Leased(1), 2u);    // one at work, and one ahead
  EXPECT_EQ(compute(), Ids{2});
  world.Submit({.priority = 1e9});                // 6
  world.Submit({.retry = false, .priority = 3});  // 7
  Ids order;
  for (Ids next = compute(); !next.empty(); next = compute()) order.push_back(next[0]);
  EXPECT_EQ(order, (Ids{3, 5, 6, 7, 4}));
}

TEST(LedgerTest, APacketHasTheTasksOfTheHighestPriorities) {
  World world(3);
  for (uint64_t id = 1; id <= 9; ++id) world.Submit({.priority = static_cast<double>(id % 3)});
  world.Arrive(1);
  EXPECT_EQ(world.Compute(1), (Ids{2, 5, 8}));
  EXPECT_EQ(world.Compute(1), (Ids{1, 4, 7}));
  EXPECT_EQ(world.Compute(1), (Ids{3, 6, 9}));
  EXPECT_EQ(world.Compute(1), Ids{});
  EXPECT_EQ(world.results.size(), 9u);
}

TEST(LedgerTest, PrioritiesOrderASlavesOwnTasksAndNoneOfThemPassesTheOwn) {
  World world;
  world.ledger().AdjustWanted(group::intermingle, 1);
  world.Arrive(1);
  world.Submit();
  world.Begin(1);
  world.Submit({.priority = 100});
  for (double priority : {0, 0, 2, 1}) world.Submit({.slave = {1}, .priority = priority});
  Ids order = world.ComputeAll(1);
  // One that it had ahead goes before.
  std::erase_if(order, [](uint64_t id) { return id < 3; });
  EXPECT_TRUE(order == (Ids{5, 6, 3, 4}) || order == (Ids{3, 5, 6, 4}));
}

// Tasks that a slave had ahead are ordered again with those that came later.
TEST(LedgerTest, WhatALostSlaveHadNotBegunIsOrderedAgain) {
  World world;
  world.Arrive(1);
  world.SubmitAll(20);
  world.ComputeAll(1);
  world.SubmitAll(8);
  EXPECT_GT(world.Leased(1), 2u);
  EXPECT_EQ(world.Begin(1), Ids{21});
  world.Submit({.priority = 1});
  world.Lose(1);
  world.Arrive(2);
  EXPECT_EQ(world.Compute(2), Ids{21});  // a slave was lost with it
  EXPECT_EQ(world.Compute(2), Ids{29});
  EXPECT_EQ(world.ComputeAll(2), (Ids{22, 23, 24, 25, 26, 27, 28}));
}

// ---- Needs -------------------------------------------------------------------------------------

policy Taking(uint32_t slots, double priority = 0) {
  return {.priority = priority, .needs = {.slots = slots}};
}

TEST(LedgerTest, ASlaveComputesAsManyTasksAsItHasSlotsFor) {
  World world;
  world.Arrive(1, {.slots = 4});
  EXPECT_EQ(world.ledger().ListSlaves()[0].slots, 4u);
  EXPECT_EQ(world.ledger().idle(), 4u);
  world.SubmitAll(4);
  EXPECT_EQ(world.Computing(1), 4u);
  EXPECT_EQ(world.ledger().idle(), 0u);
  world.ComputeAll(1);
  world.Submit(Taking(3));
  world.SubmitAll(2, Taking(2));
  EXPECT_EQ(world.Computing(1), 1u);
  EXPECT_EQ(world.Compute(1), Ids{5});
  EXPECT_EQ(world.Computing(1), 2u);
  EXPECT_EQ(world.ComputeAll(1), (Ids{6, 7}));
  EXPECT_EQ(world.ledger().size(), 0u);
}

TEST(LedgerTest, ATaskWaitsForASlaveThatOffersWhatItNeeds) {
  const Offer all{.slots = 2,
                  .memory = 100,
                  .named = {{"gpus", {"0", "1"}}, {"tape", {"0"}}},
                  .labels = {"fast", "x"}};
  const std::vector<needs> needed = {
      {.slots = 2},
      {.memory = 100},
      {.resources = {{"tape", 1}, {"gpus", 2}}},
      {.labels = {"x", "fast"}},
  };
  for (const needs& each : needed) {
    World world;
    world.Arrive(1, {.slots = 1, .memory = 99, .named = {{"gpus", {"0"}}}, .labels = {"fast"}});
    world.Submit({.needs = each});
    world.Submit();
    EXPECT_EQ(world.ComputeAll(1), Ids{2});
    world.Arrive(2, all);
    EXPECT_EQ(world.ComputeAll(2), Ids{1});
    // A packet has tasks of the same needs alone.
    world.Submit({.needs = each});
    world.Lose(2);
    EXPECT_EQ(world.ComputeAll(1), Ids{});
    world.Arrive(3, all);
    EXPECT_EQ(world.ComputeAll(3), Ids{3});
  }
}

// Labels that mean something else to the master do not count.
TEST(LedgerTest, AnOrderedSlaveCannotSayThatItTakesTasksOfOthers) {
  World world;
  world.ledger().AdjustWanted(group::ordered, 1);
  world.Submit();
  world.Arrive(1, {.slots = 1, .labels = {"@mw:x", "any"}});
  EXPECT_EQ(world.Leased(1), 0u);
  world.Free(1);
  EXPECT_EQ(world.ComputeAll(1), Ids{1});
}

TEST(LedgerTest, PacketsHaveTasksOfTheSameNeeds) {
  World world(10);
  world.SubmitAll(3);
  world.SubmitAll(3, Taking(2));
  world.SubmitAll(3);
  world.Arrive(1, {.slots = 2});
  std::set<Ids> packets;
  while (world.Leased(1) > 0) packets.insert(world.Compute(1));
  EXPECT_EQ(packets, (std::set<Ids>{{1, 2, 3, 7, 8, 9}, {4, 5, 6}}));
}

TEST(LedgerTest, TheHighestPriorityGoesFirstWhateverItNeeds) {
  World world;
  world.Submit(Taking(1, 9));
  world.Submit(Taking(1, 1));
  world.Submit(Taking(2, 5));
  world.Submit(Taking(2, 3));
  // The task with priority 1 would leave too few of three slots for the one with 5.
  world.Arrive(1, {.slots = 3});
  EXPECT_EQ(world.Begin(1, 0), Ids{1});
  EXPECT_EQ(world.Begin(1, 1), Ids{3});
  world.Lose(1);
  // Also negative ones, and those that come when others wait.
  world.Submit(Taking(3, -2.5));
  world.Submit(Taking(1, -1e300));
  world.Submit(Taking(3, 4));
  world.Submit(Taking(3, 1e300));
  world.Arrive(2, {.slots = 3});
  Ids order;
  for (Ids ids = world.Compute(2); !ids.empty(); ids = world.Compute(2)) order.push_back(ids[0]);
  // The slave was lost with the first two, which go out at once.
  EXPECT_EQ((std::set<uint64_t>(order.begin(), order.begin() + 2)), (std::set<uint64_t>{1, 3}));
  EXPECT_EQ(Ids(order.begin() + 2, order.end()), (Ids{8, 7, 4, 2, 5, 6}));
}

TEST(LedgerTest, ASlavesOwnTasksGoFirstWhateverTheyNeed) {
  World world;
  world.ledger().AdjustWanted(group::intermingle, 1);
  world.Arrive(1, {.slots = 2});
  world.Submit(Taking(2));
  world.Begin(1);
  world.Submit(Taking(2, 1e300));
  policy own = Taking(2, -1e300);
  own.slave = {1};
  world.Submit(own);
  own.needs = {};
  world.SubmitAll(2, own);
  Ids order = world.ComputeAll(1);
  ASSERT_EQ(order.size(), 5u);
  EXPECT_EQ(order.back() == 2 || order[1] == 2, true) << "one that was ahead may go before them";
  // When it goes, each of its tasks has its fate.
  for (int i = 0; i < 2; ++i) {
    own.needs.slots = static_cast<uint32_t>(2 - i);
    world.SubmitAll(3, own);
  }
  world.Lose(1);
  EXPECT_EQ(world.unrunnable.size(), 6u);
  EXPECT_EQ(world.ledger().size(), 0u);
  EXPECT_EQ(world.ledger().lanes_with_needs(), 1u);  // of the tasks for any slave
}

TEST(LedgerTest, DifferentNeedsHaveABound) {
  World world;
  auto memory = [](uint64_t bytes) { return policy{.needs = {.memory = bytes}}; };
  for (uint64_t i = 1; i <= kNeedsMost; ++i) world.Submit(memory(i));
  EXPECT_TRUE(world.unrunnable.empty());
  const uint64_t late = world.Submit(memory(kNeedsMost + 1));
  ASSERT_EQ(world.unrunnable.size(), 1u);
  EXPECT_EQ(world.unrunnable[0].id.value, late);
  EXPECT_EQ(world.unrunnable[0].reason,
            "tasks with 1,000 different needs have not ended (policy::needs): round them up, so "
            "that more are equal");
  world.Submit(memory(7));  // these wait already
  world.Submit();
  EXPECT_EQ(world.unrunnable.size(), 1u);
  world.Arrive(1);
  EXPECT_EQ(world.ComputeAll(1).size(), kNeedsMost + 2);
  // However many there are one after the other.
  for (uint64_t i = 0; i < 3 * kNeedsMost; ++i) {
    world.Submit(memory(10'000 + i));
    EXPECT_EQ(world.Compute(1).size(), 1u);
    EXPECT_LE(world.ledger().lanes_with_needs(), 1000u);
  }
  EXPECT_EQ(world.unrunnable.size(), 1u);
  EXPECT_LE(world.ledger().lanes_with_needs(), 100u);
  // A lane that was ended begins again.
  world.Submit(memory(7));
  EXPECT_EQ(world.Compute(1).size(), 1u);
}

TEST(LedgerTest, TasksThatGoAloneNeedTheSame) {
  World world(3);
  world.SubmitAll(3, Taking(2));
  for (uint64_t slave = 1; slave <= 5; ++slave) {
    world.Arrive(slave, {.slots = 2});
    EXPECT_EQ(world.Begin(slave), (Ids{1, 2, 3}));
    world.Lose(slave);
  }
  world.Arrive(6);
  EXPECT_EQ(world.ComputeAll(6), Ids{});
  world.Arrive(7, {.slots = 2});
  for (uint64_t id = 1; id <= 3; ++id) EXPECT_EQ(world.Compute(7), Ids{id});
  EXPECT_EQ(world.ledger().size(), 0u);
}

TEST(LedgerTest, ACopyOfASlowTaskNeedsTheSame) {
  World world;
  world.Arrive(1, {.slots = 2});
  world.SubmitAll(10);
  world.ComputeAll(1);
  world.Submit(Taking(2));
  world.Begin(1);
  world.Arrive(2);
  world.Pass(Duration::Seconds(2));
  world.Speculate();
  EXPECT_EQ(world.Leased(2), 0u);
  world.Arrive(3, {.slots = 2});
  EXPECT_EQ(world.Begin(3), Ids{11});
  // Both are lost, and it needs the same still.
  world.Lose(1);
  world.Lose(3);
  EXPECT_EQ(world.ComputeAll(2), Ids{});
  world.Arrive(4, {.slots = 2});
  EXPECT_EQ(world.Compute(4), Ids{11});
  EXPECT_EQ(world.results.size(), 11u);
}

// Its packet stays until the slave has computed it; its lane may end before.
TEST(LedgerTest, ACancelledTaskHasNoCopy) {
  World world;
  world.Arrive(1, {.slots = 2});
  world.SubmitAll(10);
  world.ComputeAll(1);
  world.Submit(Taking(2));
  EXPECT_EQ(world.Begin(1), Ids{11});
  EXPECT_EQ(world.Cancel({{11}}), Ids{11});
  world.Arrive(2, {.slots = 2});
  for (uint64_t i = 1; i <= 150; ++i) {
    world.Submit({.needs = {.memory = i}});
    EXPECT_EQ(world.Compute(2).size(), 1u);
  }
  world.Pass(Duration::Seconds(2));
  world.Speculate();
  EXPECT_EQ(world.Leased(2), 0u);
}

TEST(LedgerTest, WhatAnAlgorithmThrowsIsItsResult) {
  World world;
  world.Arrive(1);
  world.SubmitAll(2);
  world.Compute(1, CallEnd::kThrew);
  world.Compute(1, CallEnd::kUnknown);
  ASSERT_EQ(world.results.size(), 2u);
  EXPECT_EQ(world.results[0].failure, "value");
  EXPECT_EQ(world.results[1].failure,
            "the slave's program has no algorithm 'a': it is another build");
}

TEST(LedgerTest, APacketWhoseSlaveEndsAtATimeLimit) {
  for (bool retry : {true, false}) {
    World world(3);
    world.Arrive(1);
    world.SubmitAll(3, {.retry = retry, .time = std::chrono::seconds(2)});
    world.AnswerFor(1, {.task = 2, .end = CallEnd::kOverdue, .bytes = {}});
    ASSERT_EQ(world.results.size(), 1u);
    EXPECT_EQ(world.results[0].task, task_id{2});
    EXPECT_EQ(world.results[0].failure,
              "it took longer than its time limit of 2.00 s (policy::time)");
    EXPECT_EQ(world.unrunnable.size(), retry ? 0u : 2u);
    world.Lose(1);
    world.Arrive(2);
    EXPECT_EQ(world.ComputeAll(2), retry ? (Ids{1, 3}) : Ids{});
    EXPECT_EQ(world.ledger().size(), 0u);
  }
}

// The first slave, which has computed ten tasks, has had the eleventh for long; the second has
// nothing to do.
void HaveASlowOne(World& world, const policy& how = {}) {
  world.Arrive(1);
  world.SubmitAll(10);
  world.ComputeAll(1);
  world.Submit(how);
  world.Begin(1);
  world.Arrive(2);
  world.Pass(Duration::Seconds(2));
  world.Speculate();
}

TEST(LedgerTest, AnIdleSlaveComputesWhatTakesAnotherOneTooLong) {
  World world;
  world.Arrive(1);
  world.SubmitAll(10);
  world.ComputeAll(1);
  world.Submit();
  EXPECT_EQ(world.Begin(1), Ids{11});
  world.Arrive(2);
  world.Speculate();
  EXPECT_EQ(world.Leased(2), 0u);
  world.Pass(Duration::Seconds(2));
  world.Speculate();
  EXPECT_EQ(world.Begin(2), Ids{11});
  world.Speculate();
  EXPECT_EQ(world.Leased(2), 1u);
  EXPECT_EQ(world.Compute(2), Ids{11});
  EXPECT_EQ(world.results.size(), 11u);
  EXPECT_EQ(world.results.back().slave, slave_id{2});
  world.Compute(1);  // too late
  EXPECT_EQ(world.results.size(), 11u);
}

// A stopped slave returns nothing of what it has not begun. Others compute that at once,
// and each result counts once, also when the slave goes on.
TEST(LedgerTest, WhatAStoppedSlaveHasNotBegunGoesToOthersAtOnce) {
  for (bool begins : {true, false}) {
    World world;
    world.Arrive(1);
    world.SubmitAll(10);
    world.ComputeAll(1);
    world.SubmitAll(8);
    if (begins) world.Begin(1);
    const size_t held = world.Leased(1);
    EXPECT_GT(held, 2u);
    world.Stop(1);
    world.Arrive(2);
    world.ComputeAll(2);
    world.Pass(Duration::Seconds(2));
    world.Speculate();
    world.ComputeAll(2);
    EXPECT_EQ(world.results.size(), 18u) << begins;
    EXPECT_EQ(world.ledger().size(), 0u);
    world.Speculate();
    EXPECT_EQ(world.Leased(2), 0u);
    world.ComputeAll(1);
    EXPECT_EQ(world.results.size(), 18u) << begins;
  }
}

TEST(LedgerTest, TheFirstOfTwoMayBeTheFirstOne) {
  World world;
  HaveASlowOne(world);
  world.Begin(2);
  world.Compute(1);
  EXPECT_EQ(world.results.back().slave, slave_id{1});
  world.Compute(2);
  EXPECT_EQ(world.results.size(), 11u);
}

TEST(LedgerTest, OneOfTwoThatIsLostLeavesTheOther) {
  for (uint64_t first_lost : {1u, 2u}) {
    World world;
    HaveASlowOne(world);
    world.Begin(2);
    world.Lose(first_lost);
    world.Compute(3 - first_lost);
    EXPECT_EQ(world.results.size(), 11u);
    EXPECT_EQ(world.ledger().size(), 0u);
  }
}

TEST(LedgerTest, WhatMustNotRunTwiceIsNotDoubled) {
  World world;
  HaveASlowOne(world, {.retry = false});
  EXPECT_EQ(world.Leased(2), 0u);
}

TEST(LedgerTest, TasksThatAreCancelled) {
  World world;
  world.Arrive(1);
  world.SubmitAll(20);
  world.ComputeAll(1);
  world.SubmitAll(200);
  EXPECT_EQ(world.Begin(1), Ids{21});
  const size_t held = world.Leased(1);
  EXPECT_GT(held, 3u);
  EXPECT_EQ(world.ledger().runnable(), 200 - held);
  // The first one is computed, the next one is there, the last one waits.
  EXPECT_EQ(world.Cancel({{21}, {22}, {220}, {22}, {999}}), (Ids{21, 22, 220}));
  EXPECT_EQ(world.ledger().size(), 197u);
  EXPECT_EQ(world.ledger().ListSlaves()[0].done, 20u);
  world.Compute(1);  // too late
  EXPECT_EQ(world.results.size(), 20u);
  Ids done = world.ComputeAll(1);
  EXPECT_EQ(done.size(), 197u);
  EXPECT_EQ(std::ranges::count(done, 22) + std::ranges::count(done, 220), 0);
  EXPECT_EQ(world.Cancel({{23}}), Ids{});
  EXPECT_EQ(world.ledger().packets(), 0u);
  EXPECT_EQ(world.results.size(), 217u);
}

TEST(LedgerTest, CancelledTasksOfAPacketAndOfItsCopy) {
  World world(3);
  world.Arrive(1);
  world.SubmitAll(9);
  world.ComputeAll(1);
  world.SubmitAll(3);
  world.Begin(1);
  world.Cancel({{11}});
  world.Arrive(2);
  world.Pass(Duration::Seconds(2));
  world.Speculate();
  EXPECT_EQ(world.Begin(2), (Ids{10, 12}));
  world.Cancel({{12}});
  EXPECT_EQ(world.Compute(2), Ids{10});
  EXPECT_EQ(world.results.size(), 10u);
  world.Compute(1);
  EXPECT_EQ(world.results.size(), 10u);
  EXPECT_EQ(world.ledger().packets(), 0u);
}

TEST(LedgerTest, CancelledTasksOfALowPriorityAreForgotten) {
  World world;
  world.SubmitAll(10'000, {.priority = -1});
  world.Submit();
  std::vector<task_id> most;
  for (uint64_t id = 1; id < 10'000; ++id) most.push_back({id});
  EXPECT_EQ(world.Cancel(most).size(), 9'999u);
  world.Arrive(1);
  EXPECT_EQ(world.ComputeAll(1), (Ids{10'001, 10'000}));
  EXPECT_EQ(world.ledger().packets(), 0u);
}

TEST(LedgerTest, JobsOfTheEngineComeToAnEnd) {
  World world;
  world.Arrive(1);
  world.SubmitAll(65'536);
  world.ComputeAll(1);
  world.Submit();
  world.ComputeAll(1);
  EXPECT_EQ(world.results.size(), 65'537u);
}

}  // namespace
}  // namespace spate::mw
