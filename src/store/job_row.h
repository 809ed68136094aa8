// The row of a job: what people see of it in lists, and what a resume needs to know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_list.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/job.h"

namespace spate::store {

// The names are stored.
SPATE_ENUM(JobState,
    kRunning, "running",  // a run: its process works on it, or died without a word (see JobSummary)
    kFinished, "finished",  // every task has ended
    kStopped, "stopped",    // a run that ended in order before all tasks had; can be resumed
    kQueued, "queued",      // of a hub: nothing of it has been started
    kHeld, "held",          // of a hub: nothing more of it is started until it is released
    // of a hub: its records or its settings are damaged, and nothing of it runs
    kDamaged, "damaged");

struct JobRow {
  JobId job;
  std::string submission;  // the client's own name for the submission, unique; empty: none
  std::string name;
  std::vector<std::string> argv;   // the whole command line
  std::string cwd;                 // absolute
  std::vector<std::string> files;  // absolute paths of the lists
  bool cut = false;                // hub only: argv or files was cut (CutTexts)
  std::string settings;            // the owner's own text, any bytes; the store does not read it
  std::string user;
  std::string host;
  int64_t pid = 0;
  uint32_t runs = 1;  // processes that worked on it so far
  int32_t priority = 0;
  // Bytes of output kept for the job. -1 - N: N bytes, which is what UserRule::max_output left.
  int64_t keep_output = kKeepOutput;
  Instant created;
  Instant started;  // of the newest run
  std::optional<Instant> ended;
  JobState state = JobState::kRunning;
  JobCounts counts;  // as last written, without `queued`, the rest of total
  // Written by the store alone, from the job's records: the first one's place in the sequence, and
  // the last one's while every task has ended. 0: not accepted; not finished.
  uint64_t first_seq = 0;
  uint64_t last_seq = 0;
  std::vector<NotKeptFacts> not_kept;  // likewise
  // Damage of the row as it was read; nothing in a damaged row can be relied on, but most
  // of it may be right. Empty: none.
  std::string damage;
};

// Fields that change while a job runs and when a run of it ends.
struct JobProgress {
  JobId job;
  JobState state = JobState::kRunning;
  std::optional<Instant> started;  // when it changes
  std::optional<Instant> ended;
  JobCounts counts;
};

enum class WhichJobs : uint8_t { kAll, kUnfinished };

// The name that people use: the job's own name, else its lists, else its command.
std::string NameOf(const JobRow& row);

}  // namespace spate::store
