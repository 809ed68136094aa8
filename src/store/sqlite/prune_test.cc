#include "store/sqlite/prune.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/clock.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/testing_store.h"

namespace spate::store {
namespace {

constexpr Instant kNow = {2'000'000'000LL * 1'000'000'000};
constexpr int64_t kDay = 24 * 3600;

class PruneTest : public testing::Test {
 protected:
  std::string state() const { return temp_.Path("state"); }

  // A job whose folder last changed so many days ago, with some output.
  JobDir Make(JobState end, int64_t days_ago, size_t output_bytes = 0) {
    auto dir = JobDir::Create(state());
    EXPECT_TRUE(dir);
    auto store = SqliteStore::Open(*dir, *loop_);
    JobRow row = ExampleJob(1);
    row.state = end;
    (*store)->PutJob(row);
    store->reset();
    EXPECT_TRUE(os::WriteFile(dir->place().OutputPath({}), std::string(output_bytes, 'x')));
    SetAge(dir->path(), days_ago);
    return std::move(*dir);
  }
  static void SetAge(const std::string& path, int64_t days_ago) {
    time_t at = kNow.ns / 1'000'000'000 - days_ago * kDay;
    timespec times[2] = {{.tv_sec = at, .tv_nsec = 0}, {.tv_sec = at, .tv_nsec = 0}};
    auto entries = os::ListDir(path);
    for (const os::DirEntry& entry : *entries) {
      EXPECT_EQ(utimensat(AT_FDCWD, (path + "/" + entry.name).c_str(), times, 0), 0);
    }
  }
  std::vector<uint32_t> Removed(const PruneOptions& options) {
    auto report = Prune(state(), options, kNow);
    EXPECT_TRUE(report);
    EXPECT_EQ(report->jobs, RunNumbers(state())->size());
    return report->removed;
  }

