// Reading the journal. Damage is found by: the sequence (no gap, no doubled number), the checksum
// of each row, values outside their range, SQLite's own checks of its pages.
#include "store/sqlite/journal_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "store/record_codec.h"
#include "store/sqlite/attempt_columns.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr std::string_view kSelectLog = "SELECT seq, kind, data, checksum FROM log";
constexpr std::string_view kUnfinished =
    "(SELECT id FROM job WHERE first_seq IS NOT NULL AND last_seq IS NULL)";

struct PartSql {
  std::string attempts, rare, log;
};

PartSql SqlOf(const JournalPart& part) {
  std::string range = fmt::format("seq BETWEEN {} AND {}", part.first, part.last);
  std::string of_jobs = range;
  if (part.of == JournalPart::Of::kJob) of_jobs += fmt::format(" AND job = {}", part.job.value);
  if (part.of == JournalPart::Of::kUnfinished)
    of_jobs += fmt::format(" AND job IN {}", kUnfinished);
  PartSql sql = {fmt::format("{} WHERE {} ORDER BY seq", kSelectAttempt, of_jobs),
                 fmt::format("{} WHERE {} ORDER BY seq", kSelectRare, range),
                 fmt::format("{} WHERE {} ORDER BY seq", kSelectLog, of_jobs)};
  // What belongs to no job is few, has an index, and matters however old it is.
  if (part.of == JournalPart::Of::kUnfinished) {
    sql.log =
        fmt::format("{0} WHERE job = 0 UNION ALL {0} WHERE {1} ORDER BY seq", kSelectLog, of_jobs);
  }
  return sql;
}

}  // namespace

Status JournalReader::Cursor::Advance() {
  auto row = statement.Step();
  if (!row) {
    seq.reset();
    return std::unexpected(std::move(row.error()));
  }
  if (*row) {
    seq = static_cast<uint64_t>(statement.Int(0));
  } else {
    seq.reset();
  }
  return {};
}

Result<JournalReader> JournalReader::Begin(Database& db, const JournalPart& part) {
  JournalReader reader(db, part.of == JournalPart::Of::kAll);
  if (auto opened = reader.Open(part); !opened) return std::unexpected(std::move(opened.error()));
  return reader;
}

Status JournalReader::Open(const JournalPart& part) {
  if (auto begun = db_->Run("BEGIN"); !begun) return begun;
  in_transaction_ = true;
  auto base = BaseMicros(*db_);
  if (!base) return std::unexpected(std::move(base.error()));
  base_us_ = *base;
  PartSql sql = SqlOf(part);
  const std::pair<Statement*, std::string_view> all[] = {{&attempts_.statement, sql.attempts},
                                                         {&rare_.statement, sql.rare},
                                                         {&log_.statement, sql.log}};
  if (auto prepared = db_->PrepareAll(all); !prepared) return prepared;
  for (Cursor* cursor : {&attempts_, &rare_, &log_}) {
    if (auto first = cursor->Advance(); !first) return first;
  }
  return {};
}

JournalReader::JournalReader(JournalReader&& other) noexcept
    : db_(other.db_),
      is_whole_(other.is_whole_),
      in_transaction_(std::exchange(other.in_transaction_, false)),
      base_us_(other.base_us_),
      expected_(other.expected_),
      attempts_(std::move(other.attempts_)),
      rare_(std::move(other.rare_)),
      log_(std::move(other.log_)),
      entry_(std::move(other.entry_)) {}

JournalReader::~JournalReader() {
  if (!in_transaction_) return;
  for (Cursor* cursor : {&attempts_, &rare_, &log_}) cursor->statement = {};
  (void)db_->Run("ROLLBACK");
}

Error JournalReader::Damage(std::string_view table, uint64_t seq, std::string_view how) const {
  return {ErrorKind::kCorrupt,
          fmt::format("'{}' is damaged: row {} of table {} ({}); it was left as it is",
                      EscapeForScreen(db_->path()), seq, table, how)};
}

Status JournalReader::CheckSequence(const char* table, uint64_t seq) {
  uint64_t expected = expected_;
  if (seq < expected) {
    expected_ = seq;
    return std::unexpected(Damage(table, seq, "it is there twice"));
  }
  if (seq > expected && is_whole_) {
    expected_ = seq;
    return std::unexpected(Damage(table, expected, fmt::format("missing, {} follows", seq)));
  }
  expected_ = seq + 1;
  return {};
}

