#include "doors/mw/run/state_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <cstring>

#include "os/own_dir.h"
#include "os/process.h"

namespace spate::mw {
namespace {

// Rows of another number are another program's.
// 2: `algorithms` in `meta`, and `losses` and `time` at the end of a task.
// 3: `priority` there, too.
constexpr int64_t kFormat = 3;
constexpr const char* kSchema = R"(
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS task
    (id INTEGER PRIMARY KEY, given INTEGER NOT NULL, bytes BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS result (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
)";

// SQLite sees damage to its own structure, not to our bytes: each row ends with a sum over them,
// with its number as the seed.
uint64_t SumOf(uint64_t id, std::string_view bytes) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), id);
}

std::string Sealed(uint64_t id, std::string bytes) {
  bytes += encode(SumOf(id, bytes));
  return bytes;
}

std::string_view Opened(uint64_t id, std::string_view sealed) {
  if (sealed.size() < sizeof(uint64_t)) throw error("a row is too short");
  const std::string_view bytes = sealed.substr(0, sealed.size() - sizeof(uint64_t));
  if (decode<uint64_t>(sealed.substr(bytes.size())) != SumOf(id, bytes)) {
    throw error("a row is not as it was written");
  }
  return bytes;
}

std::string BytesOf(const task& what) {
  const policy& how = what.how;
  return Sealed(what.id.value, encode(what.algorithm, how.slave.value, how.tag, how.do_it_anyway,
                                      how.retry, how.tries, what.arguments, how.losses,
                                      int64_t{how.time.count()}, how.priority));
}

std::string BytesOf(const result& what) {
  return Sealed(what.task.value,
                encode(what.algorithm, what.slave.value, what.tag,
                       int64_t{what.compute_time.count()}, what.failure, what.bytes));
}

// In the column `given`; no flipped bit makes one of the other.
bool IsGiven(int64_t id, int64_t given) {
  if (given != 0 && given != -id) throw error("a row is not as it was written");
  return given != 0;
}

task TaskOf(int64_t id, std::string_view bytes) {
  task what{.id = {static_cast<uint64_t>(id)}};
  policy& how = what.how;
  reader from(Opened(static_cast<uint64_t>(id), bytes));
  from(what.algorithm, how.slave.value, how.tag, how.do_it_anyway, how.retry, how.tries,
       what.arguments);
  int64_t time = 0;
  if (!from.empty()) from(how.losses, time);  // format 1 has neither
  if (!from.empty()) from(how.priority);      // format 2 has none
  how.time = std::chrono::nanoseconds(time);
  from.finish();
  return what;
}

result ResultOf(int64_t id, std::string_view bytes) {
  result what{.task = {static_cast<uint64_t>(id)}};
  int64_t time = 0;
  reader from(Opened(static_cast<uint64_t>(id), bytes));
  from(what.algorithm, what.slave.value, what.tag, time, what.failure, what.bytes);
  from.finish();
  what.compute_time = std::chrono::nanoseconds(time);
  return what;
}

std::unexpected<Error> Damaged(const std::string& path, const error& why) {
  return Fail(ErrorKind::kCorrupt,
              fmt::format("{} is damaged ({}): start with another --mw-state", path, why.what()));
}

}  // namespace

Result<std::unique_ptr<StateFile>> StateFile::Open(const std::string& dir) {
  TRY(os::MakeOwnDir(dir, os::Others::kMayRead, "--mw-state DIR"));
  auto lock = os::FileLock::TryLock(os::JoinPath(dir, "lock"), fmt::format("pid {}", os::OwnPid()));
  if (!lock && lock.error().kind == ErrorKind::kBusy) {
    return Fail(ErrorKind::kBusy,
                fmt::format("another master runs with --mw-state {}: wait for its end", dir));
  }
  if (!lock) return std::unexpected(lock.error());
  const std::string path = os::JoinPath(dir, "state.db");
  const bool is_new = !os::Exists(path);
  auto db =
      TRY(store::Database::Open(path, is_new ? store::DbMode::kCreate : store::DbMode::kWrite));
  std::unique_ptr<StateFile> file(new StateFile(std::move(*lock), std::move(db)));
  TRY(file->Prepare());
  return file;
}

