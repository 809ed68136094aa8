// The engine's memory of one job: a byte for each task, ranges for what is queued, and a trace
// only for the few tasks that are beyond their first attempt.
//
// Queues hang on requests: each distinct request of the job has one, so that tasks for which no
// node has room never stand in the way of others. Order: what was queued again (head of the job),
// then what waited for its retry delay and is due, then fresh tasks, by their place in the plan.
// Peek looks, Lease (called by Apply alone) takes exactly what Peek showed, live and in replay.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/engine/place/turns.h"
#include "core/engine/rare.h"
#include "core/engine/record.h"
#include "core/engine/requeued.h"
#include "core/model/job.h"

namespace spate::engine {

// Equal tasks at the head of a job: same request, same next attempt. In order of starting.
struct Head {
  std::vector<TaskRange> tasks;
  uint32_t count = 0;
  Attempt attempt;
  uint32_t request = 0;
};

// The last number that an attempt may have; a task that has used it up is not given out again.
inline constexpr Attempt kLastAttempt{UINT16_MAX - 1};

// A job remembers so many nodes on which it has succeeded: more than can be there at once.
inline constexpr size_t kGoodNodes = 16'384;

// What a task that is beyond its first attempt has behind it.
struct Trace {
  Attempt attempt;         // the newest number given
  uint16_t tries = 0;      // attempts that counted since it was queued or reopened
  uint16_t losses = 0;     // lost nodes that it was present at
  uint16_t no_starts = 0;  // nodes on which it could not be started, at no try
  // Where it failed and that was taken for the node's fault (no try), the last one first. It is
  // tried elsewhere before it goes there again, for a while.
  std::array<NodeId, 2> blamed = {};
  Instant blamed_at = {};  // the last time

  bool Blames(NodeId node) const { return node == blamed[0] || node == blamed[1]; }
};

// How a job fared on one node lately; one that goes on after its end begins anew.
struct Trouble {
  // Attempts in a row that failed there, and since when none succeeded. Failures of tasks that
  // failed elsewhere as well are not counted: those tasks are to blame.
  uint32_t failures = 0;
  bool set_aside = false;  // by the record NodeSick
  bool no_start = false;   // a task could not be started there, and another node was left to try
};

class JobState {
 public:
  JobState(JobId id, const JobPlan& plan);

