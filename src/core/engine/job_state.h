// The engine's memory of one job: a byte for each task, ranges for what is queued, and a trace
// only for the few tasks that are beyond their first attempt.
//
// All of it is durable: changed by records alone (core/engine/durable.h), and the same again after
// a restart. What news and time make of it is core/engine/live.h's.
//
// Queues hang on requests: each distinct request of the job has one, so that tasks for which no
// node has room never stand in the way of others. Order: what was queued again (head of the job),
// then what waited for its retry delay and is due, then fresh tasks, by their place in the plan,
// then what waited for other tasks, as it became ready; before all that by the priority of their
// request.
// Peek looks, Lease (called by Apply alone) takes exactly what Peek showed, live and in replay.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/engine/place/ready.h"
#include "core/engine/rare.h"
#include "core/engine/record.h"
#include "core/engine/requeued.h"
#include "core/engine/task_graph.h"
#include "core/model/image.h"
#include "core/model/job.h"

namespace spate {
template <>
inline constexpr size_t kMembersOf<TaskClass> = 6;
}  // namespace spate

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

// History of a task that is beyond its first attempt.
struct Trace {
  Attempt attempt;         // the newest number given
  uint16_t tries = 0;      // attempts that counted since it was queued or reopened
  uint16_t losses = 0;     // lost nodes that it was present at
  uint16_t no_starts = 0;  // nodes on which it could not be started, at no try
  uint16_t elsewhere = 0;  // attempts that failed and cost no try (--retry-elsewhere)
  Instant due = {};        // while it waits for its delay: until when
  // Two different nodes, the last one first, where it failed by itself and was queued again. For a
  // while, others are tried first.
  std::array<NodeId, 2> blamed = {};
  Instant blamed_at = {};  // since then it may run again

  bool Blames(NodeId node) const { return node == blamed[0] || node == blamed[1]; }
  void Blame(NodeId node) {
    if (node != blamed[0]) blamed = {node, blamed[0]};
  }
};

// A gang whose parts are leased.
struct GangRun {
  std::vector<GangLeased::Part> parts;
  uint32_t left = 0;  // parts that have not ended
  // How the first part ended that decides how the gang does: one that failed, was lost or was
  // stopped; the first one's success where the others only wait for it. nullopt: none so far.
  struct Outcome {
    Cause cause = Cause::kSuccess;
    int32_t status = 0;
    std::string note;
    NodeId node;
    std::string who;  // WhoEnded
  };
  std::optional<Outcome> outcome;

  // The ranks that a node has. Count 0: none.
  struct Ranks {
    uint32_t first = 0;
    uint32_t count = 0;
    std::string Text() const;  // "rank 2", "ranks 2-3"; empty: none
  };
  Ranks RanksOf(NodeId node) const;
  // Names the ranks of a part that ended so: "rank 3", "one of ranks 2-3", or all of its ranks.
  std::string WhoEnded(NodeId node, const AttemptEnd& end) const;
};

// How often nodes have ended under a task, as far as they said how long it had run there.
struct CutOffs {
  uint32_t count = 0;
  Duration longest;

  void Add(Duration wall) {
    if (wall.ns <= 0) return;
    ++count;
    longest = std::max(longest, wall);
  }
};

// How a job fared on one node lately; one that goes on after its end begins anew.
struct Trouble {
  // Tasks that failed there in a row, since none succeeded. A task counts once. Not counted are
  // tasks that failed for good on another node where others of the job succeed: they are to blame.
  uint32_t failures = 0;
  bool set_aside = false;  // by the record NodeSick
  bool no_start = false;   // a task could not be started there, and another node was left to try
  Cause cause = Cause::kExit;  // of the last failure
  int32_t status = 0;
  std::string note;
  Instant failed_at = {};  // when that was
  // While the node is suspect (JobState::Suspects) it is given a task of the job at most this
  // often: a pause that doubles with each further failure.
  Duration pause = {};
  Instant trial_at = {};
};

// Queues touched by a change: the requests of jobs in whose queues something changed, some perhaps
// more than once, and tasks that ended without success while others wait for them.
class Stirred {
 public:
  struct Each {
    JobId job;
    uint32_t request = 0;
    friend bool operator==(const Each&, const Each&) = default;
  };
  void Add(JobId job, uint32_t request) {
    Each each{job, request};
    if (all_.empty() || all_.back() != each) all_.push_back(each);
  }
  struct Lost {
    JobId job;
    TaskIndex index = 0;
  };
  void Lose(JobId job, TaskIndex index) { lost_.push_back({job, index}); }
  // Tasks of this request may go now, and others of a lower priority may have gone ahead.
  void Rise(JobId job, uint32_t request) {
    if (risen_.empty() || risen_.back() != Each{job, request}) risen_.push_back({job, request});
  }
  void Clear() {
    all_.clear();
    lost_.clear();
    risen_.clear();
  }
  const std::vector<Each>& all() const { return all_; }
  const std::vector<Lost>& lost() const { return lost_; }
  const std::vector<Each>& risen() const { return risen_; }

