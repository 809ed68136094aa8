// Changes that clients may ask of a hub. Each is one Query, like questions (wire/questions.h), and
// answered when it is durable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/enum_list.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/model/facts.h"
#include "core/model/fields.h"
#include "core/model/gang.h"
#include "core/model/job_facts.h"
#include "core/model/needs.h"
#include "core/model/pool_facts.h"
#include "core/model/resize.h"
#include "core/model/selection.h"
#include "core/model/steer.h"

namespace spate::wire {

// The answer of what has nothing to tell but that it is done.
struct Done {
  SPATE_FIELDS();
};

// For administrators.
struct ChangeNodes {
  static constexpr uint32_t kNumber = 20;
  using Answer = Done;
  // kTurnAway: removed likewise, but its process stays, and asks to be let in again.
  SPATE_INNER_ENUM(Change, kDrain, "drain", kResume, "resume", kRemove, "remove",
      kTurnAway, "turn-away");
  std::vector<std::string> names;
  bool all = false;
  Change change = Change::kDrain;
  std::string reason;  // for the hub's log
  SPATE_FIELDS(1, names, 2, all, 3, change, 4, reason);
};

// For administrators. Nodes go on with what they have.
struct StopHub {
  static constexpr uint32_t kNumber = 21;
  using Answer = Done;
  SPATE_FIELDS();
};

// An access file (docs/formats/access.md).
struct NewAccess {
  uint64_t serial = 0;
  std::string file;  // its text, with the secret
  SPATE_FIELDS(1, serial, 2, file);
};
// For administrators.
struct AddAccess {
  static constexpr uint32_t kNumber = 22;
  using Answer = NewAccess;
  uint32_t role = 0;  // access::Role
  std::string user;   // empty: who asks
  std::optional<Duration> lifetime;
  SPATE_FIELDS(1, role, 2, user, 3, lifetime);
};

// For administrators. Who is there by one of them is sent away.
struct RevokeAccess {
  static constexpr uint32_t kNumber = 23;
  using Answer = Done;
  std::vector<uint64_t> serials;
  SPATE_FIELDS(1, serials);
};

// For administrators.
struct SetUser {
  static constexpr uint32_t kNumber = 24;
  struct Answer {
    UserRule rule;  // as it is now
    SPATE_FIELDS(1, rule);
  };
  std::string user;
  UserChange change;
  SPATE_FIELDS(1, user, 8, change);
};

struct JobsChanged {
  std::vector<JobId> changed;
  std::vector<JobId> ended;      // that had ended already, and are as they were
  std::vector<JobId> free = {};  // of kRelease: that were not held
  SPATE_FIELDS(1, changed, 2, ended, 3, free);
};
struct ChangeJobs {
  static constexpr uint32_t kNumber = 25;
  using Answer = JobsChanged;
  SPATE_INNER_ENUM(Change, kHold, "hold", kRelease, "release", kClose, "close", kSet, "set");
  JobSelector jobs;
  Change change = Change::kHold;
  JobChange set;  // of kSet
  // A job that has ended is changed like others, for what will be added to it. For one job, which
  // is named by its number.
  bool ended_too = false;
  bool end_running = false;  // of kHold: ends running tasks as well; these attempts do not count
  SPATE_FIELDS(1, jobs, 2, change, 5, ended_too, 9, end_running, 10, set);
};

// How many tasks of a job.
struct TaskCount {
  JobId job;
  uint32_t count = 0;
  SPATE_FIELDS(1, job, 2, count);
};
struct Cancel {
  static constexpr uint32_t kNumber = 26;
  struct Answer {
    JobsChanged jobs;
    std::vector<TaskCount> tasks;  // 0: no task of the job that was named is queued or running
    SPATE_FIELDS(1, jobs, 2, tasks);
  };
  JobSelector jobs;
  std::vector<TasksOfJob> tasks;
  SPATE_FIELDS(1, jobs, 2, tasks);
};

// Stops, continues, kills or signals jobs, or tasks that have not ended. Nothing changes with an
// error: kInvalid where a single job or none of the named tasks can be, kPermission, kNotFound.
struct Steer {
  static constexpr uint32_t kNumber = 35;
  struct Answer {
    JobsChanged jobs;                     // free: of kContinue, that were not stopped
    std::vector<TaskCount> tasks;         // of jobs of which tasks were named
    uint32_t running = 0;                 // of kStop: tasks whose processes are to stand still
    uint32_t frozen = 0;                  // and of which the nodes say so
    std::vector<std::string> unanswered;  // nodes that have not said so of all that they have
    uint32_t processes = 0;               // of kSignal: that got it
    std::vector<std::string> problems;    // why others did not
    SPATE_FIELDS(1, jobs, 2, tasks, 3, running, 4, frozen, 5, unanswered, 6, processes,
                 7, problems);
  };
  JobSelector jobs;
  std::vector<TasksOfJob> tasks;
  Steering what = Steering::kStop;
  // The rest is for kSignal.
  int32_t signal = 0;
  bool all = false;              // every process; else the first one of each command
  std::optional<uint32_t> rank;  // of a gang: only this one's
  std::string node;              // only on this one; empty: wherever it runs
  int32_t pid = 0;               // only this process, on that node
  SPATE_FIELDS(1, jobs, 2, tasks, 3, what, 4, signal, 5, all, 6, rank, 7, node, 8, pid);
};

// Other requests for tasks that have not ended. Queued tasks have them at once; the nodes of
// running ones confirm or refuse.
struct ResizeTasks {
  static constexpr uint32_t kNumber = 39;
  struct Refused {
    JobId job;
    uint32_t task = 0;  // from 1
    std::string why;
    SPATE_FIELDS(1, job, 2, task, 3, why);
  };
  struct Answer {
    std::vector<JobId> ended;  // jobs that had ended already
    uint32_t queued = 0;       // tasks that no node had
    uint32_t same = 0;         // running tasks that have all of it
    uint32_t ordered = 0;      // whose nodes have not answered
    uint32_t done = 0;         // whose nodes have confirmed
    std::vector<Refused> refused;
    uint32_t more_refused = 0;            // beyond those
    std::vector<std::string> unanswered;  // nodes of `ordered`
    Instant since;                        // names the change, for another look
    SPATE_FIELDS(1, ended, 2, queued, 3, same, 4, ordered, 5, done, 6, refused, 7, more_refused,
                 8, unanswered, 9, since);
  };
  JobSelector jobs;
  std::vector<TasksOfJob> tasks;
  TaskSize to;
  std::optional<Instant> look;  // Answer::since of a change: how far it has come; changes nothing
  SPATE_FIELDS(1, jobs, 2, tasks, 3, to, 4, look);
};

// Jobs that have ended, or are damaged.
struct Forget {
  static constexpr uint32_t kNumber = 27;
  struct Answer {
    std::vector<JobId> jobs;
    bool more = false;  // there are more of this age
    SPATE_FIELDS(1, jobs, 2, more);
  };
  JobSelector jobs;
  std::optional<Duration> older_than;  // instead of `jobs`: who asks' own; all for administrators
  bool dry_run = false;
  SPATE_FIELDS(1, jobs, 2, older_than, 3, dry_run);
};

// Those of the tasks that failed, were cancelled or are unknown run again; or (`succeeded`) all of
// them, which have succeeded, and what waited for them and has ended.
struct Retry {
  static constexpr uint32_t kNumber = 28;
  // The first two fields are those of TaskCount.
  struct Answer {
    JobId job;
    uint32_t count = 0;
    // Jobs that it was submitted to start after: those that it waits for again; and, when some of
    // the tasks had been cancelled, those that have ended, for which it does not wait.
    std::vector<JobId> waits_for, ended;
    SPATE_FIELDS(1, job, 2, count, 3, waits_for, 4, ended);
  };
  TasksOfJob tasks;
  NeedsChange needs;
  std::optional<Duration> time_limit;  // of an attempt, from now on; zero: none
  uint32_t time_limit_percent = 0;     // of what succeeded, beside a time_limit
  bool dry_run = false;
  bool succeeded = false;
  SPATE_FIELDS(1, tasks, 2, needs, 3, time_limit, 4, time_limit_percent, 5, dry_run, 6, succeeded);
};

// Withdraws the waiting tasks of a job, which then never run; nodes return those that they have not
// started. The answer is their number.
struct Withdraw {
  static constexpr uint32_t kNumber = 29;
  using Answer = TaskCount;
  JobId job;
  SPATE_FIELDS(1, job);
};

// Nodes on which tasks of the job failed get tasks of it again; a job that is held because all of
// them fail goes on.
struct TrustNodes {
  static constexpr uint32_t kNumber = 30;
  using Answer = Done;
  JobId job;
  SPATE_FIELDS(1, job);
};

// From now on JobWork::counted_from says how the job stands now; until the hub ends.
struct ResetCounts {
  static constexpr uint32_t kNumber = 31;
  using Answer = Done;
  JobId job;
  SPATE_FIELDS(1, job);
};

// Adds a pool when the batch system's own test has passed it, or fails with what that said.
struct AddPool {
  static constexpr uint32_t kNumber = 32;
  using Answer = PoolTrial;
  std::string name;
  std::string system;  // "slurm", "gridengine", "pbs", "htcondor", "ssh", "local"
  PoolChange wish;     // what is not set is as the hub would have it
  bool test = true;
  bool dry_run = false;  // tries, and adds nothing
  // The asker's variables that decide which batch system is used (pool/environment.h).
  std::vector<PoolVariable> variables = {};
  SPATE_FIELDS(1, name, 2, system, 3, wish, 4, test, 5, dry_run, 6, variables);
};

// For a pool's user and administrators; group names stand for their pools.
struct ChangePools {
  static constexpr uint32_t kNumber = 33;
  using Answer = Done;
  // kRemove: its queued pilots are cancelled, the others end what they run.
  SPATE_INNER_ENUM(Change, kPause, "pause", kResume, "resume", kRemove, "remove", kSet, "set");
  std::vector<std::string> names;
  Change change = Change::kPause;
  std::string reason;  // of kPause
  PoolChange wish;     // of kSet
  SPATE_FIELDS(1, names, 2, change, 3, reason, 4, wish);
};

// For administrators. What the hub does with all jobs; what has no value stays.
struct SetHub {
  static constexpr uint32_t kNumber = 34;
  struct Answer {
    GangPolicy policy = GangPolicy::kFair;  // as they are now
    Duration half_life;                     // of use; 0: only what is in use counts
    SPATE_FIELDS(1, policy, 2, half_life);
  };
  std::optional<GangPolicy> policy;
  std::optional<Duration> half_life;
  SPATE_FIELDS(1, policy, 2, half_life);
};

}  // namespace spate::wire
