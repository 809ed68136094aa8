// TimerQueue: what both loops keep their timers in. Ordered by time, then by order of Add, so that
// the same calls always give the same order. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "os/loop.h"

namespace spate::os {

class TimerQueue {
 public:
  TimerId Add(Instant when, std::function<void()> fn);
  // Unknown ids are ignored. Amortized constant time.
  void Cancel(TimerId id);

  size_t size() const { return functions_.size(); }
  // The earliest time, Instant::Never() when empty.
  Instant NextTime();
  // Takes the earliest function that is due at `now` and was added before `limit` (an id that
  // NextId() gave); null when there is none.
  std::function<void()> DrainDue(Instant now, TimerId limit);
  TimerId NextId() const { return next_id_; }

 private:
  struct Entry {
    Instant when;
    TimerId id;
    // Reversed, because the heap functions keep the largest in front.
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.when != b.when ? a.when > b.when : a.id > b.id;
    }
  };
  void DropCancelledFront();

  std::vector<Entry> heap_;  // may hold entries of cancelled timers, at most half
  std::unordered_map<TimerId, std::function<void()>> functions_;
  TimerId next_id_ = 1;
};

}  // namespace spate::os
