// Files that readers keep of long replays (store/replay_file.h): the next reader answers the same
// by one, and without it when anything about it is wrong.
#include "store/sqlite/kept_replay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <map>

#include "os/file.h"
#include "store/replay_file.h"
#include "store/sqlite/job_journal.h"
#include "store/sqlite/sqlite_history.h"
#include "store/sqlite/testing_hub.h"

namespace spate::store {
namespace {

constexpr uint32_t kTasks = 9000;  // three blocks
constexpr uint32_t kLeft = 100;    // still wait
constexpr JobId kJob{1};

engine::AttemptEnded RetryOf(TaskIndex index, uint16_t attempt) {
  engine::AttemptEnded ended = EndOf(index, Cause::kExit, kJob);
  ended.end.ref.attempt = Attempt(attempt);
  ended.verdict = Verdict::kRetry;
  return ended;
}

// Each 50th task needs three tries; the others end backwards, in pieces.
void AddEnds(TaskIndex first, uint32_t count, std::vector<engine::Record>& records) {
  records.push_back(engine::Leased{NodeId(1), kJob, Attempt(1), {{first, count}}});
  for (TaskIndex i = first + count; i-- > first;) {
    if (i % 50 != 0) {
      records.push_back(EndOf(i, i % 70 == 1 ? Cause::kExit : Cause::kSuccess, kJob));
      continue;
    }
    for (uint16_t attempt = 1; attempt <= 3; ++attempt) {
      if (attempt > 1) {
        records.push_back(engine::Leased{NodeId(1), kJob, Attempt(attempt), {{i, 1}}});
      }
      engine::AttemptEnded ended = attempt < 3 ? RetryOf(i, attempt) : EndOf(i, {}, kJob);
      ended.end.ref.attempt = Attempt(attempt);
      records.push_back(std::move(ended));
    }
  }
}

// All that is known of a job's tasks.
struct Told {
  std::vector<std::string> tasks;
  JobStatistics statistics;
  uint64_t digest = 0;
  friend bool operator==(const Told& a, const Told& b) {
    return a.tasks == b.tasks && a.digest == b.digest &&
           a.statistics.median_wall == b.statistics.median_wall &&
           a.statistics.total_wall == b.statistics.total_wall &&
           a.statistics.attempts == b.statistics.attempts;
  }
};

std::string TextOf(JobJournal& journal, const TaskSummary& task) {
  std::string text = std::to_string(task.index) + " " + WordOf(task.state) + " " +
                     std::to_string(task.attempts) + " " + std::to_string(task.tries);
  if (task.index % 25 != 0) return text + (task.last ? " ended" : "");
  auto attempts = journal.Attempts(task.index);
  EXPECT_TRUE(attempts) << MessageOf(attempts.error());
  for (const AttemptEntry& each : attempts.value_or(std::vector<AttemptEntry>())) {
    text +=
        " " + std::to_string(each.record.end.ref.attempt.value) + ":" + WordOf(each.record.verdict);
  }
  return text;
}

class KeptReplayTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hub_.Submit(kTasks), kJob);
    Bundle bundle;
    for (TaskIndex first = 0; first < kTasks - kLeft; first += 890) {
      AddEnds(first, 890, bundle.records);
    }
    records_ = bundle.records.size() + 1;
    ASSERT_TRUE(hub_.Commit(std::move(bundle)));
  }

  std::string path() const { return JournalPlace{hub_.path(), true}.ReplayPath(kJob); }
  JobPlace Place(uint64_t keep_after) const {
    JobPlace place = hub_.place();
    place.keep_replay_after = keep_after;
    return place;
  }
  // By a reader of its own. `applied` becomes the number of records that it had to replay.
  Told Ask(uint64_t keep_after, uint64_t* applied = nullptr) {
    auto journal = SqliteJobJournal::Open(Place(keep_after), kJob.value);
    EXPECT_TRUE(journal) << MessageOf(journal.error());
    auto replay = journal->Replayed();
    EXPECT_TRUE(replay) << MessageOf(replay.error());
    if (applied != nullptr) *applied = (*replay)->applied();
    Told told;
    auto visited = journal->Tasks({}, [&](const TaskSummary& task) {
      told.tasks.push_back(TextOf(*journal, task));
      return true;
    });
    EXPECT_TRUE(visited) << MessageOf(visited.error());
    told.statistics = *journal->Statistics();
    told.digest = (*replay)->Digest();
    return told;
  }
  uint64_t AppliedBy(uint64_t keep_after) {
    auto journal = SqliteJobJournal::Open(Place(keep_after), kJob.value);
    auto replay = journal->Replayed();
    EXPECT_TRUE(replay) << MessageOf(replay.error());
    return (*replay)->applied();
  }
  // Without a file.
  Told Truth() {
    const std::string aside = path() + "-aside";
    const bool moved = os::Exists(path()) && os::Rename(path(), aside);
    Told told = Ask(UINT64_MAX);
    if (moved) EXPECT_TRUE(os::Rename(aside, path()));
    EXPECT_EQ(told.tasks.size(), kTasks);
    return told;
  }
  std::string Bytes() const { return *os::ReadFile(path(), 64 << 20); }
  void Write(std::string_view bytes) {
    ASSERT_TRUE(os::RemoveFile(path()));
    ASSERT_TRUE(os::WriteFile(path(), bytes, 0600));
  }
  void Sql(const char* sql) {
    auto db = Database::Open(JournalPlace{hub_.path(), true}.DbPath(), DbMode::kWrite);
    ASSERT_TRUE(db);
    ASSERT_TRUE(db->Run(sql));
  }

  HubWorld hub_;
  uint64_t records_ = 0;  // of the job
};

