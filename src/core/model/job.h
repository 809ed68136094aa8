// A job as the engine sees it (JobPlan) and as a node runs it (JobSettings).
//
// A task's text stays on disk: the engine knows only how many tasks there are and which of a few
// distinct requests each one makes. A node gets a task as a *row* (a line of a list, or the values
// for a command's placeholders) and builds the body from it and the settings (format/expand.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_list.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/body.h"
#include "core/model/change.h"
#include "core/model/excess.h"
#include "core/model/fields.h"
#include "core/model/needs.h"
#include "core/model/task_files.h"

namespace spate {

struct TaskRange {
  TaskIndex first = 0;
  uint32_t count = 0;
  SPATE_FIELDS(1, first, 2, count);
  friend bool operator==(const TaskRange&, const TaskRange&) = default;
};

// Tasks first .. first+count-1 make the request with this number.
struct RequestRun {
  TaskIndex first = 0;
  uint32_t count = 0;
  uint32_t request = 0;
  SPATE_FIELDS(1, first, 2, count, 3, request);
  friend bool operator==(const RequestRun&, const RequestRun&) = default;
};

// Bit c is set when an attempt that ended by Cause c may be tried again.
using CauseSet = uint16_t;
constexpr CauseSet CauseBit(Cause c) { return static_cast<CauseSet>(1u << static_cast<int>(c)); }
inline constexpr CauseSet kAllCauses = CauseBit(Cause::kExit) | CauseBit(Cause::kSignal) |
                                       CauseBit(Cause::kTimeLimit) | CauseBit(Cause::kMemory) |
                                       CauseBit(Cause::kCheck) | CauseBit(Cause::kNode) |
                                       CauseBit(Cause::kStart) | CauseBit(Cause::kExcess);

// Exit codes first..last, both 0 to 255.
struct ExitRange {
  uint32_t first = 0;
  uint32_t last = 0;
  SPATE_FIELDS(1, first, 2, last);
  friend bool operator==(const ExitRange&, const ExitRange&) = default;
};

struct RetryPolicy {
  uint32_t retries = 0;  // further tries after the first; a lost node's attempt is not a try
  CauseSet retry_on = kAllCauses;
  Duration delay;     // from the end of an attempt to the start of the next one
  bool once = false;  // an attempt that was lost is never repeated: the task ends as unknown
  // --retry-on exit:3,75,137-140. Not empty: an end by Cause::kExit with another code is no reason
  // to try again, and one of these is, also where retry_on lacks kExit. Sorted, without overlaps.
  std::vector<ExitRange> exits;
  uint32_t elsewhere = 0;      // --retry-elsewhere: tries on other nodes that cost no retry
  uint32_t memory_growth = 0;  // --retry-memory, in percent of the last request; 0: stays the same
  uint64_t max_memory = 0;     // --max-memory: what a grown request is bounded by; 0: no bound
  SPATE_FIELDS(1, Bound(retries, .most = kLimits.retries), 2, retry_on, 3, delay, 4, once,
               14, Named(exits, "retry_exits", .count = 255, .of = "ranges"),  // 5 to 13: JobPolicy
               15, Named(elsewhere, "retry_elsewhere", .most = kLimits.retries),
               16, Bound(memory_growth, .most = 10'000), 17, max_memory);
};

// When to stop a job early, as GNU parallel's --halt.
struct HaltRule {
  // now: end what runs
  SPATE_INNER_ENUM(When, kNever, "never", kSoon, "soon", kNow, "now");
  When when = When::kNever;
  SPATE_INNER_ENUM(What, kFail, "fail", kSuccess, "success", kDone, "done");
  What what = What::kFail;
  uint32_t count = 0;    // so many tasks, or
  uint32_t percent = 0;  // so many of 100 of the job's tasks
  SPATE_FIELDS(5, Named(when, "halt_when"),  // as JobPolicy has them
               6, Named(what, "halt_what"), 7, Named(count, "halt_count"),
               8, Named(percent, "halt_percent", .most = 100));
};

inline constexpr uint32_t kJobWeight = 100;
// Bytes of output that are kept for a job which does not say.
inline constexpr uint64_t kKeepOutput = 1ull << 30;
inline constexpr uint32_t kMaxJobWeight = 10'000;

struct JobPolicy {
  RetryPolicy retry;
  HaltRule halt;
  uint32_t max_failures = 0;  // tasks that failed for good; 0: no bound
  uint32_t max_running = 0;   // tasks of the job that nodes hold at once; 0: no bound
  // Weight in its user's share, against the user's other jobs of equal priority; at least 1. A user
  // all of whose jobs have less than kJobWeight stands back by as much for other users.
  uint32_t weight = kJobWeight;
  // So many failed attempts in a row, while none succeeded, hold the job; 0: none do.
  uint32_t pause_after_failures = 0;
  bool pause_despite_success = false;  // also when some succeeded before them
  SPATE_MESSAGE(0, Embed(retry), 0, Embed(halt), 9, max_failures, 10, max_running,
                11, pause_after_failures, 12, weight, 13, pause_despite_success);
};

// Why nothing more of a job is started until it is released.
SPATE_ENUM(HoldReason,
    kNone, "none",
    kUser, "user",
    kHaltRule, "halt",
    kMaxFailures, "max-failures",
    kAllFail, "all-fail",          // JobPolicy::pause_after_failures
    kDamaged, "damaged",           // the text of some of its tasks cannot be read
    kResults, "results");  // its program has results that it must take first; in no journal

// When a job that waits for another one may start.
SPATE_ENUM(AfterKind,
    kOk, "ok",       // all tasks of the other succeeded
    kAny, "any",     // it ended
    kFail, "fail",   // it ended, and one of its tasks failed or is unknown
    kEach, "each");  // task i, when task i of the other succeeded; both have as many tasks
struct After {
  JobId job;
  AfterKind kind = AfterKind::kOk;
  SPATE_FIELDS(1, job, 2, kind);
  friend bool operator==(const After&, const After&) = default;
};

struct JobPlan {
  uint32_t task_count = 0;
  bool open = false;                // more tasks may be added (--follow)
  std::vector<TaskClass> requests;  // distinct; at least one, and Limits::requests at most
  std::vector<RequestRun> runs;     // sorted, covering all tasks
  std::vector<TaskIndex> order;     // the order of starting; empty: by index
  JobPolicy policy;
  std::string user = {};          // whose it is; empty in `spate run`
  int32_t priority = 0;           // among the user's jobs: the higher goes first
  std::vector<After> after = {};  // all of them must be fulfilled
  SPATE_FIELDS(1, task_count, 2, open, 3, requests, 4, runs, 5, order, 6, policy, 7, user,
               8, priority, 9, after);
};

// Rights and limits that an administrator grants a user of a hub, or a group of users (IsGroup).
// A group's share and limits are those of its members together; max_output is for users only.
struct UserRule {
  uint32_t weight = 1;         // of the user's share, against others'; at least 1
  uint32_t max_running = 0;    // tasks that nodes hold at once; 0: no bound
  uint32_t max_queued = 0;     // tasks that have not ended, of all jobs; 0: no bound
  uint64_t max_output = 0;     // bytes of output that the hub keeps of all jobs; 0: no bound
  std::string group = {};      // of a user: "@NAME" (IsGroup); empty: none
  bool may_add_pools = false;  // and have their commands run on the hub's machine
  SPATE_FIELDS(1, weight, 2, max_running, 3, max_queued, 4, max_output, 5, group, 6, may_add_pools);
  // kInvalid: "weight is out of range".
  Status CheckSound() const;
  friend bool operator==(const UserRule&, const UserRule&) = default;
};
using UserChange = ChangeOf<UserRule>;
// Terms of a job that `spate job set` changes.
struct JobTerms {
  uint32_t weight = kJobWeight;  // JobPolicy::weight
  uint32_t max_running = 0;      // JobPolicy::max_running
  int32_t priority = 0;          // JobPlan::priority
  // For its tasks that no node has yet.
  Duration time;                        // Needs::time; 0: it is not known
  Instant deadline = Instant::Never();  // TaskClass::deadline; Never(): none
  SPATE_FIELDS(1, weight, 2, max_running, 3, priority, 4, time, 5, deadline);
  // kInvalid: "weight is out of range".
  Status CheckSound() const;
};
using JobChange = ChangeOf<JobTerms>;
// A group is written as a user whose name begins with '@'; no user of a system has such a name.
inline bool IsGroup(std::string_view user) { return user.starts_with('@'); }

// How a row becomes a body.
SPATE_ENUM(RowKind,
    kListLine, "list-line",  // a line of a job list
    kValues, "values",       // values joined by '\0', for the placeholders of `command`
    kParasol, "parasol",     // a job of Parasol (doors/parasol/row/parasol_row.h)
    kInput, "input",         // a piece of input, which `command` reads (format/input_row.h)
    kDagTask, "dag-task",    // a TASK record of a DAG file (format/dag_line.h)
    // calls of functions of a master-worker program (doors/mw/formats/packet.h)
    kFunction, "function",
    // values as above, which a process of `command` is given that takes task after task
    kResident, "resident");

// Fate of a task whose first process has exited with 0 while others of its session still run.
// Processes of other sessions (setsid) are daemons: they are ended, and named.
SPATE_ENUM(Leftovers,
    kEnd, "end",     // they have a moment to end, then they are ended; the task succeeds
    kWait, "wait",   // they have JobSettings::leftovers_wait, and then are ended and the task fails
    kFail, "fail");  // as kEnd, and the task fails
// JobSettings::leftovers_wait of a job that does not say.
inline constexpr Duration kLeftoversWait = Duration::Seconds(30);

// Feature of a node (wire/greeting.h) whose machine has bash.
inline constexpr const char* kBashFeature = "bash";

// Everything that the node must know of a job. Immutable once the job is open.
struct JobSettings {
  std::string name;
  std::string cwd;  // absolute
  RowKind row_kind = RowKind::kListLine;
  // kValues and kInput: the template; kResident: as it stands. One word with blanks is shell text;
  // several words are an argv.
  std::vector<std::string> command;
  std::vector<std::string> value_names;  // --header: the names of the columns
  uint32_t record_values = 0;            // each value source gives one; 0: not known (--colsep)
  bool has_source = true;                // false: `command` is literal and runs once
  bool repeat_context = false;           // -X: a{}b with values 1 2 becomes a1b a2b
  std::string replace;                   // -I: what is written for {}; empty: {}
  // --shell: the shell for lines and shell text, all of them. Empty: only text that needs a shell
  // has one.
  std::string shell;
  bool bash = false;  // where `shell` is empty: bash, not /bin/sh; nodes need kBashFeature

  std::vector<std::string> environment;  // --env NAME=value
  std::string stdin_pattern;             // with placeholders; empty: the null device
  std::string stdout_pattern;
  std::string stderr_pattern;
  std::vector<std::string> put_patterns;  // --put and --get, likewise: names in the task's folder
  std::vector<std::string> get_patterns;
  // --forward VAR=FILE and --forward-file SRC=DEST of each task (TaskForward), likewise.
  std::vector<std::string> forward_patterns;
  std::vector<std::string> forward_file_patterns;
  std::vector<PutFile> puts;  // all files that put_patterns name, sorted by name
  // True if each attempt runs in a fresh folder of its own, not in `cwd`.
  bool has_own_folder() const { return !put_patterns.empty() || !get_patterns.empty(); }
  std::string user;  // whom the tasks run as; empty: as the node does
  int umask = -1;    // of the tasks, 0 to 0777; -1: the node's
  int nice = 0;
  bool measure_io = false;   // read /proc/PID/io (20-50 us a task)
  bool live_output = false;  // pass output on as it comes (--line-buffer)

  Duration time_limit;                          // zero: none
  uint32_t time_limit_percent = 0;              // of the median of what succeeded so far; 0: none
  Duration warn_time;                           // zero: none
  Duration kill_grace = Duration::Seconds(10);  // from TERM to KILL
  Duration start_delay;                         // --delay: least time between two starts
  uint64_t min_free_memory = 0;                 // start nothing while less is free
  double max_load = 0;      // start nothing while the load is above; 0: no bound
  Duration check_patience;  // how long an output check waits for late attributes
  Leftovers leftovers = Leftovers::kWait;
  Duration leftovers_wait = kLeftoversWait;  // with Leftovers::kWait
  uint32_t warn_signal = 0;    // --signal: sent to the first process before the time limit; 0: none
  Duration warn_before;        // so long before it
  bool append_output = false;  // --append: stdout_pattern and stderr_pattern name files to add to
  std::string comment;         // of whoever submitted it, for people
  // --max-processes: processes and threads of a task, or of a gang's part, at once; 0: no bound.
  uint32_t max_processes = 0;
  OnExcess on_excess_memory = OnExcess::kUsual;
  OnExcess on_excess_processes = OnExcess::kUsual;
  OnExcess on_excess_cpu = OnExcess::kUsual;
  std::vector<ProcessLimit> limits;  // of each process, soft and hard
  // The submitter's soft limits. Where a node's hard limit is lower, that counts.
  std::vector<ProcessLimit> soft_limits;

  static constexpr uint64_t kTextBytes = kLimits.text_bytes;
  SPATE_MESSAGE(1, name, 2, Must(cwd), 3, row_kind, 4, command, 5, value_names, 6, record_values,
                7, has_source, 8, repeat_context, 9, environment, 10, stdin_pattern,
                11, stdout_pattern, 12, stderr_pattern, 13, Bound(nice, .least = -20, .most = 19),
                14, measure_io, 15, live_output, 16, time_limit, 17, time_limit_percent,
                18, warn_time, 19, kill_grace, 20, start_delay,
                21, Bound(min_free_memory, .most = kLimits.size), 22, Bound(max_load, .least = 0),
                23, check_patience, 24, user, 25, OneMore(umask, .most = 0777),
                26, Bound(put_patterns, .count = kLimits.file_options),
                27, Bound(get_patterns, .count = kLimits.file_options),
                28, Columns(puts, .sorted = true, .count = kLimits.put_files, .of = "files"),
                32, replace, 33, shell, 34, Bound(forward_patterns, .count = kLimits.file_options),
                35, Bound(forward_file_patterns, .count = kLimits.file_options), 36, leftovers,
                37, leftovers_wait, 38, warn_signal, 39, warn_before, 40, append_output, 41, bash,
                42, comment, 43, max_processes, 44, on_excess_memory, 45, on_excess_processes,
                46, on_excess_cpu, 47, Bound(limits, .count = kCountOf<LimitKind>, .of = "limits"),
                48, Bound(soft_limits, .count = kCountOf<LimitKind>, .of = "limits"));
  friend bool operator==(const JobSettings&, const JobSettings&) = default;
};

// The action when a task uses more of a resource than it asked for. kUsual: none.
OnExcess ActionOf(const JobSettings& settings, Resource what);

// The final state of a task; before that it is queued or leased.
SPATE_ENUM(TaskState,
    kQueued, "queued",        // waiting, ready, or waiting for its retry delay
    kLeased, "leased",        // given to a node, running or about to
    kSucceeded, "succeeded",
    kFailed, "failed",
    kCancelled, "cancelled",  // withdrawn before it succeeded or failed
    kUnknown, "unknown");  // lost, and --once forbids to repeat it

struct JobCounts {
  uint32_t total = 0;
  uint32_t queued = 0;
  uint32_t leased = 0;
  uint32_t succeeded = 0;
  uint32_t failed = 0;
  uint32_t cancelled = 0;
  uint32_t unknown = 0;
  uint32_t finished() const { return succeeded + failed + cancelled + unknown; }
  SPATE_FIELDS(1, total, 2, queued, 3, Named(leased, "running"), 4, succeeded, 5, failed,
               6, cancelled, 7, unknown);
  friend bool operator==(const JobCounts&, const JobCounts&) = default;
};

}  // namespace spate
