// Changes that clients may ask of a hub. Each is one Query, like questions (wire/questions.h), and
// answered when it is durable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/facts.h"
#include "core/model/fields.h"
#include "core/model/gang.h"
#include "core/model/job_facts.h"
#include "core/model/needs.h"
#include "core/model/pool_facts.h"
#include "core/model/selection.h"

namespace spate::wire {

// The answer of what has nothing to tell but that it is done.
struct Done {
  template <typename Self, typename Visit>
  static void Fields(Self&, Visit&&) {}
};

// For administrators.
struct ChangeNodes {
  static constexpr uint32_t kNumber = 20;
  using Answer = Done;
  // kTurnAway: removed likewise, but its process stays, and asks to be let in again.
  enum class Change : uint8_t { kDrain, kResume, kRemove, kTurnAway, kLast = kTurnAway };
  std::vector<std::string> names;
  bool all = false;
  Change change = Change::kDrain;
  std::string reason;  // for the hub's log
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "names", self.names);
    visit(2, "all", self.all);
    visit(3, "change", self.change);
    visit(4, "reason", self.reason);
  }
};

// For administrators. Nodes go on with what they have.
struct StopHub {
  static constexpr uint32_t kNumber = 21;
  using Answer = Done;
  template <typename Self, typename Visit>
  static void Fields(Self&, Visit&&) {}
};

// An access file (docs/formats/access.md).
struct NewAccess {
  uint64_t serial = 0;
  std::string file;  // its text, with the secret
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "serial", self.serial);
    visit(2, "file", self.file);
  }
};
// For administrators.
struct AddAccess {
  static constexpr uint32_t kNumber = 22;
  using Answer = NewAccess;
  uint32_t role = 0;  // access::Role
  std::string user;   // empty: who asks
  std::optional<Duration> lifetime;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "role", self.role);
    visit(2, "user", self.user);
    visit(3, "lifetime", self.lifetime);
  }
};

// For administrators. Who is there by one of them is sent away.
struct RevokeAccess {
  static constexpr uint32_t kNumber = 23;
  using Answer = Done;
  std::vector<uint64_t> serials;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "serials", self.serials);
  }
};

// For administrators. What has no value stays.
struct SetUser {
  static constexpr uint32_t kNumber = 24;
  struct Answer {
    UserRule rule;  // as it is now
    template <typename Self, typename Visit>
    static void Fields(Self& self, Visit&& visit) {
      visit(1, "rule", self.rule);
    }
  };
  std::string user;
  std::optional<uint32_t> weight, max_running, max_queued;
  std::optional<uint64_t> max_output;
  std::optional<std::string> group;  // "@NAME"; empty: none
  std::optional<bool> may_add_pools;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "user", self.user);
    visit(2, "weight", self.weight);
    visit(3, "max_running", self.max_running);
    visit(4, "max_queued", self.max_queued);
    visit(5, "max_output", self.max_output);
    visit(6, "group", self.group);
    visit(7, "may_add_pools", self.may_add_pools);
  }
};

struct JobsChanged {
  std::vector<JobId> changed;
  std::vector<JobId> ended;      // that had ended already, and are as they were
  std::vector<JobId> free = {};  // of kRelease: that were not held
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "changed", self.changed);
    visit(2, "ended", self.ended);
    visit(3, "free", self.free);
  }
};
struct ChangeJobs {
  static constexpr uint32_t kNumber = 25;
  using Answer = JobsChanged;
  enum class Change : uint8_t { kHold, kRelease, kClose, kSet, kLast = kSet };
  JobSelector jobs;
  Change change = Change::kHold;
  std::optional<uint32_t> weight, max_running;  // of kSet, as those below
  std::optional<int32_t> priority;
  // Limits for its tasks that no node has yet.
  std::optional<Duration> time;     // 0: it is not known
  std::optional<Instant> deadline;  // Never(): none
  // A job that has ended is changed like others, for what will be added to it. For one job, which
  // is named by its number.
  bool ended_too = false;
  bool end_running = false;  // of kHold: ends running tasks as well; these attempts do not count
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "change", self.change);
    visit(3, "weight", self.weight);
    visit(4, "max_running", self.max_running);
    visit(5, "ended_too", self.ended_too);
    visit(6, "priority", self.priority);
    visit(7, "time", self.time);
    visit(8, "deadline", self.deadline);
    visit(9, "end_running", self.end_running);
  }
};

