// The engine's memory of one job: a byte for each task, ranges for what is queued, and a trace
// only for the few tasks that are beyond their first attempt.
//
// Queue order: what was queued again (head of the job), then what waited for its retry delay and
// is due, then fresh tasks. Peek looks, Lease (called by Apply alone) takes exactly what Peek
// showed, live and in replay.
#pragma once

#include <deque>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/engine/record.h"
#include "core/model/job.h"

namespace spate::engine {

// Equal tasks at the head of a job's queue: same request, same next attempt. In order of starting.
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
  const Needs& request(uint32_t number) const { return requests_[number]; }
  uint32_t RequestOf(TaskIndex index) const;
  uint32_t task_count() const { return counts_.total; }
  TaskState StateOf(TaskIndex index) const { return static_cast<TaskState>(tasks_[index] & 7); }
  // The number of the newest attempt; 0 when there was none.
  Attempt CurrentAttempt(TaskIndex index) const;
  Trace TraceOf(TaskIndex index) const;
  // At most `max` tasks that may be leased at `now`; count 0 when there is none. Cost: max.
  Head Peek(Instant now, uint32_t max) const;
  // When the next task that waits for its delay is due; Never without one.
  Instant NextDue() const { return delayed_.empty() ? Instant::Never() : delayed_.top().at; }
  // When this task's retry delay ends; the beginning of time when it waits for none. For people.
  Instant DueOf(TaskIndex index) const;
  bool AllEnded() const { return !open_ && counts_.finished() == counts_.total; }

  // ---- Changes, by Engine::Apply alone
  void Grow(const JobGrown& grown);
  void Seal() { open_ = false; }
  void SetPolicy(const JobPolicy& policy) { policy_ = policy; }
  void Hold(HoldReason reason) { held_ = reason; }
  void Finish() { finished_ = true; }
  void Withdraw(TaskRange tasks);
  void Reopen(TaskRange tasks);
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

  bool Has(TaskIndex index, uint8_t bit) const { return (tasks_[index] & bit) != 0; }
  bool Fresh(TaskIndex index) const;
  void SetState(TaskIndex index, TaskState state);
  uint32_t& CountOf(TaskState state);
  void Requeue(TaskIndex index, bool at_head);
  TaskIndex AtPosition(uint32_t position) const;
  // Drops what is no longer true from the fronts of the three queues.
  void SkipStale();
  // Adds `index` to `head` if it is equal to what is there; false when it is not.
  bool Join(Head& head, TaskIndex index) const;

  JobId id_;
  JobCounts counts_;
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

  std::deque<TaskRange> requeued_;
  std::priority_queue<Delayed> delayed_;
  uint32_t cursor_ = 0;  // positions of order_ before it are not fresh
};

}  // namespace spate::engine
