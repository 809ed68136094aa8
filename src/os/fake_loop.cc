#include "os/fake_loop.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace spate::os {

TimerId FakeLoop::At(Instant when, std::function<void()> fn) {
  return timers_.Add(when, std::move(fn));
}

Instant FakeLoop::NextTime() { return posted_.empty() ? std::max(now_, timers_.NextTime()) : now_; }

bool FakeLoop::Step() {
  if (!posted_.empty()) {
    auto fn = std::move(posted_.front());
    posted_.pop_front();
    fn();
    return true;
  }
  Instant next = timers_.NextTime();
  if (next == Instant::Never()) return false;
  now_ = std::max(now_, next);
  timers_.DrainDue(now_, timers_.NextId())();
  return true;
}

size_t FakeLoop::RunUntilIdle(size_t limit) { return RunUntil(now_, limit); }

size_t FakeLoop::RunUntil(Instant when, size_t limit) {
  size_t calls = 0;
  while ((!posted_.empty() || timers_.NextTime() <= when) && Step()) {
    CHECK(++calls <= limit);
  }
  now_ = std::max(now_, when);
  return calls;
}

}  // namespace spate::os
