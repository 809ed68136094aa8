// The wrapper of SQLite: how result codes become our kinds of error is the part that matters.
#include "store/sqlite/database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <xxhash.h>

#include <cerrno>

#include "base/units.h"
#include "os/error.h"
#include "os/file_size.h"
#include "store/bytes.h"

namespace spate::store {
namespace {

// How long a reader or writer waits for the other (a checkpoint, a recovery) before it gives up.
constexpr int kBusyMillis = 10'000;

bool IsFull(int code, int system_errno) {
  if ((code & 0xff) == SQLITE_FULL) return true;
  return (code & 0xff) == SQLITE_IOERR &&
         (system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG);
}

ErrorKind KindOf(int code, int system_errno) {
  if (IsFull(code, system_errno)) return ErrorKind::kExhausted;
  switch (code & 0xff) {
    case SQLITE_ERROR:  // our statements are right, so the schema is not what we made
    case SQLITE_MISMATCH:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return ErrorKind::kCorrupt;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return ErrorKind::kPermission;
    case SQLITE_CANTOPEN:
      if (system_errno == ENOENT) return ErrorKind::kNotFound;
      if (system_errno == EMFILE || system_errno == ENFILE) return ErrorKind::kExhausted;
      return ErrorKind::kPermission;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorKind::kBusy;
    case SQLITE_NOMEM:
      return ErrorKind::kExhausted;
    default:
      return ErrorKind::kIo;
  }
}

// The path as a URI; SQLite takes a parameter only that way.
std::string FrozenUri(const std::string& path) {
  std::string uri = "file:";
  for (char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

// spate_sum(VALUE...): a checksum over values and their types, 32 bits, signed.
void SumValues(sqlite3_context* context, int count, sqlite3_value** values) {
  std::string bytes;
  ByteWriter writer(bytes);
  for (int i = 0; i < count; ++i) {
    int type = sqlite3_value_type(values[i]);
    writer.Byte(static_cast<uint8_t>(type));
    if (type == SQLITE_INTEGER) {
      writer.Fixed64(static_cast<uint64_t>(sqlite3_value_int64(values[i])));
    } else if (type != SQLITE_NULL) {
      const void* data = sqlite3_value_blob(values[i]);
      auto size = static_cast<size_t>(sqlite3_value_bytes(values[i]));
      writer.Text({static_cast<const char*>(data), data == nullptr ? 0 : size});
    }
  }
  sqlite3_result_int(context, static_cast<int32_t>(XXH3_64bits(bytes.data(), bytes.size())));
}

Error MakeError(sqlite3* db, int code, const std::string& path) {
  int extended = db == nullptr ? code : sqlite3_extended_errcode(db);
  if ((extended & 0xff) != (code & 0xff)) extended = code;
  int system_errno = db == nullptr ? 0 : sqlite3_system_errno(db);
  ErrorKind kind = KindOf(extended, system_errno);
  std::string shown = EscapeForScreen(path);
  if (IsFull(extended, system_errno)) {
    return {kind,
            fmt::format(
                "no space left for '{}': free some space there{}, then resume", shown,
                os::HasFileSizeLimit() ? ", or raise the limit of file sizes (ulimit -f)" : "")};
  }
  if (kind == ErrorKind::kExhausted && (extended & 0xff) == SQLITE_CANTOPEN) {
    return os::SystemError(system_errno, "open", path);
  }
  const char* text = db == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db);
  if (kind == ErrorKind::kCorrupt) {
    return {kind, fmt::format("'{}' is damaged ({}); it was left as it is", shown, text)};
  }
  // SQLite does not always keep the errno of a write that a limit has cut.
  bool may_be_limit = (extended & 0xff) == SQLITE_IOERR && os::HasFileSizeLimit();
  return {
      kind,
      fmt::format("cannot use '{}': {}{}", shown, text,
                  may_be_limit ? "; if it has grown to the limit of file sizes, raise that (ulimit "
                                 "-f), then resume"
                               : "")};
}

}  // namespace

void Database::Close::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

Result<Database> Database::Open(const std::string& path, DbMode mode) {
  // SQLite's memory statistics are not used, and each allocation would take a lock for them.
  static const int kNoMemorySums = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  (void)kNoMemorySums;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  switch (mode) {
    case DbMode::kRead:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case DbMode::kFrozen:
      flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
      break;
    case DbMode::kWrite:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case DbMode::kCreate:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
  }
  sqlite3* raw = nullptr;
  std::string name = mode == DbMode::kFrozen ? FrozenUri(path) : path;
  int code = sqlite3_open_v2(name.c_str(), &raw, flags, nullptr);
  Database db(raw, path);
  if (code != SQLITE_OK) return std::unexpected(MakeError(raw, code, path));
  sqlite3_busy_timeout(raw, kBusyMillis);
  code = sqlite3_create_function_v2(raw, "spate_sum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                    nullptr, SumValues, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(MakeError(raw, code, path));
  return db;
}

void Database::WaitForLocks(std::function<void(int64_t ms)> waiting) {
  waiting_ = std::make_unique<std::function<void(int64_t)>>(std::move(waiting));
  auto handler = [](void* data, int count) {
    // It is called again and again, and told how often.
    constexpr int kPauseMillis = 10;
    constexpr int kTellEvery = 100;
    sqlite3_sleep(kPauseMillis);
    if (count > 0 && count % kTellEvery == 0) {
      (*static_cast<std::function<void(int64_t)>*>(data))(int64_t{count} * kPauseMillis);
    }
    return 1;
  };
  sqlite3_busy_handler(db_.get(), handler, waiting_.get());
}

Error Database::ErrorOf(int code) const { return MakeError(db_.get(), code, path_); }

Status Database::Run(const char* sql) {
  int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return std::unexpected(ErrorOf(code));
  return {};
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()),
                                SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return std::unexpected(ErrorOf(code));
  Statement statement;
  statement.statement_.reset(raw);
  statement.path_ = path_;
  return statement;
}

Result<Borrowed> Database::Borrow(std::string_view sql) {
  auto at = kept_.find(sql);
  if (at == kept_.end()) at = kept_.emplace(sql, TRY(Prepare(sql))).first;
  return Borrowed(at->second);
}

Status Database::PrepareAll(std::span<const std::pair<Statement*, std::string_view>> all) {
  for (const auto& [statement, sql] : all) {
    auto prepared = TRY(Prepare(sql));
    *statement = std::move(prepared);
  }
  return {};
}

int64_t Database::Changes() const { return sqlite3_changes64(db_.get()); }

Status Database::CopyTo(Database& to) const {
  sqlite3_backup* backup = sqlite3_backup_init(to.db_.get(), "main", db_.get(), "main");
  if (backup == nullptr) return std::unexpected(to.ErrorOf(sqlite3_errcode(to.db_.get())));
  int code = sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  if (code == SQLITE_DONE) return {};
  bool from_here = sqlite3_errcode(db_.get()) == code;
  return std::unexpected(from_here ? ErrorOf(code) : to.ErrorOf(code));
}

Result<int64_t> Database::QueryInt(std::string_view sql) {
  auto statement = TRY(Prepare(sql));
  auto row = TRY(statement.Step());
  return row ? statement.Int(0) : 0;
}

Status Database::SyncFile() {
  sqlite3_file* file = nullptr;
  int code =
      sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  if (code == SQLITE_OK && file != nullptr && file->pMethods != nullptr) {
    code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
  }
  if (code != SQLITE_OK) return std::unexpected(ErrorOf(code));
  return {};
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::Bind(int at, int64_t value) { sqlite3_bind_int64(statement_.get(), at + 1, value); }
void Statement::BindText(int at, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), at + 1, value.data(), value.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
}
void Statement::BindBlob(int at, std::string_view value) {
  // A null pointer would bind NULL.
  const char* data = value.data() == nullptr ? "" : value.data();
  sqlite3_bind_blob64(statement_.get(), at + 1, data, value.size(), SQLITE_STATIC);
}
void Statement::BindNull(int at) { sqlite3_bind_null(statement_.get(), at + 1); }

Error Statement::ErrorOf(int code) const {
  return MakeError(sqlite3_db_handle(statement_.get()), code, path_);
}

Result<bool> Statement::Step() {
  int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return std::unexpected(ErrorOf(code));
}

void Statement::Reset() { sqlite3_reset(statement_.get()); }

Status Statement::RunOnce() {
  auto step = Step();
  Reset();
  if (!step) return std::unexpected(std::move(step.error()));
  return {};
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }
bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
std::string_view Statement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  return {static_cast<const char*>(data), data == nullptr ? 0 : size};
}

}  // namespace spate::store
