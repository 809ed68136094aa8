// A hub's journal: many jobs in one database.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <ranges>

#include "core/engine/record_job.h"
#include "store/sqlite/job_journal.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/salvage.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/tail.h"
#include "store/sqlite/testing_hub.h"

namespace spate::store {
namespace {

constexpr Instant kStart{1'600'000'000'000'000'000};

// How many records of each job came back.
std::map<uint32_t, int> Counted(HubWorld& world) {
  std::map<uint32_t, int> counts;
  auto replayed = world.store().Replay([&](const engine::Record& r) { ++counts[JobOf(r).value]; });
  EXPECT_TRUE(replayed) << MessageOf(replayed.error());
  return counts;
}

std::string OutputOf(JobJournal& history, TaskIndex index) {
  std::string text;
  auto attempts = history.Attempts(index);
  EXPECT_TRUE(attempts) << MessageOf(attempts.error());
  for (const AttemptEntry& attempt : *attempts) {
    auto read = history.ReadOutput(attempt, Stream::kStdout,
                                   [&](std::string_view bytes, uint64_t) { text += bytes; });
    EXPECT_TRUE(read) << MessageOf(read.error());
  }
  return text;
}

int64_t Query(const HubWorld& world, const char* sql) {
  auto db = OpenJournalToRead(world.path() + "/hub.db");
  EXPECT_TRUE(db) << MessageOf(db.error());
  return db->QueryInt(sql).value();
}

TEST(HubStore, ManyJobsInterleaved) {
  HubWorld world;
  JobId one = world.Submit(20, "ada");
  JobId two = world.Submit(30, "bob");
  EXPECT_EQ(one, JobId(1));
  EXPECT_EQ(two, JobId(2));
  for (TaskIndex first = 0; first < 20; first += 5) {
    ASSERT_TRUE(world.Commit(HubWorld::Ends(one, first, 5, "a")));
    ASSERT_TRUE(world.Commit(HubWorld::Ends(two, first, 5, "b")));
  }
  for (int life = 0; life < 2; ++life) {
    EXPECT_EQ(world.store().Rows(one, 3, 2)->at(1), "row 1.5");
    EXPECT_EQ(world.store().Rows(two, 3, 2)->at(1), "row 2.5");
    EXPECT_EQ(world.store().Rows(one, 20, 1).error().kind, ErrorKind::kNotFound);
    for (JobId job : {one, two}) {
      auto history = SqliteJobJournal::Open(world.place(), job.value);
      ASSERT_TRUE(history) << MessageOf(history.error());
      JobCounts expected = {
          .total = job == one ? 20u : 30u, .queued = job == one ? 0u : 10u, .succeeded = 20};
      EXPECT_EQ(*history->Counts(), expected);
      EXPECT_EQ(history->Statistics()->attempts, 20u);
      EXPECT_EQ(OutputOf(*history, 7), job == one ? "a7" : "b7");
      EXPECT_EQ(*history->RowText(0), job == one ? "row 1.1" : "row 2.1");
      int leases = 0;
      ASSERT_TRUE(history->Log([&](const engine::Record& r) {
        EXPECT_EQ(JobOf(r), job);
        if (std::holds_alternative<engine::Leased>(r)) ++leases;
      }));
      EXPECT_EQ(leases, 4);
    }
    EXPECT_EQ(JobNumbers(world.place()).value(), (std::vector<uint32_t>{1, 2}));
    world.Reopen();
    EXPECT_EQ(Counted(world), (std::map<uint32_t, int>{{1, 25}, {2, 25}}));
  }
  EXPECT_EQ(world.store().NextJobId(), JobId(3));
}

TEST(HubStore, ReplayGivesUnfinishedJobsOnly) {
  HubWorld world;
  JobId one = world.Submit(2);
  JobId two = world.Submit(2);
  JobId three = world.Submit(2);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(two, 0, 2)));
  ASSERT_TRUE(world.Commit(HubWorld::Ends(one, 0, 1)));
  ASSERT_TRUE(world.Finish(two, 2));
  ASSERT_TRUE(world.Commit(HubWorld::Ends(three, 0, 2)));
  world.Reopen();
  EXPECT_EQ(Counted(world), (std::map<uint32_t, int>{{1, 3}, {3, 4}}));
  EXPECT_EQ(world.store().ReadJobs(WhichJobs::kAll)->size(), 3u);
  auto unfinished = world.store().ReadJobs(WhichJobs::kUnfinished);
  ASSERT_EQ(unfinished->size(), 2u);
  EXPECT_EQ(unfinished->at(1).job, three);
  // A finished job's records are there on demand, and in the next life when it was reopened.
  std::vector<engine::Record> of_two;
  ASSERT_TRUE(world.store().ReplayJob(two, [&](const engine::Record& r) { of_two.push_back(r); }));
  ASSERT_EQ(of_two.size(), 5u);
  EXPECT_TRUE(std::holds_alternative<engine::JobAccepted>(of_two.front()));
  EXPECT_TRUE(std::holds_alternative<engine::JobFinished>(of_two.back()));
  ASSERT_TRUE(world.Finish(one, 2));
  ASSERT_TRUE(world.Finish(three, 2));
  world.Reopen();
  EXPECT_TRUE(Counted(world).empty());
  // Later records that do not reopen it belong to it all the same.
  ASSERT_TRUE(world.Record(engine::PolicyChanged{two, {}}));
  world.Reopen();
  EXPECT_TRUE(Counted(world).empty());
  ASSERT_TRUE(world.Record(engine::TasksReopened{two, {{0, 1}}}));
  world.Reopen();
  EXPECT_EQ(Counted(world), (std::map<uint32_t, int>{{2, 7}}));
  EXPECT_EQ(world.store().ReplayJob(JobId(9), [](const engine::Record&) {}).error().kind,
            ErrorKind::kNotFound);
}

