// The engine's memory of one job: a byte for each task, ranges for what is queued, and a trace
// only for the few tasks that are beyond their first attempt.
//
// Queues hang on requests: each distinct request of the job has one, so that tasks for which no
// node has room never stand in the way of others. Order: what was queued again (head of the job),
// then what waited for its retry delay and is due, then fresh tasks, by their place in the plan.
// Peek looks, Lease (called by Apply alone) takes exactly what Peek showed, live and in replay.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/engine/record.h"
#include "core/model/job.h"

namespace spate::engine {

// Equal tasks at the head of a job: same request, same next attempt. In order of starting.
struct Head {
  std::vector<TaskRange> tasks;
  uint32_t count = 0;
  Attempt attempt;
  uint32_t request = 0;
};

// What a task that is beyond its first attempt has behind it.
struct Trace {
  Attempt attempt;      // the newest number given
  uint16_t tries = 0;   // attempts that counted since it was queued or reopened
  uint16_t losses = 0;  // lost nodes that it was present at
};

class JobState {
 public:
  JobState(JobId id, const JobPlan& plan);

  // ---- Questions
  JobId id() const { return id_; }
  const JobCounts& counts() const { return counts_; }
  const JobPolicy& policy() const { return policy_; }
  HoldReason held() const { return held_; }
  bool open() const { return open_; }
  bool finished() const { return finished_; }
  const std::vector<Needs>& requests() const { return requests_; }
  const Needs& request(uint32_t number) const { return requests_[number]; }
  uint32_t request_count() const { return static_cast<uint32_t>(requests_.size()); }
  // What the job had counted when it was last released; --halt looks at what came since.
  const JobCounts& counts_at_release() const { return counts_at_release_; }
  uint32_t RequestOf(TaskIndex index) const;
  uint32_t task_count() const { return counts_.total; }
  TaskState StateOf(TaskIndex index) const { return static_cast<TaskState>(tasks_[index] & 7); }
  // The number of the newest attempt; 0 when there was none.
  Attempt CurrentAttempt(TaskIndex index) const;
  Trace TraceOf(TaskIndex index) const;
  // At most `max` tasks that may be leased at `now`; count 0 when there is none. Requests that
  // are true in `passed` (empty: none) are left out. Cost: max, and the number of requests.
  Head Peek(Instant now, uint32_t max, const std::vector<bool>& passed) const;
  // When the next task that waits for its delay is due after `now`; Never without one. What is
  // due already waits for room, not for time.
  Instant NextDue(Instant now) const;
  // When this task's retry delay ends; the beginning of time when it waits for none. For people.
  Instant DueOf(TaskIndex index) const;
  bool MayReopen(TaskIndex index) const;
  bool AllEnded() const { return !open_ && counts_.finished() == counts_.total; }

  // ---- Changes, by Engine::Apply alone
  void Grow(const JobGrown& grown);
  void Seal() { open_ = false; }
  void SetPolicy(const JobPolicy& policy) { policy_ = policy; }
  void Hold(HoldReason reason) { held_ = reason; }
  void Release();
  void Finish() { finished_ = true; }
  void Withdraw(const std::vector<TaskRange>& tasks);  // all queued
  void Reopen(const std::vector<TaskRange>& tasks);    // all may be reopened
  void Lease(TaskRange tasks, Attempt attempt);
  void Return(TaskRange tasks, Attempt attempt);
  void End(const AttemptEnded& ended);

  void CheckInvariants() const;
  uint64_t Digest() const;
  uint64_t StateBytes() const;

 private:
  struct Delayed {
    Instant at;
    TaskIndex index;
    // The earliest first; equal ones by index, so that the order never depends on the heap.
    friend bool operator<(const Delayed& a, const Delayed& b) {
      return a.at != b.at ? a.at > b.at : a.index > b.index;
    }
  };
  // The queued tasks of one request.
  struct Queue {
    std::deque<TaskRange> requeued;  // tasks with kAgain, and at its front nothing else
    std::vector<Delayed> delayed;    // a heap of tasks with kWaits
    uint32_t cursor = 0;             // the position of its first fresh task; total when none is
  };

  bool Has(TaskIndex index, uint8_t bit) const { return (tasks_[index] & bit) != 0; }
  bool Fresh(TaskIndex index) const;
  void SetState(TaskIndex index, TaskState state);
  uint32_t& CountOf(TaskState state);
  Queue& QueueOf(TaskIndex index) { return queues_[RequestOf(index)]; }
  void Requeue(TaskIndex index);
  void Delay(TaskIndex index, Instant until);
  TaskIndex AtPosition(uint32_t position) const {
    return order_.empty() ? position : order_[position];
  }
  // The first position from `position` on whose task is fresh and makes this request.
  uint32_t SeekFresh(uint32_t request, uint32_t position) const;
  // Lets the cursors of queues without fresh tasks look at positions from `position` on.
  void PlaceCursors(uint32_t position);
  // After tasks were leased from a queue: drops them from its fronts.
  void SkipStale(uint32_t request);
  // After tasks were withdrawn from anywhere in the queues.
  void DropStale();
  // Adds `index` to `head` if it is equal to what is there; false when it is not.
  bool Join(Head& head, TaskIndex index, uint32_t request) const;
  bool PeekRequeued(Head& head, uint32_t max, const std::vector<bool>& passed) const;
  bool PeekDelayed(Head& head, Instant now, const std::vector<bool>& passed) const;
  void PeekFresh(Head& head, uint32_t max, const std::vector<bool>& passed) const;

  JobId id_;
  JobCounts counts_;
  JobCounts counts_at_release_;
  JobPolicy policy_;
  HoldReason held_ = HoldReason::kNone;
  bool open_ = false;
  bool finished_ = false;

  std::vector<Needs> requests_;
  std::vector<RequestRun> runs_;
  std::vector<TaskIndex> order_;  // empty: by index

  // Bits 0-2: TaskState; the others are in job_state.cc.
  std::vector<uint8_t> tasks_;
  std::unordered_map<TaskIndex, Trace> traces_;  // looked up, never walked to decide

  std::vector<Queue> queues_;  // by request
};

}  // namespace spate::engine
