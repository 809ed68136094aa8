// Reading the journal. Damage is found by: the sequence (no gap, no doubled number), the checksum
// of each row, values outside their range, SQLite's own checks of its pages.
#include "store/sqlite/journal_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "store/bytes.h"
#include "store/record_codec.h"
#include "store/sqlite/attempt_columns.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr std::string_view kSelectLog = "SELECT seq, kind, data, checksum, job FROM log";

std::string RangeOf(const JournalPart& part) {
  return fmt::format("seq BETWEEN {} AND {}", part.first, part.last);
}

constexpr std::string_view kInOrder = " ORDER BY seq";

}  // namespace

Status JournalReader::Advance(Cursor& cursor) {
  auto row = cursor.statement.Step();
  cursor.seq.reset();
  cursor.unreadable = false;
  if (!row) return Skip(cursor, std::move(row.error()));
  if (*row) cursor.seq = cursor.last = static_cast<uint64_t>(cursor.statement.Int(0));
  return {};
}

// A row whose columns make no sense to SQLite is found by its key; behind it the reading goes on.
Status JournalReader::Skip(Cursor& cursor, Error error) {
  if (error.kind != ErrorKind::kCorrupt) return std::unexpected(std::move(error));
  uint64_t from = std::max(cursor.last + 1, first_);
  auto find = db_->Prepare(
      fmt::format("SELECT seq FROM {} WHERE seq >= {} ORDER BY seq LIMIT 1", cursor.table, from));
  auto found = find ? find->Step() : std::unexpected(find.error());
  if (!found || !*found) return std::unexpected(std::move(error));
  uint64_t seq = static_cast<uint64_t>(find->Int(0));
  auto rest = TRY(db_->Prepare(fmt::format("{} AND seq > {}{}", cursor.sql, seq, kInOrder)));
  cursor.statement = std::move(rest);
  cursor.seq = cursor.last = seq;
  cursor.unreadable = true;
  return {};
}

Result<JournalReader> JournalReader::Begin(Database& db, const JournalPart& part) {
  JournalReader reader(db, part.of);
  TRY(reader.Open(part));
  return reader;
}

Status JournalReader::Open(const JournalPart& part) {
  TRY(db_->Run("BEGIN"));
  in_transaction_ = true;
  auto base = TRY(BaseMicros(*db_));
  base_us_ = base;
  auto last = MetaNumber(*db_, "last_seq");
  auto forgotten = MetaNumber(*db_, "forgotten_seq");
  if (!last || !forgotten) return std::unexpected(last ? forgotten.error() : last.error());
  last_ = static_cast<uint64_t>(*last);
  forgotten_ = static_cast<uint64_t>(*forgotten);
  if (is_whole_) TRY(OpenUse());
  first_ = expected_ = part.first;
  std::string range = RangeOf(part);
  std::string of_jobs = range;
  if (part.of == JournalPart::Of::kJob) of_jobs += fmt::format(" AND job = {}", part.job.value);
  attempts_.sql = fmt::format("{} WHERE {}", kSelectAttempt, of_jobs);
  rare_.sql = fmt::format("{} WHERE {}", kSelectRare, range);
  log_.sql = fmt::format("{} WHERE {}", kSelectLog, of_jobs);
  for (Cursor* cursor : {&attempts_, &rare_, &log_}) {
    std::string sql = cursor->sql;
    // Records that belong to no job are few, have an index, and matter however old they are.
    if (cursor == &log_ && part.of == JournalPart::Of::kFrom) {
      sql = fmt::format("{} WHERE job = 0 AND seq < {} UNION ALL {}", kSelectLog, part.first, sql);
    }
    auto prepared = TRY(db_->Prepare(fmt::format("{}{}", sql, kInOrder)));
    cursor->statement = std::move(prepared);
    TRY(Advance(*cursor));
  }
  return {};
}

// The counted use of all users is one row (JournalWriter::WriteUse): a varint with the number of
// the sequence that it follows, and the bytes of the record.
Status JournalReader::OpenUse() {
  auto find = TRY(db_->Prepare(
      fmt::format("SELECT value, {} FROM meta WHERE key = 'use_counted'", IsSound("meta"))));
  const bool found = TRY(find.Step());
  if (!found) return {};
  use_ = find.Int(1) != 0 ? find.Bytes(0) : "";
  ByteReader in(*use_);
  use_after_ = in.Varint();
  use_->erase(0, use_->size() - in.left());
  return {};
}

