// Questions that clients may ask of a hub, beside changes (wire/changes.h). Each is one Query
// (wire/client_messages.h), whose answers are of the type that it names; docs/formats/wire.md has
// them in a table.
//
// Requests without the right to them are refused with kPermission, missing things with kNotFound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_list.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/model/facts.h"
#include "core/model/fields.h"
#include "core/model/job_facts.h"
#include "core/model/needs.h"
#include "core/model/pool_facts.h"
#include "core/model/processes.h"
#include "core/model/run_look.h"
#include "core/model/selection.h"
#include "core/model/visit.h"
#include "wire/changes.h"

namespace spate::wire {

// ---- Questions ---------------------------------------------------------------------------------

// The meaning of one word of a command: jobs, with all of their tasks, or tasks.
struct TaskPick {
  JobSelector jobs;
  std::vector<TasksOfJob> tasks;
  SPATE_FIELDS(1, jobs, 2, tasks);
};

struct LookAtHub {
  static constexpr uint32_t kNumber = 1;
  using Answer = HubFacts;
  SPATE_FIELDS();
};

// At most this many nodes, and jobs; never more than 1,000 of each.
struct LookAtAll {
  static constexpr uint32_t kNumber = 2;
  using Answer = TopFacts;
  uint32_t most = 500;
  SPATE_FIELDS(1, most);
};

// An answer for each node, by number; of all when there are no names.
struct ListNodes {
  static constexpr uint32_t kNumber = 3;
  using Answer = NodeFacts;
  std::vector<std::string> names;
  bool removed = false;  // those that were removed, too
  SPATE_FIELDS(1, names, 2, removed);
};

// An answer for each user, or for one; none when the hub does not know them.
struct ListUsers {
  static constexpr uint32_t kNumber = 4;
  using Answer = UserFacts;
  std::string user;
  SPATE_FIELDS(1, user);
};

// For administrators. An answer for each credential, by serial.
struct ListAccess {
  static constexpr uint32_t kNumber = 5;
  using Answer = AccessFacts;
  SPATE_FIELDS();
};

// An answer for each task that waits. kNotFound: there is none, they have ended, or their job has
// left the hub's memory: the journal knows more.
struct ExplainTasks {
  static constexpr uint32_t kNumber = 6;
  using Answer = TaskWhy;
  std::vector<TasksOfJob> tasks;  // of each job the first one
  SPATE_FIELDS(1, tasks);
};

// Obstacles of a job that has not ended, as the hub itself knows them.
struct JobNow {
  JobId job;
  HoldReason held = HoldReason::kNone;
  uint32_t nodes = 0;  // that are connected
  Why stuck;           // what keeps it from going on by itself; empty: nothing does
  Why waits;           // why its next task is not started; empty: none waits
  std::vector<LeftRunningFacts> left = {};  // some of them, when there are many
  bool bash = false;                        // JobSettings::bash; only when it was asked for
  std::vector<RunningFacts> running = {};   // by task; at most LookAtJobs::runs of them
  SPATE_FIELDS(1, job, 2, held, 3, nodes, 9, stuck, 10, waits, 6, Named(left, "left_running"),
               11, running, 12, bash);
};
// An answer for each of them, 50 at most; jobs that have ended are left out.
struct LookAtJobs {
  static constexpr uint32_t kNumber = 7;
  using Answer = JobNow;
  JobSelector jobs;
  bool shell = false;     // also JobNow::bash, for one job
  uint32_t runs = 1'000;  // never more than 10,000
  SPATE_FIELDS(1, jobs, 2, shell, 3, runs);
};

// Remaining work of jobs, and the running part of it: an answer for each job, by number. Tasks that
// an answer leaves out have ended durably. Where that is much, the last answer says from where on
// to ask again (JobWork::next_job); client::QueryWork does. Of others' jobs there are counts alone.
struct LookAtWork {
  static constexpr uint32_t kNumber = 8;
  using Answer = JobWork;
  std::string submission;  // only the job of this name, also when it has ended; empty: all unended
  std::string user;        // whose submission; empty: who asks
  bool tasks = false;      // which ones are left
  bool reset = false;      // those that have ended, too, if ResetCounts was called for them
  JobId from_job;          // and of the first one the tasks
  TaskIndex from_task = 0;
  SPATE_FIELDS(1, submission, 2, user, 3, tasks, 4, reset, 5, from_job, 6, from_task);
};

// The stderr of a task, where that stays on its node (node/kept_streams.h): at most 1 MiB.
// kUnavailable: the node is away.
struct ReadStderr {
  static constexpr uint32_t kNumber = 9;
  struct Answer {
    std::string text;
    SPATE_FIELDS(1, text);
  };
  std::string node;
  JobId job;
  TaskIndex task = 0;
  SPATE_FIELDS(1, node, 2, job, 3, task);
};

// Processes of running tasks that nodes list now: an answer for each node that has some, in the
// order in which they come, also for one that does not answer (NodeProcesses::why). Tasks that do
// not run have none.
struct ListProcesses {
  static constexpr uint32_t kNumber = ReadProcesses::kNumber;
  using Answer = NodeProcesses;
  std::vector<TaskPick> tasks;  // none: of all jobs of who asks
  bool everybody = false;       // of all users; for administrators
  uint32_t pid = 0;             // processes with this number alone; 0: all
  SPATE_FIELDS(1, tasks, 2, everybody, 3, pid);
};

// A question that the node itself answers (node/questions.h), which the hub does not know: its
// number, and the bytes of its fields. The answer is one of that question's own type.
// kUnavailable: the node is away, or does not know it either.
struct AskNode {
  static constexpr uint32_t kNumber = 15;
  struct Answer {
    SPATE_FIELDS();
  };
  std::string node;
  uint32_t question = 0;
  std::string body;
  SPATE_FIELDS(1, node, 2, question, 3, body);
};

// For a node at a port of its own, not for a hub: what it runs, and what ended last.
struct LookAtNode {
  static constexpr uint32_t kNumber = 18;
  using Answer = NodeReport;
  SPATE_FIELDS();
};

// Likewise: it ends, and its tasks with it. Answered before it does.
struct StopNode {
  static constexpr uint32_t kNumber = 36;
  using Answer = Done;
  SPATE_FIELDS();
};

// An answer for each pool, by name; of all when there are no names. A group's name stands for its
// pools. Of everybody's pools, and who asks' own; administrators see all.
struct LookAtPools {
  static constexpr uint32_t kNumber = 10;
  using Answer = PoolFacts;
  std::vector<std::string> names;
  bool pilots = false;  // each of them
  SPATE_FIELDS(1, names, 2, pilots);
};

// The newest things that happened to a pool, or to those of a group, in the order of time.
struct ReadPoolLog {
  static constexpr uint32_t kNumber = 11;
  using Answer = PoolEvent;
  std::string name;
  uint32_t most = 100;  // never more than 1,000
  SPATE_FIELDS(1, name, 2, most);
};

// The submission for an existing pool, as a trial, and whether the batch system would accept it.
struct TryPool {
  static constexpr uint32_t kNumber = 12;
  using Answer = PoolTrial;
  std::string name;
  SPATE_FIELDS(1, name);
};

// The end of the output of a pilot's batch job.
struct ReadPilotOutput {
  static constexpr uint32_t kNumber = 13;
  struct Answer {
    std::string text;  // at most 256 KiB
    SPATE_FIELDS(1, text);
  };
  std::string name;  // of its pool
  uint32_t pilot = 0;
  SPATE_FIELDS(1, name, 2, pilot);
};

// A look at one task while it runs: where, a piece of what it has written, and its use. A task that
// has ended has its state alone: the journal knows the rest. kNotFound: the hub does not have the
// task in memory; kInvalid: the gang has no such rank.
struct LookAtRun {
  static constexpr uint32_t kNumber = RunWish::kNumber;
  struct Answer {
    JobId job;
    uint32_t task = 0;  // from 1
    TaskState state = TaskState::kQueued;
    uint32_t attempt = 0;  // that a node has; 0: none has
    std::string node;      // which one
    uint32_t ranks = 0;    // of the whole gang; 0: it is none
    RunLook look;
    Why why;                          // why it waits
    std::optional<Instant> measured;  // when its node's answer came, by the hub's clock
    SPATE_FIELDS(1, job, 2, task, 3, state, 4, attempt, 5, node, 6, ranks, 7, look, 8, why,
                 9, measured);
  };
  TasksOfJob task;
  RunWish wish;
  uint32_t rank = 0;  // of a gang: whose output, and the use of the part with this rank
  SPATE_FIELDS(1, task, 2, wish, 3, rank);
};

using spate::EnterTask;  // the way into a running task

// ---- Questions that the journal answers --------------------------------------------------------

// They have these numbers.
inline constexpr uint32_t kFirstOfJournal = 40;
inline constexpr uint32_t kLastOfJournal = 79;
constexpr bool IsOfJournal(uint32_t question) {
  return kFirstOfJournal <= question && question <= kLastOfJournal;
}

// And changes these.
constexpr bool IsChange(uint32_t question) { return 20 <= question && question < kFirstOfJournal; }

struct JobsListed {
  std::vector<JobFacts> jobs;
  uint64_t of = 0;  // so many jobs were looked among
  SPATE_FIELDS(1, jobs, 2, of);
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
  SPATE_FIELDS(1, jobs, 2, kinds, 3, most, 4, whole);
};

// An answer for each.
struct DescribeJobs {
  static constexpr uint32_t kNumber = 41;
  using Answer = JobDetails;
  JobSelector jobs;
  SPATE_FIELDS(1, jobs);
};

// Some tasks of one job, the first or further ones.
struct TasksListed {
  JobId job;
  std::string name;  // the job's
  std::vector<TaskFacts> tasks;
  SPATE_FIELDS(1, job, 2, name, 3, tasks);
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
  SPATE_FIELDS(1, tasks, 2, states, 3, most, 4, commands, 5, stderr_ends);
};

// An answer for each.
struct DescribeTasks {
  static constexpr uint32_t kNumber = 43;
  using Answer = TaskDetails;
  std::vector<TaskPick> tasks;
  SPATE_FIELDS(1, tasks);
};

// The streams to read; kBoth: standard output and standard error.
SPATE_ENUM(Streams, kBoth, "both", kStdout, "stdout", kStderr, "stderr", kFiles, "files");
struct ReadOutput {
  static constexpr uint32_t kNumber = 44;
  using Answer = OutputFacts;
  std::vector<TaskPick> tasks;
  uint32_t states = ~0u;
  Streams streams = Streams::kBoth;
  std::optional<uint32_t> rank = std::nullopt;  // only what this one of a gang wrote
  uint32_t attempt = 0;                         // of this attempt; 0: of the newest
  SPATE_FIELDS(1, tasks, 2, states, 3, streams, 4, rank, 5, attempt);
};

// The last lines that tasks of a job wrote, in the order in which they ended.
struct TailOutput {
  static constexpr uint32_t kNumber = 45;
  using Answer = OutputFacts;
  JobSelector job;  // names one
  Streams streams = Streams::kBoth;
  uint64_t lines = 10;  // UINT64_MAX: all
  // For a hub's job: also what ends from now on, with a kPosition behind each part of it. The
  // answer is over when the job has ended (kFinished), or when nothing came for a while: whoever
  // wants more asks again.
  bool follow = false;
  // Following goes on behind this place of the journal, without `lines`.
  std::optional<uint64_t> after = std::nullopt;
  SPATE_FIELDS(1, job, 2, streams, 3, lines, 4, follow, 5, after);
};

// An answer for each job that who asks may see, and one for each user; or for the jobs that are
// named, of which some are an error when they are not there or another's.
struct SumUse {
  static constexpr uint32_t kNumber = 46;
  using Answer = UseFacts;
  std::string user;                 // only of this one; empty: of all
  Instant since;                    // what has ended since then
  std::optional<JobSelector> jobs;  // nullopt: all
  SPATE_FIELDS(1, user, 2, since, 3, jobs);
};

// Some tasks of one job.
struct RangesOfJob {
  JobId job;
  std::vector<TaskRange> tasks;
  SPATE_FIELDS(1, job, 2, tasks);
};
// The first or further ones of a job.
struct RowsRead {
  JobId job;
  std::string user;
  std::optional<std::string> name;  // of the job; nullopt: it is not for who asks, nor are its rows
  Instant created;
  std::vector<RowFacts> rows;
  SPATE_FIELDS(1, job, 2, user, 3, name, 4, created, 5, rows);
};
// The rows of tasks, in the order requested. Tasks that do not exist are left out.
struct ReadRows {
  static constexpr uint32_t kNumber = 47;
  using Answer = RowsRead;
  std::vector<RangesOfJob> tasks;
  std::optional<RowKind> whole;  // rows of this kind come as they were submitted
  SPATE_FIELDS(1, tasks, 2, whole);
};

// The next ends of a job's attempts.
struct EndsListed {
  std::vector<EndFacts> ends;
  uint64_t position = 0;  // behind them
  Instant created;        // the job
  std::string user;
  SPATE_FIELDS(1, ends, 2, position, 3, created, 4, user);
};
// In the order in which they became durable; at least one answer.
struct ListEnds {
  static constexpr uint32_t kNumber = 48;
  using Answer = EndsListed;
  JobId job;
  uint64_t after = 0;  // the position to go on from, in the job that was made at `created`; the
  Instant created;     // position of another job counts as 0
  std::optional<RowKind> whole;  // as of ReadRows
  SPATE_FIELDS(1, job, 2, after, 3, created, 4, whole);
};

// An answer for each, as everybody may see it. Jobs that are not there are left out.
struct SumJobs {
  static constexpr uint32_t kNumber = 49;
  using Answer = JobSums;
  std::vector<JobId> jobs;
  SPATE_FIELDS(1, jobs);
};

// The tasks of one job and who waits for whom, in as many answers as it takes: first all tasks,
// then all edges.
struct LookAtGraph {
  static constexpr uint32_t kNumber = 50;
  using Answer = GraphFacts;
  JobSelector jobs;
  SPATE_FIELDS(1, jobs);
};

// The same tasks by their numbers, for questions that the hub itself answers and that know no
// names.
struct TasksFound {
  std::vector<TasksOfJob> tasks;
  SPATE_FIELDS(1, tasks);
};
struct FindTasks {
  static constexpr uint32_t kNumber = 51;
  using Answer = TasksFound;
  std::vector<TasksOfJob> tasks;
  SPATE_FIELDS(1, tasks);
};

// Output that the tasks of a job have forwarded, in the order in which their ends became durable.
struct ReadForwards {
  static constexpr uint32_t kNumber = 52;
  using Answer = ForwardFacts;
  JobId job;
  uint64_t after = 0;  // as of ListEnds
  Instant created;
  SPATE_FIELDS(1, job, 2, after, 3, created);
};

// How long the tasks of one job took beside others': alone first, then an answer for each kind of
// jobs that some were beside. None of a job that is not of a hub.
struct ComparePairs {
  static constexpr uint32_t kNumber = 53;
  using Answer = PairFacts;
  JobSelector jobs;
  SPATE_FIELDS(1, jobs);
};

// The jobs that were submitted to start after this one and have ended with cancelled tasks: the
// first ones, and how many; of who asks, or for administrators of all. None of one that is not of a
// hub.
struct FindDependents {
  static constexpr uint32_t kNumber = 54;
  struct Answer {
    std::vector<JobId> jobs;  // ascending
    uint64_t count = 0;
    SPATE_FIELDS(1, jobs, 2, count);
  };
  JobId job;
  uint32_t most = 10;  // jobs that are named
  SPATE_FIELDS(1, job, 2, most);
};

// Something that has happened to a job. Of each kind those fields that it has.
struct EventFacts {
  uint64_t position = 0;  // to go on from
  // "accepted", "grown", "closed", "held", "released", "reopened", "cancelled", "finished", "end",
  // "stopped", "continued", "killed", "signalled", "exceeded", "parted", "clock", which is about no
  // job, and of a request that changes "changed" (of waiting tasks), "ordered", "resized",
  // "refused"
  std::string what;
  JobId job;
  std::string user, name;               // of the job
  uint32_t tasks = 0;                   // of the job (accepted), or added, reopened
  std::string reason;                   // held, cancelled
  JobCounts counts;                     // finished
  std::optional<AttemptFacts> attempt;  // end
  std::optional<ClockChange> clock;     // clock
  // For the four that people bring about ("stopped" to "signalled"; tasks 0: the whole job).
  std::string by;
  std::optional<Instant> at;
  int32_t signal = 0;
  uint32_t task = 0;                 // from 1; of "exceeded", a stop by the task's node, or a
                                     // request that changes
  std::optional<Excess> excess;      // of the first two
  std::optional<TaskSize> from, to;  // of the last; `from` only of a running task
  SPATE_FIELDS(1, position, 2, what, 3, job, 4, user, 5, name, 6, tasks, 7, reason, 8, counts,
               9, attempt, 10, clock, 11, by, 12, at, 13, signal, 14, from, 15, to, 16, task,
               17, excess);
};
// Those behind `after`, of jobs that who asks may see, as they became durable; at least one answer.
struct ReadEvents {
  static constexpr uint32_t kNumber = 55;
  struct Answer {
    std::vector<EventFacts> events;
    uint64_t position = 0;  // behind them
    bool more = false;      // there is something behind it already
    SPATE_FIELDS(1, events, 2, position, 3, more);
  };
  std::optional<uint64_t> after;  // nullopt: nothing of what was; the position of now
  SPATE_FIELDS(1, after);
};

}  // namespace spate::wire
