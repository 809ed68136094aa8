#include "store/sqlite/job_list.h"

#include <algorithm>

#include "store/sqlite/schema.h"
#include "store/sqlite/task_scan.h"

namespace spate::store {
namespace {

Result<JobRow> ReadRow(const std::string& path, bool frozen) {
  auto db = OpenJobDbToRead(path + "/job.db", frozen);
  if (!db) return std::unexpected(std::move(db.error()));
  return ReadJobRow(*db);
}

Result<JobRow> ReadRow(const std::string& path) {
  if (IsFrozen(path)) {
    auto row = ReadRow(path, true);
    // Damage may be a process that began to write meanwhile: then it is read with locks.
    if (row || row.error().kind != ErrorKind::kCorrupt) return row;
  }
  return ReadRow(path, false);
}

// How far the job got, which its owner writes at its end only. Stays as it is when unreadable.
void CountTasks(JobSummary& summary) {
  auto db = OpenJobDbToRead(summary.path + "/job.db", IsFrozen(summary.path));
  if (!db) return;
  auto scan = ScanTasks(*db);
  if (!scan) return;
  scan->counts.queued = scan->counts.leased = 0;  // as in every JobRow
  summary.row.counts = scan->counts;
}

bool Matches(const JobSummary& summary, const JobFilter& filter) {
  if (!filter.standings.empty() &&
      std::ranges::find(filter.standings, summary.standing) == filter.standings.end()) {
    return false;
  }
  if (summary.row.name.find(filter.name_part) == std::string::npos) return false;
  return !filter.cwd || *filter.cwd == summary.row.cwd;
}

}  // namespace

const char* JobStandingName(JobStanding standing) {
  constexpr const char* kNames[] = {"running", "finished", "stopped", "interrupted", "damaged"};
  auto i = static_cast<size_t>(standing);
  return i < std::size(kNames) ? kNames[i] : "?";
}

bool IsFrozen(const std::string& job_path) {
  auto held = os::FileLock::IsHeld(job_path + "/lock");
  if (!held || *held) return false;
  auto log = os::Stat(job_path + "/job.db-wal");
  return !log || log->size == 0;
}

Result<JobSummary> SummarizeJob(const std::string& state_dir, uint32_t number) {
  JobSummary summary;
  summary.number = number;
  summary.path = JobPath(state_dir, number);
  summary.row.job = JobId(number);
  if (!os::Exists(summary.path + "/job.db")) {
    return Fail(ErrorKind::kNotFound, "there is no job " + std::to_string(number) + " in '" +
                                          state_dir + "'; `spate job list` shows those that are");
  }
  // The lock first: a job that ends in between reads as finished, not as interrupted.
  auto owner = RunningOwner(summary.path);
  auto row = ReadRow(summary.path);
  if (!row) {
    if (row.error().kind == ErrorKind::kNotFound) return std::unexpected(std::move(row.error()));
    summary.problem = std::move(row.error().message);
    return summary;
  }
  summary.row = std::move(*row);
  if (owner && *owner) {
    summary.owner = **owner;
    summary.standing = JobStanding::kRunning;
    CountTasks(summary);
  } else if (summary.row.state == JobState::kRunning) {
    summary.standing = JobStanding::kInterrupted;
    CountTasks(summary);
  } else {
    summary.standing =
        summary.row.state == JobState::kFinished ? JobStanding::kFinished : JobStanding::kStopped;
  }
  return summary;
}

Status VisitJobs(const std::string& state_dir,
                 const std::function<bool(const JobSummary&)>& visit) {
  auto numbers = JobNumbers(state_dir);
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  for (size_t i = numbers->size(); i > 0; --i) {
    auto summary = SummarizeJob(state_dir, (*numbers)[i - 1]);
    if (summary && !visit(*summary)) break;
  }
  return {};
}

Result<std::vector<JobSummary>> ListJobs(const std::string& state_dir, const JobFilter& filter) {
  std::vector<JobSummary> jobs;
  auto visited = VisitJobs(state_dir, [&](const JobSummary& summary) {
    if (jobs.size() < filter.newest && Matches(summary, filter)) jobs.push_back(summary);
    return jobs.size() < filter.newest;
  });
  if (!visited) return std::unexpected(std::move(visited.error()));
  std::ranges::reverse(jobs);
  return jobs;
}

}  // namespace spate::store
