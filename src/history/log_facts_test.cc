#include "history/log_facts.h"

#include <gtest/gtest.h>

#include "store/sqlite/job_journal.h"
#include "store/sqlite/testing_hub.h"

namespace spate::history {
namespace {

using engine::HoldReason;

HoldReason HeldOf(const store::HubWorld& world, JobId job) {
  auto history = store::SqliteJobJournal::Open(world.place(), job.value);
  if (!history) return HoldReason::kDamaged;
  auto facts = ReadLog(*history);
  return facts ? facts->held : HoldReason::kDamaged;
}

TEST(LogFacts, WhatComesToAJobThatHadEndedIsNotHeldForIt) {
  store::HubWorld world;
  JobId job = world.Submit(2);
  ASSERT_TRUE(world.Record(engine::JobHeld{job, HoldReason::kAllFail}));
  EXPECT_EQ(HeldOf(world, job), HoldReason::kAllFail);
  ASSERT_TRUE(world.Finish(job, 2));
  EXPECT_EQ(HeldOf(world, job), HoldReason::kAllFail);
  ASSERT_TRUE(world.Record(engine::JobGrown{job, 1, {}, {{2, 1, 0}}}));
  EXPECT_EQ(HeldOf(world, job), HoldReason::kNone) << "as the engine has it";
}

TEST(LogFacts, MoreTasksForAJobThatGoesOnReleaseNothing) {
  store::HubWorld world;
  JobId job = world.Submit(2);
  ASSERT_TRUE(world.Record(engine::JobHeld{job, HoldReason::kAllFail}));
  ASSERT_TRUE(world.Record(engine::JobGrown{job, 1, {}, {{2, 1, 0}}}));
  EXPECT_EQ(HeldOf(world, job), HoldReason::kAllFail);
  ASSERT_TRUE(world.Record(engine::JobReleased{job}));
  EXPECT_EQ(HeldOf(world, job), HoldReason::kNone);
}

}  // namespace
}  // namespace spate::history
