// The schema, as docs/formats/journal.md describes it.
//
// How it is meant to be cheap: attempts and the log share one sequence of rowids, both only grow at
// their end, and there is no index over them, so that a commit of some ends and a lease dirties two
// pages: a job's records are found by the range of the sequence that its row names. What is rare
// about an attempt lies in a table of its own, since every column costs a byte a row. A job's long
// texts lie apart from its counts, which are written again and again.
//
// Attempts, records and rows of text come with a checksum from who writes them. Rows that are
// written again, by many statements, get theirs from triggers of the writing connection.
#include "store/sqlite/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/units.h"
#include "os/file.h"
#include "store/sqlite/shared_copy.h"

namespace spate::store {
namespace {

constexpr const char* kTables = R"sql(
CREATE TABLE meta(
  key      TEXT PRIMARY KEY,
  value,
  checksum INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE job(
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  first_seq   INTEGER,
  last_seq    INTEGER,
  state       TEXT NOT NULL,
  total       INTEGER NOT NULL,
  leased      INTEGER NOT NULL,
  succeeded   INTEGER NOT NULL,
  failed      INTEGER NOT NULL,
  cancelled   INTEGER NOT NULL,
  unknown     INTEGER NOT NULL,
  created_us  INTEGER NOT NULL,
  started_us  INTEGER NOT NULL,
  ended_us    INTEGER,
  priority    INTEGER NOT NULL,
  keep_output INTEGER NOT NULL,
  runs        INTEGER NOT NULL,
  pid         INTEGER NOT NULL,
  user        TEXT NOT NULL,
  host        TEXT NOT NULL,
  submission  TEXT NOT NULL,
  name        TEXT NOT NULL,
  cwd         TEXT NOT NULL,
  checksum    INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX job_submission ON job(submission) WHERE submission <> '';
CREATE INDEX job_user ON job(user);
CREATE INDEX job_ended ON job(ended_us) WHERE last_seq IS NOT NULL;

CREATE TABLE job_text(
  job      INTEGER PRIMARY KEY,
  argv     TEXT NOT NULL,
  files    TEXT NOT NULL,
  settings TEXT NOT NULL,
  checksum INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE forgotten(
  job       INTEGER PRIMARY KEY,
  first_seq INTEGER NOT NULL,
  last_seq  INTEGER NOT NULL,
  checksum  INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE node(
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  instance   TEXT NOT NULL,
  user       TEXT NOT NULL,
  created_us INTEGER NOT NULL,
  removed    INTEGER NOT NULL,
  checksum   INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE credential(
  serial     INTEGER PRIMARY KEY,
  role       TEXT NOT NULL,
  user       TEXT NOT NULL,
  secret     BLOB NOT NULL,
  created_us INTEGER NOT NULL,
  expires_us INTEGER,
  revoked_us INTEGER,
  checksum   INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE attempt(
  seq        INTEGER PRIMARY KEY,
  job        INTEGER NOT NULL,
  idx        INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  node       INTEGER NOT NULL,
  slot       INTEGER NOT NULL,
  cause      INTEGER NOT NULL,
  status     INTEGER NOT NULL,
  verdict    INTEGER NOT NULL,
  flags      INTEGER NOT NULL,
  start_us   INTEGER,
  wall_us    INTEGER NOT NULL,
  user_us    INTEGER NOT NULL,
  system_us  INTEGER NOT NULL,
  peak_kb    INTEGER NOT NULL,
  output_pos INTEGER,
  stdout_len INTEGER,
  stderr_len INTEGER,
  output_sums BLOB
);

CREATE TABLE attempt_rare(
  seq           INTEGER PRIMARY KEY,
  ended_ns      INTEGER,
  read_bytes    INTEGER,
  written_bytes INTEGER,
  left_behind   INTEGER,
  stdout_total  INTEGER,
  stderr_total  INTEGER,
  note          TEXT,
  processes     BLOB,
  files_len     INTEGER
);

CREATE TABLE log(
  seq      INTEGER PRIMARY KEY,
  job      INTEGER NOT NULL,
  kind     INTEGER NOT NULL,
  data     BLOB NOT NULL,
  checksum INTEGER NOT NULL
);
CREATE INDEX log_of_no_job ON log(job) WHERE job = 0;

CREATE TABLE rows(
  id       INTEGER PRIMARY KEY,
  count    INTEGER NOT NULL,
  data     BLOB NOT NULL,
  checksum INTEGER NOT NULL
);

-- Ranges of numbers of jobs that have finished (job_spans.h).
CREATE TABLE span(
  job       INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq  INTEGER NOT NULL,
  PRIMARY KEY(job, first_seq)
) WITHOUT ROWID;

-- Parts of the settings that many jobs have (shared_settings.h). Numbers are used once.
CREATE TABLE shared(
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  bytes    BLOB NOT NULL,
  checksum INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE shared_by(
  job    INTEGER PRIMARY KEY,
  shared INTEGER NOT NULL
);
CREATE INDEX shared_by_shared ON shared_by(shared);
)sql";

// Events of pools. With another table's name in those of its indexes: see SetPoolLogAside.
std::string PoolTable(std::string_view suffix) {
  return fmt::format(R"sql(
CREATE TABLE pool_log(
  seq      INTEGER PRIMARY KEY,
  pool     INTEGER NOT NULL,
  at_us    INTEGER NOT NULL,
  image    INTEGER NOT NULL,
  kind     INTEGER NOT NULL,
  data     BLOB NOT NULL,
  checksum INTEGER NOT NULL
);
CREATE INDEX pool_log_of_pool{0} ON pool_log(pool) WHERE image = 0;
CREATE INDEX pool_log_at{0} ON pool_log(at_us);
)sql",
                     suffix);
}

constexpr const char* kViews = R"sql(
CREATE VIEW attempts AS
SELECT a.seq, a.job, a.idx + 1 AS task, a.attempt, a.node, a.slot,
  CASE a.cause WHEN 0 THEN 'success' WHEN 1 THEN 'exit' WHEN 2 THEN 'signal' WHEN 3 THEN 'time'
    WHEN 4 THEN 'memory' WHEN 5 THEN 'check' WHEN 6 THEN 'node' WHEN 7 THEN 'start'
    WHEN 8 THEN 'stopped' WHEN 9 THEN 'excess' ELSE a.cause END AS cause,
  a.status,
  CASE a.verdict WHEN 0 THEN 'succeeded' WHEN 1 THEN 'retry' WHEN 2 THEN 'failed'
    WHEN 3 THEN 'unknown' WHEN 4 THEN 'cancelled' WHEN 5 THEN 'part' ELSE a.verdict END AS verdict,
  a.flags & 1 AS counts,
  (a.start_us + m.value) / 1e6 AS start,
  a.wall_us / 1e6 AS wall, a.user_us / 1e6 AS user, a.system_us / 1e6 AS system,
  a.peak_kb,
  CASE (a.flags >> 1) & 3 WHEN 0 THEN 'none' WHEN 1 THEN 'cgroup' WHEN 2 THEN 'sampled'
    ELSE 'rusage' END AS memory_source,
  r.read_bytes, r.written_bytes, COALESCE(r.left_behind, 0) AS left_behind,
  a.output_pos, COALESCE(a.stdout_len, 0) AS stdout_kept, COALESCE(a.stderr_len, 0) AS stderr_kept,
  COALESCE(r.stdout_total, a.stdout_len, 0) AS stdout_total,
  COALESCE(r.stderr_total, a.stderr_len, 0) AS stderr_total,
  COALESCE(r.files_len, 0) AS files_kept,
  r.note
FROM attempt a LEFT JOIN attempt_rare r USING (seq), meta m WHERE m.key = 'base_us';

CREATE VIEW task AS
SELECT job, task,
  CASE verdict WHEN 'retry' THEN 'queued' ELSE verdict END AS state,
  tries, attempts, cause, status, start, wall, user, system, peak_kb, memory_source, note, seq
FROM attempts JOIN (
  SELECT MAX(seq) AS seq, COUNT(DISTINCT attempt) AS attempts, SUM(flags & 1) AS tries
  FROM attempt GROUP BY job, idx) USING (seq);
)sql";

// Tables, indexes and views, SQLite's own among them.
constexpr int64_t kTableCount = 25;

// Pages: a commit writes whole pages to the log, so that small ones mean fewer bytes; below 2 KB
// the rows that share a page get few. The log is folded into the file at 4 MB; after a transaction
// that made it longer it shrinks again.
constexpr const char* kCreatePragmas = "PRAGMA page_size = 2048; PRAGMA synchronous = OFF;";
constexpr const char* kWritePragmas =
    "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2048; PRAGMA temp_store = MEMORY;"
    "PRAGMA cache_size = -4096; PRAGMA journal_size_limit = 67108864;";
constexpr const char* kReadPragmas = "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096;";

// TRUNCATE: a rollback journal that is empty belongs to no transaction, which other machines see
// without locks.
const char* PragmaOf(JournalMode mode) {
  return mode == JournalMode::kLog ? "PRAGMA journal_mode = WAL;"
                                   : "PRAGMA journal_mode = TRUNCATE;";
}

// Make a journal of version 0 look like one of version 1 to this connection, and be one.
constexpr const char* kReadOlder =
    "CREATE TEMP VIEW attempt AS SELECT *, NULL AS output_sums FROM main.attempt;";
constexpr const char* kUpgradeOlder = "ALTER TABLE attempt ADD COLUMN output_sums BLOB;";

// Tables whose rows have a checksum over all other columns, the key first.
struct SummedTable {
  std::string_view name;
  std::string_view columns;
  bool by_writer = false;  // its statements have the checksum: a trigger doubles their cost
};
constexpr SummedTable kSummed[] = {
    {"meta", "key, value"},
    {"job",
     "id, first_seq, last_seq, state, total, leased, succeeded, failed, cancelled, unknown, "
     "created_us, started_us, ended_us, priority, keep_output, runs, pid, user, host, submission, "
     "name, cwd",
     true},
    {"job_text", "job, argv, files, settings", true},
    {"shared", "id, bytes"},
    {"forgotten", "job, first_seq, last_seq"},
    {"node", "id, name, instance, user, created_us, removed"},
    {"credential", "serial, role, user, secret, created_us, expires_us, revoked_us"},
};
// Its rows are never written again, and get it from their writer.
constexpr SummedTable kPoolLog = {"pool_log", "seq, pool, at_us, image, kind, data"};

// visit(column) for each.
template <typename Visit>
void ForColumns(const SummedTable& table, Visit&& visit) {
  for (std::string_view left = table.columns; !left.empty();) {
    const size_t comma = std::min(left.find(", "), left.size());
    visit(left.substr(0, comma));
    left.remove_prefix(std::min(comma + 2, left.size()));
  }
}

std::string SumOf(const SummedTable& table) {
  std::string sum = fmt::format("spate_sum('{}'", table.name);
  ForColumns(table,
             [&](std::string_view column) { sum += fmt::format(", {}.{}", table.name, column); });
  return sum + ")";
}

// From now on each row that this connection writes gets its checksum, but of those tables whose
// writers give it. Not part of the file: other programs that write would not know the function, and
// what they write is not sound.
Status SumWhatIsWritten(Database& db) {
  for (const SummedTable& table : kSummed) {
    if (table.by_writer) continue;
    std::string_view key = table.columns.substr(0, table.columns.find(','));
    std::string set = fmt::format("BEGIN UPDATE {0} SET checksum = {1} WHERE {2} = new.{2}; END;",
                                  table.name, SumOf(table), key);
    std::string sql = fmt::format(
        "CREATE TEMP TRIGGER sum_new_{0} AFTER INSERT ON main.{0} {1}"
        "CREATE TEMP TRIGGER sum_{0} AFTER UPDATE OF {2} ON main.{0} {1}",
        table.name, set, table.columns);
    TRY(db.Run(sql.c_str()));
  }
  return {};
}

// Cuts texts of a hub's jobs like JobTable::Write. Damaged rows stay as they are. A list is cut
// before anything that may be part of an escape.
std::string CutLongTexts() {
  std::string sql;
  auto cut = [&](std::string_view table, std::string_view column, int most, std::string_view how) {
    const std::string value = fmt::format(fmt::runtime(how), column, most);
    const NewValue change{column, value};
    sql += fmt::format("UPDATE {0} SET {1} = {2}, checksum = {3} WHERE LENGTH({1}) > {4} AND {5};",
                       table, column, value, SumWith(table, {&change, 1}), most, IsSound(table));
  };
  constexpr std::string_view kList =
      "'[\"' || SUBSTR(RTRIM(SUBSTR({0}, 1, {1}), '\\u0123456789abcdef\",[]'), 3) || '\",null]'";
  cut("job", "name", 1'021, "SUBSTR({0}, 1, {1}) || '...'");
  cut("job", "cwd", 4'093, "SUBSTR({0}, 1, {1}) || '...'");
  cut("job_text", "argv", 65'536, kList);
  cut("job_text", "files", 65'536, kList);
  return sql;
}

// Each upgrade keeps a copy of before beside the journal: of a run the way back, for who can do
// without what came after it.
Error WrittenByNewer(const std::string& path, int64_t version) {
  Error error{
      ErrorKind::kNewer,
      fmt::format("'{}' was written by a newer release of spate (its format is {}, and this "
                  "release reads {} to {}); it was left as it is: use that release",
                  EscapeForScreen(path), version, kOldestSchemaVersion, kSchemaVersion)};
  // Nodes have seen the lives of a hub since then, and would refuse it or take its leases for those
  // that they know; a restore skips their numbers.
  if (path.ends_with("/hub.db")) {
    error.message +=
        "\nTo go back to this release, move the hub's folder away and restore a backup";
    error.remedy = Remedy(" of this release: {}", Advice("hub restore", "FILE"));
    return error;
  }
  for (int64_t old = kSchemaVersion; old >= kOldestSchemaVersion; --old) {
    const std::string copy = fmt::format("{}-v{}", path, old);
    if (!os::Exists(copy)) continue;
    error.message += fmt::format(
        "\nTo go back to this release without what was done since the upgrade, move the copy of "
        "that time into its place while no hub or run uses it: mv {} {}",
        ShellQuote(copy), ShellQuote(path));
    break;
  }
  return error;
}

Status CheckVersion(Database& db) {
  auto application = TRY(db.QueryInt("PRAGMA application_id"));
  auto version = TRY(db.QueryInt("PRAGMA user_version"));
  auto tables = TRY(db.QueryInt("SELECT COUNT(*) FROM sqlite_schema"));
  std::string shown = EscapeForScreen(db.path());
  if (application == 0 && version == 0 && tables == 0) {
    return Fail(
        ErrorKind::kNotFound,
        fmt::format(
            "'{}' is empty: its job was not yet accepted when its process ended; run it again",
            shown));
  }
  if (application != kApplicationId) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("'{}' is not a journal of spate, or it is damaged; it was left as it "
                            "is",
                            shown));
  }
  if (version > kSchemaVersion) return std::unexpected(WrittenByNewer(db.path(), version));
  if (version < kOldestSchemaVersion) {
    return Fail(
        ErrorKind::kCorrupt,
        fmt::format("'{}' has version {}, and this release reads versions {} to {}: use the "
                    "release of that time; it was left as it is",
                    shown, version, kOldestSchemaVersion, kSchemaVersion));
  }
  if (tables < kTableCount) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("'{}' is damaged: tables are missing; it was left as it is", shown));
  }
  return {};
}

// The copy is whole and durable before the journal changes; an upgrade that is cut short is done
// again by the next process.
Status Upgrade(Database& db) {
  auto version = TRY(db.QueryInt("PRAGMA user_version"));
  if (version == kSchemaVersion) return {};
  std::string copy = fmt::format("{}-v{}", db.path(), version);
  std::string unfinished = copy + ".new";
  TRY(os::RemoveFile(unfinished));
  auto make = TRY(db.Prepare("VACUUM INTO ?"));
  make.BindText(0, unfinished);
  TRY(make.RunOnce());
  TRY(os::Rename(unfinished, copy));
  TRY(os::FsyncDir(os::DirName(copy)));
  std::string change = kUpgradeOlder;
  if (db.path().ends_with("/hub.db")) change += CutLongTexts();
  return db.Run(
      fmt::format("BEGIN; {} PRAGMA user_version = {}; COMMIT;", change, kSchemaVersion).c_str());
}

}  // namespace

namespace {

// For a file that this process has not opened: closing it would drop SQLite's locks on it.
bool IsInMode(const std::string& path, JournalMode mode) {
  constexpr size_t kReadVersion = 19;  // of its head: 1 rollback, 2 log
  constexpr char kOfLog = 2;
  auto fd = os::OpenRead(path);
  if (!fd) return true;
  auto head = os::ReadAt(fd->get(), 0, kReadVersion + 1, path);
  if (!head || head->size() <= kReadVersion) return true;
  return ((*head)[kReadVersion] == kOfLog) == (mode == JournalMode::kLog);
}

}  // namespace

Status TakeOver(const JournalPlace& place) {
  const std::string path = place.DbPath();
  if (!os::Exists(path)) return {};
  if (HasRollback(path)) {
    auto db = TRY(Database::Open(path, DbMode::kWrite));
    (void)TRY(db.QueryInt("SELECT COUNT(*) FROM sqlite_schema"));
  }
  const JournalMode mode = ModeOf(place);
  if (IsInMode(path, mode) || !OpenJournalToRead(path)) return {};
  auto db = TRY(Database::Open(path, DbMode::kWrite));
  return db.Run(PragmaOf(mode));
}

Result<Database> CreateJournal(const std::string& path, int64_t base_us, JournalMode mode) {
  auto db = Database::Open(path, DbMode::kCreate);
  if (!db) return db;
  std::string tables = fmt::format(
      "BEGIN;{}{}{}INSERT INTO meta SELECT 'base_us', {}, spate_sum('meta', 'base_us', {});"
      "PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT;",
      kTables, PoolTable(""), kViews, base_us, base_us, kApplicationId, kSchemaVersion);
  TRY(db->Run(kCreatePragmas));
  TRY(db->Run(PragmaOf(mode)));
  TRY(db->Run(tables.c_str()));
  TRY(db->Run(kWritePragmas));
  TRY(SumWhatIsWritten(*db));
  return db;
}

Result<Database> OpenJournalToRead(const std::string& path, bool frozen) {
  auto db = !frozen && NeedsCopy(path)
                ? OpenCopy(path)
                : Database::Open(path, frozen ? DbMode::kFrozen : DbMode::kRead);
  if (!db) return db;
  TRY(db->Run(kReadPragmas));
  TRY(CheckVersion(*db));
  auto version = TRY(db->QueryInt("PRAGMA user_version"));
  if (version < kSchemaVersion) TRY(db->Run(kReadOlder));
  return db;
}

Result<Database> OpenJournal(const std::string& path) {
  TRY(OpenJournalToRead(path));
  auto db = Database::Open(path, DbMode::kWrite);
  if (!db) return db;
  TRY(db->Run(kWritePragmas));
  TRY(Upgrade(*db));
  TRY(SumWhatIsWritten(*db));
  return db;
}

std::string IsSound(std::string_view table) {
  const auto* at = std::ranges::find(kSummed, table, &SummedTable::name);
  return fmt::format("{}.checksum = {}", table, SumOf(at == std::end(kSummed) ? kPoolLog : *at));
}

std::string SumWith(std::string_view table, std::span<const NewValue> values,
                    std::string_view rest) {
  const auto* at = std::ranges::find(kSummed, table, &SummedTable::name);
  CHECK(at != std::end(kSummed) && at->by_writer);
  std::string sum = fmt::format("spate_sum('{}'", table);
  ForColumns(*at, [&](std::string_view column) {
    const auto value = std::ranges::find(values, column, &NewValue::column);
    if (value != values.end()) {
      sum += fmt::format(", {}", value->value);
    } else {
      sum += fmt::format(", {}{}", rest, rest == "NULL" ? "" : column);
    }
  });
  return sum + ")";
}

Status SetPoolLogAside(Database& db, int64_t n) {
  // Indexes keep their names.
  std::string sql = fmt::format("ALTER TABLE pool_log RENAME TO pool_log_damaged_{};{}", n,
                                PoolTable(fmt::format("_{}", n + 1)));
  return db.Run(sql.c_str());
}

Result<int64_t> MetaNumber(Database& db, std::string_view key) {
  auto find =
      TRY(db.Prepare(fmt::format("SELECT value, {} FROM meta WHERE key = ?", IsSound("meta"))));
  find.BindText(0, key);
  auto found = TRY(find.Step());
  if (!found) return 0;
  if (find.Int(1) != 0) return find.Int(0);
  return Fail(ErrorKind::kCorrupt, fmt::format("'{}' is damaged: row '{}' of table meta; it was "
                                               "left as it is",
                                               EscapeForScreen(db.path()), key));
}

Status WriteMetaNumber(const std::string& path, std::string_view key, int64_t value) {
  auto db = TRY(OpenJournal(path));
  auto write = TRY(db.Prepare("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)"));
  write.BindText(0, key);
  write.Bind(1, value);
  return write.RunOnce();
}

Result<int64_t> BaseMicros(Database& db) {
  auto base = MetaNumber(db, "base_us");
  if (!base || *base != 0) return base;
  return Fail(ErrorKind::kCorrupt,
              fmt::format("'{}' is damaged: row 'base_us' of table meta is missing; it was left as "
                          "it is",
                          EscapeForScreen(db.path())));
}

}  // namespace spate::store
