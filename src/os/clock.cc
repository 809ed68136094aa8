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

Clock::Clock() : offset_(Read(CLOCK_REALTIME) - Read(CLOCK_MONOTONIC)) {}

}  // namespace spate::os
