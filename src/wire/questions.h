// Questions that clients may ask of a hub, and changes. Each is one Query (wire/client_messages.h),
// whose answers are of the type that it names; docs/formats/wire.md has them in a table.
//
// Requests without the right to them are refused with kPermission, missing things with kNotFound; a
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
  bool removed = false;  // those that were removed, too
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "names", self.names);
    visit(2, "removed", self.removed);
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

// Obstacles of a job that has not ended, as the hub itself knows them.
struct JobNow {
  JobId job;
  HoldReason held = HoldReason::kNone;
  uint32_t nodes = 0;  // that are connected
  Why stuck;           // what keeps it from going on by itself; empty: nothing does
  Why waits;           // why its next task is not started; empty: none waits
  std::vector<LeftRunningFacts> left = {};  // some of them, when there are many
  std::optional<std::string> shell = {};    // --shell; only when it was asked for
  std::vector<std::string> variables = {};  // that its tasks' environment sets, with `shell`
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "held", self.held);
    visit(3, "nodes", self.nodes);
    visit(9, "stuck", self.stuck);
    visit(10, "waits", self.waits);
    visit(6, "left_running", self.left);
    visit(7, "shell", self.shell);
    visit(8, "variables", self.variables);
  }
};
// An answer for each of them, 50 at most; jobs that have ended are left out.
struct LookAtJobs {
  static constexpr uint32_t kNumber = 7;
  using Answer = JobNow;
  JobSelector jobs;
  bool shell = false;  // and its shell, where one job is asked for
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "shell", self.shell);
  }
};

// Remaining work of jobs, and the running part of it: an answer for each job, or several with
// further tasks of one. Tasks that an answer leaves out have ended durably.
struct LookAtWork {
  static constexpr uint32_t kNumber = 8;
  using Answer = JobWork;
  std::string submission;  // only the job of this name, also when it has ended; empty: all unended
  std::string user;        // whose submission; empty: who asks
  bool tasks = false;      // which ones are left
  bool reset = false;      // those that have ended, too, if ResetCounts was called for them
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "submission", self.submission);
    visit(2, "user", self.user);
    visit(3, "tasks", self.tasks);
    visit(4, "reset", self.reset);
  }
};

// A node's answer to a question of a door about a task, or about itself (job 0), that only the node
// can answer. kUnavailable: it is away.
struct AskNode {
  static constexpr uint32_t kNumber = 9;
  struct Answer {
    std::string text;
    template <typename Self, typename Visit>
    static void Fields(Self& self, Visit&& visit) {
      visit(1, "text", self.text);
    }
  };
  std::string node;
  JobId job;
  TaskIndex task = 0;
  std::string question;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "node", self.node);
    visit(2, "job", self.job);
    visit(3, "task", self.task);
    visit(4, "question", self.question);
  }
};

// An answer for each pool, by name; of all when there are no names. A group's name stands for its
// pools. Of everybody's pools, and who asks' own; administrators see all.
struct LookAtPools {
  static constexpr uint32_t kNumber = 10;
  using Answer = PoolFacts;
  std::vector<std::string> names;
  bool pilots = false;  // each of them
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "names", self.names);
    visit(2, "pilots", self.pilots);
  }
};

// The newest things that happened to a pool, or to those of a group, in the order of time.
struct ReadPoolLog {
  static constexpr uint32_t kNumber = 11;
  using Answer = PoolEvent;
  std::string name;
  uint32_t most = 100;  // never more than 1,000
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "most", self.most);
  }
};

// The submission for an existing pool, as a trial, and whether the batch system would accept it.
struct TryPool {
  static constexpr uint32_t kNumber = 12;
  using Answer = PoolTrial;
  std::string name;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
  }
};

// ---- Questions that the journal answers --------------------------------------------------------

// They have these numbers.
inline constexpr uint32_t kFirstOfJournal = 40;
inline constexpr uint32_t kLastOfJournal = 79;
template <typename Q>
concept OfJournal = kFirstOfJournal <= Q::kNumber && Q::kNumber <= kLastOfJournal;

// And changes these.
template <typename Q>
concept Changes = 20 <= Q::kNumber && Q::kNumber < kFirstOfJournal;

// The meaning of one word of a command: jobs, with all of their tasks, or tasks.
struct TaskPick {
  JobSelector jobs;
  std::vector<TasksOfJob> tasks;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "tasks", self.tasks);
  }
};

