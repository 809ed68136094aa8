#include "store/sqlite/job_row.h"

#include <fmt/format.h>

#include "base/units.h"
#include "store/sqlite/json_words.h"

namespace spate::store {
namespace {

constexpr int kStates = 3;
constexpr const char* kStateNames[kStates] = {"running", "finished", "stopped"};

constexpr std::string_view kWriteRow =
    "INSERT OR REPLACE INTO job VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
constexpr std::string_view kWriteProgress =
    "UPDATE job SET state=?, ended_us=?, total=?, succeeded=?, failed=?, cancelled=?, unknown=? "
    "WHERE id=?";
constexpr std::string_view kReadRow =
    "SELECT id, name, argv, cwd, files, settings, user, host, pid, runs, created_us, started_us, "
    "ended_us, state, total, succeeded, failed, cancelled, unknown FROM job ORDER BY id LIMIT 1";

void BindTime(Statement& s, int at, const std::optional<Instant>& time) {
  if (time) {
    s.Bind(at, time->ns / 1000);
  } else {
    s.BindNull(at);
  }
}

int BindCounts(Statement& s, int at, const JobCounts& counts) {
  for (uint32_t n :
       {counts.total, counts.succeeded, counts.failed, counts.cancelled, counts.unknown}) {
    s.Bind(at++, n);
  }
  return at;
}

Status Write(Database& db, const JobRow& row) {
  auto prepared = db.Prepare(kWriteRow);
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  Statement& s = *prepared;
  std::string argv = ToJson(row.argv);
  std::string files = ToJson(row.files);
  s.Bind(0, row.job.value);
  s.BindText(1, row.name);
  s.BindText(2, argv);
  s.BindText(3, row.cwd);
  s.BindText(4, files);
  s.BindText(5, row.settings);
  s.BindText(6, row.user);
  s.BindText(7, row.host);
  s.Bind(8, row.pid);
  s.Bind(9, row.runs);
  BindTime(s, 10, row.created);
  BindTime(s, 11, row.started);
  BindTime(s, 12, row.ended);
  s.BindText(13, JobStateName(row.state));
  BindCounts(s, 14, row.counts);
  return s.RunOnce();
}

Status Write(Database& db, const JobProgress& progress) {
  auto prepared = db.Prepare(kWriteProgress);
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  Statement& s = *prepared;
  s.BindText(0, JobStateName(progress.state));
  BindTime(s, 1, progress.ended);
  int at = BindCounts(s, 2, progress.counts);
  s.Bind(at, progress.job.value);
  return s.RunOnce();
}

std::optional<JobState> StateFromName(std::string_view name) {
  for (int i = 0; i < kStates; ++i) {
    if (name == kStateNames[i]) return static_cast<JobState>(i);
  }
  return std::nullopt;
}

}  // namespace

const char* JobStateName(JobState state) {
  auto i = static_cast<int>(state);
  return i < kStates ? kStateNames[i] : "?";
}

Status WriteJobChange(Database& db, const JobChange& change) {
  return std::visit([&](const auto& c) { return Write(db, c); }, change);
}

Result<JobRow> ReadJobRow(Database& db) {
  auto prepared = db.Prepare(kReadRow);
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  Statement& s = *prepared;
  auto found = s.Step();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("'{}' holds no job: it was not accepted when its process ended",
                            EscapeForScreen(db.path())));
  }
  auto argv = WordsFromJson(s.Bytes(2));
  auto files = WordsFromJson(s.Bytes(4));
  auto state = StateFromName(s.Bytes(13));
  if (!argv || !files || !state) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("'{}' is damaged: the row of table job", EscapeForScreen(db.path())));
  }
  auto count = [&](int column) { return static_cast<uint32_t>(s.Int(column)); };
  auto time = [&](int column) { return Instant{s.Nanos(column)}; };
  JobRow row = {.job = JobId(count(0)),
                .name = s.Text(1),
                .argv = std::move(*argv),
                .cwd = s.Text(3),
                .files = std::move(*files),
                .settings = s.Text(5),
                .user = s.Text(6),
                .host = s.Text(7),
                .pid = s.Int(8),
                .runs = count(9),
                .created = time(10),
                .started = time(11),
                .ended = std::nullopt,
                .state = *state,
                .counts = {.total = count(14),
                           .succeeded = count(15),
                           .failed = count(16),
                           .cancelled = count(17),
                           .unknown = count(18)}};
  if (!s.IsNull(12)) row.ended = time(12);
  return row;
}

}  // namespace spate::store
