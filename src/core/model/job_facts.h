// Facts from a journal about jobs, tasks and their output: answers to wire/questions.h, the same
// for a run on this machine and for a hub's job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_list.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/body.h"
#include "core/model/fields.h"
#include "core/model/job.h"
#include "core/model/needs.h"
#include "core/model/resize.h"
#include "core/model/slowed.h"
#include "core/model/steer.h"

namespace spate {

SPATE_ENUM(JobStanding,
    kRunning, "running",          // of a run: a process holds its lock
    kFinished, "finished",        // every task has ended
    kStopped, "stopped",          // ended in order before all tasks had; can be resumed
    kInterrupted, "interrupted",  // its process died; can be resumed
    kDamaged, "damaged",          // cannot be read
    kQueued, "queued",            // of a hub: nothing of it has been started
    kHeld, "held",                // of a hub: nothing more of it is started until it is released
    kNewer, "newer",              // of a newer release, which alone can read it
    kFrozen, "frozen",            // stopped by job stop: what runs stands still, nothing is started
    kFreezing, "freezing",        // the same, and not all nodes have confirmed that it stands still
    // How a finished job came out (Outcome): only people are told, messages have kFinished.
    kSucceeded, "succeeded",      // all its tasks did
    kFailed, "failed",            // a task failed, or nobody knows how it ended
    kCancelled, "cancelled");  // a task was cancelled, and none failed
inline bool IsStopped(JobStanding standing) {
  return standing == JobStanding::kFrozen || standing == JobStanding::kFreezing;
}
// The state of a job that is stopped as a whole.
inline JobStanding StandingOf(Freezing stopped) {
  return stopped == Freezing::kFrozen ? JobStanding::kFrozen : JobStanding::kFreezing;
}
constexpr JobStanding LastInBytes(JobStanding) { return JobStanding::kFreezing; }
inline bool IsReadable(JobStanding standing) {
  return standing != JobStanding::kDamaged && standing != JobStanding::kNewer;
}
// The outcome of a finished job with these counts; every other standing stays.
JobStanding Outcome(JobStanding standing, const JobCounts& counts);

// Cuts a text to at most `most` bytes of whole characters, and adds "..." if it was longer.
std::string CutText(std::string text, size_t most);
// Cuts texts to the 64 KB that a hub keeps of a command line or of lists' paths. True: it cut some.
bool CutTexts(std::vector<std::string>& texts);

// A job, as lists show it. What has no value is not for who asks, or not known.
struct JobFacts {
  JobId job;
  std::optional<std::string> name;  // what people call it
  JobStanding state = JobStanding::kDamaged;
  JobCounts counts;                              // now; all 0 when damaged
  std::optional<std::vector<std::string>> argv;  // what was typed behind `run` or `submit`
  std::optional<std::string> cwd;
  std::optional<std::vector<std::string>> files;  // of its lists, absolute
  bool cut = false;                               // argv or files was longer (CutTexts)
  std::string user;
  std::optional<std::string> host;
  std::optional<int64_t> pid;
  std::optional<uint32_t> runs;  // processes that worked on it so far
  std::optional<Instant> created;
  std::optional<Instant> started;  // the newest run of it; none: nothing has begun
  std::optional<Instant> ended;
  std::optional<Duration> took;              // that run
  std::optional<std::string> path;           // of its folder; a hub's has none
  std::optional<std::string> problem;        // of a damaged one
  std::optional<std::string> why_cancelled;  // its last tasks, unless by a user
  std::vector<NotKeptFacts> not_kept;        // by cause; empty: all output was kept
  bool is_hidden() const { return !pid; }
  uint32_t failed() const { return counts.failed + counts.unknown; }
  JobStanding outcome() const { return Outcome(state, counts); }
  SPATE_FIELDS(1, job, 2, name, 3, state, 4, Into(counts), 5, argv, 6, cwd, 7, files, 8, user,
               9, host, 10, pid, 11, runs, 12, created, 13, started, 14, ended, 15, took, 16, path,
               17, problem, 18, cut, 19, not_kept, 20, why_cancelled);
};

// Statistics of a job's ended attempts.
struct JobStatistics {
  uint64_t attempts = 0;
  Duration median_wall;  // of those that succeeded
  Duration total_wall;   // of all
  Duration total_user;
  Duration total_system;
  uint64_t peak_memory = 0;  // of the largest attempt
  TaskIndex peak_task = 0;
  Instant first_start;  // zero: nothing was started
  Instant last_end;
  double tasks_per_second = 0;  // that succeeded, from first_start to last_end
  uint64_t output_bytes = 0;    // kept
  SPATE_FIELDS(1, attempts, 2, median_wall, 3, total_wall, 4, total_user, 5, total_system,
               6, peak_memory, 7, peak_task, 8, first_start, 9, last_end, 10, tasks_per_second,
               11, output_bytes);
};

// Tasks that failed in the same way.
struct FailureFacts {
  AttemptEnd end;  // of one of them, without what differs from task to task
  uint64_t count = 0;
  std::vector<TaskRange> tasks;  // the first ones: at most kMostRanges
  static constexpr size_t kMostRanges = 100;
  SPATE_FIELDS(1, end, 2, count, 3, tasks);
};

// A node that gets nothing more of a job.
struct SetAsideFacts {
  std::string node;
  std::string why;
  SPATE_FIELDS(1, node, 2, why);
};

// A node on which tasks of a job failed and none succeeded, while others succeeded elsewhere.
struct BlamedFacts {
  std::string node;
  uint64_t failed = 0;  // tasks
  SPATE_FIELDS(1, node, 2, failed);
};

// News of a gang's start, when it was the first of the gangs that wait.
struct GangNews {
  Instant at;          // 0: not known
  Instant start;       // as it was expected then; Never(): it was not known
  std::string reason;  // why that is later than before; empty: it became the first
  SPATE_FIELDS(1, at, 2, start, 3, reason);
  friend bool operator==(const GangNews&, const GangNews&) = default;
};
// News of a gang's start before its newest attempt: the first, and the last ones.
struct GangStory {
  static constexpr size_t kMost = 9;
  std::vector<GangNews> news;  // in order, at most kMost
  uint64_t left_out = 0;       // between the first and the second
  SPATE_FIELDS(1, news, 2, left_out);
  friend bool operator==(const GangStory&, const GangStory&) = default;
};

// Limits of each task of a job, next to its needs.
struct TaskLimits {
  uint32_t max_processes = 0;  // as JobSettings has them
  OnExcess on_excess_memory = OnExcess::kUsual;
  OnExcess on_excess_processes = OnExcess::kUsual;
  OnExcess on_excess_cpu = OnExcess::kUsual;
  std::vector<ProcessLimit> limits, soft_limits;
  int32_t nice = 0;
  SPATE_FIELDS(1, max_processes, 2, on_excess_memory, 3, on_excess_processes, 4, on_excess_cpu,
               5, limits, 6, soft_limits, 7, nice);
  friend bool operator==(const TaskLimits&, const TaskLimits&) = default;
};

// A task has used more than it asked for.
struct ExcessFacts {
  uint32_t task = 0;  // from 1
  Instant at;
  Excess excess;
  SPATE_FIELDS(1, task, 2, at, 3, excess);
  friend bool operator==(const ExcessFacts&, const ExcessFacts&) = default;
};
// A running task whose request was changed while it runs.
struct ChangedTask {
  TaskIndex index = 0;
  ResizeFact change;  // the newest
  SPATE_FIELDS(1, index, 2, change);
};

// All about one job.
struct JobDetails {
  JobFacts job;
  std::optional<int64_t> owner;  // the process that runs it
  JobPolicy policy;
  HoldReason held = HoldReason::kNone;
  std::optional<Instant> held_since;
  std::vector<SetAsideFacts> set_aside;
  bool has_cancelled = false;  // somebody cancelled something of it
  JobStatistics statistics;
  std::vector<FailureFacts> failures;  // the most frequent first
  uint64_t bytes = 0;                  // on disk: a run's folder, a hub's output of the job
  bool for_admin = false;              // who asks is an administrator of the hub
  uint64_t edges = 0;                  // among its tasks
  TaskClass newest;                    // of its last task: `job set` changes those that wait
  std::vector<BlamedFacts> blamed;     // the most failures first
  uint64_t withdrawn = 0;  // tasks that have left its list, which are in none of its counts
  int32_t priority = 0;
  GangStory story;          // of its gang that had the newest,
  uint32_t story_task = 0;  // which is this one, from 1; 0: none had any
  // Hub's jobs only: variables of the batch job in which it was submitted, which its tasks do not
  // get.
  std::vector<std::string> foreign;
  std::string comment;              // JobSettings::comment
  std::optional<StopFact> stop;     // of the whole job
  uint64_t stopped_tasks = 0;       // that are stopped by themselves
  std::vector<PartedFacts> parted;  // jobs that it slows or is slowed by, the newest last
  TaskLimits limits;
  std::vector<ExcessFacts> excesses;  // the last ones, in order; at most kMostExcesses
  static constexpr size_t kMostExcesses = 10;
  static constexpr size_t kMostChanged = 10;
  std::vector<ChangedTask> changed;    // at most kMostChanged,
  uint64_t changed_tasks = 0;          // of so many
  std::optional<Duration> time_limit;  // of all its tasks, in place of that of its submission
  SPATE_FIELDS(1, job, 2, owner, 3, policy, 4, held, 5, held_since, 6, set_aside, 7, has_cancelled,
               8, statistics, 9, failures, 10, bytes, 11, for_admin, 12, edges,
               16, blamed, 17, withdrawn, 18, priority, 20, story, 21, story_task, 22, foreign,
               23, newest, 24, comment, 25, stop, 26, stopped_tasks, 27, changed, 28, changed_tasks,
               29, time_limit, 30, limits, 31, excesses, 32, parted);
};

// One attempt that has ended.
struct AttemptFacts {
  AttemptEnd end;
  Verdict verdict = Verdict::kSucceeded;
  bool counts = true;                                         // it was a try
  Instant ended;                                              // as the engine saw it
  uint64_t stdout_kept = 0, stderr_kept = 0, files_kept = 0;  // bytes
  std::string node = {};  // its name, of a hub's job, where one task is asked about
  SPATE_FIELDS(1, end, 2, verdict, 3, counts, 4, ended, 5, stdout_kept, 6, stderr_kept,
               7, files_kept, 8, node);
};

// A task, as lists show it.
struct TaskFacts {
  TaskIndex index = 0;
  TaskState state = TaskState::kQueued;
  bool is_next = false;   // leased, and not started yet
  uint32_t attempts = 0;  // that have ended
  uint32_t tries = 0;     // of them, those that count since the task was last reopened
  std::optional<AttemptFacts> last;
  std::string command;     // as it is typed
  std::string stderr_end;  // the last KB of the last attempt's, where that was asked for
  std::string name;        // as its list calls it; empty: it has none, or only its number was asked
  bool withdrawn = false;  // its list no longer has it
  SPATE_FIELDS(1, index, 2, state, 3, is_next, 4, attempts, 5, tries, 6, last, 7, command,
               8, stderr_end, 9, name, 10, withdrawn);
};

// A hub's facts of a job that has not ended; the journal has them later or not at all.
struct JobLive {
  JobId job;
  bool started = false;  // one of its tasks
  JobCounts counts;
  // `running` has all of its tasks that run, and its other leased ones wait.
  bool tells_runs = false;
  std::vector<TaskRange> running;
  bool held = false;
  Freezing stopped = Freezing::kNone;  // the whole job
  SPATE_FIELDS(1, job, 2, started, 3, counts, 4, tells_runs, 5, running, 6, held, 7, stopped);
};

// Some tasks of a job, in columns, and some of the edges among all of them.
struct GraphFacts {
  JobId job;
  std::string name;     // the job's
  TaskIndex first = 0;  // of these tasks
  std::vector<std::string> names;
  std::vector<uint32_t> states;   // TaskState
  std::vector<uint32_t> running;  // 1: it has started
  std::vector<Duration> walls;    // of the last attempt; zero: none has ended
  std::vector<Duration> planned;  // zero: not told
  std::vector<uint32_t> parents;  // of edges, pairs with `children`
  std::vector<uint32_t> children;
  std::vector<uint32_t> withdrawn;  // those of these tasks that their list no longer has
  SPATE_FIELDS(1, job, 2, name, 3, first, 4, names, 5, states, 6, running, 7, walls, 8, planned,
               9, parents, 10, children, 11, withdrawn);
};

// The processes of a task that runs on this machine.
struct LiveTask {
  TaskIndex index = 0;
  uint16_t attempt = 0;
  uint16_t slot = 0;
  int64_t pid = 0;  // the oldest of them
  Instant since;    // to about 10 ms
  SPATE_FIELDS(1, index, 2, attempt, 3, slot, 4, pid, 5, since);
};

// All about one task.
struct TaskDetails {
  TaskFacts task;
  std::vector<AttemptFacts> attempts;  // in order
  std::string cwd;
  std::string stdin_file, stdout_file, stderr_file;  // empty: none
  std::vector<Check> checks;
  std::optional<TaskClass> asks;             // its needs: those of one process of a gang
  GangStory story;                           // of a gang
  std::optional<std::string> row;            // its line, where a file of this machine has it
  std::optional<std::string> why_cancelled;  // in words; of one that has left its list: none
  std::optional<LiveTask> live;
  // Facts of its job.
  JobFacts job;
  RetryPolicy retry;
  HoldReason held = HoldReason::kNone;
  uint64_t min_free_memory = 0;
  double max_load = 0;
  std::optional<Duration> time_limit;  // in place of its job's
  std::optional<ResizeFact> resize;    // the newest change of its request while it runs
  SPATE_FIELDS(1, task, 2, attempts, 3, cwd, 4, stdin_file, 5, stdout_file, 6, stderr_file,
               7, checks, 9, row, 10, why_cancelled, 11, live, 12, job, 13, retry,
               14, held, 15, min_free_memory, 16, max_load, 20, story, 21, asks, 22, time_limit,
               23, resize);
};

// The next of what tasks wrote.
struct OutputFacts {
  SPATE_INNER_ENUM(What,
      kBytes, "bytes",                 // `text`; `count` bytes before it were not kept
      kNotKept, "not-kept",            // none of `count` bytes
      kInFile, "in-file",              // it went to the file `text`
      kNoneYet, "none-yet",            // the task has not ended
      kTasksWithout, "tasks-without",  // nor have `count` tasks of the job
      kDamaged, "damaged",             // `text` says what
      kNothing, "nothing",             // no task of the job has written anything
      kPosition, "position",           // all up to the place `count` of the journal was told
      kFinished, "finished");  // the job has ended, and all was told
  What what = What::kBytes;
  JobId job;
  TaskIndex index = 0;
  TaskState state = TaskState::kQueued;
  uint32_t stream = 1;  // 1 standard output, 2 standard error, 3 files (core/model/task_files.h)
  std::string text;
  uint64_t count = 0;
  NotKept why = NotKept::kNone;  // for bytes that were not kept
  SPATE_FIELDS(1, what, 2, job, 3, index, 4, state, 5, stream, 6, text, 7, count, 8, why);
};

// Bytes that tasks forward (core/model/task_files.h).
struct ForwardFacts {
  SPATE_INNER_ENUM(What,
      kBytes, "bytes",      // `text` is a piece of the pack of the task `index`
      kTask, "task",        // which is whole now; `position` is behind it
      kDamaged, "damaged",  // or cannot be read: `text` says why
      kEnd, "end");  // there is nothing more, up to `position`
  What what = What::kBytes;
  TaskIndex index = 0;
  std::string text;
  uint64_t position = 0;
  Instant created;  // the job
  SPATE_FIELDS(1, what, 2, index, 3, text, 4, position, 5, created);
};

// A task that a node has told to run.
struct TaskRun {
  TaskIndex index = 0;
  std::string node;
  Instant since;
  SPATE_FIELDS(1, index, 2, node, 3, since);
};

// A node that a job avoids, or would if another one could take its tasks.
struct AvoidedNode {
  std::string node;
  uint32_t failures = 0;  // of its tasks there, in a row
  SPATE_FIELDS(1, node, 2, failures);
};

// Remaining work of a job, as everybody on a hub may see it. All of one moment: a task is in
// `unended` or has ended durably; those in `runs` are among them.
struct JobWork {
  JobId job;
  std::string user;
  JobCounts counts;        // now
  JobCounts counted_from;  // `counts` when they were last reset, in this life of the hub
  Needs needs;             // of its newest tasks
  std::optional<uint32_t> weight, max_running;  // nullopt: it has ended, and the journal knows
  uint32_t failures_in_row = 0;
  HoldReason held = HoldReason::kNone;
  std::vector<TaskRange> unended;
  std::vector<TaskRun> runs;  // by task
  std::vector<AvoidedNode> avoided;
  bool finished = false;  // nothing of it is left
  uint32_t running = 0;   // tasks, as nodes have told
  bool hidden = false;    // it is another user's: its needs and tasks are not told
  JobId next_job;         // further answers begin there; 0: these are all
  TaskIndex next_task = 0;
  SPATE_FIELDS(1, job, 2, user, 3, counts, 4, counted_from, 5, needs, 6, weight, 7, max_running,
               8, failures_in_row, 9, held, 10, unended, 11, runs, 12, avoided, 13, finished,
               14, running, 15, hidden, 16, next_job, 17, next_task);
};

// The row and command of a task; its sender may have submitted more than a command.
struct RowFacts {
  TaskIndex index = 0;
  std::string row;      // as it was submitted, where that was asked for
  std::string command;  // else; empty: it is not for who asks
  SPATE_FIELDS(1, index, 2, row, 3, command);
};

// An attempt that has ended.
struct EndFacts {
  AttemptEnd end;
  Verdict verdict = Verdict::kSucceeded;
  std::string node;
  RowFacts what;
  SPATE_FIELDS(1, end, 2, verdict, 3, node, 4, what);
};

// Description and totals of a job.
struct JobSums {
  JobId job;
  std::string user;
  std::optional<std::string> name, cwd;  // nullopt: they are not for who asks
  RowKind row_kind = RowKind::kListLine;
  JobCounts counts;
  uint32_t weight = 0, max_running = 0;
  Duration mean_wall;  // of all attempts that were started
  SPATE_FIELDS(1, job, 2, user, 3, name, 4, cwd, 5, row_kind, 6, counts, 7, weight, 8, max_running,
               9, mean_wall);
};

// Resources used by a user, in one job or in all of theirs.
struct UseFacts {
  std::string user;
  std::optional<JobId> job;  // nullopt: all
  std::optional<std::string> name;
  uint64_t tasks = 0;   // that came to an end; one that was reopened, each time
  uint64_t ends = 0;    // of attempts
  uint64_t failed = 0;  // tasks
  double failed_share = 0;
  Duration cpu, wall;             // of all attempts
  uint64_t peak_memory = 0;       // of the largest attempt
  uint64_t suggested_memory = 0;  // for such tasks; 0: not known
  double suggested_cpus = 0;      // whole ones; 0: not known
  Duration suggested_time;        // 0: none has succeeded
  std::string problem;            // why the job is left out; nothing else is told of it then
  SPATE_FIELDS(1, user, 2, job, 3, name, 4, tasks, 5, ends, 6, failed, 7, failed_share, 8, cpu,
               9, wall, 10, peak_memory, 11, suggested_memory, 12, NotInJson(problem),
               13, suggested_cpus, 14, suggested_time);
};

// How long the tasks of a job took beside those of other jobs that are bound by something, or
// alone.
struct PairFacts {
  JobId job;
  std::string beside;  // "cpu", "memory", "network", "undeclared", "alone"
  uint64_t tasks = 0;  // that succeeded
  Duration median_wall;
  std::optional<double> against_alone;  // median_wall by that of those alone, where there are any
  SPATE_FIELDS(1, job, 2, beside, 3, tasks, 4, median_wall, 5, against_alone);
};

}  // namespace spate