 private:
  std::vector<Each> all_;
  std::vector<Lost> lost_;
  std::vector<Each> risen_;
};

// Tasks that are stopped or were killed. An entry of a task goes when it has ended.
struct Steers {
  std::optional<StopFact> all;            // of the whole job
  std::map<TaskIndex, StopFact> stopped;  // single tasks
  bool killed = false;                    // the whole job
  std::set<TaskIndex> killed_tasks;       // leased ones
};

// Sizes of tasks that are not those of their submission.
struct Sizes {
  struct Change {
    ResizeFact fact;
    uint32_t before = 0;  // the request that its lease held before
  };
  std::map<TaskIndex, Change> changes;   // the newest ones, of leased tasks
  std::optional<Duration> limit;         // of time, for all tasks
  std::map<TaskIndex, Duration> limits;  // of single tasks
};

// A failure of the task's own making, or its node's.
inline bool IsFailure(Cause cause) {
  return cause != Cause::kSuccess && cause != Cause::kTimeLimit && cause != Cause::kStopped &&
         cause != Cause::kNode;
}

class JobState {
 public:
  // An empty state of no job, without tasks.
  JobState() = default;
  JobState(JobId id, const JobPlan& plan, Stirred& stirred);

  // ---- Questions
  JobId id() const { return id_; }
  const JobCounts& counts() const { return counts_; }
  const JobPolicy& policy() const { return policy_; }
  HoldReason held() const { return held_; }
  const std::string& user() const { return user_; }
  int32_t priority() const { return priority_; }
  void SetPriority(int32_t priority) { priority_ = priority; }
  bool cancelled() const { return cancelled_; }
  // The task is not queued again: it is cancelled, or its job is.
  bool Cancelled(TaskIndex index) const;
  // It has ended, or was withdrawn, and its list no longer has it: the counts leave it out.
  bool LeftList(TaskIndex index) const;
  // Dependencies that it still waits for.
  const std::vector<After>& after() const { return after_; }
  bool WaitsFor(const After& after) const { return std::ranges::count(after_, after) > 0; }
  // Dependencies that it had when it was accepted.
  const std::vector<After>& planned_after() const { return planned_after_; }
  // Its queued tasks may be given out, but those that wait for a task of another job.
  bool Runnable() const;
  // It waits for task i of `other` before its own task i (AfterKind::kEach).
  bool WaitsForEachOf(JobId other) const;
  bool Blocked(TaskIndex index) const;  // by such a wait, or by its parents
  const TaskGraph& graph() const { return graph_; }
  bool IsLost(TaskIndex index) const;  // it has ended without success
  bool open() const { return open_; }
  bool finished() const { return finished_; }
  const std::vector<TaskClass>& requests() const { return requests_; }
  const Needs& request(uint32_t number) const { return requests_[number].needs; }
  uint32_t request_count() const { return static_cast<uint32_t>(requests_.size()); }
  // The job's counts when it was last released; --halt looks at later changes.
  const JobCounts& counts_at_release() const { return counts_at_release_; }
  uint32_t RequestOf(TaskIndex index) const;
  // How often it may be tried again.
  uint32_t RetriesOf(TaskIndex index) const;
  uint32_t task_count() const { return static_cast<uint32_t>(tasks_.size()); }
  TaskState StateOf(TaskIndex index) const { return static_cast<TaskState>(tasks_[index] & 7); }
  // The number of the newest attempt; 0 when there was none.
  Attempt CurrentAttempt(TaskIndex index) const;
  Trace TraceOf(TaskIndex index) const;
  CutOffs CutOffsOf(TaskIndex index) const;
  // It is given out before others of its job that may run beside it.
  bool GoesBeforeOthers(uint32_t request) const {
    return requests_[request].priority > lowest_priority_;
  }
  // It was present at a loss: it may be what takes its nodes down.
  bool Lossy(TaskIndex index) const;
  // The whole job is stopped: nothing of it is given out; null: it is not.
  const StopFact* stopped() const { return steers_->all ? &*steers_->all : nullptr; }
  // The task is stopped, by itself or with its job, and has not ended; null: it is not. One that is
  // cancelled is not stopped.
  const StopFact* StopOf(TaskIndex index) const;
  // The single tasks that are.
  const std::map<TaskIndex, StopFact>& stopped_tasks() const { return steers_->stopped; }
  bool StoppedAlone(TaskIndex index) const { return steers_->stopped.contains(index); }
  // Its processes are to end without delay.
  bool Killed(TaskIndex index) const { return killed() || steers_->killed_tasks.contains(index); }
  bool killed() const { return steers_->killed; }
  // Jobs that it slows or is slowed by, the newest last; at most kMostParted.
  const std::vector<PartedFrom>& parted() const { return *parted_; }
  static constexpr size_t kMostParted = 16;
  void Part(const PartedFrom& from);
  // The newest change of the leased task's request; null: there is none.
  const Sizes::Change* ResizeOf(TaskIndex index) const;
  // The limit of time that it has in place of its job's.
  std::optional<Duration> TimeLimitOf(TaskIndex index) const;
  std::optional<Duration> time_limit() const { return sizes_->limit; }  // of all tasks, likewise
  // Tasks that may have such changes; others of the job have none.
  const std::map<TaskIndex, Sizes::Change>& resizes() const { return sizes_->changes; }
  // Tasks that the request's queue can give out at `now`, and the time when the next task is due.
  place::Ready::Queued QueuedOf(uint32_t request, Instant now) const;
  // At most `max` equal tasks of the request that may be leased at `now`, and whose turn comes
  // before `until`; count 0 when there is none. Left out are tasks beyond their first attempt that
  // `skip` takes. A task that was present at a loss comes alone. Cost: max, and what is skipped.
  using Skip = std::function<bool(TaskIndex)>;
  Head Peek(uint32_t request, Instant now, uint32_t max, const place::ClassTurn& until,
            const Skip& skip = nullptr) const;
  // When this task's retry delay ends; the beginning of time when it waits for none. For people.
  Instant DueOf(TaskIndex index) const;
  // `succeeded`: by a record that reopens such tasks, too (TasksReopened).
  bool MayReopen(TaskIndex index, bool succeeded) const;
  // All that is queued of a request, whatever it waits for. Cost: the tasks of the request.
  std::vector<TaskRange> QueuedTasks(uint32_t request) const;
  // Queued tasks of a request that wait for nothing but room, or their delay.
  uint32_t WaitingOf(uint32_t request) const { return queues_[request].waiting; }
  uint32_t waiting() const { return waiting_; }              // of all requests
  uint32_t gangs_waiting() const { return gangs_waiting_; }  // of requests of gangs
  // nullptr: it is none, or not leased.
  const GangRun* GangOf(TaskIndex index) const;
  bool IsGang(uint32_t request) const { return !requests_[request].gang.empty(); }
  // The end of one of its parts decides how the gang ends.
  bool Decides(const GangRun& gang, NodeId node, const AttemptEnd& end) const;
  // Waiting tasks that may not start at `now` for their delay, and when the first may. Looks at due
  // tasks: with very many of them, no task counts as delayed.
  struct Delays {
    uint32_t tasks = 0;
    Instant next = Instant::Never();
  };
  Delays DelaysOf(uint32_t request, Instant now) const;
  bool lossy() const { return lossy_; }  // one of its tasks was present at a loss
  // The node is not to be given tasks of this job.
  bool Avoids(NodeId node) const;
  // So many tasks in a row failed there that the node may be what fails them: while other nodes
  // take them, it is given one task at a time, and not before TrialOn.
  bool Suspects(NodeId node) const;
  Instant TrialOn(NodeId node) const;
  const std::map<NodeId, Trouble>& troubles() const { return *troubles_; }
  // An attempt succeeded on this node.
  bool SucceededOn(NodeId node) const;
  // An attempt succeeded on another node than this one.
  bool SucceededBeside(NodeId node) const;
  // Tasks that failed in a row, on any nodes; and without those of the node that failed most. A
  // task that is tried again counts once.
  uint32_t failures_in_row() const { return failures_in_row_; }
  uint32_t FailuresBesideWorst() const;
  // A task that does not start has been tried everywhere; see Trouble::no_start.
  bool starts_nowhere() const { return starts_nowhere_; }
  // The first task of an addition by its key.
  std::optional<TaskIndex> AdditionOf(const std::string& key) const;
  bool AllEnded() const { return !open_ && counts_.finished() == counts_.total; }

