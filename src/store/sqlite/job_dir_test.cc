#include "store/sqlite/job_dir.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "os/clock.h"
#include "os/temp_dir.h"

namespace spate::store {
namespace {

TEST(JobDir, NumbersFollowTheLargest) {
  os::TempDir temp;
  std::string state = temp.Path("deep/state");
  EXPECT_TRUE(RunNumbers(state)->empty());
  EXPECT_EQ(JobDir::Create(state)->number(), 1u);
  EXPECT_EQ(JobDir::Create(state)->number(), 2u);
  temp.Write("deep/state/jobs/9/x", "");
  temp.Write("deep/state/jobs/077", "a file");
  temp.Write("deep/state/jobs/12a/x", "");
  auto dir = JobDir::Create(state);
  EXPECT_EQ(dir->number(), 10u);
  EXPECT_EQ(*RunNumbers(state), (std::vector<uint32_t>{1, 2, 9, 10}));
  EXPECT_TRUE(os::Exists(dir->SpoolPath()));
  EXPECT_EQ(os::Stat(dir->path())->permissions, 0700u);
}

TEST(JobDir, ManyAtOnceGetDifferentNumbers) {
  os::TempDir temp;
  constexpr int kThreads = 8;
  constexpr int kEach = 20;
  std::vector<std::vector<uint32_t>> got(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        auto dir = JobDir::Create(temp.Path("state"));
        if (dir) got[static_cast<size_t>(t)].push_back(dir->number());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<uint32_t> all;
  for (const auto& numbers : got) all.insert(numbers.begin(), numbers.end());
  EXPECT_EQ(all.size(), static_cast<size_t>(kThreads * kEach));
}

TEST(JobDir, ASecondOpenerIsToldThePid) {
  os::TempDir temp;
  std::string state = temp.Path("state");
  auto first = JobDir::Create(state);
  ASSERT_TRUE(first);
  auto second = JobDir::Open(state, 1);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kBusy);
  EXPECT_NE(second.error().message.find("process " + std::to_string(getpid())), std::string::npos)
      << second.error().message;
  auto owner = RunningOwner(first->path());
  ASSERT_TRUE(owner);
  ASSERT_TRUE(*owner);
  EXPECT_EQ((*owner)->pid, getpid());
  EXPECT_GT((*owner)->start, 0);
  EXPECT_FALSE((*owner)->boot.empty());
  {
    JobDir drop = std::move(*first);
  }
  EXPECT_FALSE(RunningOwner(JobPath(state, 1))->has_value());
  EXPECT_TRUE(JobDir::Open(state, 1));
  EXPECT_EQ(JobDir::Open(state, 2).error().kind, ErrorKind::kNotFound);
}

TEST(JobDir, NobodyWaitsForALivingOwner) {
  os::TempDir temp;
  auto dir = JobDir::Create(temp.Path("state"));
  const int64_t begun = os::MonotonicNanos();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(JobDir::Open(temp.Path("state"), 1).error().kind, ErrorKind::kBusy);
  }
  EXPECT_LT(os::MonotonicNanos() - begun, 1'500'000'000);
}

// A process that was killed may have the lock until its children run their own programs.
TEST(JobDir, TheLockOfADeadOwnerIsWaitedFor) {
  os::TempDir temp;
  std::string state = temp.Path("state");
  {
    auto dir = JobDir::Create(state);
  }
  JobOwner dead = JobOwner::ThisProcess();
  ++dead.start;
  auto lock = os::FileLock::TryLock(JobPath(state, 1) + "/lock", dead.ToLine());
  ASSERT_TRUE(lock);
  const int64_t begun = os::MonotonicNanos();
  EXPECT_EQ(JobDir::Open(state, 1).error().kind, ErrorKind::kBusy);
  EXPECT_GT(os::MonotonicNanos() - begun, 100'000'000);
}

TEST(JobDir, OwnerLine) {
  JobOwner owner = {.pid = 12, .host = "h", .boot = "b-c", .start = 99};
  JobOwner back = JobOwner::FromLine(owner.ToLine());
  EXPECT_EQ(back.pid, 12);
  EXPECT_EQ(back.host, "h");
  EXPECT_EQ(back.boot, "b-c");
  EXPECT_EQ(back.start, 99);
  EXPECT_EQ(JobOwner::FromLine("garbage pid=x = host").pid, 0);
}

TEST(JobDir, OpenEmptiesTheSpool) {
  os::TempDir temp;
  std::string state = temp.Path("state");
  {
    auto dir = JobDir::Create(state);
  }
  temp.Write("state/jobs/1/spool/left", "over");
  auto dir = JobDir::Open(state, 1);
  ASSERT_TRUE(dir);
  EXPECT_TRUE(os::ListDir(dir->SpoolPath())->empty());
}

TEST(JobDir, AnotherUsersStateIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a folder away";
  os::TempDir temp;
  std::string state = temp.Path("state");
  {
    auto dir = JobDir::Create(state);
  }
  ASSERT_EQ(chown(state.c_str(), 12345, 12345), 0);
  for (bool create : {true, false}) {
    auto dir = create ? JobDir::Create(state) : JobDir::Open(state, 1);
    ASSERT_FALSE(dir);
    EXPECT_EQ(dir.error().kind, ErrorKind::kPermission);
    EXPECT_NE(dir.error().message.find("uid 12345"), std::string::npos);
  }
  ASSERT_EQ(chown(state.c_str(), 0, 0), 0);
}

TEST(JobDir, AStateThatCannotBeMade) {
  os::TempDir temp;
  temp.Write("file", "");
  auto dir = JobDir::Create(temp.Path("file/state"));
  ASSERT_FALSE(dir);
  EXPECT_NE(dir.error().message.find(temp.Path("file")), std::string::npos);
}

TEST(JobDir, ForgetRemovesWhatNobodyRuns) {
  os::TempDir temp;
  std::string state = temp.Path("state");
  {
    auto running = JobDir::Create(state);
    EXPECT_EQ(ForgetJob(state, 1).error().kind, ErrorKind::kBusy);
    EXPECT_TRUE(os::Exists(running->path()));
  }
  EXPECT_TRUE(ForgetJob(state, 1));
  EXPECT_TRUE(os::ListDir(state + "/jobs")->empty());
  EXPECT_EQ(ForgetJob(state, 1).error().kind, ErrorKind::kNotFound);
  auto dir = JobDir::Create(state);
  EXPECT_TRUE(dir->Remove());
  EXPECT_TRUE(RunNumbers(state)->empty());
}

}  // namespace
}  // namespace spate::store
