// What a client may ask of a hub, and have it change. Each is one Query (wire/client_messages.h),
// whose answers are of the type that it names; docs/formats/wire.md has them in a table.
//
// What a caller has no right to is refused with kPermission, what is not there with kNotFound; a
// change is answered when it is durable.
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
#include "core/model/needs.h"
#include "core/model/selection.h"

namespace spate::wire {

// The answer of what has nothing to tell but that it is done.
struct Done {
  template <typename Self, typename Visit>
  static void Fields(Self&, Visit&&) {}
};

// ---- Questions ---------------------------------------------------------------------------------

struct LookAtHub {
  static constexpr uint32_t kNumber = 1;
  using Answer = HubFacts;
  template <typename Self, typename Visit>
  static void Fields(Self&, Visit&&) {}
};

// At most this many nodes, and jobs; never more than 1,000 of each.
struct LookAtAll {
  static constexpr uint32_t kNumber = 2;
  using Answer = TopFacts;
  uint32_t most = 500;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "most", self.most);
  }
};

// An answer for each node, by number; of all when there are no names.
struct ListNodes {
  static constexpr uint32_t kNumber = 3;
  using Answer = NodeFacts;
  std::vector<std::string> names;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "names", self.names);
  }
};

// An answer for each user, or for one; none when the hub does not know them.
struct ListUsers {
  static constexpr uint32_t kNumber = 4;
  using Answer = UserFacts;
  std::string user;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "user", self.user);
  }
};

// For administrators. An answer for each credential, by serial.
struct ListAccess {
  static constexpr uint32_t kNumber = 5;
  using Answer = AccessFacts;
  template <typename Self, typename Visit>
  static void Fields(Self&, Visit&&) {}
};

// kNotFound where a task has ended, or its job has left the hub's memory: the journal knows more.
struct ExplainTasks {
  static constexpr uint32_t kNumber = 6;
  using Answer = TaskWhy;
  std::vector<TasksOfJob> tasks;  // of each job the first one
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "tasks", self.tasks);
  }
};

// ---- Changes -----------------------------------------------------------------------------------

// For administrators.
struct ChangeNodes {
  static constexpr uint32_t kNumber = 20;
  using Answer = Done;
  enum class Change : uint8_t { kDrain, kResume, kRemove, kLast = kRemove };
  std::vector<std::string> names;
  bool all = false;
  Change change = Change::kDrain;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "names", self.names);
    visit(2, "all", self.all);
    visit(3, "change", self.change);
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
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "user", self.user);
    visit(2, "weight", self.weight);
    visit(3, "max_running", self.max_running);
    visit(4, "max_queued", self.max_queued);
    visit(5, "max_output", self.max_output);
  }
};

struct JobsChanged {
  std::vector<JobId> changed;
  std::vector<JobId> ended;  // that had ended already, and are as they were
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "changed", self.changed);
    visit(2, "ended", self.ended);
  }
};
struct ChangeJobs {
  static constexpr uint32_t kNumber = 25;
  using Answer = JobsChanged;
  enum class Change : uint8_t { kHold, kRelease, kClose, kSet, kLast = kSet };
  JobSelector jobs;
  Change change = Change::kHold;
  std::optional<uint32_t> weight, max_running;  // of kSet
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "change", self.change);
    visit(3, "weight", self.weight);
    visit(4, "max_running", self.max_running);
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

// Those of the tasks that failed, were cancelled or are unknown run again.
struct Retry {
  static constexpr uint32_t kNumber = 28;
  using Answer = TaskCount;
  TasksOfJob tasks;
  NeedsChange needs;
  std::optional<Duration> time_limit;  // of an attempt, from now on; zero: none
  uint32_t time_limit_percent = 0;     // of what succeeded, beside a time_limit
  bool dry_run = false;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "tasks", self.tasks);
    visit(2, "needs", self.needs);
    visit(3, "time_limit", self.time_limit);
    visit(4, "time_limit_percent", self.time_limit_percent);
    visit(5, "dry_run", self.dry_run);
  }
};

// Of a newer client: the hub says that it does not know what was asked.
struct UnknownQuestion {
  static constexpr uint32_t kNumber = 0;
  using Answer = Done;
  template <typename Self, typename Visit>
  static void Fields(Self&, Visit&&) {}
};

using Question = std::variant<UnknownQuestion, LookAtHub, LookAtAll, ListNodes, ListUsers,
                              ListAccess, ExplainTasks, ChangeNodes, StopHub, AddAccess,
                              RevokeAccess, SetUser, ChangeJobs, Cancel, Forget, Retry>;

}  // namespace spate::wire
