#include "core/model/retry.h"

#include <gtest/gtest.h>

namespace spate {
namespace {

TEST(Retry, EndsThatAreRepeated) {
  const CauseSet kSignals = CauseBit(Cause::kSignal);
  struct Case {
    CauseSet on;
    std::vector<ExitRange> exits;
    Cause cause;
    int32_t status;
    bool repeated;
  };
  const Case cases[] = {
      {kAllCauses, {}, Cause::kExit, 1, true},
      {kSignals, {}, Cause::kExit, 1, false},
      {kSignals, {}, Cause::kSignal, 9, true},
      // A shell reports 128 + N for a command that signal N has ended.
      {kSignals, {}, Cause::kExit, 137, true},
      {kSignals, {}, Cause::kExit, 139, true},
      {kSignals, {}, Cause::kExit, 192, true},
      {kSignals, {}, Cause::kExit, 128, false},
      {kSignals, {}, Cause::kExit, 193, false},
      {kSignals, {}, Cause::kStart, 137, false},
      {0, {{3, 3}, {75, 75}, {137, 140}}, Cause::kExit, 3, true},
      {0, {{3, 3}, {75, 75}, {137, 140}}, Cause::kExit, 138, true},
      {0, {{3, 3}, {75, 75}, {137, 140}}, Cause::kExit, 4, false},
      {0, {{3, 3}}, Cause::kSignal, 3, false},
      {kSignals, {{3, 3}}, Cause::kExit, 139, true},
      {CauseBit(Cause::kExit), {{3, 3}}, Cause::kExit, 4, false},
  };
  for (const Case& each : cases) {
    RetryPolicy policy{.retry_on = each.on, .exits = each.exits};
    EXPECT_EQ(IsRetried(policy, each.cause, each.status), each.repeated)
        << WordOf(each.cause) << " " << each.status << " of " << each.on;
  }
}

TEST(Retry, MemoryGrowsUpToItsBound) {
  constexpr uint64_t kMb = 1'000'000;
  RetryPolicy policy{.memory_growth = 200};
  EXPECT_EQ(MemoryAfter(policy, 300 * kMb), 600 * kMb);
  policy.max_memory = 1000 * kMb;
  EXPECT_EQ(MemoryAfter(policy, 600 * kMb), 1000 * kMb);
  EXPECT_EQ(MemoryAfter(policy, 1000 * kMb), 1000 * kMb);
  EXPECT_EQ(MemoryAfter(policy, 2000 * kMb), 2000 * kMb);
  policy.memory_growth = 150;
  EXPECT_EQ(MemoryAfter(policy, 101), 151u);
  EXPECT_EQ(MemoryAfter(policy, 0), 0u);
  EXPECT_EQ(MemoryAfter({}, 7), 7u);
}

}  // namespace
}  // namespace spate
