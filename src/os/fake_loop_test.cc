#include "os/fake_loop.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/prng.h"

namespace spate::os {
namespace {

TEST(FakeLoop, TheWallClockStepsAndTheSteadyOneDoesNot) {
  constexpr Duration kHour = Duration::Seconds(3600);
  FakeLoop loop;
  std::vector<ClockStep> steps;
  loop.OnClockStep([&](const ClockStep& step) { steps.push_back(step); });
  const Instant first = loop.Now();
  loop.RunFor(kHour);
  const Instant second = loop.Now();
  EXPECT_EQ(loop.ToWall(second), second);
  loop.SetClock(Duration() - kHour * 2);
  EXPECT_EQ(loop.Now(), second);
  EXPECT_EQ(loop.Wall(), second - kHour * 2);
  EXPECT_EQ(loop.ToWall(first), first - kHour * 2) << "as the clock tells it now";
  loop.Sleep(kHour * 8);
  loop.RunFor(kHour);
  EXPECT_EQ(loop.ToWall(first), first - kHour * 2) << "it was before the machine slept";
  EXPECT_EQ(loop.Wall(), second + kHour * 7);
  loop.SetClock(kHour * 2);
  EXPECT_EQ(loop.Wall() - loop.ToWall(first), kHour * 10);
  EXPECT_EQ(loop.ToWall(Instant()), Instant());
  EXPECT_EQ(loop.ToWall(Instant::Never()), Instant::Never());
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].set, Duration() - kHour * 2);
  EXPECT_EQ(steps[1].set, Duration());
  EXPECT_EQ(steps[1].suspended, kHour * 8);
  EXPECT_EQ(steps[2].suspended, Duration());
}

TEST(FakeLoop, OrderIsPostedThenTimeThenSequence) {
  FakeLoop loop(Instant{0});
  std::string order;
  auto add = [&](char c) { return [&order, c] { order += c; }; };
  loop.At({20}, add('e'));
  loop.At({10}, add('c'));
  loop.At({10}, add('d'));
  loop.Post(add('a'));
  loop.Post([&] {
    order += 'b';
    loop.Post(add('B'));
  });
  EXPECT_EQ(loop.RunUntil({15}), 5u);
  EXPECT_EQ(order, "abBcd");
  EXPECT_EQ(loop.Now(), Instant{15});
  EXPECT_EQ(loop.NextTime(), Instant{20});
  EXPECT_TRUE(loop.Step());
  EXPECT_FALSE(loop.Step());
  EXPECT_EQ(order, "abBcde");
  EXPECT_EQ(loop.Now(), Instant{20});
}

TEST(FakeLoop, RunUntilIdleDoesNotMoveTime) {
  FakeLoop loop(Instant{5});
  int calls = 0;
  loop.At({5}, [&] { ++calls; });
  loop.At({6}, [&] { ++calls; });
  EXPECT_EQ(loop.RunUntilIdle(), 1u);
  EXPECT_EQ(loop.Now(), Instant{5});
  EXPECT_EQ(loop.waiting(), 1u);
}

TEST(FakeLoop, TimerOfThePastRunsNowAndTimeNeverStepsBack) {
  FakeLoop loop(Instant{100});
  Instant seen{0};
  loop.At({50}, [&] { seen = loop.Now(); });
  loop.RunUntilIdle();
  EXPECT_EQ(seen, Instant{100});
  loop.RunUntil({30});
  EXPECT_EQ(loop.Now(), Instant{100});
}

TEST(FakeLoop, CancelledTimersAreNotCalled) {
  FakeLoop loop(Instant{0});
  int calls = 0;
  TimerId other = 0;
  TimerId first = loop.At({1}, [&] {
    ++calls;
    loop.Cancel(other);
  });
  other = loop.At({1}, [&] { calls += 100; });
  loop.Cancel(loop.At({1}, [&] { calls += 1000; }));
  loop.Cancel(0);
  loop.Cancel(999);
  loop.RunUntil({2});
  loop.Cancel(first);
  EXPECT_EQ(calls, 1);
}

TEST(TimerQueue, ManyCancelledTimersKeepOrder) {
  TimerQueue queue;
  Prng prng(7);
  std::vector<TimerId> ids;
  for (int i = 0; i < 5000; ++i) {
    ids.push_back(queue.Add({static_cast<int64_t>(prng.Below(1000))}, [] {}));
  }
  for (TimerId id : ids) {
    if (prng.Chance(80)) queue.Cancel(id);
  }
  size_t left = queue.size();
  EXPECT_LT(left, 1500u);
  Instant last{0};
  size_t taken = 0;
  while (queue.size() > 0) {
    Instant next = queue.NextTime();
    EXPECT_GE(next, last);
    last = next;
    EXPECT_TRUE(queue.DrainDue(next, queue.NextId()));
    ++taken;
  }
  EXPECT_EQ(taken, left);
  EXPECT_EQ(queue.NextTime(), Instant::Never());
}

}  // namespace
}  // namespace spate::os