TEST_F(KeptReplayTest, TheNextReaderReplaysWhatIsNew) {
  uint64_t applied = 0;
  const Told first = Ask(1000, &applied);
  EXPECT_EQ(applied, records_);
  EXPECT_EQ(first, Truth());
  auto info = os::Stat(path());
  ASSERT_TRUE(info);
  EXPECT_EQ(info->permissions, 0600u);
  EXPECT_LT(info->size, 5 * kTasks);
  EXPECT_EQ(Ask(1000, &applied), first);
  EXPECT_EQ(applied, 0u);

  Bundle bundle;
  bundle.records.push_back(engine::TasksReopened{kJob, {{1, 1}, {8611, 1}}, {}});
  bundle.records.push_back(engine::Leased{NodeId(1), kJob, Attempt(2), {{1, 1}}});
  bundle.records.push_back(RetryOf(1, 2));
  AddEnds(kTasks - kLeft, kLeft - 7, bundle.records);
  const uint64_t more = bundle.records.size();
  ASSERT_TRUE(hub_.Commit(std::move(bundle)));
  const Told later = Ask(1000, &applied);
  EXPECT_EQ(applied, more);
  EXPECT_FALSE(later == first);
  EXPECT_EQ(later, Truth());
  EXPECT_EQ(os::Stat(path())->inode, info->inode) << "too little to be kept";
  // Blocks that did not change are taken over.
  EXPECT_EQ(Ask(more, &applied), later);
  EXPECT_NE(os::Stat(path())->inode, info->inode);
  EXPECT_EQ(Ask(more, &applied), later);
  EXPECT_EQ(applied, 0u);
}

TEST_F(KeptReplayTest, AttemptsAreThoseOfTheTable) {
  (void)Ask(1000);
  auto journal = SqliteJobJournal::Open(Place(1000), kJob.value);
  std::map<TaskIndex, std::vector<uint16_t>> scanned;
  ASSERT_TRUE(journal->AttemptsBetween(0, UINT64_MAX, [&](uint64_t, const AttemptEntry& entry) {
    auto& attempts = scanned[entry.record.end.ref.index];
    attempts.insert(attempts.begin(), entry.record.end.ref.attempt.value);
    return true;
  }));
  for (TaskIndex i = 0; i < kTasks; ++i) {
    std::vector<uint16_t> chained;
    auto attempts = journal->Attempts(i);
    ASSERT_TRUE(attempts) << MessageOf(attempts.error());
    for (const AttemptEntry& entry : *attempts) {
      EXPECT_EQ(entry.record.end.ref.index, i);
      chained.push_back(entry.record.end.ref.attempt.value);
    }
    ASSERT_EQ(chained, scanned[i]) << i;
  }
}

TEST_F(KeptReplayTest, ThePaceOfAJobIsReadWithoutItsAttempts) {
  auto pace = [&] { return SqliteJobJournal::Open(Place(1000), kJob.value)->Pace()->mean_wall; };
  const Duration mean = pace();
  EXPECT_GT(mean, Duration());
  Sql("UPDATE attempt SET wall_us = wall_us + 1000 WHERE seq < (SELECT MAX(seq) - 99 FROM "
      "attempt)");
  EXPECT_EQ(pace(), mean) << "all attempts are read";
  ASSERT_TRUE(os::RemoveFile(path()));
  EXPECT_GT(pace(), mean);
}

