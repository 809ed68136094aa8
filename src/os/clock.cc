#include "os/clock.h"

#include <sys/timerfd.h>
#include <time.h>

namespace spate::os {
namespace {

int64_t Read(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

// Time by which `clock` is ahead of the monotonic one.
int64_t AheadOf(clockid_t clock) { return Read(clock) - MonotonicNanos(); }

}  // namespace

int64_t MonotonicNanos() { return Read(CLOCK_MONOTONIC); }

int64_t NanosSinceBoot() { return Read(CLOCK_BOOTTIME); }

int UtcOffsetMinutes(Instant when) {
  const time_t seconds = when.ns / 1'000'000'000;
  tm local{};
  return localtime_r(&seconds, &local) == nullptr ? 0 : static_cast<int>(local.tm_gmtoff / 60);
}

Instant WallNow() { return {Read(CLOCK_REALTIME)}; }

Fd WatchClock() {
  Fd fd(timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC));
  // The timer is there for its cancellation: its own time, the year 2242, never comes.
  const itimerspec never{.it_interval = {}, .it_value = {.tv_sec = int64_t{1} << 33, .tv_nsec = 0}};
  const int how = TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET;
  if (fd && timerfd_settime(fd.get(), how, &never, nullptr) != 0) fd.Reset();
  return fd;
}

Clock::Clock() : offset_(AheadOf(CLOCK_REALTIME)), asleep_(AheadOf(CLOCK_BOOTTIME)) {}

Clock::Drift Clock::MeasureDrift() const {
  const Duration suspended = Duration::Micros((AheadOf(CLOCK_BOOTTIME) - asleep_) / 1000);
  return {Duration::Micros((AheadOf(CLOCK_REALTIME) - offset_) / 1000) - suspended, suspended};
}

}  // namespace spate::os
