// Reading the journal. Damage is found by: the sequence (no gap, no doubled number), the checksum
// of each row, values outside their range, SQLite's own checks of its pages.
#include "store/sqlite/journal_reader.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "store/record_codec.h"
#include "store/sqlite/attempt_columns.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr std::string_view kLog = "SELECT seq, kind, data, checksum FROM log ORDER BY seq";

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

Result<JournalReader> JournalReader::Begin(Database& db) {
  JournalReader reader(db);
  if (auto begun = db.Run("BEGIN"); !begun) return std::unexpected(std::move(begun.error()));
  reader.in_transaction_ = true;
  auto base = BaseMicros(db);
  if (!base) return std::unexpected(std::move(base.error()));
  reader.base_us_ = *base;
  const std::pair<Cursor*, std::string> all[] = {
      {&reader.attempts_, fmt::format("{} ORDER BY seq", kSelectAttempt)},
      {&reader.rare_, fmt::format("{} ORDER BY seq", kSelectRare)},
      {&reader.log_, std::string(kLog)}};
  for (const auto& [cursor, sql] : all) {
    auto prepared = db.Prepare(sql);
    if (!prepared) return std::unexpected(std::move(prepared.error()));
    cursor->statement = std::move(*prepared);
    if (auto first = cursor->Advance(); !first) return std::unexpected(std::move(first.error()));
  }
  return reader;
}

JournalReader::JournalReader(JournalReader&& other) noexcept
    : db_(other.db_),
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

Result<const JournalEntry*> JournalReader::Next() {
  if (!attempts_.seq && !log_.seq) {
    if (rare_.seq) {
      uint64_t seq = *std::exchange(rare_.seq, std::nullopt);
      return std::unexpected(Damage("attempt_rare", seq, "it belongs to no attempt"));
    }
    return nullptr;
  }
  bool is_attempt = attempts_.seq && (!log_.seq || *attempts_.seq <= *log_.seq);
  uint64_t seq = is_attempt ? *attempts_.seq : *log_.seq;
  const char* table = is_attempt ? "attempt" : "log";
  if (seq != expected_) {
    uint64_t missing = expected_;
    expected_ = seq;
    if (seq > missing) {
      return std::unexpected(Damage(table, missing, fmt::format("missing, {} follows", seq)));
    }
    return std::unexpected(Damage(table, seq, "it is there twice"));
  }
  ++expected_;
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
  if (rare_.seq && *rare_.seq < entry_.seq) {
    uint64_t seq = *rare_.seq;
    if (auto moved = rare_.Advance(); !moved) return moved;
    return std::unexpected(Damage("attempt_rare", seq, "it belongs to no attempt"));
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

}  // namespace spate::store
