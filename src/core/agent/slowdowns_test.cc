#include "core/agent/slowdowns.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace spate::agent {
namespace {

constexpr uint64_t kMega = 1'000'000;
constexpr AttemptRef kVictim{JobId(1), 0, spate::Attempt(1)};
constexpr AttemptRef kOther{JobId(2), 5, spate::Attempt(1)};
constexpr AttemptRef kThird{JobId(3), 0, spate::Attempt(1)};

class SlowdownsTest : public testing::Test {
 protected:
  static Slowdowns::Sample Of(const AttemptRef& ref, uint64_t network, uint64_t files = 0) {
    return {ref, {{network, files}}};
  }
  // So many windows of the victim at `rate`, beside others that move nothing.
  void Windows(int count, uint64_t rate, const std::vector<AttemptRef>& others = {}) {
    for (int i = 0; i < count; ++i) {
      std::vector<Slowdowns::Sample> window = {Of(kVictim, rate)};
      for (const AttemptRef& other : others) window.push_back(Of(other, 0));
      auto more = slowdowns_.Add(window);
      found_.insert(found_.end(), more.begin(), more.end());
    }
  }

  Slowdowns slowdowns_;
  std::vector<SlowedBeside> found_;
};

TEST_F(SlowdownsTest, AFallFromItsStartToItsEnd) {
  Windows(5, 80 * kMega);
  Windows(6, 40 * kMega, {kOther});
  EXPECT_TRUE(found_.empty()) << "it has not ended";
  Windows(5, 80 * kMega);
  ASSERT_EQ(found_.size(), 1u);
  EXPECT_EQ(found_[0],
            (SlowedBeside{kVictim, kOther.job, TrafficKind::kNetwork, 80 * kMega, 40 * kMega}));
}

TEST_F(SlowdownsTest, FilesCountAsWell) {
  for (int i = 0; i < 15; ++i) {
    const bool beside = i >= 5 && i < 10;
    std::vector<Slowdowns::Sample> window = {Of(kVictim, 0, (beside ? 30 : 90) * kMega)};
    if (beside) window.push_back(Of(kOther, 0));
    for (const SlowedBeside& one : slowdowns_.Add(window)) found_.push_back(one);
  }
  ASSERT_EQ(found_.size(), 1u);
  EXPECT_EQ(found_[0].kind, TrafficKind::kFiles);
}

TEST_F(SlowdownsTest, LessThanAQuarterIsNothing) {
  Windows(5, 80 * kMega);
  Windows(6, 61 * kMega, {kOther});
  Windows(5, 80 * kMega);
  EXPECT_TRUE(found_.empty());
}

TEST_F(SlowdownsTest, WhatStaysLowAfterwardsIsAPhase) {
  Windows(5, 80 * kMega);
  Windows(6, 40 * kMega, {kOther});
  Windows(9, 40 * kMega);
  EXPECT_TRUE(found_.empty());
}

TEST_F(SlowdownsTest, WhatRisesMeanwhileIsAPhase) {
  Windows(5, 80 * kMega);
  Windows(3, 40 * kMega, {kOther});
  Windows(3, 80 * kMega, {kOther});
  Windows(5, 80 * kMega);
  EXPECT_TRUE(found_.empty());
}

TEST_F(SlowdownsTest, WhatFallsLaterIsAPhase) {
  Windows(5, 80 * kMega);
  Windows(3, 80 * kMega, {kOther});
  Windows(3, 40 * kMega, {kOther});
  Windows(5, 80 * kMega);
  EXPECT_TRUE(found_.empty());
}

TEST_F(SlowdownsTest, ASecondOneThatComesHidesTheCause) {
  Windows(5, 80 * kMega);
  Windows(4, 40 * kMega, {kOther});
  Windows(4, 40 * kMega, {kOther, kThird});
  Windows(4, 40 * kMega, {kOther});
  Windows(5, 80 * kMega);
  EXPECT_TRUE(found_.empty());
}

TEST_F(SlowdownsTest, AJobThatStaysIsTheBackground) {
  Windows(5, 80 * kMega, {kThird});
  Windows(6, 40 * kMega, {kOther, kThird});
  Windows(5, 80 * kMega, {kThird});
  ASSERT_EQ(found_.size(), 1u);
  EXPECT_EQ(found_[0].beside, kOther.job);
}

TEST_F(SlowdownsTest, NoMoreWindowsThanAreKnownAreBelieved) {
  Windows(Slowdowns::kFew, 80 * kMega);  // the first of them is that in which it came itself
  Windows(6, 40 * kMega, {kOther});
  Windows(5, 80 * kMega);
  EXPECT_TRUE(found_.empty());
}

// Phases of its own, whatever their length, beside jobs that come and go at random: about as often
// as a phase begins and ends in the very windows in which a job does.
TEST_F(SlowdownsTest, PhasesAloneReportNothing) {
  Prng prng(54);
  size_t visits = 0;
  bool beside = false;
  for (int i = 0; i < 20'000; ++i) {
    if (prng.Below(12) == 0) visits += !std::exchange(beside, !beside);
    const uint64_t rate = i % 14 < 7 ? 80 * kMega : 40 * kMega;
    Windows(1, rate, beside ? std::vector{kOther} : std::vector<AttemptRef>());
  }
  EXPECT_GT(visits, 500u);
  // Twice for the same pair is asked by whoever acts on it (JobParted).
  EXPECT_LT(found_.size(), visits / 20);
}

}  // namespace
}  // namespace spate::agent
