// Reading the journal. Damage is found by: the sequence (no gap, no doubled number), the checksum
// of each row, values outside their range, SQLite's own checks of its pages.
#include "store/sqlite/journal_reader.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "store/record_codec.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr std::string_view kAttempts =
    "SELECT seq, job, idx, attempt, node, slot, cause, status, verdict, flags, start_us, wall_us, "
    "user_us, system_us, peak_kb, output_pos, stdout_len, stderr_len FROM attempt ORDER BY seq";
constexpr std::string_view kRare =
    "SELECT seq, ended_ns, read_bytes, written_bytes, left_behind, stdout_total, stderr_total, "
    "note, processes FROM attempt_rare ORDER BY seq";
constexpr std::string_view kLog = "SELECT seq, kind, data, checksum FROM log ORDER BY seq";

Duration Micros(const Statement& s, int column) { return Duration{s.Int(column) * 1000}; }

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
  const std::pair<Cursor*, std::string_view> all[] = {
      {&reader.attempts_, kAttempts}, {&reader.rare_, kRare}, {&reader.log_, kLog}};
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
  const Statement& s = attempts_.statement;
  engine::AttemptEnded& r = entry.record;
  AttemptEnd& e = r.end;
  auto flags = static_cast<uint16_t>(s.Int(9));
  int64_t cause = s.Int(6);
  int64_t verdict = s.Int(8);
  if (cause < 0 || cause >= kCauseCount || verdict < 0 || verdict > 3) {
    return std::unexpected(Damage("attempt", entry_.seq, "unknown cause or verdict"));
  }
  r.node = NodeId(static_cast<uint32_t>(s.Int(4)));
  r.verdict = static_cast<engine::Verdict>(verdict);
  r.counts = (flags & 1) != 0;
  e.ref = {JobId(static_cast<uint32_t>(s.Int(1))), static_cast<TaskIndex>(s.Int(2)),
           Attempt(static_cast<uint16_t>(s.Int(3)))};
  e.cause = static_cast<Cause>(cause);
  e.memory_source = static_cast<MemorySource>((flags >> 1) & 3);
  e.slot = static_cast<uint16_t>(s.Int(5));
  e.status = static_cast<int32_t>(s.Int(7));
  e.start = s.IsNull(10) ? Instant() : Instant{(s.Int(10) + base_us_) * 1000};
  e.wall = Micros(s, 11);
  e.user = Micros(s, 12);
  e.system = Micros(s, 13);
  e.peak_memory = static_cast<uint64_t>(s.Int(14)) * 1024;
  entry.kept = {.position = static_cast<uint64_t>(s.Int(15)),
                .stdout_bytes = static_cast<uint64_t>(s.Int(16)),
                .stderr_bytes = static_cast<uint64_t>(s.Int(17))};
  r.ended = e.start + e.wall;
  e.read_bytes = e.written_bytes = -1;
  e.left_behind = 0;
  e.stdout_total = entry.kept.stdout_bytes;
  e.stderr_total = entry.kept.stderr_bytes;
  e.note.clear();
  e.processes.clear();
  if (rare_.seq && *rare_.seq < entry_.seq) {
    uint64_t seq = *rare_.seq;
    if (auto moved = rare_.Advance(); !moved) return moved;
    return std::unexpected(Damage("attempt_rare", seq, "it belongs to no attempt"));
  }
  if (rare_.seq && *rare_.seq == entry_.seq) {
    if (auto read = ReadRare(entry); !read) return read;
  }
  if (AttemptChecksum(entry_.seq, entry) != flags >> 3) {
    return std::unexpected(Damage("attempt", entry_.seq, "checksum"));
  }
  return {};
}

Status JournalReader::ReadRare(AttemptEntry& entry) {
  const Statement& s = rare_.statement;
  AttemptEnd& e = entry.record.end;
  if (!s.IsNull(1)) entry.record.ended = Instant{s.Int(1)};
  if (!s.IsNull(2)) e.read_bytes = s.Int(2);
  if (!s.IsNull(3)) e.written_bytes = s.Int(3);
  e.left_behind = static_cast<uint32_t>(s.Int(4));
  if (!s.IsNull(5)) e.stdout_total = static_cast<uint64_t>(s.Int(5));
  if (!s.IsNull(6)) e.stderr_total = static_cast<uint64_t>(s.Int(6));
  e.note = s.Bytes(7);
  bool fine = DecodeProcesses(s.Bytes(8), e.processes);
  if (auto moved = rare_.Advance(); !moved) return moved;
  if (!fine) return std::unexpected(Damage("attempt_rare", entry_.seq, "processes"));
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