std::string TextOf(const std::vector<TaskRange>& ranges) {
  std::string text;
  for (TaskRange range : ranges) {
    text += std::to_string(range.first) + "+" + std::to_string(range.count) + " ";
  }
  return text;
}

TEST_F(KeptReplayTest, RowsAreLookedAtOnce) {
  uint64_t looked_at = 0;
  auto ask = [&](uint64_t keep_after) {
    looked_at = 0;
    auto journal = SqliteJobJournal::Open(Place(keep_after), kJob.value);
    auto ranges = journal->MarkedTasks([&](TaskIndex index, std::string_view row) {
      EXPECT_EQ(row, "row 1." + std::to_string(index + 1));
      ++looked_at;
      return row == "row 1.5000" || row == "row 1.8999";
    });
    EXPECT_TRUE(ranges) << MessageOf(ranges.error());
    return TextOf(*ranges);
  };
  const std::string both = "4096+4096 8192+808 ";
  EXPECT_EQ(ask(UINT64_MAX), both);
  EXPECT_EQ(ask(2000), both);
  EXPECT_GT(looked_at, kTasks / 2) << "too few rows to be kept";
  EXPECT_EQ(ask(1000), both);
  EXPECT_EQ(ask(1000), both);
  EXPECT_EQ(looked_at, 0u);

  Bundle grown;
  grown.rows.push_back({kJob, kTasks, {}});
  for (TaskIndex i = kTasks; i < kTasks + 3300; ++i) {
    grown.rows[0].rows.push_back("row 1." + std::to_string(i + 1));
  }
  grown.records.push_back(engine::JobGrown{kJob, 3300, {}, {{kTasks, 3300, 0}}});
  ASSERT_TRUE(hub_.Commit(std::move(grown)));
  EXPECT_EQ(ask(400), "4096+4096 8192+4096 ");
  EXPECT_EQ(looked_at, 12u) << "of the third block it is known";
  EXPECT_EQ(ask(400), "4096+4096 8192+4096 ");
  EXPECT_EQ(looked_at, 0u);
  // Rows that cannot be read count as marked.
  ASSERT_TRUE(os::RemoveFile(path()));
  Sql("UPDATE rows SET checksum = checksum + 1 WHERE id = (SELECT MIN(id) FROM rows)");
  EXPECT_EQ(ask(1000), "0+4096 4096+4096 8192+4096 ");
}

