#include "doors/mw/run/waiting_results.h"

#include <gtest/gtest.h>

#include <vector>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::mw {
namespace {

constexpr uint64_t kMemory = 100'000;
constexpr size_t kValue = 40'000;

result Of(uint64_t number, size_t size) {
  return {.task = {number},
          .algorithm = "make",
          .tag = "tag",
          .bytes = std::string(size, static_cast<char>('a' + number))};
}

struct WaitingResults : testing::Test {
  os::TempDir dir;
  std::shared_ptr<link::OutputMemory> memory = std::make_shared<link::OutputMemory>(kMemory);
  ResultKeeper keeper{memory, dir.path()};
  size_t files() const { return os::ListDir(dir.path())->size(); }
};

TEST_F(WaitingResults, ThatHaveNoRoomInMemoryAreInFilesAndComeBackWhole) {
  std::vector<WaitingResult> waiting;
  for (uint64_t i = 1; i <= 5; ++i) {
    waiting.push_back(keeper.Store(Of(i, kValue)));
    EXPECT_GE(waiting.back().cost, kValue);
  }
  EXPECT_LE(memory->used(), kMemory);
  EXPECT_EQ(files(), 3u);
  EXPECT_TRUE(waiting[4].what.bytes.empty());
  EXPECT_EQ(Whole(waiting[4]).bytes, Of(5, kValue).bytes);
  for (uint64_t i = 1; i <= 5; ++i) {
    const result back = Taken(std::move(waiting[i - 1]));
    EXPECT_EQ(back.bytes, Of(i, kValue).bytes);
    EXPECT_EQ(back.tag, "tag");
    EXPECT_TRUE(back.ok());
  }
  waiting.clear();
  EXPECT_EQ(memory->used(), 0u);
  EXPECT_EQ(files(), 0u);
  (void)keeper.Store(Of(1, kMemory / 2));
  EXPECT_EQ(files(), 0u);
}

TEST_F(WaitingResults, ShortOnesNeverBecomeFiles) {
  std::vector<WaitingResult> waiting;
  waiting.push_back(keeper.Store(Of(1, kMemory - 1000)));
  for (uint64_t i = 2; i < 100; ++i) waiting.push_back(keeper.Store(Of(i, 1000)));
  EXPECT_EQ(files(), 0u);
  EXPECT_LE(memory->used(), kMemory);
}

TEST_F(WaitingResults, WhatCannotBeReadBackHasFailed) {
  WaitingResult waiting = keeper.Store(Of(1, 2 * kMemory));
  ASSERT_FALSE(waiting.file.empty());
  ASSERT_TRUE(os::RemoveFile(waiting.file));
  const result back = Taken(std::move(waiting));
  EXPECT_FALSE(back.ok());
  EXPECT_NE(back.failure.find("cannot be read back"), std::string::npos);
}

TEST_F(WaitingResults, AFullDiskLosesNothing) {
  ResultKeeper nowhere(memory, dir.Path("missing"));
  WaitingResult waiting = nowhere.Store(Of(1, 2 * kMemory));
  EXPECT_EQ(Taken(std::move(waiting)).bytes, Of(1, 2 * kMemory).bytes);
}

}  // namespace
}  // namespace spate::mw
