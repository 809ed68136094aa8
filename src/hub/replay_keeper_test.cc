#include "hub/replay_keeper.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace spate::hub {
namespace {

constexpr uint64_t kLeast = ReplayKeeper::kLeast;

class Answer final : public JournalAnswer {
 public:
  explicit Answer(int& alive) : alive_(alive) { ++alive_; }
  ~Answer() override { --alive_; }
  void Pause(bool) override {}

 private:
  int& alive_;
};

class ReplayKeeperTest : public testing::Test {
 protected:
  void End(JobId job, uint64_t attempts) {
    for (; attempts > 0; --attempts) keeper_.Ended(job);
  }
  void Done() { std::exchange(done_, nullptr)(); }

  std::vector<uint32_t> kept_;
  int at_work_ = 0;
  bool possible_ = true;
  uint64_t ended_before_ = 0;
  std::function<void()> done_;
  ReplayKeeper keeper_{[this](JobId job, std::function<void()> done) -> std::unique_ptr<Answer> {
                         if (!possible_) return nullptr;
                         kept_.push_back(job.value);
                         done_ = std::move(done);
                         return std::make_unique<Answer>(at_work_);
                       },
                       [this](JobId) { return ended_before_; }};
};

TEST_F(ReplayKeeperTest, AJobIsKeptAsItGrows) {
  End(JobId(1), kLeast - 1);
  EXPECT_TRUE(kept_.empty());
  End(JobId(1), 1);
  EXPECT_EQ(kept_, std::vector<uint32_t>{1});
  Done();
  EXPECT_EQ(at_work_, 0);
  End(JobId(1), kLeast);
  EXPECT_EQ(kept_.size(), 2u);
}

TEST_F(ReplayKeeperTest, ALargerOneLessOften) {
  ended_before_ = 32 * kLeast;
  End(JobId(1), 2 * kLeast - 1);
  EXPECT_TRUE(kept_.empty());
  End(JobId(1), 1);
  EXPECT_EQ(kept_.size(), 1u);
}

TEST_F(ReplayKeeperTest, OneAtATimeAndEachOnce) {
  End(JobId(3), kLeast);
  for (JobId job : {JobId(2), JobId(1), JobId(2)}) End(job, kLeast);
  EXPECT_EQ(at_work_, 1);
  EXPECT_EQ(kept_, std::vector<uint32_t>{3});
  Done();
  Done();
  EXPECT_EQ(kept_, (std::vector<uint32_t>{3, 1, 2}));
  Done();
  EXPECT_EQ(at_work_, 0);
}

TEST_F(ReplayKeeperTest, WhatIsLeftIsKeptAtTheEnd) {
  End(JobId(1), ReplayKeeper::kLeastAtEnd - 1);
  keeper_.Finished(JobId(1));
  EXPECT_TRUE(kept_.empty());
  End(JobId(2), ReplayKeeper::kLeastAtEnd);
  keeper_.Finished(JobId(2));
  EXPECT_EQ(kept_, std::vector<uint32_t>{2});
  keeper_.Finished(JobId(7));
}

TEST_F(ReplayKeeperTest, WhatIsNotPossibleIsTriedLater) {
  possible_ = false;
  End(JobId(1), kLeast);
  possible_ = true;
  End(JobId(1), kLeast - 1);
  EXPECT_TRUE(kept_.empty());
  End(JobId(1), 1);
  EXPECT_EQ(kept_.size(), 1u);
}

}  // namespace
}  // namespace spate::hub
