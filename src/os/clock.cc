#include "os/clock.h"

#include <time.h>

namespace spate::os {
namespace {

int64_t Read(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

}  // namespace

int64_t MonotonicNanos() { return Read(CLOCK_MONOTONIC); }

int64_t NanosSinceBoot() { return Read(CLOCK_BOOTTIME); }

int UtcOffsetMinutes(Instant when) {
  const time_t seconds = when.ns / 1'000'000'000;
  tm local{};
  return localtime_r(&seconds, &local) == nullptr ? 0 : static_cast<int>(local.tm_gmtoff / 60);
}

Clock::Clock() : offset_(Read(CLOCK_REALTIME) - Read(CLOCK_MONOTONIC)) {}

}  // namespace spate::os
