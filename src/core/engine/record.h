// Records: what the engine will remember. A record is durable before anything that follows from
// it leaves the process, and applying all records in order gives the same state again.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/attempt.h"
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
  std::vector<Needs> new_requests;  // appended to the plan's
  std::vector<RequestRun> runs;     // of the new tasks
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
// Tasks that no longer stand in the list and had not ended; they will not run.
struct TasksWithdrawn {
  JobId job;
  std::vector<TaskRange> tasks;
};
// Failed (or unknown, or cancelled) tasks are queued again with a fresh count of tries.
struct TasksReopened {
  JobId job;
  std::vector<TaskRange> tasks;
};
enum class HoldReason : uint8_t { kNone = 0, kUser = 1, kHaltRule = 2, kMaxFailures = 3 };
// Nothing more of the job is started until it is released; what runs goes on.
struct JobHeld {
  JobId job;
  HoldReason reason = HoldReason::kUser;
};
struct JobReleased {
  JobId job;
};
// The lease: a durable promise of tasks to a node. All of them get the same attempt number.
struct Leased {
  NodeId node;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;  // in the order of starting
};
// The node gave back what it had not started; the attempt number is used up all the same.
struct Returned {
  NodeId node;
  JobId job;
  Attempt attempt;
  std::vector<TaskRange> tasks;
};
// What becomes of a task by the end of one of its attempts.
enum class Verdict : uint8_t { kSucceeded = 0, kRetry = 1, kFailed = 2, kUnknown = 3 };
const char* VerdictName(Verdict verdict);  // "succeeded", "retry", "failed", "unknown"
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

using Record =
    std::variant<JobAccepted, JobGrown, JobSealed, PolicyChanged, TasksWithdrawn, TasksReopened,
                 JobHeld, JobReleased, Leased, Returned, AttemptEnded, JobFinished>;

}  // namespace spate::engine
