#include "hub/pace.h"

#include <gtest/gtest.h>

namespace spate::hub {
namespace {

constexpr Duration kCost = Duration::Millis(20);

TEST(PaceTest, ATenthOfTheLoopIsOneUsers) {
  Pace pace;
  Instant now = Instant() + Duration::Seconds(1000);
  const Instant begin = now;
  int answered = 0;
  while (now < begin + Duration::Seconds(60)) {
    auto start = pace.Enter("mallory", kCost, now);
    ASSERT_TRUE(start);
    now = *start;
    ++answered;
  }
  // 6 s, and what may be asked at once.
  EXPECT_GE(answered, 300);
  EXPECT_LE(answered, 307);
}

TEST(PaceTest, FewQuestionsWaitForNothing) {
  Pace pace;
  const Instant now = Instant() + Duration::Seconds(1000);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(pace.Enter("ann", kCost, now), now);
  EXPECT_GT(pace.Enter("ann", kCost, now), now);
  EXPECT_EQ(pace.Enter("bob", kCost, now), now) << "others do not wait for ann's";
}

TEST(PaceTest, WhatCountsIsWhatItTook) {
  Pace pace;
  const Instant now = Instant() + Duration::Seconds(1000);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(pace.Enter("ann", kCost, now), now) << i;
    pace.Correct("ann", kCost, Duration::Millis(1));
  }
  EXPECT_EQ(pace.Enter("bob", kCost, now), now);
  pace.Correct("bob", kCost, Duration::Millis(500));
  EXPECT_EQ(pace.Enter("bob", kCost, now), now + Duration::Seconds(4));
}

TEST(PaceTest, ALineThatIsTooLongIsRefused) {
  Pace pace;
  const Instant now = Instant() + Duration::Seconds(1000);
  int taken = 0;
  while (taken < 10'000 && pace.Enter("mallory", kCost, now)) ++taken;
  EXPECT_NEAR(taken, 605, 3);
  EXPECT_FALSE(pace.Enter("mallory", kCost, now));
  EXPECT_TRUE(pace.Enter("mallory", kCost, now + Duration::Seconds(1)));
}

TEST(PaceTest, UsersWhoAskNothingAreForgotten) {
  Pace pace;
  Instant now = Instant() + Duration::Seconds(1000);
  for (int i = 0; i < 10'000; ++i) {
    now = now + Duration::Seconds(1);
    pace.Enter(std::to_string(i), kCost, now);
  }
  EXPECT_LT(pace.users(), 130u);
}

}  // namespace
}  // namespace spate::hub
