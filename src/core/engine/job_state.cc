// JobState: see job_state.h. The queue's invariant: a queued task is in exactly one of the three
// queues, told by its bits (kWaits: delayed_, kAgain: requeued_, neither: fresh, at or after
// cursor_). Entries whose bit is gone are stale and skipped when they come to the front.
#include "core/engine/job_state.h"

#include <algorithm>

#include "base/check.h"

namespace spate::engine {
namespace {

constexpr uint8_t kStateMask = 0x07;
constexpr uint8_t kLeasedBefore = 0x08;  // attempt 1 was given out
constexpr uint8_t kWaits = 0x10;         // in delayed_
constexpr uint8_t kAgain = 0x20;         // in requeued_

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

}  // namespace

JobState::JobState(JobId id, const JobPlan& plan)
    : id_(id),
      policy_(plan.policy),
      open_(plan.open),
      requests_(plan.requests),
      runs_(plan.runs),
      order_(plan.order),
      tasks_(plan.task_count, static_cast<uint8_t>(TaskState::kQueued)) {
  counts_.total = plan.task_count;
  counts_.queued = plan.task_count;
}

uint32_t JobState::RequestOf(TaskIndex index) const {
  if (runs_.size() == 1) return runs_.front().request;
  auto after = std::upper_bound(runs_.begin(), runs_.end(), index,
                                [](TaskIndex i, const RequestRun& run) { return i < run.first; });
  CHECK(after != runs_.begin());
  return std::prev(after)->request;
}

Attempt JobState::CurrentAttempt(TaskIndex index) const {
  if (!traces_.empty()) {
    if (auto it = traces_.find(index); it != traces_.end()) return it->second.attempt;
  }
  return Attempt(Has(index, kLeasedBefore) ? 1 : 0);
}

Trace JobState::TraceOf(TaskIndex index) const {
  if (auto it = traces_.find(index); it != traces_.end()) return it->second;
  return {CurrentAttempt(index), 0, 0};
}

bool JobState::Fresh(TaskIndex index) const {
  return tasks_[index] == static_cast<uint8_t>(TaskState::kQueued);
}

TaskIndex JobState::AtPosition(uint32_t position) const {
  return order_.empty() ? position : order_[position];
}

bool JobState::Join(Head& head, TaskIndex index) const {
  Attempt attempt(static_cast<uint16_t>(CurrentAttempt(index).value + 1));
  uint32_t request = RequestOf(index);
  if (head.count == 0) {
    head.attempt = attempt;
    head.request = request;
  } else if (head.attempt != attempt || head.request != request) {
    return false;
  }
  if (!head.tasks.empty() && head.tasks.back().first + head.tasks.back().count == index) {
    ++head.tasks.back().count;
  } else {
    head.tasks.push_back({index, 1});
  }
  ++head.count;
  return true;
}

Head JobState::Peek(Instant now, uint32_t max) const {
  Head head;
  for (const TaskRange& range : requeued_) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) {
      if (!Has(i, kAgain)) continue;
      if (head.count == max || !Join(head, i)) return head;
    }
  }
  if (head.count > 0) return head;
  if (!delayed_.empty() && delayed_.top().at <= now) {
    Join(head, delayed_.top().index);
    return head;
  }
  for (uint32_t position = cursor_; position < counts_.total; ++position) {
    TaskIndex index = AtPosition(position);
    if (!Fresh(index)) continue;
    if (head.count == max || !Join(head, index)) break;
  }
  return head;
}

Instant JobState::DueOf(TaskIndex index) const {
  if (!Has(index, kWaits)) return Instant{};
  auto queue = delayed_;
  while (!queue.empty() && queue.top().index != index) queue.pop();
  return queue.empty() ? Instant{} : queue.top().at;
}

