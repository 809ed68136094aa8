// Loop: time, timers and posted work on one thread. Shells are written against it; the simulator
// has its own (os/fake_loop.h), the product runs on os/real_loop.h.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/time.h"

namespace spate::os {

using TimerId = uint64_t;  // 0 is none

// News of the wall clock: it was set forward by `set` (negative: back), after the machine had been
// suspended for so long.
struct ClockStep {
  Duration set, suspended;
};

// Two times: Now() is steady, and all decisions and durations are made of it. Wall() follows the
// wall clock, and is for people and for times that they set: times of day and deadlines. Both are
// equal when the process begins.
//
// Only ToWall converts one to the other, and it keeps the order of instants. Instants before a step
// are converted as if the clock had already been set, so a duration is the same in both times,
// except that Wall() includes the time for which the machine was suspended.
class Loop {
 public:
  virtual ~Loop() = default;

  // Never steps back within a process; anchored to the wall clock once at start.
  virtual Instant Now() const = 0;

  // The loop's thread. 0 and Never() stay what they are.
  Instant ToWall(Instant steady) const {
    if (steady == Instant() || steady == Instant::Never()) return steady;
    Duration asleep;
    for (const auto& [at, in_all] : suspends_) {
      if (at <= steady) asleep = in_all;
    }
    return {steady.ns + set_.ns + asleep.ns};
  }
  Instant Wall() const { return ToWall(Now()); }
  // From now on ToWall follows the clock. `fn` is called on the loop's thread when it has changed;
  // null: nobody is told any more.
  virtual void OnClockStep(std::function<void(const ClockStep&)> fn) { stepped_ = std::move(fn); }

  // Calls `fn` once on the loop's thread, at `when` or soon after.
  virtual TimerId At(Instant when, std::function<void()> fn) = 0;
  // After it returns the timer's function will not be called. Unknown ids are ignored.
  virtual void Cancel(TimerId id) = 0;

  // Calls `fn` on the loop's thread, after what was posted before. From any thread.
  virtual void Post(std::function<void()> fn) = 0;

 protected:
  // How far the wall clock was set forward since the start, and how long the machine was suspended:
  // whole microseconds, as journals have.
  void SetWall(Duration set, Duration suspended) {
    const Duration before = suspends_.empty() ? Duration() : suspends_.back().second;
    const ClockStep step{set - set_, suspended - before};
    set_ = set;
    if (step.suspended != Duration()) suspends_.emplace_back(Now(), suspended);
    if (stepped_) stepped_(step);
  }

 private:
  Duration set_;
  std::vector<std::pair<Instant, Duration>> suspends_;  // when each was over, and the sum
  std::function<void(const ClockStep&)> stepped_;
};

}  // namespace spate::os
