// The table `job`, a row for each job (store/job_row.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "store/job_row.h"
#include "store/sqlite/database.h"
#include "store/sqlite/shared_settings.h"

namespace spate::store {

// The table's writer. Within the caller's transaction.
class JobTable {
 public:
  // The database outlives it. `of_hub`: jobs share their settings.
  Status Prepare(Database& db, bool of_hub);
  Status Write(const JobRow& row);            // replaces the row
  Status Write(const JobProgress& progress);  // needs one
  // A record of the job was written: the first, the last, one that shows it is not finished, or
  // another one.
  Status Accepted(JobId job, uint64_t seq);
  Status Finished(JobId job, uint64_t seq);
  // Finished, and Write of how it ended, at once.
  Status Ended(const JobProgress& end, uint64_t seq);
  Status Reopened(JobId job);
  Status Followed(JobId job, uint64_t seq);
  // Output of a task was not kept.
  Status LostOutput(JobId job, NotKept why);
  // These tasks run again.
  Status Again(JobId job, const std::vector<TaskRange>& tasks);

 private:
  Database* db_ = nullptr;
  std::optional<SharedSettings> shared_;
  Statement row_, text_, progress_, end_, accepted_, finished_, reopened_, followed_;
  Statement not_kept_, again_;
};

// The row of this job, or of the only one. kNotFound; kCorrupt.
Result<JobRow> ReadJobRow(Database& db, JobId job = {});
// The same, also of a damaged row (JobRow::damage).
Result<JobRow> ReadJobRowAsItIs(Database& db, JobId job = {});
// Jobs that were accepted, ascending, without their texts (argv, files, settings). Damaged ones are
// left out.
Result<std::vector<JobRow>> ReadJobRows(Database& db, WhichJobs which);
// The first `most` accepted jobs from `first` to `last`, ascending, without their texts; damaged
// rows are included.
Result<std::vector<JobRow>> ReadJobRowsBetween(Database& db, JobId first, JobId last, size_t most);
// Numbers of jobs that were accepted, ascending.
Result<std::vector<JobId>> JobNumbersBetween(Database& db, JobId first, JobId last, size_t most);
// The newest first. An empty user: of all.
Result<std::vector<JobId>> JobsOfUser(Database& db, std::string_view user, size_t most = SIZE_MAX);
Result<std::optional<JobId>> NewestJobOfUser(Database& db, std::string_view user);
// The first jobs to finish before `when`. An empty user: of all.
Result<std::vector<JobId>> JobsEndedBefore(Database& db, Instant when, size_t most,
                                           std::string_view user);
// For lists: the newest first, without their settings, until `visit` returns false. Damaged ones
// are among them.
Status VisitJobRows(Database& db, const std::function<bool(JobRow)>& visit);

}  // namespace spate::store