JournalReader::JournalReader(JournalReader&& other) noexcept
    : db_(other.db_),
      is_whole_(other.is_whole_),
      has_gaps_(other.has_gaps_),
      in_transaction_(std::exchange(other.in_transaction_, false)),
      first_(other.first_),
      forgotten_(other.forgotten_),
      use_(std::move(other.use_)),
      use_after_(other.use_after_),
      last_(other.last_),
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

Error JournalReader::Damage(std::string_view table, uint64_t seq, std::string_view how,
                            Damaged what) {
  damage_ = what;
  return {ErrorKind::kCorrupt,
          fmt::format("'{}' is damaged: row {} of table {} ({}); it was left as it is",
                      EscapeForScreen(db_->path()), seq, table, how)};
}

Error JournalReader::Missing(uint64_t first, uint64_t last) {
  damage_ = Damaged{.job = std::nullopt, .is_log = false, .first = first, .last = last};
  std::string which = first == last ? fmt::format("record {} is", first)
                                    : fmt::format("records {} to {} are", first, last);
  return {ErrorKind::kCorrupt, fmt::format("'{}' is damaged: {} missing; it was left as it is",
                                           EscapeForScreen(db_->path()), which)};
}

// The row at hand that is whole but for its number, which is `seq`.
std::optional<JournalReader::Renumbered> JournalReader::FindRenumbered(uint64_t seq) {
  if (attempts_.seq && !attempts_.unreadable) {
    AttemptEntry entry;
    auto checksum = AttemptFromColumns(attempts_.statement, base_us_, entry);
    bool rare = rare_.seq && *rare_.seq == seq && !rare_.unreadable;
    if (rare && !RareFromColumns(rare_.statement, entry)) checksum.reset();
    if (checksum && AttemptChecksum(seq, entry) == *checksum) {
      return Renumbered{&attempts_, entry.record.end.ref.job};
    }
  }
  if (!log_.seq || log_.unreadable) return std::nullopt;
  const Statement& s = log_.statement;
  auto sum = RecordChecksum(seq, static_cast<int>(s.Int(1)), s.Bytes(2));
  if (sum != static_cast<uint32_t>(s.Int(3))) return std::nullopt;
  return Renumbered{&log_, JobId(static_cast<uint32_t>(s.Int(4)))};
}

Status JournalReader::CheckSequence(const char* table, uint64_t seq) {
  uint64_t expected = expected_;
  if (seq < first_ && expected == first_) return {};  // of no job, from before the part
  if (seq == expected || (seq > expected && !is_whole_)) {
    expected_ = seq + 1;
    return {};
  }
  uint64_t from = expected;
  if (seq > from && has_gaps_) from = std::min(seq, std::max(from, forgotten_ + 1));
  if (seq == from) {
    expected_ = seq + 1;
    return {};
  }
  // It may be the number that is damaged.
  if (auto found = FindRenumbered(expected)) {
    uint64_t is = *found->cursor->seq;
    bool is_log = found->cursor == &log_;
    TRY(Advance(*found->cursor));
    expected_ = expected + 1;
    return std::unexpected(Damage(is_log ? "log" : "attempt", is,
                                  fmt::format("its number is {}", expected),
                                  {.job = found->job,
                                   .is_sure = true,
                                   .is_log = is_log,
                                   .first = expected,
                                   .last = expected}));
  }
  if (seq > from) {
    expected_ = seq;
    return std::unexpected(Missing(from, seq - 1));
  }
  auto& cursor = std::string_view(table) == "log" ? log_ : attempts_;
  TRY(Advance(cursor));
  return std::unexpected(
      Damage(table, seq, "it occurs twice", {.job = std::nullopt, .first = seq, .last = seq}));
}

// Numbers up to the last that was ever written must have come.
Status JournalReader::CheckEnd() {
  uint64_t from = std::max(expected_, has_gaps_ ? forgotten_ + 1 : 0);
  if (!is_whole_ || last_ < from || (has_gaps_ && first_ > last_)) return {};
  expected_ = last_ + 1;
  return std::unexpected(Missing(from, last_));
}

