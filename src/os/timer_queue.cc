#include "os/timer_queue.h"

#include <algorithm>
#include <utility>

namespace spate::os {

TimerId TimerQueue::Add(Instant when, std::function<void()> fn) {
  TimerId id = next_id_++;
  heap_.push_back({when, id});
  std::push_heap(heap_.begin(), heap_.end());
  functions_.emplace(id, std::move(fn));
  return id;
}

void TimerQueue::Cancel(TimerId id) {
  if (functions_.erase(id) == 0) return;
  // Limits of tasks that ended early would otherwise pile up until their far time comes.
  if (heap_.size() < 64 || heap_.size() < 2 * functions_.size()) return;
  std::erase_if(heap_, [this](const Entry& e) { return !functions_.contains(e.id); });
  std::make_heap(heap_.begin(), heap_.end());
}

void TimerQueue::DropCancelledFront() {
  while (!heap_.empty() && !functions_.contains(heap_.front().id)) {
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
  }
}

Instant TimerQueue::NextTime() {
  DropCancelledFront();
  return heap_.empty() ? Instant::Never() : heap_.front().when;
}

std::function<void()> TimerQueue::DrainDue(Instant now, TimerId limit) {
  DropCancelledFront();
  if (heap_.empty() || heap_.front().when > now || heap_.front().id >= limit) return nullptr;
  auto node = functions_.extract(heap_.front().id);
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
  return std::move(node.mapped());
}

}  // namespace spate::os