TEST(HubStore, TheLastRecordEndsTheRow) {
  HubWorld world;
  JobId job = world.Submit(3);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(job, 0, 3)));
  // Progress that the hub notes at intervals may be queued after the job's last record.
  Bundle end;
  end.records.push_back(engine::JobFinished{job, {.total = 3, .succeeded = 2, .failed = 1}});
  end.now = kStart + Duration::Seconds(7);
  world.store().Append(std::move(end), [](Status) {});
  world.store().PutProgress({job, JobState::kRunning, std::nullopt, std::nullopt, {.total = 3}});
  world.Reopen();
  auto row = world.store().ReadJob(job);
  ASSERT_TRUE(row) << MessageOf(row.error());
  EXPECT_EQ(row->state, JobState::kFinished);
  EXPECT_EQ(row->counts, (JobCounts{.total = 3, .succeeded = 2, .failed = 1}));
  EXPECT_EQ(row->ended, kStart + Duration::Seconds(7));
  // And one that goes on has no end.
  ASSERT_TRUE(world.Record(engine::TasksReopened{job, {{2, 1}}}));
  row = world.store().ReadJob(job);
  EXPECT_EQ(row->state, JobState::kRunning);
  EXPECT_FALSE(row->ended);
  world.store().PutProgress({job, JobState::kHeld, std::nullopt, std::nullopt, {.total = 3}});
  world.Reopen();
  EXPECT_EQ(world.store().ReadJob(job)->state, JobState::kHeld);
}

TEST(HubStore, WhatBelongsToNoJobIsAlwaysReplayed) {
  HubWorld world;
  ASSERT_TRUE(world.Record(engine::NodeDrained{NodeId(7)}));
  JobId one = world.Submit(2);
  ASSERT_TRUE(world.Record(engine::NodeUndrained{NodeId(7)}));
  ASSERT_TRUE(world.Finish(one, 2));
  world.Submit(2);
  ASSERT_TRUE(world.Record(engine::NodeDrained{NodeId(8)}));
  world.Reopen();
  std::vector<engine::Record> records;
  ASSERT_TRUE(world.store().Replay([&](const engine::Record& r) { records.push_back(r); }));
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(std::get<engine::NodeDrained>(records[0]).node, NodeId(7));
  EXPECT_EQ(std::get<engine::NodeUndrained>(records[1]).node, NodeId(7));
  EXPECT_EQ(std::get<engine::JobAccepted>(records[2]).job, JobId(2));
  EXPECT_EQ(std::get<engine::NodeDrained>(records[3]).node, NodeId(8));
}

// Its job may be forgotten: the record is of none.
TEST(HubStore, WhatIsRememberedOfANodeOutlivesItsJob) {
  HubWorld world;
  const JobId job = world.Submit(2);
  const engine::NodeBlamed blamed{NodeId(7), {{job, "ada"}}};
  ASSERT_TRUE(world.Record(blamed));
  ASSERT_TRUE(world.Finish(job, 2));
  ASSERT_TRUE(Await(world.loop(), [&](auto done) { world.store().ForgetJob(job, done); }));
  world.Reopen();
  std::vector<engine::Record> records;
  ASSERT_TRUE(world.store().Replay([&](const engine::Record& r) { records.push_back(r); }));
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(std::get<engine::NodeBlamed>(records[0]).node, blamed.node);
  EXPECT_EQ(std::get<engine::NodeBlamed>(records[0]).blames, blamed.blames);
  EXPECT_TRUE(CheckHub(world.path())->sound());
}

TEST(HubStore, ReplayFindsMissingRecords) {
  HubWorld world;
  JobId one = world.Submit(3);
  world.Submit(3);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(one, 0, 3)));
  std::string path = world.path() + "/hub.db";
  world.Close();
  {
    auto db = Database::Open(path, DbMode::kWrite);
    ASSERT_TRUE(db->Run("DELETE FROM attempt WHERE seq = 5"));
  }
  world.Open();
  auto replayed = world.store().Replay([](const engine::Record&) {});
  ASSERT_FALSE(replayed);
  EXPECT_EQ(replayed.error().kind, ErrorKind::kCorrupt);
  EXPECT_NE(replayed.error().message.find("record 5 is missing"), std::string::npos)
      << MessageOf(replayed.error());
}

