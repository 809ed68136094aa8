#include "store/sqlite/job_row.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.h"
#include "base/units.h"
#include "core/model/job_facts.h"
#include "store/sqlite/json_words.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/shared_settings.h"

namespace spate::store {
namespace {

// ---- Statements of the writer. Each gives its row's checksum (SumWith).

using Values = std::vector<NewValue>;

// Values in the order in which JobTable::Write binds them.
const Values kOfRow = {
    {"id", "?1"},           {"state", "?2"},       {"total", "?3"},     {"leased", "?4"},
    {"succeeded", "?5"},    {"failed", "?6"},      {"cancelled", "?7"}, {"unknown", "?8"},
    {"created_us", "?9"},   {"started_us", "?10"}, {"ended_us", "?11"}, {"priority", "?12"},
    {"keep_output", "?13"}, {"runs", "?14"},       {"pid", "?15"},      {"user", "?16"},
    {"host", "?17"},        {"submission", "?18"}, {"name", "?19"},     {"cwd", "?20"}};
const Values kOfProgress = {{"state", "?1"},   {"total", "?2"},
                            {"leased", "?3"},  {"succeeded", "?4"},
                            {"failed", "?5"},  {"cancelled", "?6"},
                            {"unknown", "?7"}, {"started_us", "COALESCE(?8, started_us)"},
                            {"ended_us", "?9"}};

// "column=value" of all, and of the checksum.
std::string Assign(const Values& values, std::string_view sum) {
  std::string text;
  for (const NewValue& each : values) text += fmt::format("{}={}, ", each.column, each.value);
  return fmt::format("{}checksum={}", text, sum);
}

std::string UpdateJob(const Values& values, std::string_view where) {
  return fmt::format("UPDATE job SET {} WHERE {}", Assign(values, SumWith("job", values)), where);
}

// first_seq and last_seq stay as the records left them.
std::string WriteRow() {
  std::string columns, values;
  Values changed;
  std::vector<std::string> excluded;
  excluded.reserve(kOfRow.size());
  for (const NewValue& each : kOfRow) {
    columns += fmt::format("{}, ", each.column);
    values += fmt::format("{}, ", each.value);
    changed.push_back(
        {each.column, excluded.emplace_back(fmt::format("excluded.{}", each.column))});
  }
  return fmt::format("INSERT INTO job({}checksum) VALUES({}{}) ON CONFLICT(id) DO UPDATE SET {}",
                     columns, values, SumWith("job", kOfRow, "NULL"),
                     Assign(changed, SumWith("job", changed, "job.")));
}

std::string WriteText() {
  const Values values = {{"job", "?1"}, {"argv", "?2"}, {"files", "?3"}, {"settings", "?4"}};
  return fmt::format(
      "INSERT OR REPLACE INTO job_text(job, argv, files, settings, checksum) "
      "VALUES(?1,?2,?3,?4,{})",
      SumWith("job_text", values));
}

// Late news of a job that has finished meanwhile change nothing.
std::string WriteProgress() {
  return UpdateJob(kOfProgress, "id=?10 AND (last_seq IS NULL OR ?1 = 'finished')");
}

// With its last record.
std::string WriteEnd() {
  Values values = kOfProgress;
  values.push_back({"last_seq", "?11"});
  return UpdateJob(values, "id=?10");
}

std::string WriteReopened() {
  return UpdateJob({{"last_seq", "NULL"},
                    {"ended_us", "NULL"},
                    {"state", "CASE state WHEN 'finished' THEN 'running' ELSE state END"}},
                   "id=?1");
}

// Numbers of tasks whose output was not kept: rows of meta, 'not_kept JOB CAUSE'.
std::string IsOfNotKept(std::string_view job) {
  return fmt::format("key BETWEEN 'not_kept ' || {0} || ' 0' AND 'not_kept ' || {0} || ' 9'", job);
}
constexpr std::string_view kAddNotKept =
    "INSERT INTO meta(key, value) VALUES('not_kept ' || ?1 || ' ' || ?2, 1) "
    "ON CONFLICT(key) DO UPDATE SET value = value + 1";
// Counts newest ends of tasks; for `flags` see AttemptFromColumns.
constexpr std::string_view kTakeNotKept =
    "UPDATE meta SET value = value - (SELECT COUNT(*) FROM (SELECT (flags + 32768) >> 16 AS why, "
    "verdict, MAX(seq) FROM attempt WHERE seq >= (SELECT first_seq FROM job WHERE id = ?1) AND job "
    "= ?1 AND "
    "idx BETWEEN ?2 AND ?3 GROUP BY idx) WHERE verdict NOT IN (1, 5) AND why = CAST(SUBSTR(key, "
    "-1) AS INTEGER)) WHERE {}";

// "1 20,3 7": causes, each with a number of tasks.
std::vector<NotKeptFacts> NotKeptFrom(std::string_view text) {
  std::vector<NotKeptFacts> facts;
  for (size_t size = 0; !text.empty(); text.remove_prefix(std::min(size + 1, text.size()))) {
    size = std::min(text.find(','), text.size());
    const auto why = FromNumber<NotKept>(text.front() - '0');
    auto tasks = ReadNumber<uint64_t>(text.substr(0, size).substr(std::min<size_t>(size, 2)));
    if (why && tasks) facts.push_back({*why, *tasks});
  }
  return facts;
}

// The settings are long: a query may leave them out, and with them the checksum of the texts.
constexpr std::string_view kShortColumns =
    "job.id, first_seq, last_seq, state, total, leased, succeeded, failed, cancelled, unknown, "
    "created_us, started_us, ended_us, priority, keep_output, runs, pid, user, host, submission, "
    "name, cwd";
enum class Columns : uint8_t { kAll, kNoSettings, kShort };

std::string Select(Columns columns) {
  const std::string not_kept = fmt::format(
      "(SELECT GROUP_CONCAT(SUBSTR(key, -1) || ' ' || value) FROM meta WHERE {} AND value > 0)",
      IsOfNotKept("job.id"));
  if (columns == Columns::kShort) {
    return fmt::format("SELECT {}, '[]', '[]', {}, 1, NULL, 0, NULL, {} FROM job", kShortColumns,
                       IsSound("job"), not_kept);
  }
  if (columns == Columns::kNoSettings) {
    return fmt::format(
        "SELECT {}, argv, files, {}, 1, NULL, 0, NULL, {} FROM job LEFT JOIN job_text ON job = id",
        kShortColumns, IsSound("job"), not_kept);
  }
  return fmt::format(
      "SELECT {}, argv, files, {}, {} AND {}, settings, shared.id, shared.bytes, {} FROM job LEFT "
      "JOIN job_text ON job_text.job = job.id {}",
      kShortColumns, IsSound("job"), IsSound("job_text"), AreSharedSound(), not_kept, kJoinShared);
}

void BindTime(Statement& s, int at, const std::optional<Instant>& time) {
  if (time) {
    s.Bind(at, time->ns / 1000);
  } else {
    s.BindNull(at);
  }
}

int BindCounts(Statement& s, int at, const JobCounts& counts) {
  for (uint32_t n : {counts.total, counts.leased, counts.succeeded, counts.failed, counts.cancelled,
                     counts.unknown}) {
    s.Bind(at++, n);
  }
  return at;
}

// Empty: nothing.
std::string DamageOf(const Statement& s, bool readable, const std::string& path) {
  bool row = s.Int(24) != 0;
  bool text = s.Int(25) != 0;
  if (row && text && readable) return "";
  return fmt::format("'{}' is damaged: row {} of table {} ({})", EscapeForScreen(path), s.Int(0),
                     row ? "job_text" : "job", row && text ? "unreadable" : "checksum");
}

JobRow FromColumns(const Statement& s, const std::string& path) {
  auto settings = JoinSettings(s.Bytes(26), s.Int(27), s.Bytes(28));
  auto argv = WordsFromJson(s.Bytes(22));
  auto files = WordsFromJson(s.Bytes(23));
  auto state = FromWord<JobState>(s.Bytes(3));
  auto count = [&](int column) { return static_cast<uint32_t>(s.Int(column)); };
  auto time = [&](int column) { return Instant{s.Nanos(column)}; };
  JobRow row = {.job = JobId(count(0)),
                .submission = s.Text(19),
                .name = s.Text(20),
                .argv = argv ? std::move(*argv) : std::vector<std::string>(),
                .cwd = s.Text(21),
                .files = files ? std::move(*files) : std::vector<std::string>(),
                .cut = IsCut(s.Bytes(22)) || IsCut(s.Bytes(23)),
                .settings = std::move(settings).value_or(""),
                .user = s.Text(17),
                .host = s.Text(18),
                .pid = s.Int(16),
                .runs = count(15),
                .priority = static_cast<int32_t>(s.Int(13)),
                .keep_output = s.Int(14),
                .created = time(10),
                .started = time(11),
                .ended = std::nullopt,
                .state = state.value_or(JobState::kDamaged),
                .counts = {.total = count(4),
                           .leased = count(5),
                           .succeeded = count(6),
                           .failed = count(7),
                           .cancelled = count(8),
                           .unknown = count(9)},
                .first_seq = static_cast<uint64_t>(s.Int(1)),
                .last_seq = static_cast<uint64_t>(s.Int(2)),
                .not_kept = NotKeptFrom(s.Bytes(29)),
                .damage = DamageOf(s, argv && files && state && settings, path)};
  if (!s.IsNull(12)) row.ended = time(12);
  return row;
}

}  // namespace

Status JobTable::Prepare(Database& db, bool of_hub) {
  db_ = &db;
  if (of_hub) TRY(shared_.emplace().Prepare(db));
  const std::pair<Statement*, std::string> all[] = {
      {&row_, WriteRow()},
      {&text_, WriteText()},
      {&progress_, WriteProgress()},
      {&end_, WriteEnd()},
      {&accepted_, UpdateJob({{"first_seq", "?2"}, {"last_seq", "NULL"}}, "id=?1")},
      {&finished_, UpdateJob({{"last_seq", "?2"}}, "id=?1")},
      {&reopened_, WriteReopened()},
      {&followed_, UpdateJob({{"last_seq", "?2"}}, "id=?1 AND last_seq IS NOT NULL")},
      {&not_kept_, std::string(kAddNotKept)},
      {&again_, fmt::format(kTakeNotKept, IsOfNotKept("?1"))}};
  for (const auto& [statement, sql] : all) *statement = TRY(db.Prepare(sql));
  return {};
}

Status JobTable::Write(const JobRow& row) {
  Statement& s = row_;
  s.Bind(0, row.job.value);
  s.BindText(1, WordOf(row.state));
  BindCounts(s, 2, row.counts);
  BindTime(s, 8, row.created);
  BindTime(s, 9, row.started);
  BindTime(s, 10, row.ended);
  s.Bind(11, row.priority);
  s.Bind(12, row.keep_output);
  s.Bind(13, row.runs);
  s.Bind(14, row.pid);
  s.BindText(15, row.user);
  s.BindText(16, row.host);
  s.BindText(17, row.submission);
  const std::string name = shared_ ? CutText(row.name, 1'021) : row.name;
  const std::string cwd = shared_ ? CutText(row.cwd, 4'093) : row.cwd;
  s.BindText(18, name);
  s.BindText(19, cwd);
  TRY(s.RunOnce());
  std::vector<std::string> words = row.argv;
  std::vector<std::string> paths = row.files;
  // Only a hub cuts texts: a run resumes by its command line.
  bool cut = false;
  for (auto* texts : {&words, &paths}) cut |= shared_ && !row.cut && CutTexts(*texts);
  std::string argv = ToJson(words, row.cut || cut);
  std::string files = ToJson(paths);
  const std::string settings =
      shared_ ? TRY(shared_->Share(*db_, row.job, row.settings)) : row.settings;
  text_.Bind(0, row.job.value);
  text_.BindText(1, argv);
  text_.BindText(2, files);
  text_.BindText(3, settings);
  return text_.RunOnce();
}

namespace {

void BindProgress(Statement& s, const JobProgress& progress) {
  s.BindText(0, WordOf(progress.state));
  BindCounts(s, 1, progress.counts);
  BindTime(s, 7, progress.started);
  BindTime(s, 8, progress.ended);
  s.Bind(9, progress.job.value);
}

Status RunWithSeq(Statement& s, JobId job, uint64_t seq) {
  s.Bind(0, job.value);
  s.Bind(1, static_cast<int64_t>(seq));
  return s.RunOnce();
}

}  // namespace

Status JobTable::Write(const JobProgress& progress) {
  BindProgress(progress_, progress);
  return progress_.RunOnce();
}

Status JobTable::Ended(const JobProgress& end, uint64_t seq) {
  BindProgress(end_, end);
  end_.Bind(10, static_cast<int64_t>(seq));
  return end_.RunOnce();
}

Status JobTable::Accepted(JobId job, uint64_t seq) { return RunWithSeq(accepted_, job, seq); }

Status JobTable::Finished(JobId job, uint64_t seq) { return RunWithSeq(finished_, job, seq); }

Status JobTable::Reopened(JobId job) {
  reopened_.Bind(0, job.value);
  return reopened_.RunOnce();
}

Status JobTable::Followed(JobId job, uint64_t seq) { return RunWithSeq(followed_, job, seq); }

Status JobTable::LostOutput(JobId job, NotKept why) {
  return RunWithSeq(not_kept_, job, static_cast<uint64_t>(why));
}

Status JobTable::Again(JobId job, const std::vector<TaskRange>& tasks) {
  for (const TaskRange& range : tasks) {
    again_.Bind(1, range.first);
    again_.Bind(2, int64_t{range.first} + range.count - 1);
    again_.Bind(0, job.value);
    TRY(again_.RunOnce());
  }
  return {};
}

namespace {

// True if anything is there that comes after a run's row.
Result<bool> HasMoreThanRow(Database& db) {
  auto any =
      TRY(db.QueryInt("SELECT EXISTS(SELECT 1 FROM job_text) OR EXISTS(SELECT 1 FROM rows) OR "
                      "EXISTS(SELECT 1 FROM log) OR EXISTS(SELECT 1 FROM attempt)"));
  return any != 0;
}

}  // namespace

Result<JobRow> ReadJobRow(Database& db, JobId job) {
  auto row = ReadJobRowAsItIs(db, job);
  if (row && !row->damage.empty()) {
    return Fail(ErrorKind::kCorrupt, row->damage + "; it was left as it is");
  }
  return row;
}

Result<JobRow> ReadJobRowAsItIs(Database& db, JobId job) {
  static const std::string kSelect =
      fmt::format("{} WHERE job.id >= ? ORDER BY job.id LIMIT 1", Select(Columns::kAll));
  auto select = TRY(db.Borrow(kSelect));
  select->Bind(0, job.value);
  auto found = TRY(select->Step());
  if (!found || (job.value != 0 && select->Int(0) != job.value)) {
    auto more = TRY(job.value == 0 ? HasMoreThanRow(db) : Result<bool>(false));
    if (more) {
      return Fail(ErrorKind::kCorrupt,
                  fmt::format("'{}' is damaged: the row of table job is missing; it was left as it "
                              "is",
                              EscapeForScreen(db.path())));
    }
    return Fail(ErrorKind::kNotFound,
                fmt::format("'{}' holds no job{}: it was not accepted when its process ended",
                            EscapeForScreen(db.path()),
                            job.value != 0 ? fmt::format(" {}", job.value) : ""));
  }
  return FromColumns(*select, db.path());
}

Result<std::vector<JobRow>> ReadJobRows(Database& db, WhichJobs which) {
  const char* rest = which == WhichJobs::kUnfinished ? " AND last_seq IS NULL" : "";
  auto prepared = TRY(db.Prepare(
      fmt::format("{} WHERE first_seq IS NOT NULL{} ORDER BY id", Select(Columns::kShort), rest)));
  std::vector<JobRow> rows;
  for (;;) {
    auto more = TRY(prepared.Step());
    if (!more) return rows;
    JobRow row = FromColumns(prepared, db.path());
    if (row.damage.empty()) rows.push_back(std::move(row));
  }
}

Result<std::vector<JobRow>> ReadJobRowsBetween(Database& db, JobId first, JobId last, size_t most) {
  static const std::string kSelect =
      fmt::format("{} WHERE id BETWEEN ? AND ? AND first_seq IS NOT NULL ORDER BY id LIMIT ?",
                  Select(Columns::kShort));
  auto select = TRY(db.Borrow(kSelect));
  select->Bind(0, first.value);
  select->Bind(1, last.value);
  select->Bind(2, static_cast<int64_t>(std::min<size_t>(most, INT64_MAX)));
  std::vector<JobRow> rows;
  for (;;) {
    auto more = TRY(select->Step());
    if (!more) return rows;
    rows.push_back(FromColumns(*select, db.path()));
  }
}

namespace {

Result<std::vector<JobId>> ReadIds(Result<Statement> select) {
  if (!select) return std::unexpected(std::move(select.error()));
  std::vector<JobId> ids;
  for (;;) {
    auto more = TRY(select->Step());
    if (!more) return ids;
    ids.emplace_back(static_cast<uint32_t>(select->Int(0)));
  }
}

}  // namespace

Result<std::vector<JobId>> JobNumbersBetween(Database& db, JobId first, JobId last, size_t most) {
  auto select = db.Prepare(
      "SELECT id FROM job WHERE first_seq IS NOT NULL AND id BETWEEN ? AND ? ORDER BY id LIMIT ?");
  if (select) {
    select->Bind(0, first.value);
    select->Bind(1, last.value);
    select->Bind(2, static_cast<int64_t>(std::min<size_t>(most, INT64_MAX)));
  }
  return ReadIds(std::move(select));
}

Result<std::vector<JobId>> JobsOfUser(Database& db, std::string_view user, size_t most) {
  auto select = db.Prepare(
      fmt::format("SELECT id FROM job WHERE first_seq IS NOT NULL{} ORDER BY id DESC LIMIT ?1",
                  user.empty() ? "" : " AND user = ?2"));
  if (select) select->Bind(0, static_cast<int64_t>(std::min<size_t>(most, INT64_MAX)));
  if (select && !user.empty()) select->BindText(1, user);
  return ReadIds(std::move(select));
}

Result<std::optional<JobId>> NewestJobOfUser(Database& db, std::string_view user) {
  auto select = db.Prepare(
      "SELECT id FROM job WHERE user = ? AND first_seq IS NOT NULL ORDER BY id DESC LIMIT 1");
  if (select) select->BindText(0, user);
  auto ids = TRY(ReadIds(std::move(select)));
  return ids.empty() ? std::nullopt : std::optional(ids.front());
}

Result<std::vector<JobId>> JobsEndedBefore(Database& db, Instant when, size_t most,
                                           std::string_view user) {
  auto select =
      db.Prepare(fmt::format("SELECT id FROM job WHERE last_seq IS NOT NULL AND ended_us < ?1{} "
                             "ORDER BY ended_us LIMIT ?2",
                             user.empty() ? "" : " AND user = ?3"));
  if (select) {
    select->Bind(0, when.ns / 1000);
    select->Bind(1, static_cast<int64_t>(most));
    if (!user.empty()) select->BindText(2, user);
  }
  return ReadIds(std::move(select));
}

Status VisitJobRows(Database& db, const std::function<bool(JobRow)>& visit) {
  auto prepared = TRY(db.Prepare(fmt::format("{} WHERE first_seq IS NOT NULL ORDER BY id DESC",
                                             Select(Columns::kNoSettings))));
  for (;;) {
    auto more = TRY(prepared.Step());
    if (!more) return {};
    if (!visit(FromColumns(prepared, db.path()))) return {};
  }
}

}  // namespace spate::store