Result<const JournalEntry*> JournalReader::Next() {
  if (!attempts_.seq && !log_.seq) {
    if (rare_.seq && is_whole_) {
      uint64_t seq = *std::exchange(rare_.seq, std::nullopt);
      return std::unexpected(Damage("attempt_rare", seq, "it belongs to no attempt"));
    }
    return nullptr;
  }
  bool is_attempt = attempts_.seq && (!log_.seq || *attempts_.seq <= *log_.seq);
  uint64_t seq = is_attempt ? *attempts_.seq : *log_.seq;
  const char* table = is_attempt ? "attempt" : "log";
  if (auto checked = CheckSequence(table, seq); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  entry_.seq = seq;
  Status status;
  if (is_attempt) {
    if (!std::holds_alternative<AttemptEntry>(entry_.what)) entry_.what = AttemptEntry();
    status = ReadAttempt(std::get<AttemptEntry>(entry_.what));
    if (auto moved = attempts_.Advance(); !moved && status) status = moved;
  } else {
    status = ReadLog();
    if (auto moved = log_.Advance(); !moved && status) status = moved;
  }
  if (!status) return std::unexpected(std::move(status.error()));
  return &entry_;
}

Status JournalReader::ReadAttempt(AttemptEntry& entry) {
  std::optional<uint32_t> checksum = AttemptFromColumns(attempts_.statement, base_us_, entry);
  if (!checksum) return std::unexpected(Damage("attempt", entry_.seq, "unknown cause or verdict"));
  while (rare_.seq && *rare_.seq < entry_.seq) {
    uint64_t seq = *rare_.seq;
    if (auto moved = rare_.Advance(); !moved) return moved;
    if (is_whole_) return std::unexpected(Damage("attempt_rare", seq, "it belongs to no attempt"));
  }
  if (rare_.seq && *rare_.seq == entry_.seq) {
    bool fine = RareFromColumns(rare_.statement, entry);
    if (auto moved = rare_.Advance(); !moved) return moved;
    if (!fine) return std::unexpected(Damage("attempt_rare", entry_.seq, "processes"));
  }
  if (AttemptChecksum(entry_.seq, entry) != *checksum) {
    return std::unexpected(Damage("attempt", entry_.seq, "checksum"));
  }
  return {};
}

Status JournalReader::ReadLog() {
  const Statement& s = log_.statement;
  auto kind = static_cast<int>(s.Int(1));
  std::string_view data = s.Bytes(2);
  auto checksum = static_cast<uint32_t>(s.Int(3));
  if (RecordChecksum(entry_.seq, kind, data) != checksum) {
    return std::unexpected(Damage("log", entry_.seq, "checksum"));
  }
  auto record = DecodeRecord(kind, data);
  if (!record) return std::unexpected(Damage("log", entry_.seq, record.error().message));
  entry_.what = std::move(*record);
  return {};
}

JournalPart PartOf(const JobRow& row) {
  return {.of = JournalPart::Of::kJob,
          .job = row.job,
          .first = row.first_seq,
          .last = row.last_seq == 0 ? INT64_MAX : row.last_seq};
}

void BindPart(Statement& s, const JournalPart& part) {
  s.Bind(0, static_cast<int64_t>(part.first));
  s.Bind(1, static_cast<int64_t>(part.last));
  s.Bind(2, part.job.value);
}

Result<JournalPart> UnfinishedPart(Database& db) {
  JournalPart part;
  part.of = JournalPart::Of::kUnfinished;
  auto first =
      db.QueryInt(fmt::format("SELECT MIN(first_seq) FROM job WHERE id IN {}", kUnfinished));
  auto forgotten = db.QueryInt("SELECT value FROM meta WHERE key = 'forgotten_seq'");
  if (!first || !forgotten) return std::unexpected(first ? forgotten.error() : first.error());
  if (*first == 0) {
    part.first = INT64_MAX;  // all jobs have finished
    return part;
  }
  part.first = static_cast<uint64_t>(*first);
  int64_t from = std::max(*first, *forgotten + 1);
  auto missing = db.QueryInt(
      fmt::format("SELECT MAX((SELECT COALESCE(MAX(seq), 0) FROM attempt),"
                  "           (SELECT COALESCE(MAX(seq), 0) FROM log), {0} - 1) - {0} + 1"
                  " - (SELECT COUNT(*) FROM attempt WHERE seq >= {0})"
                  " - (SELECT COUNT(*) FROM log WHERE seq >= {0})",
                  from));
  if (!missing) return std::unexpected(std::move(missing.error()));
  if (*missing != 0) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("'{}' is damaged: of its records from {} on, {} are missing; it was "
                            "left as it is",
                            EscapeForScreen(db.path()), from, *missing));
  }
  return part;
}

}  // namespace spate::store