TEST(HubStore, ADamagedJobIsSetAsideAlone) {
  for (const char* sql :
       {"UPDATE attempt SET status = 7 WHERE seq = 6", "UPDATE attempt SET job = 66 WHERE seq = 6",
        "UPDATE attempt SET seq = 70 WHERE seq = 6", "UPDATE log SET data = x'04' WHERE seq = 2",
        "UPDATE job SET user = 'eve' WHERE id = 2"}) {
    HubWorld world;
    for (int i = 0; i < 3; ++i) world.Submit(3);
    ASSERT_TRUE(world.Commit(HubWorld::Ends(JobId(1), 0, 1)));  // 4 and 5
    Bundle two;
    two.records.push_back(EndOf(0, Cause::kSuccess, JobId(2)));
    ASSERT_TRUE(world.Commit(std::move(two)));  // 6
    world.Close();
    {
      auto db = Database::Open(world.path() + "/hub.db", DbMode::kWrite);
      ASSERT_TRUE(db->Run(sql)) << sql;
    }
    world.Open();
    auto ignore = [](const engine::Record&) {};
    if (!world.store().Replay(ignore)) EXPECT_FALSE(world.store().damaged().empty()) << sql;
    EXPECT_EQ(Counted(world), (std::map<uint32_t, int>{{1, 3}, {3, 1}})) << sql;
    ASSERT_EQ(world.store().damaged().size(), 1u) << sql;
    EXPECT_EQ(world.store().damaged().begin()->first, JobId(2)) << sql;
    // It can be forgotten all the same, and the journal is sound then.
    ASSERT_TRUE(Await(world.loop(), [&](auto done) { world.store().ForgetJob(JobId(2), done); }));
    world.Reopen();
    EXPECT_EQ(Counted(world), (std::map<uint32_t, int>{{1, 3}, {3, 1}})) << sql;
    EXPECT_TRUE(world.store().damaged().empty()) << sql;
  }
}

TEST(HubStore, JobsAreFoundByUserAndByTheirEnds) {
  HubWorld world;
  JobId one = world.Submit(1);
  JobId two = world.Submit(1, "bob");
  JobId three = world.Submit(1);
  ASSERT_TRUE(world.Finish(one, 1));
  ASSERT_TRUE(world.Finish(two, 1));
  auto between = [&](uint32_t first, uint32_t last, size_t most) {
    return world.store().JobsBetween(JobId(first), JobId(last), most).value();
  };
  EXPECT_EQ(between(1, UINT32_MAX, SIZE_MAX), (std::vector<JobId>{one, two, three}));
  EXPECT_EQ(between(2, 9, 1), (std::vector<JobId>{two}));
  EXPECT_EQ(between(4, 9, 9), std::vector<JobId>());
  EXPECT_EQ(world.store().NewestOf("bob").value(), two);
  EXPECT_EQ(world.store().NewestOf("eve").value(), std::nullopt);
  Instant ended{1'600'000'009'000'000'000};
  EXPECT_TRUE(world.store().EndedBefore(ended, 10, "")->empty());
  Instant later = ended + Duration::Seconds(1);
  EXPECT_EQ(world.store().EndedBefore(later, 10, "")->size(), 2u);
  EXPECT_EQ(world.store().EndedBefore(later, 1, "")->size(), 1u);
}

TEST(HubStore, TheNewestJobsAreFoundAndAllAreCounted) {
  HubWorld world;
  EXPECT_EQ(NewestNumbers(world.place(), "", 2)->of, 0u);
  for (int i = 0; i < 3; ++i) (void)world.Submit(1);
  ASSERT_TRUE(world.Put(HubWorld::RowOf(world.store().NextJobId(), 1)));  // it is never accepted
  (void)world.Submit(1, "bob");
  ASSERT_TRUE(world.Finish(JobId(2), 1));
  ASSERT_TRUE(world.Finish(JobId(5), 1));
  for (size_t most : {0, 1, 2, 3, 4, 9}) {
    auto newest = NewestNumbers(world.place(), "", most).value();
    EXPECT_EQ(newest.of, 4u);
    std::vector<uint32_t> want = {1, 2, 3, 5};
    if (most < want.size()) want.erase(want.begin(), want.end() - static_cast<int>(most));
    EXPECT_EQ(newest.numbers, want);
  }
  EXPECT_EQ(NewestNumbers(world.place(), "ada", 1)->numbers, std::vector<uint32_t>{3});
}

TEST(HubStore, ALockOfAnotherProgramIsWaitedFor) {
  std::vector<Duration> told;
  std::optional<Database> other;
  SqliteOptions options;
  options.waiting = [&](Duration time) {
    told.push_back(time);
    EXPECT_TRUE(other->Run("ROLLBACK"));
  };
  HubWorld world(options);
  ASSERT_TRUE(world.Record(engine::NodeDrained{NodeId(7)}));
  auto db = Database::Open(world.path() + "/hub.db", DbMode::kWrite);
  ASSERT_TRUE(db);
  other.emplace(std::move(*db));
  ASSERT_TRUE(other->Run("BEGIN IMMEDIATE"));
  EXPECT_TRUE(world.Record(engine::NodeUndrained{NodeId(7)}));
  EXPECT_EQ(told, std::vector<Duration>{Duration::Seconds(2)});
}