struct JobsListed {
  std::vector<JobFacts> jobs;
  uint64_t of = 0;  // so many jobs were looked among
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "of", self.of);
  }
};
// The newest first.
struct ListJobs {
  static constexpr uint32_t kNumber = 40;
  using Answer = JobsListed;
  static constexpr uint32_t kAllKinds = ~0u;
  static constexpr uint32_t kFailedKind = 1u << 31;  // some of its tasks failed
  std::optional<JobSelector> jobs;                   // nullopt: all
  uint32_t kinds = kAllKinds;  // bit s: those of JobStanding s, and by outcome
  uint64_t most = UINT64_MAX;
  bool whole = false;  // with argv and files
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "kinds", self.kinds);
    visit(3, "most", self.most);
    visit(4, "whole", self.whole);
  }
};

// An answer for each.
struct DescribeJobs {
  static constexpr uint32_t kNumber = 41;
  using Answer = JobDetails;
  JobSelector jobs;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
  }
};

// Some tasks of one job, the first or further ones.
struct TasksListed {
  JobId job;
  std::string name;  // the job's
  std::vector<TaskFacts> tasks;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "name", self.name);
    visit(3, "tasks", self.tasks);
  }
};
// By job, in the order asked, and index.
struct ListTasks {
  static constexpr uint32_t kNumber = 42;
  using Answer = TasksListed;
  std::vector<TaskPick> tasks;
  uint32_t states = ~0u;  // bit s: those of TaskState s
  uint64_t most = UINT64_MAX;
  bool commands = true;
  bool stderr_ends = false;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "tasks", self.tasks);
    visit(2, "states", self.states);
    visit(3, "most", self.most);
    visit(4, "commands", self.commands);
    visit(5, "stderr_ends", self.stderr_ends);
  }
};

// An answer for each.
struct DescribeTasks {
  static constexpr uint32_t kNumber = 43;
  using Answer = TaskDetails;
  std::vector<TaskPick> tasks;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "tasks", self.tasks);
  }
};

// Of which streams; kBoth: standard output and standard error.
enum class Streams : uint8_t { kBoth, kStdout, kStderr, kFiles, kLast = kFiles };
struct ReadOutput {
  static constexpr uint32_t kNumber = 44;
  using Answer = OutputFacts;
  std::vector<TaskPick> tasks;
  uint32_t states = ~0u;
  Streams streams = Streams::kBoth;
  std::optional<uint32_t> rank = std::nullopt;  // only what this one of a gang wrote
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "tasks", self.tasks);
    visit(2, "states", self.states);
    visit(3, "streams", self.streams);
    visit(4, "rank", self.rank);
  }
};

// The last lines that tasks of a job wrote, in the order in which they ended.
struct TailOutput {
  static constexpr uint32_t kNumber = 45;
  using Answer = OutputFacts;
  JobSelector job;  // names one
  Streams streams = Streams::kBoth;
  uint64_t lines = 10;  // UINT64_MAX: all
  bool follow = false;  // of a hub's job, until it has ended
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "streams", self.streams);
    visit(3, "lines", self.lines);
    visit(4, "follow", self.follow);
  }
};

// An answer for each job that who asks may see, and one for each user; or for the jobs that are
// named, of which some are an error when they are not there or another's.
struct SumUse {
  static constexpr uint32_t kNumber = 46;
  using Answer = UseFacts;
  std::string user;                 // only of this one; empty: of all
  Instant since;                    // what has ended since then
  std::optional<JobSelector> jobs;  // nullopt: all
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "user", self.user);
    visit(2, "since", self.since);
    visit(3, "jobs", self.jobs);
  }
};

// Some tasks of one job.
struct RangesOfJob {
  JobId job;
  std::vector<TaskRange> tasks;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "tasks", self.tasks);
  }
};
// The first or further ones of a job.
struct RowsRead {
  JobId job;
  std::string user;
  std::optional<std::string> name;  // of the job; nullopt: it is not for who asks, nor are its rows
  Instant created;
  std::vector<RowFacts> rows;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "user", self.user);
    visit(3, "name", self.name);
    visit(4, "created", self.created);
    visit(5, "rows", self.rows);
  }
};
// The rows of tasks, in the order requested. Tasks that do not exist are left out.
struct ReadRows {
  static constexpr uint32_t kNumber = 47;
  using Answer = RowsRead;
  std::vector<RangesOfJob> tasks;
  std::optional<RowKind> whole;  // rows of this kind come as they were submitted
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "tasks", self.tasks);
    visit(2, "whole", self.whole);
  }
};

// The next ends of a job's attempts.
struct EndsListed {
  std::vector<EndFacts> ends;
  uint64_t position = 0;  // behind them
  Instant created;        // the job
  std::string user;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "ends", self.ends);
    visit(2, "position", self.position);
    visit(3, "created", self.created);
    visit(4, "user", self.user);
  }
};
// In the order in which they became durable; at least one answer.
struct ListEnds {
  static constexpr uint32_t kNumber = 48;
  using Answer = EndsListed;
  JobId job;
  uint64_t after = 0;  // the position to go on from, in the job that was made at `created`; the
  Instant created;     // position of another job counts as 0
  std::optional<RowKind> whole;  // as of ReadRows
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "after", self.after);
    visit(3, "created", self.created);
    visit(4, "whole", self.whole);
  }
};

