// Leased tasks that wait on their node, and the reason of each job's first one.
#include <gtest/gtest.h>

#include "core/agent/agent.h"

namespace spate::agent {
namespace {

constexpr Instant kStart{1'000'000'000'000};
constexpr Duration kSecond = Duration::Seconds(1);

struct Scene {
  explicit Scene(uint32_t slots = 4) : agent(OfferOf(slots)) {}
  static Offer OfferOf(uint32_t slots) {
    Offer offer{.node_name = "n1"};
    offer.slots = slots;
    offer.milli_cpus = 2 * kMilliCpu;
    offer.memory = 1000;
    offer.named = {{"licence", {"a"}}};
    return offer;
  }
  void Step(std::vector<Event> events) {
    Output out;
    agent.Step({now, std::move(events)}, out);
  }
  void Lease(uint32_t job, Needs needs, uint32_t tasks = 1, JobSettings settings = {}) {
    Step({JobOpened{JobId(job), std::make_shared<const JobSettings>(settings)},
          LeaseArrived{Epoch(1), JobId(job), Attempt(1), std::move(needs), {{0, tasks}}}});
  }
  // The reason for the job's tasks that have waited for a second.
  Reason WhyOf(uint32_t job) {
    for (const Line& line : agent.Lines(now - kSecond)) {
      if (line.first.job == JobId(job)) return line.why;
    }
    return {};
  }

  Instant now = kStart;
  Agent agent;
};

TEST(AgentLines, WhatStartsWithinASecondIsNotTold) {
  Scene scene(1);
  scene.Lease(1, Needs());
  scene.Lease(2, Needs(), 3);
  EXPECT_TRUE(scene.agent.Lines(scene.now - kSecond).empty());
  scene.now = scene.now + kSecond;
  auto lines = scene.agent.Lines(scene.now - kSecond);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].first, (AttemptRef{JobId(2), 0, Attempt(1)}));
  EXPECT_EQ(lines[0].tasks, 3u);
  EXPECT_EQ(lines[0].why, (Reason{ReasonKind::kSlotsTaken, {1, 1, 1}}));
}

// Short tasks are held ahead by their slot, and one of them has turned out long.
TEST(AgentLines, WhatASlotHoldsAheadWaitsForTheTaskBeforeIt) {
  Scene scene(1);
  scene.Lease(1, Needs(), 5);
  AttemptEnd end;
  end.ref = {JobId(1), 0, Attempt(1)};
  end.slot = 1;
  end.wall = Duration::Millis(1);
  scene.Step({AttemptOver{end}});
  ASSERT_EQ(scene.agent.waiting(), 0u);
  EXPECT_TRUE(scene.agent.Lines(scene.now - kSecond).empty());
  scene.now = scene.now + kSecond;
  auto lines = scene.agent.Lines(scene.now - kSecond);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].first, (AttemptRef{JobId(1), 2, Attempt(1)}));
  EXPECT_EQ(lines[0].tasks, 3u);
  EXPECT_EQ(lines[0].why, (Reason{ReasonKind::kSlotsTaken, {1, 1, 2}}));
}

TEST(AgentLines, EachReason) {
  Needs licence, memory, cpus;
  licence.named = {{"licence", 1}};
  memory.memory = 800;
  cpus.milli_cpus = 2 * kMilliCpu;
  licence.milli_cpus = memory.milli_cpus = 100;
  const struct {
    Needs needs;
    Reason why;
  } kTable[] = {
      {licence, {ReasonKind::kNodeLacks, {1, 0}, {}, {"licence"}}},
      {memory, {ReasonKind::kNodeLacks, {800, 200}, {}, {"memory"}}},
      {cpus, {ReasonKind::kNodeLacks, {2000, 0}, {}, {"cpus"}}},
  };
  for (const auto& row : kTable) {
    Scene scene;
    scene.Lease(1, row.needs);
    scene.Lease(2, row.needs);
    scene.now = scene.now + kSecond;
    EXPECT_EQ(scene.WhyOf(2), row.why) << row.why.names[0];
    EXPECT_EQ(scene.WhyOf(1), Reason()) << "it runs";
  }
}

TEST(AgentLines, WaitsThatTheJobAskedFor) {
  Scene scene;
  JobSettings settings;
  settings.start_delay = Duration::Seconds(60);
  scene.Lease(1, Needs(), 2, settings);
  scene.now = scene.now + kSecond;
  EXPECT_EQ(scene.WhyOf(1), (Reason{ReasonKind::kStartDelay, {}, {Duration::Seconds(60)}}));

  Scene loaded;
  settings = {};
  settings.max_load = 0.5;
  loaded.Lease(1, Needs(), 1, settings);
  loaded.Step({LoadSampled{1 << 30, 3.0}});
  loaded.now = loaded.now + kSecond;
  EXPECT_EQ(loaded.WhyOf(1).kind, ReasonKind::kStartsPaused);
  EXPECT_EQ(loaded.WhyOf(1).names,
            std::vector<std::string>{"the load is 3.0, above --max-load 0.5"});
  loaded.Step({LoadSampled{1 << 30, 0.1}});
  EXPECT_EQ(loaded.WhyOf(1), Reason()) << "it runs";

  Scene full;
  settings = {};
  settings.min_free_memory = 1 << 20;
  full.Lease(1, Needs(), 1, settings);
  full.Step({LoadSampled{1 << 10, 0}});
  full.now = full.now + kSecond;
  EXPECT_EQ(full.WhyOf(1).kind, ReasonKind::kStartsPaused);
  // A task at the back of the line waits for its turn.
  full.Lease(2, Needs());
  full.now = full.now + kSecond;
  EXPECT_EQ(full.WhyOf(2).kind, ReasonKind::kStartsPaused);
}

}  // namespace
}  // namespace spate::agent