TEST(HubStore, RowsOfJobsNodesAndCredentials) {
  HubWorld world;
  JobRow row = HubWorld::RowOf(world.store().NextJobId(), 5, "ada");
  row.submission = "0f3a";
  row.priority = -7;
  row.keep_output = 4096;
  row.argv = {"a b", "\xff"};
  row.settings = std::string("any\0bytes", 9);
  world.store().PutJob(row);
  EXPECT_EQ(world.store().FindSubmission("0f3a").value(), JobId(1));  // not durable yet
  ASSERT_TRUE(world.Commit(HubWorld::Accept(row.job, 5)));
  ASSERT_TRUE(Await(world.loop(), [&](auto done) {
    world.store().PutProgress({.job = row.job,
                               .state = JobState::kHeld,
                               .started = kStart,
                               .counts = {.total = 5, .leased = 2, .failed = 1}},
                              done);
  }));
  NodeRow node = {.id = NodeId(3), .name = "n3", .instance = "i1", .user = "*", .created = kStart};
  world.store().PutNode(node);
  node.instance = "i2";
  node.removed = true;
  world.store().PutNode(node);
  CredentialRow credential = {.serial = 4,
                              .role = "client",
                              .user = "bob",
                              .secret = std::string("\0\xff", 2),
                              .created = kStart};
  world.store().PutCredential(credential);
  credential.serial = 5;
  credential.expires = credential.revoked = kStart + Duration::Seconds(1);
  ASSERT_TRUE(
      Await(world.loop(), [&](auto done) { world.store().PutCredential(credential, done); }));
  world.Reopen();
  auto back = world.store().ReadJob(row.job);
  ASSERT_TRUE(back) << MessageOf(back.error());
  EXPECT_EQ(back->submission, "0f3a");
  EXPECT_EQ(back->priority, -7);
  EXPECT_EQ(back->keep_output, 4096);
  EXPECT_EQ(back->argv, row.argv);
  EXPECT_EQ(back->settings, row.settings);
  EXPECT_EQ(back->state, JobState::kHeld);
  EXPECT_EQ(back->started, kStart);
  EXPECT_EQ(back->counts, (JobCounts{.total = 5, .leased = 2, .failed = 1}));
  EXPECT_EQ(back->first_seq, 1u);
  EXPECT_EQ(back->last_seq, 0u);
  EXPECT_EQ(world.store().FindSubmission("0f3a").value(), JobId(1));
  EXPECT_EQ(world.store().FindSubmission("").value(), std::nullopt);
  auto nodes = world.store().ReadNodes();
  ASSERT_EQ(nodes->size(), 1u);
  EXPECT_EQ(nodes->at(0).instance, "i2");
  EXPECT_EQ(nodes->at(0).name, "n3");
  EXPECT_TRUE(nodes->at(0).removed);
  EXPECT_EQ(nodes->at(0).created, kStart);
  auto credentials = world.store().ReadCredentials();
  ASSERT_EQ(credentials->size(), 2u);
  EXPECT_EQ(credentials->at(0).secret, credential.secret);
  EXPECT_EQ(credentials->at(0).expires, std::nullopt);
  EXPECT_EQ(credentials->at(1).revoked, credential.revoked);
}

TEST(HubStore, EveryLifeHasItsEpoch) {
  HubWorld world;
  for (uint32_t life = 1; life < 4; ++life) {
    ASSERT_TRUE(Await(world.loop(),
                      [&](auto done) { EXPECT_EQ(world.store().BeginEpoch(done), Epoch(life)); }));
    world.Reopen();
  }
}

TEST(HubStore, ASecondHubIsRefused) {
  HubWorld world;
  auto second = HubDir::Open(world.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kBusy);
  std::string pid = "process " + std::to_string(JobOwner::ThisProcess().pid) + " on ";
  EXPECT_NE(second.error().message.find(pid), std::string::npos) << MessageOf(second.error());
  world.Close();
  EXPECT_TRUE(HubDir::Open(world.path()));
}

TEST(HubStore, TheSumOfOutputIsKept) {
  HubWorld world;
  auto sum = [&] { return world.store().OutputChange(); };
  auto counted = [&] { return static_cast<int64_t>(*world.store().Reader()->SizeOfOutput()); };
  EXPECT_EQ(sum(), 0);
  JobId one = world.Submit(2);
  JobId two = world.Submit(2);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(one, 0, 2, std::string(50'000, 'x'))));
  ASSERT_TRUE(world.Commit(HubWorld::Ends(two, 0, 2, "short")));
  EXPECT_GE(sum(), 100'000);
  EXPECT_EQ(sum(), counted());
  ASSERT_TRUE(world.Finish(one, 2));
  ASSERT_TRUE(Await(world.loop(), [&](auto done) { world.store().ForgetJob(one, done); }));
  EXPECT_LT(sum(), 50'000);
  EXPECT_EQ(sum(), counted());
}

TEST(HubStore, OutputThatIsNotToBeKeptIsNamed) {
  HubWorld world;
  JobId job = world.Submit(3);
  world.store().KeepOutput(false);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(job, 0, 1, "lost")));
  world.store().KeepOutput(true);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(job, 1, 1, "kept")));
  auto history = SqliteJobJournal::Open(world.place(), job.value);
  ASSERT_TRUE(history);
  EXPECT_EQ(OutputOf(*history, 0), "");
  EXPECT_EQ(OutputOf(*history, 1), "kept1");
  EXPECT_EQ(history->Task(0)->last->record.end.not_kept, NotKept::kDisk);
  EXPECT_EQ(history->Task(1)->last->record.end.not_kept, NotKept::kNone);
}

