#include "view/bar.h"

#include <gtest/gtest.h>

#include "present/text/end_text.h"

namespace spate::cli {
namespace {

TEST(BarTest, Frames) {
  struct Case {
    BarState state;
    int width;
    std::string frame;
  };
  const BarState kMiddle{
      .done = 470, .ended = 470, .total = 1000, .failed = 2, .running = 4, .rate = 81};
  const Case kCases[] = {
      {{.done = 0, .ended = 0, .total = 1000},
       80,
       "  0% 0/1,000  [......................................]"},
      {kMiddle, 80,
       " 47% 470/1,000  [############..............]  2 failed  4 running  81/s  ETA 7s"},
      {kMiddle, 60, " 47% 470/1,000  2 failed  4 running  81/s  ETA 7s"},
      {kMiddle, 40, " 47% 470/1,000  2 failed  81/s  ETA 7s"},
      {kMiddle, 30, " 47% 470/1,000  2 failed"},
      {kMiddle, 10, " 47%"},
      {{.done = 1000, .ended = 1000, .total = 1000, .rate = 81},
       40,
       "100% 1,000/1,000  [#############]  81/s"},
      {{.done = 999999, .ended = 999999, .total = 1000000, .rate = 0.01},
       40,
       " 99% 999,999/1,000,000  36/h  ETA 1m40s"},
      {{.done = 5, .ended = 5, .total = 9, .open = true, .running = 2, .rate = 2},
       80,
       "5/9+  2 running  2.0/s"},
      {{.done = 5, .ended = 5, .total = 9, .running = 48},
       60,
       " 55% 5/9  [###################................]  48 running"},
      {{.done = 5, .ended = 5, .total = 9, .pause = "2.1 GB free, below 4 GB"},
       60,
       " 55% 5/9  [#######......]  waiting: 2.1 GB free, below 4 GB"},
      {{.done = 1, .ended = 1, .total = 9, .failed = 1, .colour = true},
       30,
       " 11% 1/9  \x1b[31m1 failed\x1b[0m"},
      {{.done = 0, .ended = 0, .total = 0}, 30, "100% 0/0  [#################]"},
  };
  for (const Case& c : kCases) EXPECT_EQ(DrawBar(c.state, c.width), c.frame);
}

TEST(BarTest, NeverWiderThanTheTerminal) {
  BarState state{.done = 123456,
                 .ended = 123456,
                 .total = 999999,
                 .failed = 4321,
                 .running = 64,
                 .rate = 3950.0,
                 .pause = "the load is 12.0, above 8.0"};
  for (int width = 1; width < 200; ++width) {
    EXPECT_LT(present::Columns(DrawBar(state, width)), static_cast<size_t>(std::max(width, 2)))
        << width;
  }
}

TEST(RateMeterTest, FollowsTheLastSeconds) {
  RateMeter meter;
  Instant t{1'000'000'000'000};
  meter.Start(t);
  meter.Note(t + Duration::Millis(100), 50);
  EXPECT_EQ(meter.PerSecond(t + Duration::Millis(100)), 0);  // too early to say
  meter.Note(t + Duration::Seconds(1), 100);
  EXPECT_DOUBLE_EQ(meter.PerSecond(t + Duration::Seconds(1)), 100);
  // A minute at 10 a second: the first 100 are forgotten.
  for (int s = 2; s <= 61; ++s) {
    meter.Note(t + Duration::Seconds(s), 100 + static_cast<uint64_t>(s - 1) * 10);
  }
  EXPECT_NEAR(meter.PerSecond(t + Duration::Seconds(61)), 10, 0.5);
  // Nothing ends any more: the rate falls.
  EXPECT_LT(meter.PerSecond(t + Duration::Seconds(100)), 6);
}

}  // namespace
}  // namespace spate::cli