Result<const JournalEntry*> JournalReader::Next() {
  damage_.reset();
  if (use_ &&
      use_after_ < std::min(attempts_.seq.value_or(INT64_MAX), log_.seq.value_or(INT64_MAX))) {
    TRY(ReadUse());
    return &entry_;
  }
  if (!attempts_.seq && !log_.seq) {
    if (rare_.seq && is_whole_ && !has_gaps_) {
      uint64_t seq = *std::exchange(rare_.seq, std::nullopt);
      return std::unexpected(Damage("attempt_rare", seq, "it belongs to no attempt",
                                    {.job = std::nullopt, .first = seq, .last = seq}));
    }
    TRY(CheckEnd());
    return nullptr;
  }
  bool is_attempt = attempts_.seq && (!log_.seq || *attempts_.seq <= *log_.seq);
  uint64_t seq = is_attempt ? *attempts_.seq : *log_.seq;
  const char* table = is_attempt ? "attempt" : "log";
  TRY(CheckSequence(table, seq));
  entry_.seq = seq;
  Status status;
  if ((is_attempt ? attempts_ : log_).unreadable) {
    status = std::unexpected(
        Damage(table, seq, "unreadable", {.job = std::nullopt, .first = seq, .last = seq}));
  } else if (is_attempt) {
    if (!std::holds_alternative<AttemptEntry>(entry_.what)) entry_.what = AttemptEntry();
    status = ReadAttempt(std::get<AttemptEntry>(entry_.what));
  } else {
    status = ReadLog();
  }
  if (auto moved = Advance(is_attempt ? attempts_ : log_); !moved) {
    damage_.reset();
    return std::unexpected(std::move(moved.error()));
  }
  if (!status) return std::unexpected(std::move(status.error()));
  return &entry_;
}

// An attempt whose checksum is wrong may be that of another job than it says: then it is right with
// that one.
void JournalReader::FindOwner(const AttemptEntry& entry, uint32_t checksum, Damaged& what) const {
  AttemptEntry other = entry;
  uint32_t claimed = entry.record.end.ref.job.value;
  for (uint32_t bit = 0; bit < 32; ++bit) {
    other.record.end.ref.job = JobId(claimed ^ 1u << bit);
    if (AttemptChecksum(entry_.seq, other) != checksum) continue;
    what.job = other.record.end.ref.job;
    what.is_sure = true;
    what.says = JobId(claimed);
    return;
  }
}

Status JournalReader::ReadAttempt(AttemptEntry& entry) {
  std::optional<uint32_t> checksum = AttemptFromColumns(attempts_.statement, base_us_, entry);
  Damaged what{.job = JobId(static_cast<uint32_t>(attempts_.statement.Int(1))),
               .first = entry_.seq,
               .last = entry_.seq};
  if (!checksum) {
    return std::unexpected(Damage("attempt", entry_.seq, "unknown cause or verdict", what));
  }
  while (rare_.seq && *rare_.seq < entry_.seq) {
    uint64_t seq = *rare_.seq;
    TRY(Advance(rare_));
    // Else the attempt that it belongs to shows it.
    if (is_whole_ && !has_gaps_) {
      return std::unexpected(Damage("attempt_rare", seq, "it belongs to no attempt", what));
    }
  }
  if (rare_.seq && *rare_.seq == entry_.seq) {
    bool fine = !rare_.unreadable && RareFromColumns(rare_.statement, entry);
    TRY(Advance(rare_));
    if (!fine) return std::unexpected(Damage("attempt_rare", entry_.seq, "processes", what));
  }
  if (AttemptChecksum(entry_.seq, entry) != *checksum) {
    FindOwner(entry, *checksum, what);
    return std::unexpected(Damage("attempt", entry_.seq, "checksum", what));
  }
  return {};
}

Status JournalReader::ReadLog() {
  const Statement& s = log_.statement;
  auto kind = static_cast<int>(s.Int(1));
  std::string_view data = s.Bytes(2);
  auto checksum = static_cast<uint32_t>(s.Int(3));
  Damaged what{.job = JobId(static_cast<uint32_t>(s.Int(4))),
               .is_log = true,
               .first = entry_.seq,
               .last = entry_.seq};
  if (RecordChecksum(entry_.seq, kind, data) != checksum) {
    return std::unexpected(Damage("log", entry_.seq, "checksum", what));
  }
  auto record = DecodeRecord(kind, data);
  if (!record) return std::unexpected(Damage("log", entry_.seq, record.error().message, what));
  entry_.what = std::move(*record);
  return {};
}

Status JournalReader::ReadUse() {
  auto record = DecodeRecord(kKindOf<engine::UseCounted>, *std::exchange(use_, std::nullopt));
  if (!record) {
    return std::unexpected(Damage("meta", 0, "use_counted", {.job = JobId(), .is_log = true}));
  }
  entry_.seq = use_after_;
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

}  // namespace spate::store
