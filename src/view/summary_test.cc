#include "view/summary.h"

#include <gtest/gtest.h>

namespace spate::cli {
namespace {

TEST(SummaryTest, Lines) {
  struct Case {
    RunTotals totals;
    JobCounts counts;
    JobCounts before;
    Duration elapsed;
    std::string line;
  };
  const Case kCases[] = {
      {{.succeeded = 998, .failed = 2, .cpu = Duration::Millis(24'100), .peak_memory = 52u << 20},
       {.total = 1000, .succeeded = 998, .failed = 2},
       {},
       Duration::Millis(12'300),
       "1,000 tasks: 998 succeeded, 2 failed in 12.3 s (81 tasks/s), 24.1 s CPU, peak 52 MB"},
      {{.succeeded = 1},
       {.total = 1, .succeeded = 1},
       {},
       Duration::Millis(20),
       "1 task: 1 succeeded in 0.02 s, 0.00 s CPU"},
      {{.failed = 1},
       {.total = 1, .failed = 1},
       {},
       Duration::Millis(20),
       "1 task: 1 failed in 0.02 s, 0.00 s CPU"},
      {{}, {}, {}, Duration(), "0 tasks: 0 succeeded in 0.00 s, 0.00 s CPU"},
      {{.succeeded = 400, .unknown = 1, .tried_again = 3},
       {.total = 1000, .queued = 90, .leased = 9, .succeeded = 900, .unknown = 1},
       {.total = 1000, .queued = 500, .succeeded = 500},
       Duration::Seconds(100),
       "1,000 tasks: 900 succeeded, 1 unknown, 99 not done, 3 further attempts; this run: 401 in "
       "1m40s (4.0 tasks/s), 0.00 s CPU"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(SummaryLine(c.totals, c.counts, c.before, c.elapsed), c.line);
  }
}

TEST(SummaryTest, WhatWasStoppedIsNotTriedAgain) {
  RunTotals totals;
  totals.Add({.cause = Cause::kStopped}, engine::Verdict::kRetry);
  EXPECT_EQ(totals.tried_again, 0u);
  totals.Add({.cause = Cause::kExit}, engine::Verdict::kRetry);
  EXPECT_EQ(totals.tried_again, 1u);
}

TEST(SummaryTest, HintsAreWhatOneTypes) {
  HintContext list{.job = JobId(12), .files = {"my jobs.lst"}};
  HintContext command{.job = JobId(3), .state_dir = "/tmp/s t"};
  EXPECT_EQ(Hints(list, {.total = 2, .succeeded = 2}, RunEnd::kFinished), "");
  EXPECT_EQ(Hints(list, {.total = 2, .failed = 2}, RunEnd::kFinished),
            "to retry the failed tasks:  spate job retry 12\n");
  EXPECT_EQ(Hints(list, {.total = 2, .queued = 2}, RunEnd::kInterrupted),
            "to run the remaining tasks:  spate run --resume 'my jobs.lst'\n");
  EXPECT_EQ(Hints(command, {.total = 2, .queued = 1, .failed = 1}, RunEnd::kHalted),
            "to run the remaining tasks:  spate run --resume --state '/tmp/s t'\n"
            "to retry the failed tasks:  spate job retry --state '/tmp/s t' 3\n");
  // Resumed with all its failures, it would stop again at once.
  list.held = engine::HoldReason::kMaxFailures;
  EXPECT_EQ(Hints(list, {.total = 2, .queued = 1, .failed = 1}, RunEnd::kHalted),
            "to run the remaining tasks:  spate job retry 12\n");
}

TEST(SummaryTest, HintsOfAHubsJobMeanThatOne) {
  using engine::HoldReason;
  HintContext hub{.job = JobId(3), .on_hub = true, .reach = " --access a"};
  JobCounts left{.total = 4, .queued = 2, .failed = 2};
  // It goes on, whoever looks.
  EXPECT_EQ(Hints(hub, left, RunEnd::kInterrupted), "");
  EXPECT_EQ(Hints(hub, {.total = 2, .failed = 2}, RunEnd::kFinished),
            "to retry the failed tasks:  spate job retry --access a 3\n");
  hub.held = HoldReason::kAllFail;
  EXPECT_EQ(Hints(hub, left, RunEnd::kHalted),
            "to run the remaining tasks:  spate job release --access a 3\n"
            "to retry the failed tasks:  spate job retry --access a 3\n");
  hub.held = HoldReason::kMaxFailures;
  EXPECT_EQ(Hints(hub, left, RunEnd::kHalted),
            "to run the remaining tasks:  spate job retry --access a 3\n");
}

TEST(SummaryTest, AHaltThatWasAskedForIsASuccess) {
  using engine::HoldReason;
  HaltRule halt{.when = HaltRule::When::kSoon, .what = HaltRule::What::kSuccess, .count = 1};
  JobCounts some{.total = 9, .queued = 7, .succeeded = 1, .failed = 1};
  EXPECT_TRUE(DidAsAsked(halt, HoldReason::kHaltRule, some));
  EXPECT_FALSE(DidAsAsked(halt, HoldReason::kAllFail, some));
  halt.what = HaltRule::What::kDone;
  EXPECT_FALSE(DidAsAsked(halt, HoldReason::kHaltRule, some));
  EXPECT_TRUE(DidAsAsked({}, HoldReason::kNone, {.total = 2, .succeeded = 2}));
}

}  // namespace
}  // namespace spate::cli