  os::TempDir temp_;
  std::unique_ptr<os::RealLoop> loop_ = std::move(*os::RealLoop::Create());
};

using Numbers = std::vector<uint32_t>;

TEST_F(PruneTest, ByAge) {
  {
    auto a = Make(JobState::kFinished, 100);
  }
  {
    auto b = Make(JobState::kStopped, 100);
  }
  {
    auto c = Make(JobState::kFinished, 80);
  }
  auto running = Make(JobState::kRunning, 200);
  EXPECT_EQ(Removed({}), (Numbers{1, 2}));
  EXPECT_EQ(*RunNumbers(state()), (Numbers{3, 4}));
}

TEST_F(PruneTest, BySizeTheOldestFinishedFirst) {
  {
    auto a = Make(JobState::kFinished, 10, 1 << 20);
  }
  {
    auto b = Make(JobState::kStopped, 30, 1 << 20);
  }
  {
    auto c = Make(JobState::kFinished, 20, 1 << 20);
  }
  {
    auto d = Make(JobState::kFinished, 5, 1 << 20);
  }
  EXPECT_EQ(Removed({.keep_size = 5 << 20}), Numbers{});
  EXPECT_EQ(Removed({.keep_size = (3 << 20) + 200'000}), Numbers{3});
  EXPECT_EQ(Removed({.keep_size = 0}), (Numbers{1, 4}));  // 2 can be resumed
}

TEST_F(PruneTest, NotTooOften) {
  {
    auto a = Make(JobState::kFinished, 10);
  }
  auto first = Prune(state(), {}, kNow);
  EXPECT_FALSE(first->skipped);
  auto mark = os::Stat(state() + "/pruned");
  ASSERT_TRUE(mark);
  PruneOptions hourly = {.at_most_every = Duration::Seconds(3600)};
  EXPECT_TRUE(Prune(state(), hourly, mark->modified + Duration::Seconds(10))->skipped);
  EXPECT_FALSE(Prune(state(), hourly, mark->modified + Duration::Seconds(3700))->skipped);
}

TEST_F(PruneTest, SweepsWhatAKilledRemovalLeft) {
  {
    auto a = Make(JobState::kFinished, 10);
  }
  temp_.Write("state/jobs/.forgotten-7-99/job.db", "");
  EXPECT_EQ(Removed({}), Numbers{});
  EXPECT_FALSE(os::Exists(state() + "/jobs/.forgotten-7-99"));
}

TEST_F(PruneTest, JobsThatWereNeverAcceptedGoAfterADay) {
  for (int64_t days : {0, 2}) {
    auto dir = JobDir::Create(state());
    SetAge(dir->path(), days);
  }
  EXPECT_EQ(Removed({}), Numbers{2});
}

TEST_F(PruneTest, NorIsARowWithoutTasksAJob) {
  for (int64_t days : {0, 1, 1}) {
    auto dir = JobDir::Create(state());
    auto store = SqliteStore::Open(*dir, *loop_);
    (*store)->PutJob(ExampleJob(0));
    if (dir->number() == 3) {  // accepted: it may be resumed
      Bundle bundle;
      bundle.records.push_back(engine::JobAccepted{JobId(3), {}});
      EXPECT_TRUE(Await(*loop_, [&](auto done) { (*store)->Append(std::move(bundle), done); }));
    }
    store->reset();
    SetAge(dir->path(), days);
  }
  EXPECT_EQ(Removed({}), Numbers{2});
}

TEST_F(PruneTest, FoldsTheLogOfAKilledRun) {
  auto dir = std::make_unique<JobDir>(Make(JobState::kRunning, 1));
  // The state that a killed run leaves: a log that holds commits. Copied while the store is open.
  auto store = SqliteStore::Open(*dir, *loop_);
  Bundle bundle;
  bundle.records.push_back(EndOf(0));
  (*store)->Append(std::move(bundle), [&](Status) { loop_->Stop(); });
  loop_->Run();
  std::string log = os::ReadFile(dir->DbPath() + "-wal", 1 << 20).value();
  store->reset();
  ASSERT_FALSE(os::Exists(dir->DbPath() + "-wal"));
  ASSERT_TRUE(os::WriteFile(dir->DbPath() + "-wal", log));
  auto busy = Prune(state(), {}, kNow);  // somebody runs it: left alone
  EXPECT_TRUE(os::Exists(dir->DbPath() + "-wal"));
  EXPECT_EQ(busy->freed_bytes, 0u);
  dir.reset();
  auto report = Prune(state(), {}, kNow);
  EXPECT_EQ(report->freed_bytes, log.size());
  EXPECT_FALSE(os::Exists(JobPath(state(), 1) + "/job.db-wal"));
}

// The lock of each would be waited for a third of a second.
TEST_F(PruneTest, PassesOverLiveJobsAtOnce) {
  std::vector<JobDir> live;
  for (int i = 0; i < 12; ++i) live.push_back(Make(JobState::kRunning, 200));
  const int64_t begun = os::MonotonicNanos();
  EXPECT_EQ(Removed({}), Numbers{});
  EXPECT_LT(os::MonotonicNanos() - begun, 1'000'000'000);
  EXPECT_EQ(RunNumbers(state())->size(), live.size());
}

TEST_F(PruneTest, LeavesAFolderThatIsJustBeingMade) {
  const std::string fresh = JobPath(state(), 1);
  ASSERT_TRUE(os::MakeDirs(fresh, 0700));
  const Instant made = os::Stat(fresh)->modified;
  EXPECT_TRUE(Prune(state(), {}, made + Duration::Seconds(1))->removed.empty());
  EXPECT_TRUE(os::Exists(fresh)) << "its maker has not locked it yet";
  EXPECT_EQ(Prune(state(), {}, made + Duration::Seconds(61))->removed, Numbers{1});
}

TEST_F(PruneTest, LeavesTheRestToTheNextOne) {
  for (int i = 0; i < 3; ++i) {
    auto dir = Make(JobState::kFinished, 100);
  }
  EXPECT_EQ(Removed({.most_steps = 2}), (Numbers{1, 2}));
  EXPECT_EQ(Removed({}), Numbers{3});
}

TEST_F(PruneTest, NoStateIsNoWork) {
  auto report = Prune(temp_.Path("none"), {}, kNow);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->jobs, 0u);
  EXPECT_FALSE(os::Exists(temp_.Path("none")));
}

}  // namespace
}  // namespace spate::store
