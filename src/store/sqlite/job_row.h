// The row of the `job` table: what people see of a job in lists, and what a resume needs to know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/model/job.h"
#include "store/sqlite/database.h"

namespace spate::store {

enum class JobState : uint8_t {
  kRunning = 0,   // a process runs it, or died without a word (see JobSummary in history.h)
  kFinished = 1,  // every task has ended
  kStopped = 2,   // ended in order before all tasks had; can be resumed
};
const char* JobStateName(JobState state);  // "running", "finished", "stopped"

struct JobRow {
  JobId job;
  std::string name;
  std::vector<std::string> argv;   // the whole command line
  std::string cwd;                 // absolute
  std::vector<std::string> files;  // absolute paths of the lists
  std::string settings;            // the owner's own text, any bytes; the store does not read it
  std::string user;
  std::string host;
  int64_t pid = 0;
  uint32_t runs = 1;  // processes that worked on it so far
  Instant created;
  Instant started;  // of the newest run
  std::optional<Instant> ended;
  JobState state = JobState::kRunning;
  JobCounts counts;  // queued and leased are not kept: they are the rest of total
};

// What changes while a job runs and when a run of it ends.
struct JobProgress {
  JobId job;
  JobState state = JobState::kRunning;
  std::optional<Instant> ended;
  JobCounts counts;
};
using JobChange = std::variant<JobRow, JobProgress>;

// Within the caller's transaction. A JobRow replaces the row; a JobProgress needs one.
Status WriteJobChange(Database& db, const JobChange& change);
// The only row, or the one of this job. kNotFound; kCorrupt.
Result<JobRow> ReadJobRow(Database& db);

}  // namespace spate::store
