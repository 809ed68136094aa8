// The jobs of a state folder, as `spate job list` shows them. Safe while other processes write.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/job_dir.h"
#include "store/sqlite/job_row.h"

namespace spate::store {

enum class JobStanding : uint8_t {
  kRunning,      // a process holds its lock
  kFinished,     // every task has ended
  kStopped,      // ended in order before all tasks had; can be resumed
  kInterrupted,  // its process died; can be resumed
  kDamaged,      // cannot be read; `problem` says why
};
const char* JobStandingName(JobStanding standing);  // "running", "finished", "stopped", ...

struct JobSummary {
  uint32_t number = 0;
  std::string path;  // of its folder
  JobStanding standing = JobStanding::kDamaged;
  std::optional<JobOwner> owner;  // when running
  // As its owner last wrote it, but the counts of a running or interrupted job are from its
  // journal. Only `job` when damaged.
  JobRow row;
  std::string problem;  // when damaged
};

// kNotFound: no such job, or one that was never accepted. A damaged one is a summary, not an error.
Result<JobSummary> SummarizeJob(const std::string& state_dir, uint32_t number);

// The newest (largest number) first, until `visit` returns false. What was never accepted, or is
// just being made, is left out. A job costs about 0.2 ms, a
// running or interrupted one 0.4 us more for each of its attempts.
Status VisitJobs(const std::string& state_dir, const std::function<bool(const JobSummary&)>& visit);

struct JobFilter {
  std::vector<JobStanding> standings;  // empty: all
  std::string name_part;               // empty: all
  std::optional<std::string> cwd;
  size_t newest = SIZE_MAX;  // at most so many
};
// Ascending by number.
Result<std::vector<JobSummary>> ListJobs(const std::string& state_dir,
                                         const JobFilter& filter = {});

// Whether job.db can be read as frozen (OpenJobDbToRead): nobody runs the job, and no log is left.
bool IsFrozen(const std::string& job_path);

}  // namespace spate::store
