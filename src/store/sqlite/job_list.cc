#include "store/sqlite/job_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/kept_replay.h"
#include "store/sqlite/log_check.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/shared_copy.h"

namespace spate::store {
namespace {

Result<JobRow> ReadRow(const JournalPlace& place, JobId job, bool frozen) {
  auto db = TRY(OpenJournalToRead(place.DbPath(), frozen));
  return ReadJobRowAsItIs(db, job);
}

Result<JobRow> ReadRow(const JournalPlace& place, JobId job = {}) {
  if (IsFrozen(place)) {
    auto row = ReadRow(place, job, true);
    // Damage may be a process that began to write meanwhile: then it is read with locks.
    bool sound = row ? row->damage.empty() : row.error().kind != ErrorKind::kCorrupt;
    if (sound) return row;
  }
  return ReadRow(place, job, false);
}

// True for a run that nobody makes any more: its tasks never came whole, so nothing has followed.
bool IsUnaccepted(const JournalPlace& place, const JobRow& row) {
  if (row.first_seq != 0 || row.state != JobState::kRunning || row.counts.total > 0) return false;
  auto db = OpenJournalToRead(place.DbPath(), IsFrozen(place));
  if (!db) return false;
  auto records = db->QueryInt("SELECT EXISTS(SELECT 1 FROM log) OR EXISTS(SELECT 1 FROM attempt)");
  return records && *records == 0;
}

// How far a run got, which its owner writes at its end only. Stays as it is when unreadable.
void CountTasks(const JobPlace& place, JobSummary& summary) {
  const JournalPlace journal = JournalOf(place, summary.number);
  auto db = OpenJournalToRead(journal.DbPath(), IsFrozen(journal));
  if (!db) return;
  auto replay = ReplayJob(*db, PartOf(summary.row), KeptReplay(place, summary.row), false);
  if (!replay) return;
  summary.row.counts = (*replay)->job().counts();
  summary.row.counts.queued = summary.row.counts.leased = 0;  // as in every row of a run
}

}  // namespace

bool IsFrozen(const JournalPlace& place) {
  auto held = os::FileLock::IsHeld(place.folder + "/lock");
  if (!held || *held || NeedsCopy(place.DbPath())) return false;
  auto log = os::Stat(place.DbPath() + "-wal");
  return !log || log->size == 0;
}

namespace {

JobSummary OfHub(JobRow row) {
  JobSummary summary;
  summary.number = row.job.value;
  summary.of_hub = true;
  summary.standing = row.state == JobState::kQueued ? JobStanding::kQueued
                     : row.state == JobState::kHeld ? JobStanding::kHeld
                                                    : JobStanding::kRunning;
  if (row.last_seq != 0) summary.standing = JobStanding::kFinished;
  if (row.state == JobState::kDamaged || !row.damage.empty()) {
    summary.standing = JobStanding::kDamaged;
    summary.problem = row.damage;
    if (row.damage.empty()) {
      summary.problem =
          "the hub has excluded it because part of it is damaged; to see what is, check the hub's "
          "state on its machine";
    }
  }
  summary.row = std::move(row);
  return summary;
}

std::unexpected<Error> NoSuchJob(const JobPlace& place, uint32_t number) {
  if (place.is_hub) {
    return Fail(ErrorKind::kNotFound, "the hub has no job " + std::to_string(number));
  }
  return Fail(ErrorKind::kNotFound, fmt::format("no job {} in '{}'", number, place.dir),
              SeeAlso("job list", "--state", place.dir));
}

std::unexpected<Error> NeverAccepted(uint32_t number) {
  return Fail(ErrorKind::kNotFound,
              fmt::format("job {} was never accepted: its run ended before its tasks were stored, "
                          "so none of them ran; run the same again",
                          number));
}

Result<JobSummary> SummarizeHubJob(const JobPlace& place, uint32_t number) {
  auto row = ReadRow(JournalOf(place, number), JobId(number));
  if (!row && row.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(std::move(row.error()));
  }
  if (!row || row->first_seq == 0) return NoSuchJob(place, number);
  return OfHub(std::move(*row));
}

Result<Database> OpenHub(const JobPlace& place) {
  JournalPlace journal = JournalOf(place, 0);
  return OpenJournalToRead(journal.DbPath(), IsFrozen(journal));
}

}  // namespace

Result<JobSummary> SummarizeJob(const JobPlace& place, uint32_t number) {
  if (place.is_hub) return SummarizeHubJob(place, number);
  JobSummary summary;
  summary.number = number;
  const JournalPlace journal = JournalOf(place, number);
  summary.folder = journal.folder;
  summary.row.job = JobId(number);
  if (!os::Exists(journal.DbPath())) return NoSuchJob(place, number);
  // The lock first: a job that ends in between reads as finished, not as interrupted.
  auto owner = RunningOwner(journal.folder);
  // In a killed run's log SQLite would read up to the damage, and report nothing.
  if (owner && !*owner) {
    if (auto sound = CheckLog(journal.DbPath()); !sound) {
      summary.problem = std::move(sound.error().message);
      return summary;
    }
  }
  auto row = ReadRow(journal);
  if (!row) {
    if (row.error().kind == ErrorKind::kNotFound) return NeverAccepted(number);
    if (row.error().kind == ErrorKind::kNewer) summary.standing = JobStanding::kNewer;
    summary.problem = std::move(row.error().message);
    return summary;
  }
  summary.row = std::move(*row);
  summary.problem = summary.row.damage;
  if (!summary.problem.empty()) return summary;
  summary.row.counts.leased = 0;  // they will be run again
  const bool runs = owner && *owner;
  if (!runs && IsUnaccepted(journal, summary.row)) return NeverAccepted(number);
  if (runs) {
    if ((*owner)->IsOfThisMachine()) summary.owner = (*owner)->pid;
    summary.standing = JobStanding::kRunning;
    CountTasks(place, summary);
  } else if (summary.row.state == JobState::kRunning) {
    summary.standing = JobStanding::kInterrupted;
    CountTasks(place, summary);
  } else {
    summary.standing =
        summary.row.state == JobState::kFinished ? JobStanding::kFinished : JobStanding::kStopped;
  }
  return summary;
}

std::optional<JobRow> RowOfIdle(const std::string& state_dir, uint32_t number) {
  JournalPlace place = JournalOf(state_dir, number);
  auto owner = RunningOwner(place.folder);
  if (!owner || *owner) return std::nullopt;
  auto row = ReadRow(place);
  if (!row || !row->damage.empty()) return std::nullopt;
  return std::move(*row);
}

std::optional<JobRow> RowOfUnaccepted(const std::string& state_dir, uint32_t number) {
  auto row = RowOfIdle(state_dir, number);
  if (row && !IsUnaccepted(JournalOf(state_dir, number), *row)) row.reset();
  return row;
}

Status VisitJobs(const JobPlace& place, std::span<const uint32_t> numbers,
                 const std::function<bool(const JobSummary&)>& visit) {
  if (numbers.empty()) return {};
  if (place.is_hub) {
    auto db = TRY(OpenHub(place));
    return VisitJobRows(db, [&](JobRow row) {
      uint32_t number = row.job.value;
      if (number < numbers.front()) return false;
      return !std::ranges::binary_search(numbers, number) || visit(OfHub(std::move(row)));
    });
  }
  for (size_t i = numbers.size(); i > 0; --i) {
    auto summary = SummarizeJob(place, numbers[i - 1]);
    if (!summary && summary.error().kind == ErrorKind::kNotFound) continue;
    if (!summary) return std::unexpected(std::move(summary.error()));
    if (!visit(*summary)) break;
  }
  return {};
}

namespace {

// By the indexes alone, but for the newest jobs: those that have not finished are mostly among
// them, and may not have been accepted.
Result<uint64_t> CountJobs(Database& db) {
  int64_t count = TRY(db.QueryInt("SELECT COUNT(*) FROM job"));
  int64_t open = count - TRY(db.QueryInt("SELECT COUNT(*) FROM job WHERE last_seq IS NOT NULL"));
  auto select = TRY(db.Prepare("SELECT first_seq, last_seq FROM job ORDER BY id DESC"));
  while (open > 0 && TRY(select.Step())) {
    if (!select.IsNull(1)) continue;
    --open;
    if (select.IsNull(0)) --count;
  }
  return static_cast<uint64_t>(count);
}

}  // namespace

Result<NewestJobs> NewestNumbers(const JobPlace& place, std::string_view user, size_t most) {
  NewestJobs newest;
  if (place.is_hub) {
    auto db = TRY(OpenHub(place));
    TRY(db.Run("BEGIN"));
    for (JobId job : TRY(JobsOfUser(db, user, most))) newest.numbers.push_back(job.value);
    newest.of = newest.numbers.size();
    if (user.empty() && newest.of == most) newest.of = TRY(CountJobs(db));
    std::ranges::reverse(newest.numbers);
  } else {
    newest.numbers = TRY(RunNumbers(place.dir));
    newest.of = newest.numbers.size();
  }
  return newest;
}

Result<std::vector<uint32_t>> JobNumbers(const JobPlace& place) {
  return TRY(NewestNumbers(place, "", SIZE_MAX)).numbers;
}

}  // namespace spate::store
