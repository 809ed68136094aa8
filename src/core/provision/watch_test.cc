// ANDY's rules 35 to 38 as a table: what happens when, and from when on the job counts as failed.
#include "core/provision/watch.h"

#include <gtest/gtest.h>

namespace spate::provision {
namespace {

using enum JobStatus;

struct Step {
  int at;             // seconds
  bool ping = false;  // else a status
  JobStatus status = kInit;
};
Step Ping(int at) { return {at, true}; }
Step Is(JobStatus status, int at) { return {at, false, status}; }

constexpr int kNever = -1;
struct Case {
  const char* what;
  std::vector<Step> steps;
  int failed_after;  // the last second in which it has not failed; kNever: it never does
};

// T0 = 60, T1 = 60, T2 = 100, T3 = 1000, T4 = 240.
WatchTimes Times() {
  return {.init = Duration::Seconds(60),
          .error = Duration::Seconds(60),
          .suspended_from = Duration::Seconds(100),
          .suspended_until = Duration::Seconds(1000),
          .silent = Duration::Seconds(240),
          .never_joined = Duration::Max()};
}

Instant At(int second) { return Instant{1'000'000'000'000} + Duration::Seconds(second); }

const Case kCases[] = {
    {"36: init longer than T0", {}, 60},
    {"36: queued for ever is no failure", {Is(kQueued, 30)}, kNever},
    {"36: runs and has not pinged", {Is(kRunning, 30)}, kNever},
    {"36: error longer than T1", {Is(kQueued, 10), Is(kError, 100)}, 160},
    {"35: the same status again resets nothing",
     {Is(kQueued, 9), Is(kError, 100), Is(kError, 150)},
     160},
    {"35: another one in between does", {Is(kError, 50), Is(kQueued, 90), Is(kError, 100)}, 160},
    {"36: suspended before the first ping", {Is(kSuspended, 10)}, kNever},
    {"36: other before the first ping", {Is(kOther, 10)}, kNever},
    {"37: no ping for T4", {Is(kRunning, 10), Ping(20)}, 260},
    {"37: pings keep it", {Is(kRunning, 10), Ping(20), Ping(200), Ping(400)}, 640},
    {"38: a single missed ping does not matter", {Ping(20), Ping(140), Ping(380)}, 620},
    {"37: after a ping the queue's error does not decide", {Ping(20), Is(kError, 30)}, 260},
    {"37: nor does its init", {Is(kQueued, 5), Ping(20), Is(kInit, 21)}, 260},
    // Suspended from 200 to beyond T3 = 1200: let be from 300 to 1200, and then T4 is long over.
    {"37: suspended beyond T2 and up to T3 is let be",
     {Is(kQueued, 9), Ping(190), Is(kSuspended, 200)},
     1200},
    {"37: a fresh suspension is judged by T4", {Ping(20), Is(kSuspended, 250)}, 260},
    {"37: suspended beyond T3, with a late ping", {Ping(20), Is(kSuspended, 30), Ping(900)}, 1140},
    {"37: leaving Suspended resets the ping",
     {Is(kQueued, 9), Ping(190), Is(kSuspended, 200), Is(kRunning, 900)},
     1140},
};

TEST(Watch, RulesOfAndy) {
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.what);
    Watch watch(At(0));
    size_t next = 0;
    int failed = kNever;
    for (int second = 0; second <= 3000 && failed == kNever; ++second) {
      for (; next < each.steps.size() && each.steps[next].at == second; ++next) {
        const Step& step = each.steps[next];
        if (step.ping) {
          watch.Ping(At(second));
        } else {
          watch.SetStatus(step.status, At(second));
        }
      }
      bool has = watch.Verdict(Times(), At(second)).has_value();
      if (has) failed = second;
      // Sleeping until NextVerdict misses no change.
      Instant wake = watch.NextVerdict(Times(), At(second));
      bool then = watch.Verdict(Times(), At(second + 1)).has_value();
      EXPECT_TRUE(has == then || wake <= At(second + 1)) << second;
      EXPECT_GT(wake, At(second));
    }
    EXPECT_EQ(failed == kNever ? kNever : failed - 1, each.failed_after);
  }
}

TEST(Watch, OursHasOneRuleMore) {
  WatchTimes times;
  Watch watch(At(0));
  watch.SetStatus(kRunning, At(10));
  EXPECT_FALSE(watch.Verdict(times, At(1210)));
  EXPECT_EQ(watch.Verdict(times, At(1211)), "it has run for 20m01s, and no node of it has come");
}

TEST(Watch, WithoutTimesNothingFails) {
  constexpr Duration kMax = Duration::Max();
  WatchTimes times{kMax, kMax, {}, kMax, kMax, kMax};
  for (bool pinged : {false, true}) {
    Watch watch(At(0), pinged);
    for (JobStatus status : {kInit, kQueued, kRunning, kError, kSuspended, kOther}) {
      watch.SetStatus(status, At(10));
      EXPECT_FALSE(watch.Verdict(times, At(1'000'000)));
    }
  }
}

}  // namespace
}  // namespace spate::provision