uint32_t& JobState::CountOf(TaskState state) {
  switch (state) {
    case TaskState::kQueued: return counts_.queued;
    case TaskState::kLeased: return counts_.leased;
    case TaskState::kSucceeded: return counts_.succeeded;
    case TaskState::kFailed: return counts_.failed;
    case TaskState::kCancelled: return counts_.cancelled;
    case TaskState::kUnknown: break;
  }
  return counts_.unknown;
}

// Also takes the task out of the queues.
void JobState::SetState(TaskIndex index, TaskState state) {
  uint32_t& before = CountOf(StateOf(index));
  CHECK(before > 0);
  --before;
  ++CountOf(state);
  tasks_[index] = static_cast<uint8_t>((tasks_[index] & kLeasedBefore) | static_cast<int>(state));
}

void JobState::Requeue(TaskIndex index, bool at_head) {
  SetState(index, TaskState::kQueued);
  tasks_[index] |= kAgain;
  if (!requeued_.empty()) {
    TaskRange& neighbour = at_head ? requeued_.front() : requeued_.back();
    if (neighbour.first + neighbour.count == index) {
      ++neighbour.count;
      return;
    }
  }
  if (at_head) {
    requeued_.push_front({index, 1});
  } else {
    requeued_.push_back({index, 1});
  }
}

void JobState::SkipStale() {
  while (!requeued_.empty()) {
    TaskRange& front = requeued_.front();
    while (front.count > 0 && !Has(front.first, kAgain)) {
      ++front.first;
      --front.count;
    }
    if (front.count > 0) break;
    requeued_.pop_front();
  }
  while (!delayed_.empty() && !Has(delayed_.top().index, kWaits)) delayed_.pop();
  while (cursor_ < counts_.total && !Fresh(AtPosition(cursor_))) ++cursor_;
}

void JobState::Grow(const JobGrown& grown) {
  requests_.insert(requests_.end(), grown.new_requests.begin(), grown.new_requests.end());
  for (const RequestRun& run : grown.runs) {
    if (!runs_.empty() && runs_.back().request == run.request) {
      runs_.back().count += run.count;
    } else {
      runs_.push_back(run);
    }
  }
  if (!order_.empty()) {
    for (uint32_t i = 0; i < grown.count; ++i) order_.push_back(counts_.total + i);
  }
  tasks_.resize(tasks_.size() + grown.count, static_cast<uint8_t>(TaskState::kQueued));
  counts_.total += grown.count;
  counts_.queued += grown.count;
  finished_ = false;
}

void JobState::Withdraw(TaskRange tasks) {
  for (TaskIndex i = tasks.first; i < tasks.first + tasks.count; ++i) {
    if (StateOf(i) == TaskState::kQueued) SetState(i, TaskState::kCancelled);
  }
  SkipStale();
}

void JobState::Reopen(TaskRange tasks) {
  for (TaskIndex i = tasks.first; i < tasks.first + tasks.count; ++i) {
    TaskState state = StateOf(i);
    if (state != TaskState::kFailed && state != TaskState::kUnknown &&
        state != TaskState::kCancelled) {
      continue;
    }
    if (Attempt attempt = CurrentAttempt(i); attempt.value > 0) traces_[i] = {attempt, 0, 0};
    Requeue(i, /*at_head=*/false);
  }
  finished_ = false;
  SkipStale();
}

void JobState::Lease(TaskRange tasks, Attempt attempt) {
  for (TaskIndex i = tasks.first; i < tasks.first + tasks.count; ++i) {
    CHECK(StateOf(i) == TaskState::kQueued);
    SetState(i, TaskState::kLeased);
    tasks_[i] |= kLeasedBefore;
    if (attempt.value > 1) traces_[i].attempt = attempt;
  }
  SkipStale();
}

void JobState::Return(TaskRange tasks, Attempt attempt) {
  // Backwards, so that they stand at the head in their old order.
  for (uint32_t k = tasks.count; k > 0; --k) {
    TaskIndex i = tasks.first + k - 1;
    if (StateOf(i) == TaskState::kLeased && CurrentAttempt(i) == attempt) {
      Requeue(i, /*at_head=*/true);
    }
  }
}

