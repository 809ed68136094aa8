// ProcessLoop: the loop of one simulated process among others. It has its own clock, may stand
// still for a while (all that was due comes at once afterwards), alone or with its machine, whose
// steady clock then stands still as well, and when it is destroyed nothing of it is called any
// more.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "os/loop.h"

namespace spate::sim {

class ProcessLoop final : public os::Loop {
 public:
  // `world` outlives it; the clock is ahead of the world's by so much.
  ProcessLoop(os::Loop& world, Duration ahead) : world_(world), ahead_(ahead) {}
  ~ProcessLoop() override { *alive_ = false; }

  void Suspend(Duration time) { stands_until_ = std::max(stands_until_, world_.Now() + time); }
  void Sleep(Duration time) {
    Suspend(time);
    sleeps_since_ = world_.Now();
    world_.At(stands_until_, [this, alive = alive_, time] {
      if (!*alive) return;
      sleeps_since_ = Instant::Never();
      ahead_ = ahead_ - time;
      SetWall(set_, asleep_ = asleep_ + time);
    });
  }
  // Somebody sets the wall clock of its machine.
  void SetClock(Duration by) { SetWall(set_ = set_ + by, asleep_); }
  bool suspended() const { return stands_until_ > world_.Now(); }

  Instant Now() const override { return std::min(world_.Now(), sleeps_since_) + ahead_; }
  os::TimerId At(Instant when, std::function<void()> fn) override {
    if (when == Instant::Never()) return 0;
    os::TimerId id = ++last_timer_;
    Wait(id, when, std::move(fn));
    return id;
  }
  void Cancel(os::TimerId id) override {
    auto timer = timers_.find(id);
    if (timer == timers_.end()) return;
    world_.Cancel(timer->second);
    timers_.erase(timer);
  }
  void Post(std::function<void()> fn) override {
    world_.Post([this, alive = alive_, fn = std::move(fn)] {
      if (!*alive) return;
      if (!suspended()) return fn();
      Wait(++last_timer_, Now(), fn);
    });
  }

 private:
  void Wait(os::TimerId id, Instant due, std::function<void()> fn) {
    const Instant when = std::max(due - ahead_, stands_until_);
    timers_[id] = world_.At(when, [this, alive = alive_, id, due, fn = std::move(fn)] {
      if (!*alive) return;
      if (suspended() || Now() < due) return Wait(id, due, fn);
      timers_.erase(id);
      fn();
    });
  }

  os::Loop& world_;
  Duration ahead_;         // Now() is, of the world
  Duration set_, asleep_;  // of the wall clock
  Instant stands_until_;
  Instant sleeps_since_ = Instant::Never();  // its machine does
  os::TimerId last_timer_ = 0;
  std::map<os::TimerId, os::TimerId> timers_;  // ours, and the world's
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace spate::sim