// An answer for each, as everybody may see it. Jobs that are not there are left out.
struct SumJobs {
  static constexpr uint32_t kNumber = 49;
  using Answer = JobSums;
  std::vector<JobId> jobs;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
  }
};

// The tasks of one job and who waits for whom, in as many answers as it takes: first all tasks,
// then all edges.
struct LookAtGraph {
  static constexpr uint32_t kNumber = 50;
  using Answer = GraphFacts;
  JobSelector jobs;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
  }
};

// The same tasks by their numbers, for questions that the hub itself answers and that know no
// names.
struct TasksFound {
  std::vector<TasksOfJob> tasks;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "tasks", self.tasks);
  }
};
struct FindTasks {
  static constexpr uint32_t kNumber = 51;
  using Answer = TasksFound;
  std::vector<TasksOfJob> tasks;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "tasks", self.tasks);
  }
};

// Output that the tasks of a job have forwarded, in the order in which their ends became durable.
struct ReadForwards {
  static constexpr uint32_t kNumber = 52;
  using Answer = ForwardFacts;
  JobId job;
  uint64_t after = 0;  // as of ListEnds
  Instant created;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "after", self.after);
    visit(3, "created", self.created);
  }
};

// How long the tasks of one job took beside others': alone first, then an answer for each kind of
// jobs that some were beside. None of a job that is not of a hub.
struct ComparePairs {
  static constexpr uint32_t kNumber = 53;
  using Answer = PairFacts;
  JobSelector jobs;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
  }
};

// The jobs that were submitted to start after this one and have ended with cancelled tasks: the
// first ones, and how many; of who asks, or for administrators of all. None of one that is not of a
// hub.
struct FindDependents {
  static constexpr uint32_t kNumber = 54;
  struct Answer {
    std::vector<JobId> jobs;  // ascending
    uint64_t count = 0;
    template <typename Self, typename Visit>
    static void Fields(Self& self, Visit&& visit) {
      visit(1, "jobs", self.jobs);
      visit(2, "count", self.count);
    }
  };
  JobId job;
  uint32_t most = 10;  // jobs that are named
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "most", self.most);
  }
};

// ---- Changes -----------------------------------------------------------------------------------

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
  // A job that has ended is changed like others, for what will be added to it. For one job, which
  // is named by its number.
  bool ended_too = false;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "jobs", self.jobs);
    visit(2, "change", self.change);
    visit(3, "weight", self.weight);
    visit(4, "max_running", self.max_running);
    visit(5, "ended_too", self.ended_too);
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
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "tasks", self.tasks);
    visit(2, "needs", self.needs);
    visit(3, "time_limit", self.time_limit);
    visit(4, "time_limit_percent", self.time_limit_percent);
    visit(5, "dry_run", self.dry_run);
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
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "system", self.system);
    visit(3, "wish", self.wish);
    visit(4, "test", self.test);
    visit(5, "dry_run", self.dry_run);
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
    GangPolicy policy = GangPolicy::kFair;  // as it is now
    template <typename Self, typename Visit>
    static void Fields(Self& self, Visit&& visit) {
      visit(1, "policy", self.policy);
    }
  };
  std::optional<GangPolicy> policy;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "policy", self.policy);
  }
};

// Of a newer client: the hub says that it does not know what was asked.
struct UnknownQuestion {
  static constexpr uint32_t kNumber = 0;
  using Answer = Done;
  template <typename Self, typename Visit>
  static void Fields(Self&, Visit&&) {}
};

using Question =
    std::variant<UnknownQuestion, LookAtHub, LookAtAll, ListNodes, ListUsers, ListAccess,
                 ExplainTasks, LookAtJobs, ListJobs, DescribeJobs, ListTasks, DescribeTasks,
                 ReadOutput, TailOutput, SumUse, LookAtWork, AskNode, ReadRows, ListEnds, SumJobs,
                 LookAtGraph, FindTasks, ReadForwards, ComparePairs, FindDependents, LookAtPools,
                 ReadPoolLog, TryPool, ChangeNodes, StopHub, AddAccess, RevokeAccess, SetUser,
                 ChangeJobs, Cancel, Forget, Retry, Withdraw, TrustNodes, ResetCounts, AddPool,
                 ChangePools, SetHub>;

}  // namespace spate::wire
