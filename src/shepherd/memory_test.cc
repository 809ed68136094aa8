// Memory that counts for an attempt: close looks at processes, and a cgroup's numbers without its
// page cache (a folder of plain files plays the cgroup).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "os/file.h"
#include "os/process.h"
#include "os/temp_dir.h"
#include "shepherd/memory_watch.h"
#include "shepherd/tree_memory.h"

namespace spate::shepherd {
namespace {

constexpr uint64_t kMega = 1 << 20;
constexpr int64_t kSecond = 1'000'000'000;

TEST(TreeMemory, ReadsWhatAProcessNeeds) {
  struct {
    std::string text;
    std::optional<uint64_t> bytes;
  } cases[] = {
      {"Rss:    900 kB\nPss:   70 kB\nPss_Dirty: 9 kB\nPss_Anon:   12 kB\nPss_File: 50 kB\n"
       "Pss_Shmem: 3 kB\n",
       15 * 1024},
      {"0040-7ffd [rollup]\nRss:    900 kB\nPss:     70 kB\nShared_Clean: 1 kB\n", 70 * 1024},
      {"Rss:    900 kB\n", std::nullopt},
      {"", std::nullopt},
      {"Pss: much\n", std::nullopt},
  };
  for (const auto& [text, bytes] : cases) {
    uint64_t got = 0;
    EXPECT_EQ(ReadNeed(text, got), bytes.has_value()) << text;
    EXPECT_EQ(got, bytes.value_or(0)) << text;
  }
}

// Forked processes share a block until the first of them writes to it; a mapped file is nobody's.
TEST(TreeMemory, CountsSharedPagesOnceAndFilesNever) {
  os::TempDir dir;
  dir.Write("file", std::string(40 * kMega, 'x'));
  std::vector<char> block(40 * kMega, 'x');
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    auto file = os::OpenRead(dir.Path("file"));
    auto* mapped = static_cast<volatile char*>(
        mmap(nullptr, 40 * kMega, PROT_READ, MAP_SHARED, file->get(), 0));
    for (size_t at = 0; at < 40 * kMega; at += 4096) (void)mapped[at];
    volatile char* mine = block.data();
    for (size_t at = 0; at < 40 * kMega; at += 4096) (void)mine[at];
    (void)!write(ready[1], "x", 1);
    while (true) pause();
  }
  char byte = 0;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(read(ready[0], &byte, 1), 1);
  uint64_t need = NeedOfDescendants(getpid());
  EXPECT_GT(need, 20 * kMega);  // three of four shares
  EXPECT_LT(need, 80 * kMega);
  EXPECT_GT(os::RssOfDescendants(getpid()), 200 * kMega);
  for (pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(NeedOfDescendants(getpid()), 0u);
}

class CgroupMemoryTest : public testing::Test {
 protected:
  CgroupMemoryTest() {
    for (const char* name : {"cgroup.procs", "memory.max", "memory.swap.max", "memory.events"}) {
      Put(name, "");
    }
    Say(0, 0, 0);
  }
  // The same file stays, with other content.
  void Put(const std::string& name, const std::string& text) {
    std::ofstream(dir_.Path(name)) << text;
  }
  void Say(uint64_t peak, uint64_t now, uint64_t cache) {
    Put("memory.peak", fmt::format("{}\n", peak));
    Put("memory.current", fmt::format("{}\n", now));
    Put("memory.stat", fmt::format("anon 5\nfile {}\nkernel 1\nshmem {}\ninactive_file 3\n",
                                   cache + kMega, kMega));
  }
  AttemptEnd Tell() {
    AttemptEnd end;
    watch_->AddTo(end);
    return end;
  }
  void Begin(uint64_t limit = 0) {
    if (!cgroup_) cgroup_.emplace(dir_.path()).Enter();
    if (!watch_) watch_.emplace(*cgroup_);
    Start start;
    start.needs.memory = limit;
    watch_->Begin(start, 0);
  }
  os::TempDir dir_;
  std::optional<os::Cgroup> cgroup_;
  std::optional<MemoryWatch> watch_;
};

TEST_F(CgroupMemoryTest, PageCacheIsNoNeed) {
  Begin(300 * kMega);
  Say(1000 * kMega, 1000 * kMega, 900 * kMega);
  EXPECT_EQ(watch_->Sample(kSecond, 0), 100 * kMega);
  EXPECT_FALSE(watch_->IsOver(100 * kMega));
  AttemptEnd end = Tell();
  EXPECT_EQ(end.memory_source, MemorySource::kCgroup);
  EXPECT_EQ(end.peak_memory, 100 * kMega);
  // The next attempt finds the cache of this one, which is not its own.
  Begin();
  Say(905 * kMega, 903 * kMega, 900 * kMega);
  EXPECT_EQ(Tell().peak_memory, 5 * kMega);
}

TEST_F(CgroupMemoryTest, WhatWasSeenIsNotTakenForCacheThatCameLater) {
  Begin();
  Say(500 * kMega, 500 * kMega, 0);
  EXPECT_EQ(watch_->Sample(kSecond, 0), 500 * kMega);
  Say(600 * kMega, 600 * kMega, 590 * kMega);
  EXPECT_EQ(watch_->Sample(2 * kSecond, 0), 10 * kMega);
  EXPECT_EQ(Tell().peak_memory, 500 * kMega);
}

TEST_F(CgroupMemoryTest, WithoutALookTheLargestProcessIsTheLeast) {
  Begin();
  rusage usage{};
  usage.ru_maxrss = 200 * 1024;
  watch_->Add(usage);
  Say(400 * kMega, 390 * kMega, 390 * kMega);
  EXPECT_EQ(Tell().peak_memory, 200 * kMega);
}

TEST(MemoryWatchTest, WhatLooksHaveNotSeenOfTheLargestProcessCounts) {
  os::Cgroup none("");
  MemoryWatch watch(none);
  watch.Begin({}, 0);
  rusage usage{};
  usage.ru_maxrss = 50 * 1024;
  watch.Add(usage);
  AttemptEnd end;
  watch.AddTo(end);
  EXPECT_EQ(end.memory_source, MemorySource::kRusage);
  EXPECT_EQ(end.peak_memory, 50 * kMega);
  watch.Saw(60 * kMega);
  watch.AddTo(end);
  EXPECT_EQ(end.memory_source, MemorySource::kSampled);
  EXPECT_EQ(end.peak_memory, 60 * kMega);
  usage.ru_maxrss = 90 * 1024;
  watch.Add(usage);
  watch.AddTo(end);
  EXPECT_EQ(end.memory_source, MemorySource::kRusage);
  EXPECT_EQ(end.peak_memory, 90 * kMega);
}

}  // namespace
}  // namespace spate::shepherd