TEST(HubStore, OutputOfEachJobIsBoundedAndCutBack) {
  HubWorld world;
  JobRow small = HubWorld::RowOf(world.store().NextJobId(), 10);
  small.keep_output = 10;
  world.store().PutJob(small);
  ASSERT_TRUE(world.Commit(HubWorld::Accept(small.job, 10)));
  JobId large = world.Submit(11);
  JobId silent = world.Submit(10);
  for (TaskIndex i = 0; i < 10; ++i) {
    ASSERT_TRUE(world.Commit(HubWorld::Ends(small.job, i, 1, "abc")));
    ASSERT_TRUE(world.Commit(HubWorld::Ends(large, i, 1, "defg")));
    ASSERT_TRUE(world.Commit(HubWorld::Ends(silent, i, 1)));
  }
  JournalPlace place = JournalOf(world.place(), 0);
  EXPECT_EQ(os::Stat(place.OutputPath(small.job))->size, 8u);
  EXPECT_EQ(os::Stat(place.OutputPath(large))->size, 50u);
  EXPECT_FALSE(os::Exists(place.OutputPath(silent)));
  // Bytes that a crash left behind a job's durable end are cut off by the next output.
  world.Close();
  std::string path = place.OutputPath(large);
  ASSERT_TRUE(os::WriteFile(path, os::ReadFile(path, 100).value() + "never durable"));
  world.Open();
  ASSERT_TRUE(world.Commit(HubWorld::Ends(large, 10, 1, "last")));
  EXPECT_EQ(os::Stat(path)->size, 56u);
  auto history = SqliteJobJournal::Open(world.place(), large.value);
  EXPECT_EQ(OutputOf(*history, 3) + OutputOf(*history, 10), "defg3last10");
}

TEST(HubStore, MoreJobsWithOutputThanOpenFiles) {
  HubWorld world;
  constexpr uint32_t kJobs = 150;
  for (uint32_t i = 0; i < kJobs; ++i) world.Submit(4);
  for (TaskIndex i = 0; i < 2; ++i) {
    // All in one bundle, and so in one commit.
    Bundle all;
    for (uint32_t job = 1; job <= kJobs; ++job) {
      Bundle one = HubWorld::Ends(JobId(job), i, 1, "out" + std::to_string(job) + ".");
      std::ranges::move(one.records, std::back_inserter(all.records));
      std::ranges::move(one.outputs, std::back_inserter(all.outputs));
      Bundle two = HubWorld::Ends(JobId(job), i + 2, 1, "more");
      std::ranges::move(two.records, std::back_inserter(all.records));
      std::ranges::move(two.outputs, std::back_inserter(all.outputs));
    }
    ASSERT_TRUE(world.Commit(std::move(all)));
  }
  for (uint32_t job = 1; job <= kJobs; ++job) {
    auto history = SqliteJobJournal::Open(world.place(), job);
    ASSERT_EQ(OutputOf(*history, 0), "out" + std::to_string(job) + ".0");
    ASSERT_EQ(OutputOf(*history, 1), "out" + std::to_string(job) + ".1");
    ASSERT_EQ(OutputOf(*history, 3), "more3");
  }
}

// Jobs at rest keep their files open, so all of a process's descriptors could end there.
TEST(HubStore, OutputOfManyJobsLeavesDescriptorsToOthers) {
  HubWorld world;
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  for (uint32_t i = 0; i < 20; ++i) {
    const JobId job = world.Submit(2);
    EXPECT_TRUE(world.Commit(HubWorld::Ends(job, 0, 1, "out")));
  }
  setrlimit(RLIMIT_NOFILE, &before);
  const std::string folder = os::DirName(JournalOf(world.place(), 0).OutputPath(JobId(1)));
  int open = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    open += std::filesystem::read_symlink(each.path(), gone).string().starts_with(folder) ? 1 : 0;
  }
  EXPECT_LE(open, 64 / 8);
  EXPECT_GT(open, 0);
}

