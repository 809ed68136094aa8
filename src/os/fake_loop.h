// FakeLoop: a loop in virtual time, for tests and the simulator. Nothing happens by itself: the
// owner steps it. The order is fully determined: what is posted, in order of Post; when nothing is
// posted, the earliest timer (equal times: the one added first), to whose time Now() jumps.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>

#include "os/loop.h"
#include "os/timer_queue.h"

namespace spate::os {

class FakeLoop final : public Loop {
 public:
  // 2020-09-13 12:26:40 UTC: any fixed time will do, and this one is easy to see in output.
  explicit FakeLoop(Instant start = {1600000000LL * 1000000000}) : now_(start) {}

  // Calls one function. False when nothing is posted and no timer waits.
  bool Step();
  // Calls all that is posted and all that is due now, without moving time. Returns the number of
  // calls. CHECKs against endless work: at most `limit` calls.
  size_t RunUntilIdle(size_t limit = 1000000);
  // The same, moving time up to `when`; Now() is `when` afterwards.
  size_t RunUntil(Instant when, size_t limit = 10000000);
  size_t RunFor(Duration d) { return RunUntil(now_ + d); }

  // Somebody sets the wall clock: by so much forward, or back.
  void SetClock(Duration by) { SetWall(set_ = set_ + by, asleep_); }
  // The machine sleeps: time goes on, and the steady clock does not.
  void Sleep(Duration time) { SetWall(set_, asleep_ = asleep_ + time); }

  // The time of the next call: Now() when something is posted, Never() when nothing waits.
  Instant NextTime();
  size_t waiting() const { return posted_.size() + timers_.size(); }

  Instant Now() const override { return now_; }
  TimerId At(Instant when, std::function<void()> fn) override;
  void Cancel(TimerId id) override { timers_.Cancel(id); }
  // From the owner's thread only.
  void Post(std::function<void()> fn) override { posted_.push_back(std::move(fn)); }

 private:
  Instant now_;
  Duration set_, asleep_;  // of the wall clock
  std::deque<std::function<void()>> posted_;
  TimerQueue timers_;
};

}  // namespace spate::os
