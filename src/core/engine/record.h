// Records: what the engine will remember. A record is durable before anything that follows from
// it leaves the process, and applying all records in order gives the same state again.
//
// The journal has a record's fields in the order of their numbers, without these
// (store/record_codec.h): what is added goes to the end. Fields from kFirstLater on came after the
// others: older records end before them, and so do those in which they all have their defaults.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/fields.h"
#include "core/model/gang.h"
#include "core/model/graph.h"
#include "core/model/job.h"
#include "core/model/resize.h"
#include "core/model/slowed.h"
#include "core/model/steer.h"

namespace spate::engine {

// The place of a record among those of its job; a record's kStep, or kOther.
enum class JobStep : uint8_t {
  kOther,
  kBegin,   // the first
  kUsual,   // one of many, and never of a job that has finished
  kReopen,  // tasks may have yet to end after it, though they all had
  kEnd,     // the last, until it is reopened
};

// A job is there. Its text is durable in the same commit.
struct JobAccepted {
  JobId job;
  JobPlan plan;
  static constexpr JobStep kStep = JobStep::kBegin;
  SPATE_FIELDS(1, job, 2, plan);
};
// Tasks were added at its end (`--follow`, or `--resume` with a longer list).
struct JobGrown {
  JobId job;
  uint32_t count = 0;
  std::vector<TaskClass> new_requests;  // appended to the plan's
  std::vector<RequestRun> runs;         // of the new tasks
  std::string key = {};  // who adds has no other addition of this name; empty: no name
  static constexpr uint32_t kFirstLater = 5;
  static constexpr JobStep kStep = JobStep::kReopen;
  SPATE_FIELDS(1, job, 2, count, 3, new_requests, 4, runs, 5, key);
};
// Tasks wait for others of their job: part of what came with them, in the same commit. The children
// have not been given out.
struct TasksLinked {
  JobId job;
  std::vector<Edge> edges;
  SPATE_FIELDS(1, job, 2, edges);
};
// No further tasks will be added.
struct JobSealed {
  JobId job;
  SPATE_FIELDS(1, job);
};
// The policy was changed by --resume or retry with other options.
struct PolicyChanged {
  JobId job;
  JobPolicy policy;
  SPATE_FIELDS(1, job, 2, policy);
};
// Its place among the jobs of its user.
struct PriorityChanged {
  JobId job;
  int32_t priority = 0;
  SPATE_FIELDS(1, job, 2, priority);
};
// Tasks that had not ended will not run: they no longer stand in the list, or what they wait for
// did not happen.
struct TasksWithdrawn {
  JobId job;
  std::vector<TaskRange> tasks;
  std::string reason;  // in words; empty: a person wished it
  // They waited for this one, or for tasks that did, and it ended without success.
  std::optional<TaskIndex> parent = {};
  // Their list no longer has them. They may have ended, and a success stays one; the job's counts
  // leave them out.
  bool left_list = false;
  static constexpr uint32_t kFirstLater = 4;
  SPATE_FIELDS(1, job, 2, tasks, 3, reason, 4, parent, 5, left_list);
};
// Leased tasks that are not to run again: what their node gives back is cancelled, and what runs is
// ended. One that succeeds nevertheless has succeeded.
struct TasksCancelled {
  JobId job;
  std::vector<TaskRange> tasks;
  std::string reason;  // as above
  SPATE_FIELDS(1, job, 2, tasks, 3, reason);
};
// Failed (or unknown, or cancelled) tasks are queued again with a fresh count of tries.
struct TasksReopened {
  JobId job;
  std::vector<TaskRange> tasks;
  std::vector<After> after = {};  // of JobPlan::after: jobs that go on, and that it waits for again
  // Those that succeeded run again, too. None of the tasks has left its list, and none that waits
  // for one of them is leased.
  bool succeeded = false;
  static constexpr uint32_t kFirstLater = 3;
  static constexpr JobStep kStep = JobStep::kReopen;
  SPATE_FIELDS(1, job, 2, tasks, 3, after, 4, succeeded);
};
// Tasks that are about to be reopened, or whose attempts are about to end and be repeated, make
// other requests than before.
struct NeedsChanged {
  JobId job;
  std::vector<TaskClass> new_requests;  // appended to the plan's
  std::vector<RequestRun> runs;         // of these tasks, sorted
  SPATE_FIELDS(1, job, 2, new_requests, 3, runs);
};
using spate::HoldReason;
// Nothing more of the job is started until it is released; what runs goes on.
struct JobHeld {
  JobId job;
  HoldReason reason = HoldReason::kUser;
  Instant at = {};  // by the wall clock, for people; 0: not known
  SPATE_FIELDS(1, job, 2, reason, 3, at);
};
struct JobReleased {
  JobId job;
  SPATE_FIELDS(1, job);
};
// Tasks that had not ended are cancelled, now or when a node gives them back, and nothing more of
// the job is started; what runs is ended. An open job is sealed.
struct JobCancelled {
  JobId job;
  std::string reason;  // in words; empty: a person wished it
  SPATE_FIELDS(1, job, 2, reason);
};
// The job need not wait for the other one any more (JobPlan::after).
struct DependencyMet {
  JobId job;
  JobId on;
  SPATE_FIELDS(1, job, 2, on);
};
// The lease: a durable promise of tasks to a node. All of them get the same attempt number.
struct Leased {
  NodeId node;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;  // in the order of starting
  static constexpr JobStep kStep = JobStep::kUsual;
  SPATE_FIELDS(1, node, 2, job, 3, attempt, 4, tasks);
};
// The lease of a gang: one record for all of its parts, so that it is given out whole or not at
// all.
struct GangLeased {
  JobId job;
  TaskIndex index = 0;
  Attempt attempt;
  struct Part {
    NodeId node;
    uint32_t procs = 0;
    SPATE_FIELDS(1, node, 2, procs);
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::vector<Part> parts;  // in the order of their ranks; each on another node
  SPATE_FIELDS(1, job, 2, index, 3, attempt, 4, parts);
};
// The gang is the first of those that wait, and others leave it the processors that it is to have;
// or that has changed.
struct GangReserved {
  JobId job;
  TaskIndex index = 0;
  Instant start;       // when it starts at the latest, by what is known; Never(): that is not known
  std::string reason;  // why it is later than was said before; empty: it is the first in line now
  Instant at = {};     // for people; 0: not known
  // When it starts if running tasks keep to their estimates: also where other users may be quicker,
  // so that `start` is Never(). Never(): as `start`.
  Instant expected = Instant::Never();
  Duration clock_ahead = {};  // of these instants: the wall clock, for people
  static constexpr uint32_t kFirstLater = 7;
  SPATE_FIELDS(1, job, 2, index, 3, start, 4, reason, 5, at, 6, expected, 7, clock_ahead);
  Instant told() const { return expected == Instant::Never() ? start : expected; }
};
// Changes the order of gangs, from now on.
struct GangPolicyChanged {
  GangPolicy policy = GangPolicy::kFair;
  SPATE_FIELDS(1, policy);
};
// The node gave back what it had not started. It is queued again, or cancelled if it or its job
// was. The attempt number is used up all the same.
struct Returned {
  NodeId node;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
  static constexpr JobStep kStep = JobStep::kUsual;
  SPATE_FIELDS(1, node, 2, job, 3, attempt, 4, tasks);
};
using spate::Verdict;
// One row of the journal's attempt table.
struct AttemptEnded {
  NodeId node;
  AttemptEnd end;
  Verdict verdict = Verdict::kSucceeded;
  bool counts = true;  // it was a try
  Instant ended;       // the engine's time; a retry may start at ended + delay
  SPATE_FIELDS(1, node, 2, end, 3, verdict, 4, counts, 5, ended);
};
// Every task has ended, and no more can be added. The last record of a job (until it is reopened).
struct JobFinished {
  JobId job;
  JobCounts counts;
  static constexpr JobStep kStep = JobStep::kEnd;
  SPATE_FIELDS(1, job, 2, counts);
};

// The name under which the limits of new users are kept.
inline constexpr const char* kNewUsers = "*";
// Changes the limits of a user, from now on.
struct UserChanged {
  std::string user;
  UserRule rule;
  SPATE_FIELDS(1, user, 2, rule);
};
// Past use counts for users' shares, half as much after this time; zero: only current use counts.
struct HalfLifeChanged {
  Duration half_life;
  static constexpr const char* kName = "half-life changed";  // in place of its type's words
  SPATE_FIELDS(1, half_life);
};
// Use of users, as it counts at that time; others have none. Stands for all such records before it.
struct UseCounted {
  Instant at;
  struct Each {
    std::string user;
    uint64_t use = 0;  // millionths of processors, times seconds
    SPATE_FIELDS(1, user, 2, use);
    friend bool operator==(const Each&, const Each&) = default;
  };
  std::vector<Each> users;
  static constexpr bool kReplacesEarlier = true;
  SPATE_FIELDS(1, at, 2, users);
};
// A drained node is given nothing until it is undrained.
struct NodeDrained {
  NodeId node;
  std::string reason = {};  // in a person's words
  static constexpr uint32_t kFirstLater = 2;
  SPATE_FIELDS(1, node, 2, reason);
};
struct NodeUndrained {
  NodeId node;
  SPATE_FIELDS(1, node);
};
// Nothing is known of the node any more. It has no leases.
struct NodeRemoved {
  NodeId node;
  SPATE_FIELDS(1, node);
};
// The node fails tasks that succeed elsewhere: it is given none of the job, or of any job.
struct NodeSick {
  NodeId node;
  JobId job;         // 0: of any job
  std::string text;  // why, for people
  SPATE_FIELDS(1, node, 2, job, 3, text);
};
struct NodeCleared {
  NodeId node;  // 0: every node
  JobId job;    // 0: whatever it was set aside for
  SPATE_FIELDS(1, node, 2, job);
};
// A job that has ended and that had set the node aside. It may be forgotten by now.
struct Blame {
  JobId by;
  std::string user;
  SPATE_FIELDS(1, by, 2, user);
  friend bool operator==(const Blame&, const Blame&) = default;
};
// All that is remembered of the node from ended jobs; replaces what was. It belongs to no job,
// because it outlives them.
struct NodeBlamed {
  NodeId node;
  std::vector<Blame> blames;  // the oldest first; none: the node is trusted again
  SPATE_FIELDS(1, node, 2, blames);
};

// The wall clock was set: what it showed before, and then. For people; no instant here follows it.
struct ClockStepped {
  Instant from, to;
  SPATE_FIELDS(1, from, 2, to);
};

// Somebody stopped, continued, killed or signalled a job, or tasks of it; or a task has used more
// than it asked for. A stop lasts until the
// tasks are continued or have ended; separate records say what a kill withdraws and cancels.
struct JobSteered {
  JobId job;
  Steering what = Steering::kStop;
  std::vector<TaskRange> tasks;  // empty: the whole job
  int32_t signal = 0;            // of kSignal
  std::string by;                // the user
  Instant since;                 // by the engine's clock
  Instant at;                    // by the wall clock, for people
  std::optional<Excess> excess;  // of kExceed, and of a stop by the task's node
  static constexpr uint32_t kFirstLater = 12;
  SPATE_FIELDS(1, job, 2, what, 3, tasks, 4, signal, 5, by, 6, since, 7, at, 12, excess);
};

// Tasks of two jobs have slowed each other on a node, twice: they are not placed together any more
// while there are other nodes. Each of the two has such a record.
struct JobParted {
  JobId job;
  PartedFrom from;
  SPATE_FIELDS(1, job, 2, from);
};

// The request of tasks was changed. kQueued: of tasks that wait, whose needs NeedsChanged has. The
// other stages are of one leased task: from kOrdered on it holds the larger of both requests, until
// its node has confirmed (kDone) or refused; its next attempts have the new one unless it was
// refused.
struct TasksResized {
  JobId job;
  ResizeStage stage = ResizeStage::kQueued;
  std::vector<TaskRange> tasks;  // kQueued: empty for the whole job; else one task
  TaskSize to;
  NodeId node;  // this and the rest: of one leased task
  Attempt attempt;
  uint32_t request = 0;  // the number of what its lease holds from now on
  TaskSize from;         // as `to`, before
  std::string reason;    // of kRefused
  std::string by;        // the user
  Instant since;         // by the engine's clock; the same in all stages
  Instant at;            // by the wall clock, for people
  SPATE_FIELDS(1, job, 2, stage, 3, tasks, 4, to, 5, node, 6, attempt, 7, request, 8, from,
               9, reason, 10, by, 11, since, 12, at);
};

// The journal's numbers of kinds are the places here: append, never insert. Ends of attempts are
// rows of their own.
using Record =
    std::variant<AttemptEnded, JobAccepted, JobGrown, JobSealed, PolicyChanged, TasksWithdrawn,
                 TasksReopened, JobHeld, JobReleased, Leased, Returned, JobFinished, JobCancelled,
                 DependencyMet, UserChanged, NodeDrained, NodeUndrained, NodeRemoved, NodeSick,
                 NodeCleared, NeedsChanged, TasksCancelled, TasksLinked, GangLeased, GangReserved,
                 GangPolicyChanged, NodeBlamed, HalfLifeChanged, UseCounted, PriorityChanged,
                 ClockStepped, JobSteered, JobParted, TasksResized>;

}  // namespace spate::engine