Status StateFile::Prepare() {
  // No shared memory beside the file: home folders of clusters lie on network file systems.
  TRY(db_.Run("PRAGMA journal_mode = PERSIST; PRAGMA synchronous = FULL"));
  auto version = TRY(db_.QueryInt("PRAGMA user_version"));
  if (version > kFormat) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("{} was written by a newer version of this library", db_.path()));
  }
  const std::string mark = fmt::format("PRAGMA user_version = {}", kFormat);
  TRY(db_.Run(kSchema));
  TRY(db_.Run(mark.c_str()));
  const std::array<std::pair<store::Statement*, std::string_view>, 6> all = {{
      {&add_task_, "INSERT OR REPLACE INTO task (id, given, bytes) VALUES (?, 0, ?)"},
      {&set_given_, "UPDATE task SET given = -id WHERE id = ?"},
      {&add_result_, "INSERT OR REPLACE INTO result (id, bytes) VALUES (?, ?)"},
      {&drop_task_, "DELETE FROM task WHERE id = ?"},
      {&drop_result_, "DELETE FROM result WHERE id = ?"},
      {&set_meta_, "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"},
  }};
  return db_.PrepareAll(all);
}

Result<StateFile::Kept> StateFile::Load() {
  Kept kept;
  try {
    auto check = TRY(db_.Prepare("PRAGMA integrity_check(1)"));
    auto told = TRY(check.Step());
    if (told && check.Bytes(0) != "ok") throw error(std::string(check.Bytes(0)));
    auto tasks = TRY(db_.Prepare("SELECT id, given, bytes FROM task ORDER BY id"));
    for (auto row = tasks.Step(); !row || *row; row = tasks.Step()) {
      if (!row) return std::unexpected(row.error());
      kept.tasks.push_back(
          {TaskOf(tasks.Int(0), tasks.Bytes(2)), IsGiven(tasks.Int(0), tasks.Int(1))});
    }
    auto results = TRY(db_.Prepare("SELECT id, bytes FROM result ORDER BY id"));
    for (auto row = results.Step(); !row || *row; row = results.Step()) {
      if (!row) return std::unexpected(row.error());
      kept.results.push_back(ResultOf(results.Int(0), results.Bytes(1)));
    }
    auto meta = TRY(db_.Prepare("SELECT name, value FROM meta"));
    for (auto row = meta.Step(); !row || *row; row = meta.Step()) {
      if (!row) return std::unexpected(row.error());
      kept.found = true;
      if (meta.Bytes(0) == "state") {
        kept.state = std::string(Opened(0, meta.Bytes(1)));
      } else if (meta.Bytes(0) == "last_task") {
        kept.last_task = decode<uint64_t>(Opened(0, meta.Bytes(1)));
      } else if (meta.Bytes(0) == "algorithms") {
        kept.algorithms = decode<std::vector<std::string>>(Opened(0, meta.Bytes(1)));
      } else {
        throw error("a row is not as it was written");
      }
    }
  } catch (const error& why) {
    return Damaged(db_.path(), why);
  }
  return kept;
}

Status StateFile::Write(const StateChange& change) {
  TRY(db_.Run("BEGIN IMMEDIATE"));
  Status written = WriteAll(change);
  if (written) written = db_.Run("COMMIT");
  if (!written) (void)db_.Run("ROLLBACK");
  return written;
}

Status StateFile::WriteAll(const StateChange& change) {
  Status status;
  auto run = [&](store::Statement& statement, uint64_t id, const std::string* bytes = nullptr) {
    if (!status) return;
    statement.Bind(0, static_cast<int64_t>(id));
    if (bytes != nullptr) statement.BindBlob(1, *bytes);
    status = statement.RunOnce();
  };
  auto put = [&](std::string_view name, const std::string& value) {
    if (!status) return;
    const std::string sealed = Sealed(0, value);
    set_meta_.BindText(0, name);
    set_meta_.BindBlob(1, sealed);
    status = set_meta_.RunOnce();
  };
  for (const task& each : change.tasks) {
    const std::string bytes = BytesOf(each);
    run(add_task_, each.id.value, &bytes);
  }
  for (task_id each : change.given) run(set_given_, each.value);
  for (const result& each : change.results) {
    const std::string bytes = BytesOf(each);
    run(drop_task_, each.task.value);
    run(add_result_, each.task.value, &bytes);
  }
  for (task_id each : change.taken) {
    run(drop_task_, each.value);
    run(drop_result_, each.value);
  }
  if (change.state) put("state", *change.state);
  if (!change.algorithms.empty()) put("algorithms", encode(change.algorithms));
  if (change.last_task > 0) put("last_task", encode(change.last_task));
  return status;
}

}  // namespace spate::mw