// How many tasks of a job.
struct TaskCount {
  JobId job;
  uint32_t count = 0;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "count", self.count);
  }
};
struct Cancel {
  static constexpr uint32_t kNumber = 26;
  struct Answer {
    JobsChanged jobs;
    std::vector<TaskCount> tasks;  // 0: no task of the job that was named is queued or running
    template <typename Self, typename Visit>
    static void Fields(Self& self, Visit&& visit) {
      visit(1, "jobs", self.jobs);
      visit(2, "tasks", self.tasks);
    }
  };
  JobSelector jobs;
  std::vector<TasksOfJob> tasks;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "tasks", self.tasks);
  }
};

// Jobs that have ended, or are damaged.
struct Forget {
  static constexpr uint32_t kNumber = 27;
  struct Answer {
    std::vector<JobId> jobs;
    bool more = false;  // there are more of this age
    template <typename Self, typename Visit>
    static void Fields(Self& self, Visit&& visit) {
      visit(1, "jobs", self.jobs);
      visit(2, "more", self.more);
    }
  };
  JobSelector jobs;
  std::optional<Duration> older_than;  // instead of `jobs`: who asks' own; all for administrators
  bool dry_run = false;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "older_than", self.older_than);
    visit(3, "dry_run", self.dry_run);
  }
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
    template <typename Self, typename Visit>
    static void Fields(Self& self, Visit&& visit) {
      visit(1, "job", self.job);
      visit(2, "count", self.count);
      visit(3, "waits_for", self.waits_for);
      visit(4, "ended", self.ended);
    }
  };
  TasksOfJob tasks;
  NeedsChange needs;
  std::optional<Duration> time_limit;  // of an attempt, from now on; zero: none
  uint32_t time_limit_percent = 0;     // of what succeeded, beside a time_limit
  bool dry_run = false;
  bool succeeded = false;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "tasks", self.tasks);
    visit(2, "needs", self.needs);
    visit(3, "time_limit", self.time_limit);
    visit(4, "time_limit_percent", self.time_limit_percent);
    visit(5, "dry_run", self.dry_run);
    visit(6, "succeeded", self.succeeded);
  }
};

// Withdraws the waiting tasks of a job, which then never run; nodes return those that they have not
// started. The answer is their number.
struct Withdraw {
  static constexpr uint32_t kNumber = 29;
  using Answer = TaskCount;
  JobId job;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
  }
};

// Nodes on which tasks of the job failed get tasks of it again; a job that is held because all of
// them fail goes on.
struct TrustNodes {
  static constexpr uint32_t kNumber = 30;
  using Answer = Done;
  JobId job;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
  }
};

// From now on JobWork::counted_from says how the job stands now; until the hub ends.
struct ResetCounts {
  static constexpr uint32_t kNumber = 31;
  using Answer = Done;
  JobId job;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
  }
};

// Adds a pool when the batch system's own test has passed it, or fails with what that said.
struct AddPool {
  static constexpr uint32_t kNumber = 32;
  using Answer = PoolTrial;
  std::string name;
  std::string system;  // "slurm", "gridengine", "pbs", "htcondor", "ssh", "local"
  PoolWish wish;
  bool test = true;
  bool dry_run = false;  // tries, and adds nothing
  // The asker's variables that decide which batch system is used (pool/environment.h).
  std::vector<PoolVariable> variables = {};
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "system", self.system);
    visit(3, "wish", self.wish);
    visit(4, "test", self.test);
    visit(5, "dry_run", self.dry_run);
    visit(6, "variables", self.variables);
  }
};

// For a pool's user and administrators; group names stand for their pools.
struct ChangePools {
  static constexpr uint32_t kNumber = 33;
  using Answer = Done;
  // kRemove: its queued pilots are cancelled, the others end what they run.
  enum class Change : uint8_t { kPause, kResume, kRemove, kSet, kLast = kSet };
  std::vector<std::string> names;
  Change change = Change::kPause;
  std::string reason;  // of kPause
  PoolWish wish;       // of kSet
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "names", self.names);
    visit(2, "change", self.change);
    visit(3, "reason", self.reason);
    visit(4, "wish", self.wish);
  }
};

// For administrators. What the hub does with all jobs; what has no value stays.
struct SetHub {
  static constexpr uint32_t kNumber = 34;
  struct Answer {
    GangPolicy policy = GangPolicy::kFair;  // as they are now
    Duration half_life;                     // of use; 0: only what is in use counts
    template <typename Self, typename Visit>
    static void Fields(Self& self, Visit&& visit) {
      visit(1, "policy", self.policy);
      visit(2, "half_life", self.half_life);
    }
  };
  std::optional<GangPolicy> policy;
  std::optional<Duration> half_life;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "policy", self.policy);
    visit(2, "half_life", self.half_life);
  }
};

}  // namespace spate::wire
