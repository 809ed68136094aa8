#include "store/sqlite/sqlite_store.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "store/sqlite/schema.h"
#include "store/sqlite/testing_store.h"

namespace spate::store {
namespace {

Bundle LeaseAndEnds(TaskIndex first, uint32_t count) {
  Bundle bundle;
  bundle.records.push_back(engine::Leased{NodeId(1), JobId(1), Attempt(1), {{first, count}}});
  for (TaskIndex i = first; i < first + count; ++i) bundle.records.push_back(EndOf(i));
  return bundle;
}

TEST(SqliteStore, RecordsComeBackInOrder) {
  StoreWorld world;
  JobPlan plan = {.task_count = 20, .requests = {Needs()}, .runs = {{0, 20, 0}}};
  Bundle first;
  first.records.push_back(engine::JobAccepted{JobId(1), plan});
  ASSERT_TRUE(world.Commit(std::move(first)));
  ASSERT_TRUE(world.Commit(LeaseAndEnds(0, 10)));
  ASSERT_TRUE(world.Commit(LeaseAndEnds(10, 10)));
  world.Reopen();
  auto records = world.Replayed();
  ASSERT_EQ(records.size(), 23u);
  EXPECT_EQ(std::get<engine::JobAccepted>(records[0]).plan.task_count, 20u);
  EXPECT_EQ(std::get<engine::Leased>(records[12]).tasks[0].first, 10u);
  for (TaskIndex i = 0; i < 20; ++i) {
    const auto& ended = std::get<engine::AttemptEnded>(records[2 + i + (i >= 10 ? 1 : 0)]);
    EXPECT_EQ(ended.end.ref, EndOf(i).end.ref);
    EXPECT_EQ(ended.end.start, EndOf(i).end.start);
    EXPECT_EQ(ended.end.wall, EndOf(i).end.wall);
    EXPECT_EQ(ended.end.peak_memory, 1500u << 10);
    EXPECT_EQ(ended.ended, ended.end.start + ended.end.wall);
  }
  // The sequence goes on where it stood.
  ASSERT_TRUE(world.Commit(LeaseAndEnds(20, 1)));
  world.Reopen();
  EXPECT_EQ(world.Replayed().size(), 25u);
}

// And takes along what waits before it.
TEST(SqliteStore, WhatIsUrgentWaitsForNoGap) {
  StoreWorld world({.commit_gap = Duration::Seconds(3600)});
  int durable = 0;
  for (TaskIndex i = 0; i < 20; ++i) {
    world.store().Append(LeaseAndEnds(2 * i, 1), [&](Status status) { durable += status ? 1 : 0; });
    Bundle urgent = LeaseAndEnds(2 * i + 1, 1);
    urgent.urgent = true;
    ASSERT_TRUE(world.Commit(std::move(urgent)));
    EXPECT_EQ(durable, i + 1);
  }
}

TEST(SqliteStore, EveryFieldOfAnAttemptComesBack) {
  StoreWorld world;
  engine::AttemptEnded rare;
  rare.node = NodeId(9);
  rare.verdict = engine::Verdict::kRetry;
  rare.counts = false;
  rare.ended = {1'600'000'000'123'456'789};
  AttemptEnd& e = rare.end;
  e.ref = {JobId(77), 4'000'000'000u, Attempt(65535)};
  e.cause = Cause::kMemory;
  e.memory_source = MemorySource::kSampled;
  e.slot = 4096;
  e.status = -2;
  e.start = {1'500'000'000'000'001'000};
  e.wall = Duration::Seconds(100'000'000);
  e.user = Duration::Micros(1);
  e.system = Duration::Micros(2);
  e.peak_memory = 1ull << 45;
  e.read_bytes = 0;
  e.written_bytes = 1ll << 50;
  e.left_behind = 3;
  e.stdout_total = 1ull << 40;
  e.stderr_total = 7;
  e.note = std::string("left \0 behind\xff", 14);
  e.processes = {{1, 2, 3, 4, 5, 6}};
  e.not_kept = NotKept::kSpool;
  engine::AttemptEnded never;  // not started at all
  never.end.ref = {JobId(77), 1, Attempt(1)};
  Bundle bundle;
  bundle.records = {rare, never};
  ASSERT_TRUE(world.Commit(std::move(bundle)));
  world.Reopen();
  auto records = world.Replayed();
  ASSERT_EQ(records.size(), 2u);
  const auto& back = std::get<engine::AttemptEnded>(records[0]);
  EXPECT_EQ(back.node, rare.node);
  EXPECT_EQ(back.verdict, rare.verdict);
  EXPECT_EQ(back.counts, rare.counts);
  EXPECT_EQ(back.ended, rare.ended);
  EXPECT_EQ(back.end.ref, e.ref);
  EXPECT_EQ(back.end.cause, e.cause);
  EXPECT_EQ(back.end.memory_source, e.memory_source);
  EXPECT_EQ(back.end.slot, e.slot);
  EXPECT_EQ(back.end.status, e.status);
  EXPECT_EQ(back.end.start, e.start);
  EXPECT_EQ(back.end.wall, e.wall);
  EXPECT_EQ(back.end.user, e.user);
  EXPECT_EQ(back.end.system, e.system);
  EXPECT_EQ(back.end.peak_memory, e.peak_memory);
  EXPECT_EQ(back.end.read_bytes, e.read_bytes);
  EXPECT_EQ(back.end.written_bytes, e.written_bytes);
  EXPECT_EQ(back.end.left_behind, e.left_behind);
  EXPECT_EQ(back.end.stdout_total, e.stdout_total);
  EXPECT_EQ(back.end.stderr_total, e.stderr_total);
  EXPECT_EQ(back.end.note, e.note);
  ASSERT_EQ(back.end.processes.size(), 1u);
  EXPECT_EQ(back.end.processes[0].rank, 3u);
  EXPECT_EQ(back.end.processes[0].stdout_bytes, 5u);
  EXPECT_EQ(back.end.processes[0].stderr_bytes, 6u);
  EXPECT_EQ(back.end.not_kept, NotKept::kSpool);
  const auto& second = std::get<engine::AttemptEnded>(records[1]);
  EXPECT_EQ(second.end.start, Instant());
  EXPECT_EQ(second.end.read_bytes, -1);
  EXPECT_TRUE(second.end.note.empty());
}

TEST(SqliteStore, CompletionsAreInOrderAndOnTheLoop) {
  StoreWorld world;
  std::vector<int> done;
  for (int i = 0; i < 200; ++i) {
    world.store().Append(LeaseAndEnds(static_cast<TaskIndex>(i), 1), [&, i](Status status) {
      EXPECT_TRUE(status);
      done.push_back(i);
      if (i == 199) world.loop().Stop();
    });
  }
  EXPECT_TRUE(done.empty());
  EXPECT_GT(world.store().Backlog(), 0u);
  world.loop().Run();
  EXPECT_EQ(done.size(), 200u);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_EQ(world.store().Backlog(), 0u);
}

TEST(SqliteStore, DestructionWritesWhatIsQueuedAndCallsNothing) {
  StoreWorld world;
  world.store().Append(LeaseAndEnds(0, 5), [](Status) { FAIL(); });
  world.Reopen();
  EXPECT_EQ(world.Replayed().size(), 6u);
  world.loop().Post([&] { world.loop().Stop(); });
  world.loop().Run();
}

TEST(SqliteStore, ACompletionMayDestroyTheStore) {
  StoreWorld world;
  for (TaskIndex i = 0; i < 3; ++i) {
    world.store().Append(LeaseAndEnds(i, 1), [&, i](Status) {
      EXPECT_EQ(i, 0u);
      world.CloseStore();
      world.loop().Post([&] { world.loop().Stop(); });
    });
  }
  world.loop().Run();
}

TEST(SqliteStore, RowsFromMemoryAndFromDisk) {
  StoreWorld world;
  std::vector<std::string> all;
  for (int i = 0; i < 5000; ++i) all.push_back("row " + std::to_string(i));
  all[17] = std::string("any \0\n\xff bytes", 13);
  all[18] = "";
  all[19] = std::string(200'000, 'x');
  Bundle bundle;
  bundle.rows.push_back({JobId(1), 0, {all.begin(), all.begin() + 3000}});
  bundle.rows.push_back({JobId(1), 3000, {all.begin() + 3000, all.end()}});
  world.store().Append(std::move(bundle), [&](Status) { world.loop().Stop(); });
  auto check = [&](TaskIndex first, uint32_t count) {
    auto rows = world.store().Rows(JobId(1), first, count);
    ASSERT_TRUE(rows) << MessageOf(rows.error());
    EXPECT_TRUE(std::equal(rows->begin(), rows->end(), all.begin() + first)) << first;
    EXPECT_EQ(rows->size(), count);
  };
  check(2990, 20);
  world.loop().Run();
  for (int life = 0; life < 2; ++life) {
    check(0, 5000);
    check(4999, 1);
    check(16, 5);
    auto beyond = world.store().Rows(JobId(1), 4999, 2);
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().kind, ErrorKind::kNotFound);
    EXPECT_NE(beyond.error().message.find("task 5001"), std::string::npos);
    world.Reopen();
  }
}

TEST(SqliteStore, RowsOfAnUnfinishedSubmissionAreReplaced) {
  StoreWorld world;
  auto rows = [](TaskIndex first, uint32_t count, const std::string& text) {
    Bundle bundle;
    bundle.rows.push_back({JobId(1), first, std::vector<std::string>(count, text)});
    return bundle;
  };
  ASSERT_TRUE(world.Commit(rows(0, 10, "kept")));
  ASSERT_TRUE(world.Commit(rows(10, 500, "orphan")));
  ASSERT_TRUE(world.Commit(rows(510, 500, "orphan")));
  EXPECT_EQ(world.store().Rows(JobId(1), 600, 1)->at(0), "orphan");
  ASSERT_TRUE(world.Commit(rows(10, 700, "new")));
  EXPECT_EQ(world.store().Rows(JobId(1), 9, 1)->at(0), "kept");
  for (TaskIndex i : {600u, 709u, 510u, 10u, 509u}) {
    EXPECT_EQ(world.store().Rows(JobId(1), i, 1)->at(0), "new") << i;
    world.Reopen();  // no chunk is remembered
  }
}

TEST(SqliteStore, JobRow) {
  StoreWorld world;
  EXPECT_EQ(world.store().ReadJob().error().kind, ErrorKind::kNotFound);
  JobRow row = ExampleJob(10);
  row.argv = {"a b", "\"q\"", "\xff\n", ""};
  row.settings = std::string("any\0bytes", 9);
  ASSERT_TRUE(world.Put(row));
  auto back = world.store().ReadJob();
  ASSERT_TRUE(back);
  EXPECT_EQ(back->argv, row.argv);
  EXPECT_EQ(back->files, row.files);
  EXPECT_EQ(back->settings, row.settings);
  EXPECT_EQ(back->created, row.created);
  EXPECT_EQ(back->ended, std::nullopt);
  EXPECT_EQ(back->pid, 4711);
  JobProgress progress = {.job = JobId(1),
                          .state = JobState::kFinished,
                          .ended = Instant{1'600'000'009'000'000'000},
                          .counts = {.total = 10, .succeeded = 8, .failed = 2}};
  world.store().PutProgress(progress, [&](Status status) {
    EXPECT_TRUE(status);
    world.loop().Stop();
  });
  world.loop().Run();
  back = world.store().ReadJob();
  EXPECT_EQ(back->state, JobState::kFinished);
  EXPECT_EQ(back->ended, progress.ended);
  EXPECT_EQ(back->counts, progress.counts);
  EXPECT_EQ(back->name, "example");
}

TEST(SqliteStore, ViewsAreReadable) {
  StoreWorld world;
  Bundle bundle;
  engine::AttemptEnded again = EndOf(1, Cause::kSignal);
  again.verdict = engine::Verdict::kRetry;
  bundle.records = {EndOf(0), again, EndOf(2, Cause::kMemory)};
  ASSERT_TRUE(world.Commit(std::move(bundle)));
  auto db = OpenJournalToRead(world.dir().DbPath());
  ASSERT_TRUE(db);
  auto text = [&](const char* sql) {
    auto s = db->Prepare(sql);
    EXPECT_TRUE(s);
    std::string out;
    while (*s->Step()) out += s->Text(0) + "\n";
    return out;
  };
  EXPECT_EQ(text("SELECT task || ' ' || state || ' ' || cause || ' ' || tries FROM task"),
            "1 succeeded success 1\n2 queued signal 1\n3 failed memory 1\n");
  EXPECT_EQ(text("SELECT memory_source || ' ' || peak_kb || ' ' || round(start - 1600000000, 6) "
                 "FROM attempts WHERE task = 3"),
            "rusage 1500 0.0005\n");
}

}  // namespace
}  // namespace spate::store
