// The estimate as a table: so much work, so many pilots.
#include "core/provision/demand.h"

#include <gtest/gtest.h>

#include "present/why.h"

namespace spate::provision {
namespace {

std::string Text(const std::optional<Reason>& reason) {
  return reason ? present::TextOf({*reason}) : "";
}

constexpr Duration kMinute = Duration::Seconds(60);
constexpr Duration kHour = Duration::Seconds(3600);

// Nodes of 4 cpus for an hour; a new pilot begins after 2 minutes, as nothing was measured.
Pool APool() {
  Pool pool;
  pool.policy.name = "p";
  pool.policy.time_limit = kHour;
  pool.policy.shape.milli_cpus = 4000;
  pool.policy.shape.memory = 8ull << 30;
  pool.policy.shape.labels = {"fast"};
  return pool;
}
ClassDemand Class(uint32_t ready, Duration takes, uint32_t running = 0, uint32_t number = 0) {
  ClassDemand demand;
  demand.key = {JobId(1), number};
  demand.user = "ann";
  demand.ready = ready;
  demand.running = running;
  demand.takes = takes;
  return demand;
}

TEST(Demand, Estimate) {
  const Duration second = Duration::Seconds(1);
  struct {
    const char* what;
    ClassDemand demand;
    Duration wait;  // of the newest pilot; zero: not known
    uint32_t wanted;
  } const kCases[] = {
      {"nothing", Class(0, second), {}, 0},
      {"one task", Class(1, second), {}, 1},
      {"one task that takes no time", Class(1, Duration::Micros(20)), {}, 1},
      {"one task, no time known", Class(1, {}), {}, 1},
      {"many short tasks are one pilot's work", Class(400, second), {}, 1},
      {"5 seconds over 2 minutes of one pilot", Class(500, second), {}, 2},
      {"100,000 s on 4 slots in 2 minutes", Class(100'000, second), {}, 209},
      {"as many as a pilot's life takes, where the wait is longer", Class(100'000, second),
       kHour * 8, 7},
      {"long tasks: no more slots than tasks", Class(40, kHour * 10), {}, 10},
      {"no time known: a slot each", Class(40, {}), {}, 10},
      {"what runs will do it before a new one begins", Class(400, second, 4), {}, 0},
      {"what runs will not", Class(1000, second, 4), {}, 2},
      {"where pilots begin soon, more are worth it", Class(1000, second, 4), kMinute, 4},
      {"what runs is too long to help", Class(40, kHour * 10, 4), {}, 10},
      {"on long waits little work is left to those that run", Class(10'000, second, 4), kHour, 0},
  };
  for (const auto& each : kCases) {
    Pool pool = APool();
    if (each.wait.ns > 0) pool.waits = {each.wait};
    Demand demand(pool);
    demand.Set(each.demand);
    demand.CheckInvariants();
    EXPECT_EQ(demand.Wanted({}), each.wanted) << each.what;
  }
}

TEST(Demand, ASuccessorIsWantedWhereWorkIsLeft) {
  // One pilot runs 4 of them, and ends in half of the hour that a new one would wait.
  struct {
    uint32_t ready;  // tasks of a minute
    uint32_t wanted;
  } const kCases[] = {{10, 0}, {119, 0}, {140, 1}, {260, 1}, {1000, 4}};
  for (const auto& each : kCases) {
    Pool pool = APool();
    pool.waits = {kMinute * 64};
    Demand demand(pool);
    demand.Set(Class(each.ready, kMinute, 4));
    EXPECT_EQ(demand.Wanted(kMinute * 34), each.wanted) << each.ready;
  }
}

TEST(Demand, WhatCouldNotStartIsNone) {
  struct {
    const char* what;
    void (*change)(ClassDemand&);
    const char* why;
  } const kCases[] = {
      {"fits", [](ClassDemand&) {}, ""},
      {"cpus", [](ClassDemand& d) { d.needs.milli_cpus = 5000; },
       "needs 5 cpus, a node of pool p offers 4"},
      {"memory", [](ClassDemand& d) { d.needs.memory = 9ull << 30; },
       "needs 9.0 GB of memory, a node of pool p offers 8.0 GB"},
      {"gpus", [](ClassDemand& d) { d.needs.named = {{"gpus", 1}}; },
       "needs 1 of 'gpus', a node of pool p offers 0"},
      {"its label", [](ClassDemand& d) { d.needs.labels = {"fast"}; }, ""},
      {"a label", [](ClassDemand& d) { d.needs.labels = {"big"}; },
       "needs a node with label 'big'; a node of pool p does not have it"},
      {"a feature of its program", [](ClassDemand& d) { d.needs.labels = {"@new"}; }, ""},
      {"a node", [](ClassDemand& d) { d.needs.on_node = "n7"; },
       "must run on node n7, which no new pilot will be"},
      {"time", [](ClassDemand& d) { d.needs.time = kMinute * 59; }, ""},
      {"all the time", [](ClassDemand& d) { d.needs.time = kHour; },
       "may run for 1h00m, but a pilot of pool p lasts only 59m50s"},
      {"a stranger", [](ClassDemand& d) { d.user = "bob"; }, "pool p is ann's"},
  };
  for (const auto& each : kCases) {
    Pool pool = APool();
    pool.policy.user = "ann";
    ClassDemand demand = Class(10, kMinute);
    each.change(demand);
    EXPECT_EQ(Text(WhyNotHere(pool, demand.needs, demand.gang, demand.user)), each.why)
        << each.what;
    Demand sums(pool);
    sums.Set(demand);
    EXPECT_EQ(sums.any(), std::string_view(each.why).empty()) << each.what;
  }
}

// Nodes of 4 cpus, at most 3 of them.
TEST(Demand, GangsWantTheirNodesAtOnce) {
  struct {
    const char* what;
    GangShape gang;
    uint32_t ready;  // processes
    const char* label;
    Duration takes;
    uint32_t wanted;
    const char* why;
  } const kCases[] = {
      {"a short one, all of it", {.procs = 8, .nodes = 2}, 8, "fast", kMinute / 60, 2, ""},
      {"on any nodes", {.procs = 9}, 9, "fast", kMinute / 60, 3, ""},
      {"many short ones", {.procs = 8, .nodes = 2}, 80, "fast", kMinute / 60, 2, ""},
      {"many long ones", {.procs = 8, .nodes = 2}, 80, "fast", kHour, 20, ""},
      {"processes share a slot", {.procs = 4, .nodes = 1}, 4, "fast", kHour, 1, ""},
      {"whole nodes", {.procs = 2, .nodes = 2, .whole = true}, 4, "fast", kHour, 4, ""},
      {"too many for a node",
       {.procs = 5, .nodes = 1},
       5,
       "fast",
       kHour,
       0,
       "does not fit a node of pool p"},
      {"as many nodes as there may be", {.procs = 3, .nodes = 3}, 3, "pool:p", kHour, 3, ""},
      {"more than that",
       {.procs = 4, .nodes = 4},
       4,
       "pool:p",
       kHour,
       0,
       "is a gang that needs 4 nodes, and pool p has 3 at most"},
      {"more than that, on any nodes",
       {.procs = 13},
       13,
       "pool:p",
       kHour,
       0,
       "is a gang that needs 4 nodes, and pool p has 3 at most"},
      {"others help out", {.procs = 4, .nodes = 4}, 4, "fast", kHour, 4, ""},
  };
  for (const auto& each : kCases) {
    Pool pool = APool();
    pool.policy.max_pilots = 3;
    pool.policy.shape.labels = {"fast", "pool:p"};
    ClassDemand demand = Class(each.ready, each.takes);
    demand.gang = each.gang;
    demand.needs.labels = {each.label};
    EXPECT_EQ(Text(WhyNotHere(pool, demand.needs, demand.gang, "ann")), each.why) << each.what;
    Demand sums(pool);
    sums.Set(demand);
    sums.CheckInvariants();
    EXPECT_EQ(sums.Wanted({}), each.wanted) << each.what;
    demand.ready = 0;
    sums.Set(demand);
    sums.CheckInvariants();
    EXPECT_EQ(sums.at_once(), 0u);
  }
}

TEST(Demand, AnUnknownNodeIsProbed) {
  Pool pool = APool();
  pool.policy.shape.milli_cpus = 0;
  Demand demand(pool);
  ClassDemand tasks = Class(1'000'000, kMinute);
  tasks.needs.milli_cpus = 64'000;
  demand.Set(tasks);
  EXPECT_TRUE(demand.probes());
  tasks.needs.labels = {"big"};  // labels are known all the same
  demand.Set(tasks);
  EXPECT_FALSE(demand.probes());
  EXPECT_FALSE(demand.any());
}

TEST(Demand, SlotsThatWereTypedAreBelieved) {
  Pool pool = APool();
  pool.policy.shape = {.slots = 4};
  Demand demand(pool);
  demand.Set(Class(40, kMinute * 10));
  EXPECT_FALSE(demand.probes());
  EXPECT_EQ(demand.Wanted({}), 10u);
  // The first pilot finds out what the slots do not tell.
  ClassDemand large = Class(40, kMinute * 10);
  large.needs.milli_cpus = 64'000;
  demand.Set(large);
  EXPECT_TRUE(demand.probes());
  large = Class(40, kMinute * 10);
  large.needs.memory = 1 << 30;
  demand.Set(large);
  EXPECT_TRUE(demand.probes());
}

TEST(Demand, APoolThatSpreadsWantsAPilotForAllThatWait) {
  Pool pool = APool();
  Demand demand(pool);
  const ClassDemand tasks = Class(400, Duration::Seconds(1), 4);
  demand.Set(tasks);
  EXPECT_EQ(demand.Wanted({}), 0u);
  pool.policy.spread = true;
  EXPECT_TRUE(demand.IsStale());
  demand.Renew({{tasks.key, tasks}});
  EXPECT_EQ(demand.Wanted({}), 100u);
  demand.Set(Class(3, Duration::Seconds(1)));
  EXPECT_EQ(demand.Wanted({}), 1u);
  demand.Set(Class(0, {}));
  EXPECT_EQ(demand.Wanted({}), 0u);
  // Nodes that nobody described count as one slot, until the first one is there.
  pool.policy.shape.milli_cpus = 0;
  demand.Renew({{tasks.key, tasks}});
  EXPECT_EQ(demand.Wanted({}), 400u);
}

TEST(Demand, SumsFollowEachChange) {
  Pool pool = APool();
  Demand demand(pool);
  for (uint32_t i = 0; i < 200; ++i) {
    demand.Set(Class(i * 37 % 11 * 1'000'000, Duration::Seconds(i % 7 * 100'000), i % 3, i % 50));
    demand.CheckInvariants();
  }
  for (uint32_t i = 0; i < 50; ++i) demand.Set(Class(0, {}, 5, i));
  demand.CheckInvariants();
  EXPECT_FALSE(demand.any());
  EXPECT_EQ(demand.Wanted(kHour), 0u);
}

}  // namespace
}  // namespace spate::provision