  // ---- Questions
  JobId id() const { return id_; }
  const JobCounts& counts() const { return counts_; }
  const JobPolicy& policy() const { return policy_; }
  HoldReason held() const { return held_; }
  const std::string& user() const { return user_; }
  int32_t priority() const { return priority_; }
  bool cancelled() const { return cancelled_; }
  // The task is not queued again: it is cancelled, or its job is.
  bool Cancelled(TaskIndex index) const;
  // What it still waits for.
  const std::vector<After>& after() const { return after_; }
  // Its queued tasks may be given out, but those that wait for a task of another job.
  bool Runnable() const;
  // It waits for task i of `other` before its own task i (AfterKind::kEach).
  bool WaitsForEachOf(JobId other) const;
  bool Blocked(TaskIndex index) const;  // by such a wait
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
  // It was present at a loss: it may be what takes its nodes down.
  bool Lossy(TaskIndex index) const;
  // At most `max` tasks that may be leased at `now`; count 0 when there is none. Requests that
  // are true in `passed` (empty: none) are left out, and so are tasks beyond their first attempt
  // that `skip` takes. A task that was present at a loss comes alone. Cost: max, what is skipped,
  // and the number of requests.
  using Skip = std::function<bool(TaskIndex)>;
  Head Peek(Instant now, uint32_t max, const std::vector<bool>& passed,
            const Skip& skip = nullptr) const;
  // The requests that Peek would come to one after the other, were each passed in its turn: the
  // last field, where the others say why it comes there. Cost: as of one Peek.
  using Turns = std::priority_queue<std::tuple<int, Instant, uint32_t, uint32_t>,
                                    std::vector<std::tuple<int, Instant, uint32_t, uint32_t>>,
                                    std::greater<>>;
  Turns TurnsOfRequests(Instant now, const std::vector<bool>& passed) const;
  // When the next task that waits for its delay is due after `now`; Never without one. What is
  // due already waits for room, not for time.
  Instant NextDue(Instant now) const;
  // When this task's retry delay ends; the beginning of time when it waits for none. For people.
  Instant DueOf(TaskIndex index) const;
  bool MayReopen(TaskIndex index) const;
  // Queued tasks of a request that wait for nothing but room, or their delay.
  uint32_t WaitingOf(uint32_t request) const { return queues_[request].waiting; }
  bool Wants() const { return waiting_ > 0 && Runnable(); }
  // Tasks wait for nothing but room, as far as Wake has told the time, and one more may be leased.
  bool AsksNow() const;
  // Jobs of one group find room on the same nodes: their tasks that wait for room are of the same
  // kinds, and no node is anything special to them.
  place::GroupKey group() const;
  bool particular() const { return !troubles_->empty() || lossy_; }
  bool lossy() const { return lossy_; }  // one of its tasks was present at a loss
  // The node is not to be given tasks of this job.
  bool Avoids(NodeId node) const;
  const std::map<NodeId, Trouble>& troubles() const { return *troubles_; }
  // An attempt succeeded on this node.
  bool SucceededOn(NodeId node) const;
  // An attempt succeeded on another node than this one.
  bool SucceededBeside(NodeId node) const;
  // Attempts that failed in a row, on any nodes; and without those of the node that failed most.
  uint32_t failures_in_row() const { return failures_in_row_; }
  uint32_t FailuresBesideWorst() const;
  // A task that does not start has been tried everywhere; see Trouble::no_start.
  bool starts_nowhere() const { return starts_nowhere_; }
  bool AllEnded() const { return !open_ && counts_.finished() == counts_.total; }

  // ---- Changes, by Engine::Apply alone
  void Grow(const JobGrown& grown);
  void Seal() { open_ = false; }
  void SetPolicy(const JobPolicy& policy) { policy_ = policy; }
  void Hold(HoldReason reason) { held_ = reason; }
  void Release();
  void Finish();
  void Cancel();  // withdraws all that is queued
  void CancelLeased(const std::vector<TaskRange>& tasks);
  void Block(TaskIndex index);  // queued, and never given out
  void Unblock(TaskIndex index);
  void Meet(JobId other);  // it waits for this job no more; its tasks are still blocked
  void SetAside(NodeId node) { troubles_.Edit()[node].set_aside = true; }
  void Trust(NodeId node);                             // 0: every node
  void Withdraw(const std::vector<TaskRange>& tasks);  // all queued
  void Reopen(const std::vector<TaskRange>& tasks);    // all may be reopened
  void ChangeNeeds(const NeedsChanged& changed);       // likewise
  void Lease(TaskRange tasks, Attempt attempt);
  void Return(TaskRange tasks, Attempt attempt);
  void End(const AttemptEnded& ended);

  // News: what is due now asks for room. TellTime is for a job that was woken when it was due, so
  // that what stands behind the next lease is seen at once.
  void Wake(Instant now);
  void TellTime(Instant now) { clock_ = now; }

  // EngineState's own: what it keeps of the job, in its user's terms.
  struct Account {
    uint32_t unended = 0;  // tasks that have not ended, as the user's state has counted them
    uint64_t used = 0;     // its part of UserState::used
    uint64_t given = 0;    // as UserState::given
    std::optional<uint32_t> weight;  // while it wants, as its user's state has counted it
    // Where it stands in UserState::line, while it asks.
    struct Place {
      place::JobTurn turn;
      place::GroupKey group = 0;
      friend bool operator==(const Place&, const Place&) = default;
    };
    std::optional<Place> place;
    // Its place in EngineState::dues; and the earliest delay since that was brought up to date.
    Instant due = Instant::Never();
    Instant delayed = Instant::Never();
  } account;

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
    Rare<Requeued> requeued;       // tasks with kAgain
    std::vector<Delayed> delayed;  // a heap of tasks with kWaits
    uint32_t cursor = 0;           // the position of its first fresh task; total when none is
    uint32_t waiting = 0;          // its queued tasks that are not blocked
    bool awake = false;            // one of them waits for room alone; see Wake
  };