// Thousands of ends without output are passed over in blocks.
TEST_F(KeptReplayTest, OutputIsFoundFromItsNewestEnd) {
  constexpr uint32_t kMany = 30'000;
  const JobId job = hub_.Submit(kMany);
  ASSERT_TRUE(hub_.Commit(HubWorld::Ends(job, 0, 100, "first")));
  ASSERT_TRUE(hub_.Commit(HubWorld::Ends(job, 100, 20'000)));
  ASSERT_TRUE(hub_.Commit(HubWorld::Ends(job, 20'100, 50, "last")));
  auto newest = [](JobJournal& journal) {
    std::vector<uint64_t> told;
    EXPECT_TRUE(journal.NewestOutputs([&](uint64_t seq, const AttemptEntry&) {
      told.push_back(seq);
      return told.size() < 120;
    }));
    return told;
  };
  auto scanned = [](JobJournal& journal) {
    std::vector<uint64_t> all;
    EXPECT_TRUE(journal.AttemptsBetween(0, UINT64_MAX, [&](uint64_t seq, const auto& entry) {
      if (entry.kept.bytes() > 0) all.push_back(seq);
      return all.size() < 120;
    }));
    return all;
  };
  for (uint64_t keep_after : {UINT64_MAX, uint64_t{1000}, uint64_t{1000}}) {
    auto journal = SqliteJobJournal::Open(Place(keep_after), job.value);
    EXPECT_EQ(newest(*journal), scanned(*journal));
    EXPECT_EQ(newest(*journal).size(), 120u);
    EXPECT_LE((*journal->Replayed())->output_blocks().size(), 4u);
  }
  // An end behind the state of a replay belongs to the next one.
  auto journal = SqliteJobJournal::Open(Place(1000), job.value);
  const std::vector<uint64_t> before = newest(*journal);
  ASSERT_TRUE(hub_.Commit(HubWorld::Ends(job, 20'150, 1, "later")));
  EXPECT_EQ(newest(*journal), before);
  journal->Refresh();
  EXPECT_EQ(newest(*journal), scanned(*journal));
  EXPECT_NE(newest(*journal), before);
}

TEST_F(KeptReplayTest, AFlippedByteAnywhereIsNoticed) {
  const Told truth = Truth();
  (void)Ask(1000);
  const std::string whole = Bytes();
  const size_t step = whole.size() / 20;
  for (size_t at = 0; at < whole.size(); at += at + 120 < whole.size() ? step : 11) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    Write(bytes);
    EXPECT_EQ(Ask(UINT64_MAX), truth) << "byte " << at;
  }
}

TEST_F(KeptReplayTest, ACutFileIsNoticed) {
  const Told truth = Truth();
  (void)Ask(1000);
  const std::string whole = Bytes();
  for (size_t size : {size_t{0}, size_t{1}, size_t{39}, size_t{40}, size_t{41}, whole.size() / 2,
                      whole.size() - 40, whole.size() - 1}) {
    Write(whole.substr(0, size));
    EXPECT_EQ(Ask(UINT64_MAX), truth) << size;
    Write(whole.substr(0, size) + std::string(whole.size() - size, '\0'));
    EXPECT_EQ(Ask(UINT64_MAX), truth) << size;
  }
  // The next reader that replays much puts a whole one in its place.
  uint64_t applied = 0;
  EXPECT_EQ(Ask(1000), truth);
  EXPECT_EQ(Ask(1000, &applied), truth);
  EXPECT_EQ(applied, 0u);
}

TEST_F(KeptReplayTest, AFileOfSomethingElseIsLeftAside) {
  const Told truth = Truth();
  (void)Ask(1000);
  const std::string whole = Bytes();
  const std::pair<const char*, std::function<void()>> cases[] = {
      {"another program",
       [&] {
         std::string bytes = whole;
         ++bytes[bytes.size() - 16];  // Foot::program
         Write(bytes);
       }},
      {"another job",
       [&] {
         JobId other = hub_.Submit(kTasks);
         auto journal = SqliteJobJournal::Open(Place(1), other.value);
         ASSERT_TRUE(journal->Replayed());
         ASSERT_TRUE(os::Rename(JournalPlace{hub_.path(), true}.ReplayPath(other), path()));
       }},
      {"a link",
       [&] {
         ASSERT_TRUE(os::Rename(path(), path() + "-there"));
         ASSERT_TRUE(os::MakeSymlink(path() + "-there", path()));
       }},
      {"a folder",
       [&] {
         ASSERT_TRUE(os::RemoveFile(path()));
         ASSERT_TRUE(os::MakeDir(path()));
       }},
      {"that the group may write", [&] { ASSERT_TRUE(os::SetPermissions(path(), 0660)); }},
      {"that others may write", [&] { ASSERT_TRUE(os::SetPermissions(path(), 0602)); }},
      {"of another user",
       [&] {
         // Only root can make one.
         if (chown(path().c_str(), 4711, 4711) != 0) ASSERT_TRUE(os::RemoveFile(path()));
       }},
  };
  for (const auto& [what, make] : cases) {
    ASSERT_TRUE(os::RemoveTree(path()));
    Write(whole);
    uint64_t applied = 0;
    EXPECT_EQ(Ask(UINT64_MAX, &applied), truth);
    EXPECT_EQ(applied, 0u);
    make();
    EXPECT_EQ(Ask(UINT64_MAX, &applied), truth) << what;
    EXPECT_EQ(applied, records_) << what;
  }
}

TEST_F(KeptReplayTest, AnotherJournalUnderTheSameNameIsNoticed) {
  using Origin = ReplayOrigin;
  const std::function<void(Origin&)> others[] = {[](Origin& origin) { ++origin.journal; },
                                                 [](Origin& origin) { ++origin.created.ns; },
                                                 [](Origin& origin) { ++origin.mark; }};
  for (const auto& other : others) {
    ASSERT_EQ(AppliedBy(1000), records_);
    ASSERT_EQ(AppliedBy(1000), 0u);
    auto saved = OpenReplay(path(), kJob);
    ASSERT_TRUE(saved);
    other(saved->origin);
    ASSERT_TRUE(SaveReplay(path(), *saved->replay, saved->origin));
  }
  ASSERT_EQ(AppliedBy(1000), records_);
  ASSERT_EQ(AppliedBy(1000), 0u);
  // Its newest record is another one.
  Sql("UPDATE attempt SET wall_us = wall_us + 1 WHERE seq = (SELECT MAX(seq) FROM attempt)");
  EXPECT_EQ(AppliedBy(UINT64_MAX), records_);
  // There is less of it than there was.
  Sql("DELETE FROM attempt WHERE seq = (SELECT MAX(seq) FROM attempt)");
  EXPECT_EQ(AppliedBy(UINT64_MAX), records_ - 1);
}

// An administrator puts a copy of the journal back by hand. What the copy has of the job is what
// the file has, but not what came after it, here of no job.
TEST_F(KeptReplayTest, AnOlderJournalThatWasPutBackIsNoticed) {
  auto sick = [](const char* why) { return engine::NodeSick{.node = NodeId(1), .text = why}; };
  const std::string db = JournalPlace{hub_.path(), true}.DbPath();
  hub_.Close();
  const std::string copy = *os::ReadFile(db, 64 << 20);
  hub_.Open();
  ASSERT_TRUE(hub_.Record(sick("old")));
  ASSERT_EQ(AppliedBy(1000), records_ + 1);
  ASSERT_EQ(AppliedBy(1000), 0u);
  hub_.Close();
  ASSERT_TRUE(os::RemoveFile(db));
  ASSERT_TRUE(os::WriteFile(db, copy, 0600));
  EXPECT_EQ(AppliedBy(UINT64_MAX), records_) << "the file has more";
  // The hub refuses to start until the mark is removed.
  ASSERT_TRUE(os::RemoveFile(JournalPlace{hub_.path(), true}.BeganPath()));
  hub_.Open();
  ASSERT_TRUE(hub_.Record(sick("new")));
  EXPECT_EQ(AppliedBy(UINT64_MAX), records_ + 1) << "the file has another one";
}

TEST_F(KeptReplayTest, UseThatIsCountedAgainLeavesTheFileAsItIs) {
  ASSERT_TRUE(hub_.Record(engine::UseCounted{}));
  ASSERT_EQ(AppliedBy(1000), records_);
  ASSERT_TRUE(hub_.Record(engine::UseCounted{}));
  EXPECT_EQ(AppliedBy(1000), 0u);
}

TEST_F(KeptReplayTest, AnEndThatTheJournalDoesNotHaveIsNoError) {
  (void)Ask(1000);

  Sql("DELETE FROM attempt WHERE idx = 3001");
  const Told truth = Truth();
  EXPECT_EQ(Ask(UINT64_MAX).tasks, truth.tasks);
}

TEST_F(KeptReplayTest, NothingIsKeptWhereThisUserMayNot) {
  const Told truth = Truth();
  const std::string folder = os::DirName(path());
  if (chown(folder.c_str(), 4711, 4711) == 0) {
    EXPECT_EQ(Ask(1000), truth);
    EXPECT_FALSE(os::Exists(path()));
    ASSERT_EQ(chown(folder.c_str(), geteuid(), getegid()), 0);
  }
  ASSERT_TRUE(os::RemoveTree(folder));
  EXPECT_EQ(Ask(1000), truth);
  EXPECT_FALSE(os::Exists(path()));
}

TEST_F(KeptReplayTest, TheFileGoesWithItsJob) {
  (void)Ask(1000);
  ASSERT_TRUE(os::Exists(path()));
  EXPECT_GE(OpenHistory(hub_.place())
                ->index()
                .StoredBytes(SqliteJobJournal::Open(hub_.place(), kJob.value)->summary()),
            os::Stat(path())->size);
  ASSERT_TRUE(hub_.Finish(kJob, kTasks));
  ASSERT_TRUE(Await(hub_.loop(), [&](auto done) { hub_.store().ForgetJob(kJob, done); }));
  EXPECT_FALSE(os::Exists(path()));
}

// A reader that was slow must not leave the file of a job that was forgotten meanwhile.
TEST_F(KeptReplayTest, NoFileOfAJobThatWasForgotten) {
  auto journal = SqliteJobJournal::Open(Place(1000), kJob.value);
  ASSERT_TRUE(journal);
  Sql("DELETE FROM job WHERE id = 1");
  ASSERT_TRUE(journal->Replayed());
  EXPECT_FALSE(os::Exists(path()));
}

TEST_F(KeptReplayTest, FilesOfKilledWritersGo) {
  const std::string old = path() + ".1.new", fresh = path() + ".2.new";
  for (const std::string& name : {old, fresh}) ASSERT_TRUE(os::WriteFile(name, "x", 0600));
  const time_t then = os::Stat(fresh)->modified.ns / 1'000'000'000 - 7200;
  const timespec hours_ago[] = {{then, 0}, {then, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, old.c_str(), hours_ago, 0), 0);
  (void)Ask(1000);
  EXPECT_FALSE(os::Exists(old));
  EXPECT_TRUE(os::Exists(fresh));
  EXPECT_TRUE(os::Exists(path()));
  ASSERT_TRUE(RemoveReplays(hub_.path()));
  EXPECT_TRUE(os::ListDir(os::DirName(path()))->empty());
}

}  // namespace
}  // namespace spate::store