  // ---- Changes, by Durable::Apply alone
  void Grow(const JobGrown& grown, Stirred& stirred);
  void Seal() { open_ = false; }
  void SetPolicy(const JobPolicy& policy) { policy_ = policy; }
  void Hold(HoldReason reason) { held_ = reason; }
  void Release();
  void Finish();
  void Cancel(Stirred& stirred);  // withdraws all that is queued
  void CancelLeased(const std::vector<TaskRange>& tasks);
  void Block(TaskIndex index, Stirred& stirred);    // it is queued
  void Unblock(TaskIndex index, Stirred& stirred);  // but where parents are left
  // The children have not been given out before, or have no parent that they would wait for.
  void Link(const std::vector<Edge>& edges, Stirred& stirred);
  void Meet(JobId other);  // it waits for this job no more; its tasks are still blocked
  void SetAside(NodeId node) { troubles_.Edit()[node].set_aside = true; }
  void Trust(NodeId node);                                               // 0: every node
  void Withdraw(const std::vector<TaskRange>& tasks, Stirred& stirred);  // all queued
  void Leave(const std::vector<TaskRange>& tasks, Stirred& stirred);     // their list; none leased
  void Reopen(const TasksReopened& reopened, Stirred& stirred);          // all may be reopened
  void WaitAgain(const std::vector<After>& after);  // for jobs that it does not wait for
  // Likewise, or leased or queued.
  void ChangeNeeds(const NeedsChanged& changed, Stirred& stirred);
  // The tasks make the same request.
  void Lease(TaskRange tasks, uint32_t request, Attempt attempt, Stirred& stirred);
  void LeaseGang(const GangLeased& leased, uint32_t request, Stirred& stirred);
  void Return(TaskRange tasks, Attempt attempt, Stirred& stirred);
  void End(const AttemptEnded& ended, Stirred& stirred);

