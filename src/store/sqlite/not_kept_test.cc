// Output that was not kept, by cause and job.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "store/sqlite/job_journal.h"
#include "store/sqlite/testing_hub.h"

namespace spate::store {
namespace {

// The numbers of tasks by cause, as "3:1" for one task by the third cause.
std::string NotKeptOf(HubWorld& world, JobId job) {
  std::string text;
  auto rows = world.store().ReadJobsBetween(job, job, 1);
  for (const NotKeptFacts& each : rows->front().not_kept) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", static_cast<int>(each.why), each.tasks);
  }
  return text;
}

TEST(NotKept, TheCauseIsCountedForEachJob) {
  HubWorld world;
  struct Case {
    int64_t keep;
    NotKept why;
  };
  const std::string kilobyte(1'000, 'x');
  for (Case each : {Case{100, NotKept::kBound}, Case{~int64_t{100}, NotKept::kShare},
                    Case{kKeepOutput, NotKept::kSpool}}) {
    JobRow row = HubWorld::RowOf(world.store().NextJobId(), 4);
    row.keep_output = each.keep;
    world.store().PutJob(row, nullptr);
    ASSERT_TRUE(world.Commit(HubWorld::Accept(row.job, 4)));
    Bundle bundle = HubWorld::Ends(row.job, 0, 2, kilobyte);
    if (each.why == NotKept::kSpool) bundle.outputs[0] = bundle.outputs[1] = nullptr;
    ASSERT_TRUE(world.Commit(std::move(bundle)));
    ASSERT_TRUE(world.Commit(HubWorld::Ends(row.job, 2, 1, "short")));
    const std::string two = fmt::format("{}:2", static_cast<int>(each.why));
    EXPECT_EQ(NotKeptOf(world, row.job), two);
    EXPECT_EQ(world.store().ReadJob(row.job)->keep_output, each.keep);
    world.Reopen();
    EXPECT_EQ(NotKeptOf(world, row.job), two);
    auto history = SqliteJobJournal::Open(world.place(), row.job.value);
    EXPECT_EQ(history->Task(1)->last->record.end.not_kept, each.why);
    EXPECT_EQ(history->Task(2)->last->record.end.not_kept, NotKept::kNone);
  }
  EXPECT_EQ(NotKeptOf(world, JobId(2)), "2:2") << "each job has its own";
}

TEST(NotKept, WhatRunsAgainNoLongerCountsAsNotKept) {
  HubWorld world;
  JobId job = world.Submit(3);
  world.store().KeepOutput(false);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(job, 0, 3, "lost")));
  world.store().KeepOutput(true);
  ASSERT_TRUE(world.Finish(job, 3));
  EXPECT_EQ(NotKeptOf(world, job), "1:3");
  engine::TasksReopened again{.job = job, .tasks = {{0, 1}, {2, 1}}, .succeeded = true};
  ASSERT_TRUE(world.Record(again));
  EXPECT_EQ(NotKeptOf(world, job), "1:1");
  ASSERT_TRUE(world.Commit(HubWorld::Ends(job, 0, 1, "kept")));
  again.tasks = {{0, 1}};
  ASSERT_TRUE(world.Record(again));
  EXPECT_EQ(NotKeptOf(world, job), "1:1") << "the newest end of task 1 has its output";
  ASSERT_TRUE(world.Finish(job, 3));
  ASSERT_TRUE(Await(world.loop(), [&](auto done) { world.store().ForgetJob(job, done); }));
  world.Close();
  auto db = Database::Open(JournalOf(world.place(), 0).DbPath(), DbMode::kRead);
  EXPECT_EQ(db->QueryInt("SELECT COUNT(*) FROM meta WHERE key LIKE 'not_kept%'").value_or(-1), 0);
}

}  // namespace
}  // namespace spate::store
