// Clock: the steady clock, anchored once to the wall clock, and how far the wall clock has left it
// since then (os/loop.h translates).
//
// CLOCK_MONOTONIC and not CLOCK_BOOTTIME: while a laptop sleeps its tasks do not run, so neither
// do their time limits. CLOCK_MONOTONIC is one clock for all processes of a machine, so what a
// shepherd measured can be translated.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "os/fd.h"

namespace spate::os {

// Nanoseconds of CLOCK_MONOTONIC. About 25 ns; from any thread, and in a forked child.
int64_t MonotonicNanos();

// Nanoseconds of CLOCK_BOOTTIME, which goes on while the machine sleeps. From any thread.
int64_t NanosSinceBoot();

// The wall clock's time, which steps when somebody sets the clock. From any thread.
Instant WallNow();

// A descriptor that becomes readable when the wall clock was set, or the machine went on after a
// suspend, until it is read (which fails). Invalid: the kernel has no such thing.
Fd WatchClock();

// Minutes that the local time is ahead of UTC then.
int UtcOffsetMinutes(Instant when);

class Clock {
 public:
  // Reads the wall clock: from now on 'Now' counts steadily from there.
  Clock();
  // Never steps back. From any thread.
  Instant Now() const { return FromMonotonic(MonotonicNanos()); }
  // `ns` of MonotonicNanos(), here or in another process of this machine, as an Instant.
  Instant FromMonotonic(int64_t ns) const { return {ns + offset_}; }
  int64_t ToMonotonic(Instant when) const { return when.ns - offset_; }

  // By how much the wall clock was set forward since the construction (negative: back), and how
  // long the machine was suspended.
  struct Drift {
    Duration set, suspended;
  };
  Drift MeasureDrift() const;

 private:
  int64_t offset_;  // wall - monotonic at construction
  int64_t asleep_;  // boot time - monotonic at construction
};

}  // namespace spate::os