  // Tasks of `steered` that are queued are blocked by a stop of single ones.
  void Stop(const JobSteered& steered, Stirred& stirred);
  // Returns the queued tasks that were blocked by it.
  std::vector<TaskIndex> Continue(const JobSteered& steered);
  void Kill(const std::vector<TaskRange>& tasks);
  // `before`: what the lease of a leased task held.
  void Resize(const TasksResized& resized, uint32_t before);

  void CheckInvariants() const;
  uint64_t Digest() const;
  uint64_t StateBytes() const;
  // core/model/image.h
  template <typename Self, typename Archive>
  static void Image(Self& self, Archive& archive) {
    auto& [id, counts, at_release, policy, held, open, finished, cancelled, user, priority,
           planned_after, after, troubles, good_nodes, in_row, row, starts_nowhere, lossy,
           last_success, requests, lowest, runs, order, graph, tasks, traces, cut_offs, gangs,
           additions, queues, waiting, gangs_waiting, requeued, readied, steers, parted, sizes] =
        self;
    archive(id, counts, at_release, policy, held, open, finished, cancelled, user, priority,
            planned_after, after, troubles, good_nodes, in_row, row, starts_nowhere, lossy,
            last_success, requests, lowest, runs, order, graph, tasks, traces, cut_offs, gangs,
            additions, queues, waiting, gangs_waiting, requeued, readied, steers, parted, sizes);
  }

 private:
  void Remember(const std::string& key);
  using Delayed = std::set<std::pair<Instant, TaskIndex>>;
  // A run of tasks that make one request, up to the next one.
  struct Run {
    TaskIndex first = 0;
    uint32_t request = 0;
  };
  // The queued tasks of one request.
  struct Queue {
    Rare<Requeued> requeued;
    Rare<Requeued> readied;
    Rare<Delayed> delayed;
    // Places of its fresh tasks, with several requests: the numbers of its runs, or, with an order
    // of starting, their positions in it.
    std::vector<uint32_t> runs;
    uint32_t next_run = 0;  // in `runs`: where `cursor` is, or behind it
    uint32_t cursor = 0;    // the position of its first fresh task; total when none is
    uint32_t waiting = 0;   // its queued tasks that are not blocked
  };