void JobState::End(const AttemptEnded& ended) {
  TaskIndex i = ended.end.ref.index;
  CHECK(StateOf(i) == TaskState::kLeased);
  if (ended.verdict == Verdict::kSucceeded) {
    if (!traces_.empty()) traces_.erase(i);
    SetState(i, TaskState::kSucceeded);
    return;
  }
  if (ended.verdict == Verdict::kUnknown) {
    SetState(i, TaskState::kUnknown);
    return;
  }
  if (ended.verdict == Verdict::kFailed) {
    SetState(i, TaskState::kFailed);
    return;
  }
  Trace& trace = traces_.try_emplace(i, Trace{ended.end.ref.attempt, 0, 0}).first->second;
  trace.attempt = ended.end.ref.attempt;
  if (ended.counts) ++trace.tries;
  if (ended.end.cause == Cause::kNode) ++trace.losses;
  if (ended.counts && policy_.retry.delay.ns > 0) {
    SetState(i, TaskState::kQueued);
    tasks_[i] |= kWaits;
    delayed_.push({ended.ended + policy_.retry.delay, i});
  } else {
    Requeue(i, /*at_head=*/true);
  }
}

void JobState::CheckInvariants() const {
  JobCounts seen;
  seen.total = static_cast<uint32_t>(tasks_.size());
  uint32_t waiting = 0;
  uint32_t again = 0;
  for (TaskIndex i = 0; i < tasks_.size(); ++i) {
    switch (StateOf(i)) {
      case TaskState::kQueued: ++seen.queued; break;
      case TaskState::kLeased: ++seen.leased; break;
      case TaskState::kSucceeded: ++seen.succeeded; break;
      case TaskState::kFailed: ++seen.failed; break;
      case TaskState::kCancelled: ++seen.cancelled; break;
      case TaskState::kUnknown: ++seen.unknown; break;
    }
    if (Has(i, kWaits)) ++waiting;
    if (Has(i, kAgain)) ++again;
    CHECK(!(Has(i, kWaits) && Has(i, kAgain)));
    CHECK(StateOf(i) == TaskState::kQueued || !Has(i, kWaits | kAgain));
    CHECK(StateOf(i) != TaskState::kLeased || Has(i, kLeasedBefore));
  }
  CHECK(seen == counts_);
  CHECK(waiting <= delayed_.size());
  uint64_t requeued = 0;
  for (const TaskRange& range : requeued_) {
    for (TaskIndex i = range.first; i < range.first + range.count; ++i) requeued += Has(i, kAgain);
  }
  CHECK(requeued >= again);
  for (uint32_t position = 0; position < cursor_; ++position) CHECK(!Fresh(AtPosition(position)));
}

uint64_t JobState::Digest() const {
  uint64_t hash = Mix(id_.value, counts_.total);
  hash = Mix(hash, static_cast<uint64_t>(held_) * 4 + open_ * 2 + finished_);
  for (TaskIndex i = 0; i < tasks_.size(); ++i) {
    hash = Mix(hash, tasks_[i]);
    if (!Fresh(i) && StateOf(i) != TaskState::kSucceeded) {
      Trace trace = TraceOf(i);
      hash = Mix(hash, uint64_t{trace.attempt.value} << 32 | uint32_t{trace.tries} << 16 |
                           trace.losses);
    }
  }
  for (const TaskRange& range : requeued_) hash = Mix(hash, uint64_t{range.first} << 32 | range.count);
  return Mix(hash, delayed_.size() * 7919 + cursor_);
}

uint64_t JobState::StateBytes() const {
  return sizeof(*this) + tasks_.capacity() + order_.capacity() * sizeof(TaskIndex) +
         runs_.capacity() * sizeof(RequestRun) + traces_.size() * 48 +
         requeued_.size() * sizeof(TaskRange) + delayed_.size() * sizeof(Delayed);
}

}  // namespace spate::engine
