#include "doors/simulate/read_history.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "base/units.h"
#include "os/file.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/schema.h"

namespace spate::cli {
namespace {

Status TakeAll(store::Database& db, const store::JournalPart& part, JobHistory& jobs) {
  auto reader = TRY(store::JournalReader::Begin(db, part));
  for (;;) {
    auto entry = TRY(reader.Next());
    if (entry == nullptr) return {};
    const auto& what = entry->what;
    const auto* ended = std::get_if<store::AttemptEntry>(&what);
    auto taken = ended != nullptr ? jobs.AcceptEnd(ended->record)
                                  : jobs.Take(std::get<engine::Record>(what));
    if (!taken) return taken;
  }
}

// One pass over its journal, which has the records of all jobs.
Status ReadHub(const std::string& folder, JobHistory& jobs) {
  const store::JournalPlace place{folder, true};
  auto db = TRY(store::OpenJournalToRead(place.DbPath(), store::IsFrozen(place)));
  auto rows = TRY(store::ReadJobRows(db, store::WhichJobs::kAll));
  for (const store::JobRow& row : rows) jobs.AddJob(row.job, row.user, row.created);
  return TakeAll(db, {.of = store::JournalPart::Of::kFrom}, jobs);
}

Status ReadRun(const store::JobSummary& run, JobHistory& jobs) {
  if (run.standing == JobStanding::kNewer) return Fail(ErrorKind::kNewer, run.problem);
  if (run.standing == JobStanding::kDamaged) return Fail(ErrorKind::kCorrupt, run.problem);
  const store::JournalPlace place{run.folder, false};
  auto db = TRY(store::OpenJournalToRead(place.DbPath(), store::IsFrozen(place)));
  jobs.AddJob(run.row.job, run.row.user, run.row.created);
  return TakeAll(db, store::PartOf(run.row), jobs);
}

Status ReadRuns(const std::string& state, FoundHistory& found) {
  const store::JobPlace place(state);
  auto numbers = TRY(store::JobNumbers(place));
  Status failed;
  auto visited = store::VisitJobs(place, numbers, [&](const store::JobSummary& run) {
    auto read = ReadRun(run, found.jobs);
    if (read) return true;
    if (read.error().kind == ErrorKind::kInvalid) {
      failed = std::move(read);
      return false;
    }
    found.problems.push_back(
        fmt::format("job {} is left out: {}", run.number, read.error().message));
    return true;
  });
  return failed ? visited : failed;
}

bool IsThere(const std::string& path) { return os::Stat(path).has_value(); }

// STATE of STATE/jobs; empty: it is no such folder.
std::string StateOfRuns(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (folder == "jobs") return ".";
  if (folder.ends_with("/jobs")) return folder.substr(0, folder.size() - 5) + "/.";
  return IsThere(folder + "/jobs") ? folder : std::string();
}

}  // namespace

Result<FoundHistory> ReadHistory(const std::string& state) {
  FoundHistory found;
  Status read;
  found.of_hub = true;
  const std::string runs = StateOfRuns(state);
  if (IsThere(state + "/hub/hub.db")) {
    read = ReadHub(state + "/hub", found.jobs);
  } else if (IsThere(state + "/hub.db")) {
    read = ReadHub(state, found.jobs);
  } else if (!runs.empty() && IsThere(runs)) {
    found.of_hub = false;
    read = ReadRuns(runs, found);
  } else {
    return Fail(
        ErrorKind::kNotFound,
        fmt::format(
            "'{}' contains no history of jobs, neither of a hub (hub/hub.db) nor of runs (jobs)",
            EscapeForScreen(state)));
  }
  if (!read) return std::unexpected(std::move(read.error()));
  return found;
}

}  // namespace spate::cli