  bool Has(TaskIndex index, uint8_t bit) const { return (tasks_[index] & bit) != 0; }
  bool Fresh(TaskIndex index) const;
  void SetState(TaskIndex index, TaskState state);
  void SetBlocked(TaskIndex index);
  void ForgetSteers(TaskIndex index, TaskState state);
  uint32_t& CountOf(TaskState state);
  // The nodes that the end speaks for or against: all of a gang that succeeded, the one whose part
  // failed first.
  std::vector<NodeId> EndPart(const AttemptEnded& ended);
  void Learn(const AttemptEnded& ended, NodeId node);
  void LearnFailure(const AttemptEnded& ended, NodeId node);
  void QueueAgain(const AttemptEnded& ended, NodeId node, Stirred& stirred);
  uint32_t FewFailuresOn(NodeId node) const;
  void EndRow();
  void CountWaiting(uint32_t request, int64_t change);
  void SetLost(TaskIndex index, TaskState state, Stirred& stirred);
  void WithdrawOne(TaskIndex index, Stirred& stirred);
  void ForgetSuccess(TaskIndex index, Stirred& stirred);
  void Rejoin(TaskIndex index);
  void ForgetGone();
  uint8_t PartOf(TaskIndex index) const;
  Queue& Enqueue(TaskIndex index, uint8_t part, Stirred& stirred);
  void Requeue(TaskIndex index, Stirred& stirred);
  void Delay(TaskIndex index, Instant until, Stirred& stirred);
  // Out of whatever part of its queue it stands in but the fresh ones.
  void TakeOut(TaskIndex index, Queue& queue);
  TaskIndex AtPosition(uint32_t position) const {
    return order_.empty() ? position : order_[position];
  }
  // The first position from `position` on whose task is fresh and in the queue; moves `next_run`
  // on to it.
  uint32_t SeekFresh(const Queue& queue, uint32_t position, uint32_t& next_run) const;
  void Seek(Queue& queue) { queue.cursor = SeekFresh(queue, queue.cursor, queue.next_run); }
  uint32_t EndOfRun(uint32_t run) const {
    return run + 1 < runs_.size() ? runs_[run + 1].first : task_count();
  }
  void AddRuns(const std::vector<RequestRun>& runs);
  void AddQueues();
  uint32_t FirstFresh(uint32_t request) const;
  void CheckGraph() const;
  // Takes the queued tasks of these runs out of their queues, and puts them into those that the
  // runs name now, in the same part.
  void LeaveQueues(const std::vector<RequestRun>& runs, Stirred& stirred);
  void JoinQueues(const std::vector<RequestRun>& runs, Stirred& stirred);
  // The runs, with what `over` says of some tasks.
  std::vector<Run> Overlaid(const std::vector<RequestRun>& over) const;
  // Sorts the runs by queue again.
  void SortRuns();
  // Adds `index` to `head` if it is equal to what is there; false when it is not.
  bool Join(Head& head, TaskIndex index, uint32_t request) const;
  // Adds what stands at the front of such a part of a queue; false when all of it is skipped.
  bool JoinListed(Head& head, uint32_t max, uint32_t request, const Requeued& listed,
                  place::ClassTurn::Kind kind, const place::ClassTurn& until,
                  const Skip& skip) const;
  void JoinFresh(Head& head, uint32_t max, uint32_t request, const place::ClassTurn& until) const;

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
  std::vector<After> planned_after_;
  std::vector<After> after_;  // not fulfilled

  Rare<std::map<NodeId, Trouble>> troubles_;  // only of nodes with any
  std::vector<NodeId> good_nodes_;            // on which an attempt succeeded; sorted
  uint32_t failures_in_row_ = 0;              // tasks
  Rare<std::map<NodeId, uint32_t>> row_;      // the same, by node
  bool starts_nowhere_ = false;
  bool lossy_ = false;  // one of its tasks was present at a loss
  // The highest attempt number of all tasks that succeeded. Their own numbers are not kept, so a
  // task that runs again is numbered from here.
  Attempt last_success_;

  std::vector<TaskClass> requests_;
  int32_t lowest_priority_ = INT32_MAX;  // of them
  std::vector<Run> runs_;
  std::vector<TaskIndex> order_;  // empty: by index
  TaskGraph graph_;

  // Bits 0-2: TaskState; the others are in job_state.cc.
  std::vector<uint8_t> tasks_;
  Rare<std::unordered_map<TaskIndex, Trace>> traces_;      // looked up, never walked to decide
  Rare<std::unordered_map<TaskIndex, CutOffs>> cut_offs_;  // likewise
  Rare<std::map<TaskIndex, GangRun>> gangs_;               // that are leased

  struct Additions {
    std::map<std::string, TaskIndex> first;  // by key
    std::deque<std::string> keys;            // the oldest first
  };
  Rare<Additions> additions_;

  std::vector<Queue> queues_;   // by request
  uint32_t waiting_ = 0;        // in all of them
  uint32_t gangs_waiting_ = 0;  // in those of gangs
  uint64_t requeued_ = 0;       // tasks that were queued again so far
  uint64_t readied_ = 0;        // and that waited for others before
  Rare<Steers> steers_;
  Rare<std::vector<PartedFrom>> parted_;
  Rare<Sizes> sizes_;
};

}  // namespace spate::engine