TEST(HubStore, AForgottenJobLeavesNothingAndItsNumberIsNotUsedAgain) {
  HubWorld world;
  JobId kept = world.Submit(3);
  JobRow row = HubWorld::RowOf(world.store().NextJobId(), 3);
  row.submission = "s1";
  world.store().PutJob(row);
  ASSERT_TRUE(world.Commit(HubWorld::Accept(row.job, 3)));
  auto again = EndOf(0, Cause::kExit, row.job);
  again.verdict = engine::Verdict::kRetry;
  ASSERT_TRUE(world.Record(again));
  ASSERT_TRUE(world.Commit(HubWorld::Ends(row.job, 0, 3, "text")));
  ASSERT_TRUE(world.Commit(HubWorld::Ends(kept, 0, 1, "kept")));
  auto forget = [&](JobId job) {
    return Await(world.loop(), [&](auto done) { world.store().ForgetJob(job, done); });
  };
  ASSERT_TRUE(forget(row.job));  // it has not finished: nothing happens
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM attempt WHERE job = 2"), 4);
  ASSERT_TRUE(world.Finish(row.job, 3));
  ASSERT_TRUE(forget(row.job));
  // Its output is gone after that commit; the next one removes the last trace.
  EXPECT_FALSE(os::Exists(JournalOf(world.place(), 0).OutputPath(row.job)));
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM forgotten"), 1);
  ASSERT_TRUE(world.Record(engine::NodeDrained{NodeId(7)}));
  for (const char* sql :
       {"SELECT COUNT(*) FROM attempt WHERE job = 2", "SELECT COUNT(*) FROM log WHERE job = 2",
        "SELECT COUNT(*) FROM attempt_rare", "SELECT COUNT(*) FROM forgotten",
        "SELECT COUNT(*) FROM rows WHERE id >> 32 = 2", "SELECT COUNT(*) FROM job WHERE id = 2",
        "SELECT COUNT(*) FROM job_text WHERE job = 2"}) {
    EXPECT_EQ(Query(world, sql), 0) << sql;
  }
  EXPECT_EQ(world.store().FindSubmission("s1").value(), std::nullopt);
  EXPECT_EQ(world.store().Rows(row.job, 0, 1).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(SqliteJobJournal::Open(world.place(), 2).error().kind, ErrorKind::kNotFound);
  auto history = SqliteJobJournal::Open(world.place(), 1);
  EXPECT_EQ(OutputOf(*history, 0), "kept0");
  world.Reopen();
  EXPECT_EQ(Counted(world), (std::map<uint32_t, int>{{0, 1}, {1, 3}}));
  EXPECT_EQ(world.store().NextJobId(), JobId(3));
  // The gap is no damage, and the sequence goes on.
  ASSERT_TRUE(world.Commit(HubWorld::Ends(kept, 1, 1)));
  world.Reopen();
  EXPECT_EQ(Counted(world), (std::map<uint32_t, int>{{0, 1}, {1, 5}}));
}

TEST(HubStore, WhoRemovesAJobLooksAtItsOwnRecordsOnly) {
  constexpr uint32_t kMany = 300;
  HubWorld world;
  const JobId waits = world.Submit(2);
  const JobId large = world.Submit(2 * kMany);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(large, 0, kMany)));
  // The next life knows where the records of unfinished jobs lie, too.
  world.Reopen();
  ASSERT_TRUE(world.store().Replay([](const engine::Record&) {}));
  ASSERT_TRUE(world.Commit(HubWorld::Ends(waits, 0, 1)));
  ASSERT_TRUE(world.Commit(HubWorld::Ends(large, kMany, kMany)));
  ASSERT_TRUE(world.Commit(HubWorld::Ends(waits, 1, 1)));
  ASSERT_TRUE(world.Finish(waits, 2));
  auto db = Database::Open(world.path() + "/hub.db", DbMode::kWrite);
  auto count = [&](const std::string& rows) {
    return db->QueryInt("SELECT COUNT(*) FROM " + rows).value();
  };
  // 1 accepted, 2 the other, 3 to 303 its ends, 304 and 305, then 306 to 606, 607 to 609.
  EXPECT_EQ(count("span"), 3);
  EXPECT_EQ(count("span WHERE job = 1 AND (first_seq, last_seq) IN "
                  "(VALUES (1, 1), (304, 305), (607, 609))"),
            3);
  // It goes on, and ends once more.
  ASSERT_TRUE(world.Commit(HubWorld::Ends(large, 0, 1)));
  ASSERT_TRUE(world.Record(engine::PolicyChanged{waits, {}}));
  EXPECT_EQ(count("span WHERE job = 1 AND (first_seq, last_seq) = (607, 612)"), 1);
  // A row amid the others' that calls itself the job's: one who looked there would remove it.
  ASSERT_TRUE(db->Run("UPDATE attempt SET job = 1 WHERE seq = 200"));
  ASSERT_TRUE(Await(world.loop(), [&](auto done) { world.store().ForgetJob(waits, done); }));
  EXPECT_EQ(count("attempt WHERE job = 1"), 1);
  EXPECT_EQ(count("log WHERE job = 1"), 0);
  EXPECT_EQ(count("attempt WHERE job = 2"), 2 * kMany);
  EXPECT_EQ(count("span"), 0);
}

