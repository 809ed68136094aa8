// One execution of a task: its reference, its end, its output.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/enum_list.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/model/fields.h"
#include "core/model/limits.h"

namespace spate {

struct AttemptRef {
  JobId job;
  TaskIndex index = 0;
  Attempt attempt;
  SPATE_MESSAGE(1, Must(job), 2, Bound(index, .most = kLimits.tasks_per_job - 1), 3, Must(attempt));
  friend auto operator<=>(const AttemptRef&, const AttemptRef&) = default;
};

struct AttemptRefHash {
  size_t operator()(const AttemptRef& ref) const noexcept {
    uint64_t key = uint64_t{ref.job.value} << 48 ^ uint64_t { ref.attempt.value } << 32 ^ ref.index;
    return key * 0x9e3779b97f4a7c15u >> 7;
  }
};

// Why an attempt ended as it did. The numbers are stored; new ones go to the end.
SPATE_ENUM(Cause,
    kSuccess, "success",   // every process exited with 0 and every output check passed
    kExit, "exit",         // status holds the exit code
    kSignal, "signal",     // status holds the signal's number; the task was not ended by us
    kTimeLimit, "time",    // ended by us at --time-limit
    kMemory, "memory",     // went over --memory and was ended, by the kernel or by us
    kCheck, "check",  // exited with 0, but an output check failed, or processes were left running
    kNode, "node",  // its node (or its shepherd) vanished, or lacks room on its disk (kDiskFull)
    kStart, "start",  // could not be started; status is 127 (not found) or 126 (not executable)
    // ended by us because its job was stopped, or its node left; not a failure of the task. status
    // is kCutOff for the latter
    kStopped, "stopped",
    // used more processes or cpus than it asked for, and was ended by us (--on-excess)
    kExcess, "excess");
inline constexpr int kCauseCount = static_cast<int>(kCountOf<Cause>);

SPATE_ENUM(MemorySource, kNone, "none", kCgroup, "cgroup", kSampled, "sampled", kRusage, "rusage");

// Why output of an attempt was not kept. The numbers are stored; new ones go to the end.
SPATE_ENUM(NotKept,
    kNone, "",
    kDisk, "disk",          // the hub's disk had no room for it
    kShare, "share",        // UserRule::max_output left no more
    kBound, "keep-output",  // --keep-output
    kDefault, "default",    // the default of --keep-output
    kSpool, "spool",        // its node had no room for it, or could not send it
    kDamaged, "damaged");  // never stored: the kept bytes cannot be read

// Tasks of a job whose output was not kept whole; of a gang each part.
struct NotKeptFacts {
  NotKept why = NotKept::kNone;
  uint64_t tasks = 0;
  SPATE_FIELDS(1, why, 2, tasks);
};

// A process of an attempt: step, command within the step, rank of a gang (0 without one).
struct ProcessEnd {
  uint16_t step = 0;
  uint16_t command = 0;
  uint32_t rank = 0;
  int32_t status = 0;  // exit code, or 128 + signal
  // In a gang: its own bytes in the attempt's streams. The streams hold them in order of rank, and
  // after the last what no rank wrote.
  uint64_t stdout_bytes = 0;
  uint64_t stderr_bytes = 0;
  SPATE_FIELDS(1, step, 2, command, 3, rank, 4, status, 5, stdout_bytes, 6, stderr_bytes);
};

// The end of an attempt, as its node saw it. It becomes one row of the journal.
struct AttemptEnd {
  AttemptRef ref;
  Cause cause = Cause::kSuccess;
  MemorySource memory_source = MemorySource::kNone;
  uint16_t slot = 0;   // from 1; 0 when it never had one
  int32_t status = 0;  // by cause: exit code, signal number, 126/127, kCutOff, kDiskFull; else 0
  Instant start;
  Duration wall;
  Duration user;
  Duration system;
  uint64_t peak_memory = 0;  // bytes, by memory_source
  int64_t read_bytes = -1;   // -1: not asked
  int64_t written_bytes = -1;
  uint32_t left_behind = 0;   // processes that outlived the command and were ended
  uint64_t stdout_total = 0;  // bytes that the attempt wrote
  uint64_t stderr_total = 0;
  std::string note;  // rare: which check failed, why it did not start, what was left
  std::vector<ProcessEnd> processes;  // only when the attempt had more than one, or was of a gang
  NotKept not_kept = NotKept::kNone;  // as the journal has it
  SPATE_FIELDS(1, ref, 2, cause, 3, memory_source, 4, slot, 5, status, 6, start, 7, wall, 8, user,
               9, system, 10, peak_memory, 11, read_bytes, 12, written_bytes, 13, left_behind,
               14, stdout_total, 15, stderr_total, 16, note, 17, processes, 18, not_kept);
};

// Other attempts list processes only if there are several, and none of those has a rank.
inline bool IsOfGang(const AttemptEnd& end) {
  return end.processes.size() == 1 ||
         std::ranges::any_of(end.processes, [](const ProcessEnd& one) { return one.rank > 0; });
}

// Ended by us because its node left: its time was over, or it was told to. An older program takes
// it for any other stop, which decides the same.
inline constexpr int32_t kCutOff = 1;
inline bool IsCutOff(const AttemptEnd& end) {
  return end.cause == Cause::kStopped && end.status == kCutOff;
}

// It has ended well, and its node's disk had no room for what it wrote. An older program takes it
// for any other loss.
inline constexpr int32_t kDiskFull = 1;
inline bool IsDiskFull(const AttemptEnd& end) {
  return end.cause == Cause::kNode && end.status == kDiskFull;
}

// The result for a task when one of its attempts ends.
SPATE_ENUM(Verdict,
    kSucceeded, "succeeded",
    kRetry, "retry",
    kFailed, "failed",
    kUnknown, "unknown",
    kCancelled, "cancelled",  // it, or its job, was cancelled, and it did not succeed
    kPart, "part");  // nothing yet: it was a part of a gang, and another one has not ended
// The task has ended; else it goes on, or runs again.
inline bool EndsTask(Verdict verdict) {
  return verdict != Verdict::kRetry && verdict != Verdict::kPart;
}

// Output of an attempt, on its way from shepherd to journal and terminal. A stream of up to
// kInlineOutput bytes is inline; a longer one is in a spool file, whole, and the last owner
// of the TaskOutput unlinks it (the hub's store and the terminal may both read it). Values of
// master-worker programs stay in memory, unless too many of them wait.
inline constexpr uint64_t kInlineOutput = 64 * 1024;

struct OutputStream {
  std::string bytes;   // all of it when spool is empty
  std::string spool;   // path of a file that holds all of it, or empty
  uint64_t total = 0;  // length in either case
  // Too long to go with its end, wherever it is.
  bool IsApart() const { return !spool.empty() || bytes.size() > kInlineOutput; }
  SPATE_FIELDS(1, bytes, 2, spool, 3, total);
};
struct TaskOutput {
  OutputStream out;
  OutputStream err;
  OutputStream files = {};  // what --get brings home, as a pack (task_files.h)
  std::array<OutputStream*, 3> streams() { return {&out, &err, &files}; }
  std::array<const OutputStream*, 3> streams() const { return {&out, &err, &files}; }
  uint64_t bytes() const { return out.total + err.total + files.total; }
};
inline constexpr int kStreams = 3;
const char* StreamName(int stream);  // 1 "stdout", 2 "stderr", 3 "files"
using TaskOutputPtr = std::shared_ptr<const TaskOutput>;

}  // namespace spate
