// Records: what the engine will remember. A record is durable before anything that follows from
// it leaves the process, and applying all records in order gives the same state again.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/gang.h"
#include "core/model/graph.h"
#include "core/model/job.h"

namespace spate::engine {

// A job is there. Its text is durable in the same commit.
struct JobAccepted {
  JobId job;
  JobPlan plan;
};
// Tasks were added at its end (`--follow`, or `--resume` with a longer list).
struct JobGrown {
  JobId job;
  uint32_t count = 0;
  std::vector<TaskClass> new_requests;  // appended to the plan's
  std::vector<RequestRun> runs;         // of the new tasks
  std::string key = {};  // who adds has no other addition of this name; empty: no name
};
// Tasks wait for others of their job: part of what came with them, in the same commit. The children
// have not been given out.
struct TasksLinked {
  JobId job;
  std::vector<Edge> edges;
};
// No further tasks will be added.
struct JobSealed {
  JobId job;
};
// The policy was changed by --resume or retry with other options.
struct PolicyChanged {
  JobId job;
  JobPolicy policy;
};
// Its place among the jobs of its user.
struct PriorityChanged {
  JobId job;
  int32_t priority = 0;
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
};
// Leased tasks that are not to run again: what their node gives back is cancelled, and what runs is
// ended. One that succeeds nevertheless has succeeded.
struct TasksCancelled {
  JobId job;
  std::vector<TaskRange> tasks;
  std::string reason;  // as above
};
// Failed (or unknown, or cancelled) tasks are queued again with a fresh count of tries.
struct TasksReopened {
  JobId job;
  std::vector<TaskRange> tasks;
  std::vector<After> after = {};  // of JobPlan::after: jobs that go on, and that it waits for again
  // Those that succeeded run again, too. None of the tasks has left its list, and none that waits
  // for one of them is leased.
  bool succeeded = false;
};
// Tasks that are about to be reopened, or whose attempts are about to end and be repeated, make
// other requests than before.
struct NeedsChanged {
  JobId job;
  std::vector<TaskClass> new_requests;  // appended to the plan's
  std::vector<RequestRun> runs;         // of these tasks, sorted
};
using spate::HoldReason;
// Nothing more of the job is started until it is released; what runs goes on.
struct JobHeld {
  JobId job;
  HoldReason reason = HoldReason::kUser;
  Instant at = {};  // by the wall clock, for people; 0: not known
};
struct JobReleased {
  JobId job;
};
// Tasks that had not ended are cancelled, now or when a node gives them back, and nothing more of
// the job is started; what runs is ended. An open job is sealed.
struct JobCancelled {
  JobId job;
  std::string reason;  // in words; empty: a person wished it
};
// The job need not wait for the other one any more (JobPlan::after).
struct DependencyMet {
  JobId job;
  JobId on;
};
// The lease: a durable promise of tasks to a node. All of them get the same attempt number.
struct Leased {
  NodeId node;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;  // in the order of starting
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
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::vector<Part> parts;  // in the order of their ranks; each on another node
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
  Instant told() const { return expected == Instant::Never() ? start : expected; }
};
// Changes the order of gangs, from now on.
struct GangPolicyChanged {
  GangPolicy policy = GangPolicy::kFair;
};
// The node gave back what it had not started. It is queued again, or cancelled if it or its job
// was. The attempt number is used up all the same.
struct Returned {
  NodeId node;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
};
using spate::Verdict;
// One row of the journal's attempt table.
struct AttemptEnded {
  NodeId node;
  AttemptEnd end;
  Verdict verdict = Verdict::kSucceeded;
  bool counts = true;  // it was a try
  Instant ended;       // the engine's time; a retry may start at ended + delay
};
// Every task has ended, and no more can be added. The last record of a job (until it is reopened).
struct JobFinished {
  JobId job;
  JobCounts counts;
};

// The name under which the limits of new users are kept.
inline constexpr const char* kNewUsers = "*";
// Changes the limits of a user, from now on.
struct UserChanged {
  std::string user;
  UserRule rule;
};
// Past use counts for users' shares, half as much after this time; zero: only current use counts.
struct HalfLifeChanged {
  Duration half_life;
};
// Use of users, as it counts at that time; others have none. Stands for all such records before it.
struct UseCounted {
  Instant at;
  struct Each {
    std::string user;
    uint64_t use = 0;  // millionths of processors, times seconds
    friend bool operator==(const Each&, const Each&) = default;
  };
  std::vector<Each> users;
};
// A drained node is given nothing until it is undrained.
struct NodeDrained {
  NodeId node;
  std::string reason = {};  // in a person's words
};
struct NodeUndrained {
  NodeId node;
};
// Nothing is known of the node any more. It has no leases.
struct NodeRemoved {
  NodeId node;
};
// The node fails tasks that succeed elsewhere: it is given none of the job, or of any job.
struct NodeSick {
  NodeId node;
  JobId job;         // 0: of any job
  std::string text;  // why, for people
};
struct NodeCleared {
  NodeId node;  // 0: every node
  JobId job;    // 0: whatever it was set aside for
};
// A job that has ended and that had set the node aside. It may be forgotten by now.
struct Blame {
  JobId by;
  std::string user;
  friend bool operator==(const Blame&, const Blame&) = default;
};
// All that is remembered of the node from ended jobs; replaces what was. It belongs to no job,
// because it outlives them.
struct NodeBlamed {
  NodeId node;
  std::vector<Blame> blames;  // the oldest first; none: the node is trusted again
};

// The wall clock was set: what it showed before, and then. For people; no instant here follows it.
struct ClockStepped {
  Instant from, to;
};

using Record =
    std::variant<JobAccepted, JobGrown, JobSealed, PolicyChanged, TasksWithdrawn, TasksReopened,
                 JobHeld, JobReleased, Leased, Returned, AttemptEnded, JobFinished, JobCancelled,
                 DependencyMet, UserChanged, NodeDrained, NodeUndrained, NodeRemoved, NodeSick,
                 NodeCleared, NeedsChanged, TasksCancelled, TasksLinked, GangLeased, GangReserved,
                 GangPolicyChanged, NodeBlamed, HalfLifeChanged, UseCounted, PriorityChanged,
                 ClockStepped>;

}  // namespace spate::engine