TEST(SpanList, KeepsTheLargestGaps) {
  SpanList list;
  uint64_t seq = 1;
  for (uint64_t i = 0; i < 1000; ++i) {
    list.Add(seq, seq + 9);
    seq += i % 100 == 0 ? 100'000 : 200;
  }
  const auto& spans = list.spans();
  EXPECT_LE(spans.size(), 2 * SpanList::kMost);
  EXPECT_EQ(spans.front(), (std::pair<uint64_t, uint64_t>(1, 10)));
  EXPECT_EQ(std::ranges::count_if(
                std::views::iota(size_t{1}, spans.size()),
                [&](size_t i) { return spans[i].first - spans[i - 1].second > 90'000; }),
            10);
  for (size_t i = 1; i < spans.size(); ++i) EXPECT_GT(spans[i].first, spans[i - 1].second);
}

// A job's settings as bytes: its directory, and an environment of 300 bytes that ends so.
std::string SettingsOf(const std::string& directory, char end) {
  std::string environment = std::string(299, 'e') + end;
  return "\x12" + std::string(1, static_cast<char>(directory.size())) + directory + "\x4a\xac\x02" +
         environment + "\x18\x01";
}

TEST(HubStore, JobsOfOneShellHaveTheirEnvironmentOnce) {
  HubWorld world;
  auto submit = [&](const std::string& settings) {
    JobRow row = HubWorld::RowOf(world.store().NextJobId(), 1);
    row.settings = settings;
    world.store().PutJob(row);
    EXPECT_TRUE(world.Commit(HubWorld::Accept(row.job, 1)));
    return row.job;
  };
  auto forget = [&](JobId job) {
    ASSERT_TRUE(world.Commit(HubWorld::Ends(job, 0, 1)));
    ASSERT_TRUE(world.Finish(job, 1));
    ASSERT_TRUE(Await(world.loop(), [&](auto done) { world.store().ForgetJob(job, done); }));
  };
  const std::string all[] = {SettingsOf("/a", 'x'), SettingsOf("/bb", 'x'), SettingsOf("/a", 'y'),
                             "{}"};
  JobId jobs[4];
  for (int i = 0; i < 4; ++i) jobs[i] = submit(all[i]);
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM shared"), 2);
  EXPECT_EQ(Query(world, "SELECT MAX(LENGTH(CAST(settings AS BLOB))) FROM job_text"), 10);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(world.store().ReadJob(jobs[i])->settings, all[i]) << i;
  // The next life of the hub has its own.
  world.Reopen();
  const JobId later = submit(all[0]);
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM shared"), 3);
  EXPECT_EQ(world.store().ReadJob(later)->settings, all[0]);
  // It goes with the last of its jobs.
  forget(jobs[0]);
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM shared"), 3);
  EXPECT_EQ(world.store().ReadJob(jobs[1])->settings, all[1]);
  forget(jobs[1]);
  forget(jobs[2]);
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM shared"), 1);
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM shared_by"), 1);
  forget(later);
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM shared"), 0);
  // A job that is written again leaves nothing of before.
  JobRow row = HubWorld::RowOf(submit(all[2]), 1);
  for (const std::string& settings : {all[0], all[0], all[2]}) {
    row.settings = settings;
    ASSERT_TRUE(world.Put(row));
    EXPECT_EQ(world.store().ReadJob(row.job)->settings, settings);
    world.Reopen();
  }
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM shared"), 1);
  forget(row.job);
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM shared"), 0);
  // A number is not used again, and whoever knows one looks whether it is there.
  const JobId newest = submit(all[2]);
  EXPECT_EQ(world.store().ReadJob(newest)->settings, all[2]);
  const JobId other = submit(all[0]);
  EXPECT_EQ(world.store().ReadJob(other)->settings, all[0]);
}

TEST(HubStore, DamageOfAnEnvironmentIsItsJobsAlone) {
  for (const char* damage :
       {"UPDATE shared SET bytes = CAST(REPLACE(CAST(bytes AS TEXT), 'x', 'y') AS BLOB) WHERE id = "
        "1",
        "DELETE FROM shared WHERE id = 1", "DELETE FROM shared_by WHERE job < 3",
        "UPDATE shared_by SET shared = 2"}) {
    HubWorld world;
    for (char end : {'x', 'x', 'y'}) {
      JobRow row = HubWorld::RowOf(world.store().NextJobId(), 1);
      row.settings = SettingsOf("/a", end);
      world.store().PutJob(row);
      EXPECT_TRUE(world.Commit(HubWorld::Accept(row.job, 1)));
    }
    world.Close();
    {
      auto db = Database::Open(world.path() + "/hub.db", DbMode::kWrite);
      ASSERT_TRUE(db->Run(damage)) << damage;
    }
    world.Open();
    for (uint32_t job : {1u, 2u}) {
      auto read = world.store().ReadJob(JobId(job));
      ASSERT_FALSE(read) << damage;
      EXPECT_NE(read.error().message.find(fmt::format("row {} of table job_text", job)),
                std::string::npos)
          << read.error().message;
    }
    EXPECT_EQ(world.store().ReadJob(JobId(3))->settings, SettingsOf("/a", 'y')) << damage;
    auto check = CheckHub(world.path());
    ASSERT_TRUE(check);
    EXPECT_EQ(check->jobs.contains(1), true) << damage;
    EXPECT_EQ(check->jobs.contains(3), false) << damage;
  }
}

TEST(HubStore, OneEnvironmentServesAThousandJobs) {
  HubWorld world;
  for (int i = 0; i < 1'500; ++i) {
    JobRow row = HubWorld::RowOf(world.store().NextJobId(), 1);
    row.submission = std::to_string(i);
    row.settings = SettingsOf("/a", 'x');
    world.store().PutJob(row);
  }
  ASSERT_TRUE(world.Commit(HubWorld::Accept(JobId(1), 1)));
  EXPECT_EQ(
      Query(world, "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM shared_by GROUP BY shared)"),
      1'000);
}

TEST(HubStore, ASubmissionThatWasCutShortIsRemoved) {
  HubWorld world;
  JobRow row = HubWorld::RowOf(world.store().NextJobId(), 3);
  row.submission = "s1";
  world.store().PutJob(row);
  Bundle text;
  text.rows.push_back({row.job, 0, {"a", "b"}});
  ASSERT_TRUE(world.Commit(std::move(text)));
  EXPECT_EQ(world.store().FindSubmission("s1").value(), row.job);
  EXPECT_TRUE(JobNumbers(world.place())->empty());
  world.Reopen();
  EXPECT_EQ(world.store().FindSubmission("s1").value(), std::nullopt);
  EXPECT_TRUE(Counted(world).empty());
  // The same submission comes again, under another number.
  row.job = world.store().NextJobId();
  EXPECT_EQ(row.job, JobId(2));
  world.store().PutJob(row);
  ASSERT_TRUE(world.Commit(HubWorld::Accept(row.job, 3)));
  EXPECT_EQ(world.store().FindSubmission("s1").value(), row.job);
  ASSERT_TRUE(Await(world.loop(), [&](auto done) { world.store().ForgetJob(JobId(1), done); }));
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM rows WHERE id >> 32 = 1"), 0);
  EXPECT_EQ(JobNumbers(world.place()).value(), (std::vector<uint32_t>{2}));
}

// Its client went before it had sent all: there is no row of the job.
TEST(HubStore, RowsOfAnUploadThatWasCutShortAreRemoved) {
  HubWorld world;
  JobId job = world.store().NextJobId();
  Bundle text;
  text.rows.push_back({job, 0, {"a", "b"}});
  ASSERT_TRUE(world.Commit(std::move(text)));
  ASSERT_EQ(Query(world, "SELECT COUNT(*) FROM rows"), 1);
  ASSERT_TRUE(Await(world.loop(), [&](auto done) { world.store().ForgetJob(job, done); }));
  EXPECT_EQ(Query(world, "SELECT COUNT(*) FROM rows"), 0);
}

// --------------------------------------------------------------------------------------- tail

TEST(Tail, GivesNewEndsOfItsJobInBoundedPieces) {
  HubWorld world;
  JobId one = world.Submit(10);
  JobId two = world.Submit(10);
  EXPECT_EQ(SqliteTail::Open({world.path(), true}, JobId(3)).error().kind, ErrorKind::kNotFound);
  auto tail = SqliteTail::Open({world.path(), true}, one);
  ASSERT_TRUE(tail) << MessageOf(tail.error());
  auto nothing = tail->Read(0, 100);
  ASSERT_TRUE(nothing) << MessageOf(nothing.error());
  EXPECT_TRUE(nothing->ends.empty());
  EXPECT_FALSE(nothing->finished);
  ASSERT_TRUE(world.Commit(HubWorld::Ends(two, 0, 5, "b")));
  auto rare = EndOf(0, Cause::kExit, one);
  rare.verdict = engine::Verdict::kRetry;
  rare.end.note = "odd";
  ASSERT_TRUE(world.Record(rare));
  ASSERT_TRUE(world.Commit(HubWorld::Ends(one, 0, 6, "a")));
  ASSERT_TRUE(world.Commit(HubWorld::Ends(two, 5, 5, "b")));
  auto news = tail->Read(0, 4);
  ASSERT_TRUE(news) << MessageOf(news.error());
  ASSERT_EQ(news->ends.size(), 4u);
  EXPECT_TRUE(news->more);
  EXPECT_EQ(news->ends[0].attempt.record.end.note, "odd");
  EXPECT_EQ(news->ends[0].attempt.record.verdict, engine::Verdict::kRetry);
  EXPECT_EQ(news->ends[3].attempt.record.end.ref, (AttemptRef{one, 2, Attempt(1)}));
  std::string text;
  ASSERT_TRUE(tail->ReadOutput(news->ends[3].attempt, Stream::kStdout,
                               [&](std::string_view bytes, uint64_t) { text += bytes; }));
  EXPECT_EQ(text, "a2");
  news = tail->Read(news->seq, 100);
  ASSERT_EQ(news->ends.size(), 3u);
  EXPECT_EQ(news->ends[2].attempt.record.end.ref.index, 5u);
  EXPECT_FALSE(news->more);
  EXPECT_FALSE(news->finished);
  uint64_t seen = news->seq;
  ASSERT_TRUE(world.Commit(HubWorld::Ends(one, 6, 4)));
  ASSERT_TRUE(world.Finish(one, 10));
  news = tail->Read(seen, 2);
  EXPECT_EQ(news->ends.size(), 2u);
  EXPECT_FALSE(news->finished);
  news = tail->Read(news->seq, 2);
  EXPECT_EQ(news->ends.size(), 2u);
  EXPECT_TRUE(news->finished);
  news = tail->Read(news->seq, 2);
  EXPECT_TRUE(news->ends.empty() && news->finished);
  ASSERT_TRUE(Await(world.loop(), [&](auto done) { world.store().ForgetJob(one, done); }));
  EXPECT_EQ(tail->Read(0, 1).error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace spate::store