  bool Has(TaskIndex index, uint8_t bit) const { return (tasks_[index] & bit) != 0; }
  bool Fresh(TaskIndex index) const;
  void SetState(TaskIndex index, TaskState state);
  uint32_t& CountOf(TaskState state);
  void Learn(const AttemptEnded& ended);
  void LearnFailure(const AttemptEnded& ended);
  void EndRow();
  void CountWaiting(uint32_t request, int64_t change);
  void Requeue(TaskIndex index);
  void Delay(TaskIndex index, Instant until);
  TaskIndex AtPosition(uint32_t position) const {
    return order_.empty() ? position : order_[position];
  }
  // The first position from `position` on whose task is fresh and makes this request.
  uint32_t SeekFresh(uint32_t request, uint32_t position) const;
  void AddQueues(uint32_t cursor);
  // Lets the cursors of queues without fresh tasks look at positions from `position` on.
  void PlaceCursors(uint32_t position);
  // After tasks were leased that were delayed or fresh: drops them from the queue's fronts.
  void TellDelayed(const Queue& queue);
  bool AsksFor(const Queue& queue) const;
  // After a queue changed: whether it is awake.
  void Stir(uint32_t request);
  void SkipStale(uint32_t request);
  // After tasks were withdrawn from anywhere in the queues.
  void DropStale();
  // Adds `index` to `head` if it is equal to what is there; false when it is not.
  bool Join(Head& head, TaskIndex index, uint32_t request) const;
  bool PeekRequeued(Head& head, uint32_t max, const std::vector<bool>& passed,
                    const Skip& skip) const;
  // Adds what stands at the front of a queue's requeued; false when all of it is skipped.
  bool JoinRequeued(Head& head, uint32_t max, uint32_t request, const Skip& skip) const;
  bool PeekDelayed(Head& head, Instant now, const std::vector<bool>& passed,
                   const Skip& skip) const;
  void PeekFresh(Head& head, uint32_t max, const std::vector<bool>& passed) const;

  JobId id_;
  JobCounts counts_;
  JobCounts counts_at_release_;
  JobPolicy policy_;
  HoldReason held_ = HoldReason::kNone;
  bool open_ = false;
  bool finished_ = false;
  bool cancelled_ = false;
  std::string user_;
  int32_t priority_ = 0;
  std::vector<After> after_;  // not fulfilled

  Rare<std::map<NodeId, Trouble>> troubles_;  // only of nodes with any
  std::vector<NodeId> good_nodes_;            // on which an attempt succeeded; sorted
  uint32_t failures_in_row_ = 0;
  Rare<std::map<NodeId, uint32_t>> row_;  // the same, by node
  bool starts_nowhere_ = false;
  bool lossy_ = false;  // one of its tasks was present at a loss

  std::vector<Needs> requests_;
  std::vector<RequestRun> runs_;
  std::vector<TaskIndex> order_;  // empty: by index

  // Bits 0-2: TaskState; the others are in job_state.cc.
  std::vector<uint8_t> tasks_;
  Rare<std::unordered_map<TaskIndex, Trace>> traces_;  // looked up, never walked to decide

  std::vector<Queue> queues_;  // by request
  uint32_t waiting_ = 0;       // in all of them
  // Of those that are awake: how many, and the sum of what stands for their requests. News.
  uint32_t awake_ = 0;
  place::GroupKey awake_kinds_ = 0;
  Instant clock_;  // Wake
};

}  // namespace spate::engine
