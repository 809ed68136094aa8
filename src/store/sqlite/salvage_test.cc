#include "store/sqlite/salvage.h"

#include <gtest/gtest.h>

#include "core/engine/engine.h"
#include "store/sqlite/job_journal.h"
#include "store/sqlite/testing_hub.h"

namespace spate::store {
namespace {

void Damage(HubWorld& world, const std::string& sql) {
  world.Close();
  auto db = Database::Open(world.path() + "/hub.db", DbMode::kWrite);
  ASSERT_TRUE(db);
  ASSERT_TRUE(db->Run(sql.c_str())) << sql;
}

// Three jobs of 20 tasks, of which the first ten have ended; two more of each run.
void Write(HubWorld& world) {
  for (int i = 0; i < 3; ++i) world.Submit(20);
  for (uint32_t job = 1; job <= 3; ++job) {
    ASSERT_TRUE(world.Commit(HubWorld::Ends(JobId(job), 0, 10, "out")));
    ASSERT_TRUE(world.Record(engine::Leased{NodeId(1), JobId(job), Attempt(1), {{10, 2}}}));
  }
}

// The engine's state after a replay; the engine would not survive contradictory records.
JobCounts Replayed(HubWorld& world, JobId job, engine::HoldReason& held) {
  engine::Engine engine;
  auto replayed = world.store().Replay([&](const engine::Record& r) { engine.Apply(r); });
  EXPECT_TRUE(replayed) << MessageOf(replayed.error());
  engine.CheckInvariants();
  held = engine.Held(job);
  return engine.Counts(job).value_or(JobCounts());
}

TEST(Salvage, ASoundJournalStaysAsItIs) {
  HubWorld world;
  Write(world);
  world.Close();
  auto check = CheckHub(world.path());
  ASSERT_TRUE(check);
  EXPECT_TRUE(check->sound()) << (check->all.problems.empty() ? "" : check->all.problems[0]);
  EXPECT_EQ(check->job_count, 3u);
  auto report = Salvage(world.path());
  ASSERT_TRUE(report) << MessageOf(report.error());
  EXPECT_EQ(report->kept_as, "");
}

TEST(Salvage, WhatIsSoundOfADamagedJobIsKept) {
  struct Case {
    const char* sql;
    uint32_t succeeded, queued, cancelled;
  };
  // Each harms job 2 alone.
  const Case cases[] = {
      {"UPDATE attempt SET idx = 3 WHERE job = 2 AND idx = 4", 9, 8, 3},
      {"UPDATE rows SET data = x'00' WHERE id = (2 << 32)", 10, 0, 10},
      {"UPDATE job SET cwd = '/else' WHERE id = 2", 10, 10, 0},
      {"UPDATE job_text SET settings = 'x' WHERE job = 2", 10, 0, 10},
  };
  for (const Case& each : cases) {
    HubWorld world;
    Write(world);
    Damage(world, each.sql);
    auto check = CheckHub(world.path());
    ASSERT_TRUE(check);
    EXPECT_FALSE(check->sound()) << each.sql;
    EXPECT_TRUE(check->jobs.contains(2)) << each.sql;
    EXPECT_EQ(check->jobs.size(), 1u) << each.sql;
    auto report = Salvage(world.path());
    ASSERT_TRUE(report) << each.sql << MessageOf(report.error());
    EXPECT_TRUE(os::Exists(report->kept_as));
    EXPECT_EQ(report->sound_jobs, 2u);
    ASSERT_EQ(report->jobs.size(), 1u);
    check = CheckHub(world.path());
    ASSERT_TRUE(check);
    for (const auto& [job, problems] : check->jobs) ADD_FAILURE() << each.sql << problems[0];
    for (const std::string& problem : check->all.problems) ADD_FAILURE() << problem;
    world.Open();
    engine::HoldReason held{};
    EXPECT_EQ(Replayed(world, JobId(1), held).leased, 2u);
    EXPECT_EQ(held, engine::HoldReason::kNone);
    EXPECT_TRUE(world.store().damaged().empty());
    JobCounts counts = Replayed(world, JobId(2), held);
    if (each.queued > 0) {
      EXPECT_EQ(counts.succeeded, each.succeeded) << each.sql;
      EXPECT_EQ(counts.queued, each.queued) << each.sql;
      EXPECT_EQ(counts.cancelled, each.cancelled) << each.sql;
      EXPECT_EQ(held, engine::HoldReason::kDamaged);
    }
    auto history = SqliteJobJournal::Open(world.place(), 2);
    ASSERT_TRUE(history) << MessageOf(history.error());
    EXPECT_EQ(history->Counts()->succeeded, each.succeeded) << each.sql;
    std::string out;
    auto task = history->Task(7);
    ASSERT_TRUE(task && task->last);
    ASSERT_TRUE(history->ReadOutput(*task->last, Stream::kStdout,
                                    [&](std::string_view bytes, uint64_t) { out += bytes; }));
    EXPECT_EQ(out, "out7");
    EXPECT_EQ(world.store().NextJobId(), JobId(4));
  }
}

TEST(Salvage, JobsEndedWhenTheyDid) {
  HubWorld world;
  Write(world);
  JobId job = world.Submit(3);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(job, 0, 3)));
  ASSERT_TRUE(world.Finish(job, 3));
  auto before = world.store().ReadJob(job);
  ASSERT_TRUE(before && before->ended);
  Damage(world, "UPDATE job SET cwd = '/else' WHERE id = 2");
  auto report = Salvage(world.path());
  ASSERT_TRUE(report) << MessageOf(report.error());
  EXPECT_EQ(report->sound_jobs, 3u);
  world.Open();
  auto after = world.store().ReadJob(job);
  ASSERT_TRUE(after) << MessageOf(after.error());
  EXPECT_EQ(after->state, JobState::kFinished);
  EXPECT_EQ(after->ended, before->ended);
  EXPECT_EQ(after->counts, before->counts);
}

}  // namespace
}  // namespace spate::store
