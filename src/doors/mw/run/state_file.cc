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
constexpr int64_t kFormat = 1;
constexpr const char* kSchema = R"(
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS task
    (id INTEGER PRIMARY KEY, given INTEGER NOT NULL, bytes BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS result (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS named (task INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS constant
    (id INTEGER, piece INTEGER, bytes BLOB NOT NULL, PRIMARY KEY (id, piece));
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

using ResourceCounts = std::vector<std::pair<std::string, uint32_t>>;

ResourceCounts Resources(const needs& of) {
  ResourceCounts counts;
  for (const auto& [name, count] : of.resources) counts.emplace_back(name, count);
  return counts;
}

void ReadNeeds(reader& from, needs& to) {
  ResourceCounts counts;
  from(to.slots, to.memory, counts, to.labels);
  for (auto& [name, count] : counts) to.resources.push_back({std::move(name), count});
}

std::string BytesOf(const task& what) {
  const policy& how = what.how;
  return Sealed(what.id.value, encode(what.algorithm, how.slave.value, how.tag, how.do_it_anyway,
                                      how.retry, how.tries, what.arguments, how.losses,
                                      int64_t{how.time.count()}, how.priority, how.needs.slots,
                                      how.needs.memory, Resources(how.needs), how.needs.labels));
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
  int64_t time = 0;
  from(what.algorithm, how.slave.value, how.tag, how.do_it_anyway, how.retry, how.tries,
       what.arguments, how.losses, time, how.priority);
  ReadNeeds(from, how.needs);
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
  TRY(os::MakeOwnDir(dir, os::Others::kStayOut, "--mw-state DIR"));
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
  const std::array<std::pair<store::Statement*, std::string_view>, 10> all = {{
      {&add_task_, "INSERT OR REPLACE INTO task (id, given, bytes) VALUES (?, 0, ?)"},
      {&set_given_, "UPDATE task SET given = -id WHERE id = ?"},
      {&add_result_, "INSERT OR REPLACE INTO result (id, bytes) VALUES (?, ?)"},
      {&drop_task_, "DELETE FROM task WHERE id = ?"},
      {&drop_result_, "DELETE FROM result WHERE id = ?"},
      {&set_meta_, "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"},
      {&add_named_, "INSERT OR REPLACE INTO named (task, bytes) VALUES (?, ?)"},
      {&drop_named_, "DELETE FROM named WHERE task = ?"},
      {&add_piece_, "INSERT OR REPLACE INTO constant (id, piece, bytes) VALUES (?, ?, ?)"},
      {&drop_pieces_, "DELETE FROM constant WHERE id = ?"},
  }};
  return db_.PrepareAll(all);
}

// The constants that each task names. Throws `error` if they are not as they were written.
Result<std::map<uint64_t, detail::constant_list>> StateFile::LoadNamed(MasterConstants& constants) {
  std::map<uint64_t, std::shared_ptr<MasterConstant>> all;
  std::string bytes;
  auto pieces = TRY(db_.Prepare("SELECT id, piece, bytes FROM constant ORDER BY id, piece"));
  auto finish = [&](uint64_t id) -> Status {
    auto made = constants.Restore(id, std::exchange(bytes, {}));
    if (!made && made.error().kind == ErrorKind::kInvalid) throw error(made.error().message);
    if (!made) return std::unexpected(std::move(made.error()));  // a full disk, say
    all[id] = std::move(*made);
    return {};
  };
  std::optional<uint64_t> last;
  for (auto row = pieces.Step(); !row || *row; row = pieces.Step()) {
    if (!row) return std::unexpected(row.error());
    const auto id = static_cast<uint64_t>(pieces.Int(0));
    if (last && *last != id) TRY(finish(*last));
    last = id;
    const auto piece = static_cast<uint64_t>(pieces.Int(1));
    if (piece * kConstantPiece != bytes.size()) throw error("a constant has lost a part");
    bytes += Opened(id + piece, pieces.Bytes(2));
  }
  if (last) TRY(finish(*last));
  std::map<uint64_t, detail::constant_list> named;
  auto rows = TRY(db_.Prepare("SELECT task, bytes FROM named"));
  for (auto row = rows.Step(); !row || *row; row = rows.Step()) {
    if (!row) return std::unexpected(row.error());
    const auto id = static_cast<uint64_t>(rows.Int(0));
    std::vector<std::pair<uint64_t, uint64_t>> ids;  // and their sizes
    reader from(Opened(id, rows.Bytes(1)));
    from(ids);
    from.finish();
    for (auto [constant, size] : ids) {
      auto at = all.find(constant);
      if (at == all.end() || at->second->size() != size) throw error("a constant is missing");
      named[id].push_back(at->second);
      named_[id].push_back(constant);
      ++users_[constant];
    }
  }
  return named;
}

Result<StateFile::Kept> StateFile::Load(MasterConstants& constants) {
  Kept kept;
  try {
    auto check = TRY(db_.Prepare("PRAGMA integrity_check(1)"));
    auto told = TRY(check.Step());
    if (told && check.Bytes(0) != "ok") throw error(std::string(check.Bytes(0)));
    auto named = TRY(LoadNamed(constants));
    auto tasks = TRY(db_.Prepare("SELECT id, given, bytes FROM task ORDER BY id"));
    for (auto row = tasks.Step(); !row || *row; row = tasks.Step()) {
      if (!row) return std::unexpected(row.error());
      kept.tasks.push_back(
          {TaskOf(tasks.Int(0), tasks.Bytes(2)), IsGiven(tasks.Int(0), tasks.Int(1))});
      auto names = named.extract(static_cast<uint64_t>(tasks.Int(0)));
      if (!names.empty()) kept.tasks.back().what.constants = std::move(names.mapped());
    }
    if (!named.empty()) throw error("a task is missing");
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

// The first task that names a constant brings it along.
Status StateFile::AddNamed(const task& what) {
  std::vector<std::pair<uint64_t, uint64_t>> ids;
  for (const auto& each : what.constants) {
    ids.emplace_back(each->id(), each->size());
    named_[what.id.value].push_back(each->id());
    if (++users_[each->id()] > 1) continue;
    const auto& constant = static_cast<const MasterConstant&>(*each);
    uint64_t piece = 0;
    do {
      auto part = TRY(constant.Read(piece * kConstantPiece, kConstantPiece));
      const std::string sealed = Sealed(each->id() + piece, std::move(part));
      add_piece_.Bind(0, static_cast<int64_t>(each->id()));
      add_piece_.Bind(1, static_cast<int64_t>(piece));
      add_piece_.BindBlob(2, sealed);
      TRY(add_piece_.RunOnce());
    } while (++piece * kConstantPiece < each->size());
  }
  const std::string bytes = Sealed(what.id.value, encode(ids));
  add_named_.Bind(0, static_cast<int64_t>(what.id.value));
  add_named_.BindBlob(1, bytes);
  return add_named_.RunOnce();
}

// The task is not kept any more. The last one that names a constant takes it along.
Status StateFile::DropNamed(task_id id) {
  auto named = named_.extract(id.value);
  if (named.empty()) return {};
  drop_named_.Bind(0, static_cast<int64_t>(id.value));
  TRY(drop_named_.RunOnce());
  for (uint64_t each : named.mapped()) {
    if (--users_[each] > 0) continue;
    users_.erase(each);
    drop_pieces_.Bind(0, static_cast<int64_t>(each));
    TRY(drop_pieces_.RunOnce());
  }
  return {};
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
    if (status) status = DropNamed(each.id);
    if (status && !each.constants.empty()) status = AddNamed(each);
  }
  for (task_id each : change.given) run(set_given_, each.value);
  for (const result& each : change.results) {
    const std::string bytes = BytesOf(each);
    run(drop_task_, each.task.value);
    if (status) status = DropNamed(each.task);
    run(add_result_, each.task.value, &bytes);
  }
  for (task_id each : change.taken) {
    run(drop_task_, each.value);
    if (status) status = DropNamed(each);
    run(drop_result_, each.value);
  }
  if (change.state) put("state", *change.state);
  if (!change.algorithms.empty()) put("algorithms", encode(change.algorithms));
  if (change.last_task > 0) put("last_task", encode(change.last_task));
  return status;
}

}  // namespace spate::mw
