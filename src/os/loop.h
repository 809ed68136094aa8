// Loop: time, timers and posted work on one thread. Shells are written against it; the simulator
// has its own (os/fake_loop.h), the product runs on os/real_loop.h.
#pragma once

#include <cstdint>
#include <functional>

#include "base/time.h"

namespace spate::os {

using TimerId = uint64_t;  // 0 is none

class Loop {
 public:
  virtual ~Loop() = default;

  // Never steps back within a process; anchored to the wall clock once at start.
  virtual Instant Now() const = 0;

  // Calls `fn` once on the loop's thread, at `when` or soon after.
  virtual TimerId At(Instant when, std::function<void()> fn) = 0;
  // After it returns the timer's function will not be called. Unknown ids are ignored.
  virtual void Cancel(TimerId id) = 0;

  // Calls `fn` on the loop's thread, after what was posted before. From any thread.
  virtual void Post(std::function<void()> fn) = 0;
};

}  // namespace spate::os
