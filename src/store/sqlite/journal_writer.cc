// How a commit goes: (1) kept output is appended to the stream file, which is synced when anything
// was written; (2) one transaction inserts rows of text, records and attempts and the job's row;
// (3) COMMIT syncs SQLite's log. A crash between (1) and (3) leaves bytes that no row points to,
// and Open cuts them off.
//
// Invariants: attempt and log share one sequence 1, 2, 3, ... without gaps, in the order of the
// records; every range of an attempt's output lies below OutputFile's end.
#include "store/sqlite/journal_writer.h"

#include "base/check.h"
#include "store/attempt_entry.h"
#include "store/record_codec.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr std::string_view kInsertAttempt =
    "INSERT INTO attempt VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
constexpr std::string_view kInsertRare = "INSERT INTO attempt_rare VALUES(?,?,?,?,?,?,?,?,?)";
constexpr std::string_view kInsertLog = "INSERT INTO log VALUES(?,?,?,?)";
// Rows that an earlier life stored for tasks which were never accepted are replaced.
constexpr std::string_view kInsertRows = "INSERT OR REPLACE INTO rows VALUES(?,?,?,?)";
constexpr std::string_view kClearRows = "DELETE FROM rows WHERE first >= ? AND first < ?";
constexpr std::string_view kLastSeq =
    "SELECT MAX((SELECT COALESCE(MAX(seq), 0) FROM attempt),"
    "           (SELECT COALESCE(MAX(seq), 0) FROM log))";
constexpr std::string_view kRowsEnd = "SELECT first + count FROM rows ORDER BY first DESC LIMIT 1";
// The end of the newest kept output: positions only grow.
constexpr std::string_view kOutputEnd =
    "SELECT output_pos + COALESCE(stdout_len, 0) + COALESCE(stderr_len, 0) FROM attempt "
    "WHERE output_pos IS NOT NULL ORDER BY seq DESC LIMIT 1";

void BindSome(Statement& s, int at, bool some, int64_t value) {
  if (some) {
    s.Bind(at, value);
  } else {
    s.BindNull(at);
  }
}

bool IsRare(const AttemptEntry& entry) {
  const AttemptEnd& e = entry.record.end;
  return entry.record.verdict == engine::Verdict::kRetry || e.read_bytes >= 0 ||
         e.written_bytes >= 0 || e.left_behind > 0 || e.stdout_total != entry.kept.stdout_bytes ||
         e.stderr_total != entry.kept.stderr_bytes || !e.note.empty() || !e.processes.empty();
}

}  // namespace

JournalWriter::JournalWriter(std::string job_path, const JournalLimits& limits)
    : path_(std::move(job_path)), limits_(limits), output_(path_ + "/output", limits.keep_output) {}

Status JournalWriter::Create(Instant now) {
  base_us_ = now.ns / 1000;
  auto db = CreateJobDb(path_ + "/job.db", base_us_);
  if (!db) return std::unexpected(std::move(db.error()));
  db_.emplace(std::move(*db));
  dirs_durable_ = false;
  if (auto opened = output_.Open(0); !opened) return opened;
  return PrepareAll();
}

Status JournalWriter::Open() {
  auto db = OpenJobDb(path_ + "/job.db");
  if (!db) return std::unexpected(std::move(db.error()));
  db_.emplace(std::move(*db));
  auto base = BaseMicros(*db_);
  if (!base) return std::unexpected(std::move(base.error()));
  base_us_ = *base;
  auto seq = db_->QueryInt(kLastSeq);
  if (!seq) return std::unexpected(std::move(seq.error()));
  next_seq_ = static_cast<uint64_t>(*seq) + 1;
  auto rows_end = db_->QueryInt(kRowsEnd);
  if (!rows_end) return std::unexpected(std::move(rows_end.error()));
  rows_end_ = static_cast<uint64_t>(*rows_end);
  auto end = db_->QueryInt(kOutputEnd);
  if (!end) return std::unexpected(std::move(end.error()));
  if (auto opened = output_.Open(static_cast<uint64_t>(*end)); !opened) return opened;
  return PrepareAll();
}

Status JournalWriter::PrepareAll() {
  if (limits_.pages > 0) {
    std::string sql = "PRAGMA max_page_count = " + std::to_string(limits_.pages);
    if (auto limited = db_->Run(sql.c_str()); !limited) return limited;
  }
  const std::pair<Statement*, std::string_view> all[] = {
      {&begin_, "BEGIN IMMEDIATE"}, {&commit_, "COMMIT"},      {&rollback_, "ROLLBACK"},
      {&attempt_, kInsertAttempt},  {&rare_, kInsertRare},     {&log_, kInsertLog},
      {&rows_, kInsertRows},        {&clear_rows_, kClearRows}};
  for (const auto& [statement, sql] : all) {
    auto prepared = db_->Prepare(sql);
    if (!prepared) return std::unexpected(std::move(prepared.error()));
    *statement = std::move(*prepared);
  }
  return {};
}

// What a commit's sync of SQLite's log does not cover of a fresh journal: the file itself (an empty
// one would make SQLite drop its log) and the folder's name. The first sync of a fresh log syncs
// the folder too.
Status JournalWriter::MakeDirsDurable() {
  if (auto synced = db_->SyncFile(); !synced) return synced;
  if (auto synced = os::FsyncDir(os::DirName(path_)); !synced) return synced;
  dirs_durable_ = true;
  return {};
}

Status JournalWriter::Commit(std::span<WriteItem* const> items) {
  CHECK(is_open());
  kept_.clear();
  next_kept_ = 0;
  for (const WriteItem* item : items) {
    for (const TaskOutputPtr& output : item->outputs) {
      if (output == nullptr) {
        kept_.push_back({});
        continue;
      }
      auto kept = output_.Add(*output);
      if (!kept) return std::unexpected(std::move(kept.error()));
      kept_.push_back(*kept);
    }
  }
  if (auto synced = output_.Sync(); !synced) return synced;
  if (!dirs_durable_) {
    if (auto durable = MakeDirsDurable(); !durable) return durable;
  }
  if (auto begun = begin_.RunOnce(); !begun) return begun;
  Status status = WriteItems(items);
  if (status) status = commit_.RunOnce();
  // The error of what went wrong first is the one to report.
  if (!status) (void)rollback_.RunOnce();
  return status;
}

Status JournalWriter::WriteItems(std::span<WriteItem* const> items) {
  for (const WriteItem* item : items) {
    for (const auto& chunk : item->rows) {
      if (auto written = WriteRows(*chunk); !written) return written;
    }
    if (auto written = WriteRecords(*item); !written) return written;
    for (const JobChange& change : item->changes) {
      if (auto written = WriteJobChange(*db_, change); !written) return written;
    }
  }
  return {};
}

Status JournalWriter::WriteRecords(const WriteItem& item) {
  size_t attempts = 0;
  AttemptEntry entry;
  for (const engine::Record& record : item.records) {
    uint64_t seq = next_seq_++;
    const auto* ended = std::get_if<engine::AttemptEnded>(&record);
    if (ended == nullptr) {
      if (auto written = WriteLog(record, seq); !written) return written;
      continue;
    }
    entry.record = *ended;
    entry.kept = attempts < item.outputs.size() ? kept_[next_kept_ + attempts] : KeptOutput{};
    ++attempts;
    if (auto written = WriteAttempt(entry, seq); !written) return written;
  }
  next_kept_ += item.outputs.size();
  return {};
}

Status JournalWriter::WriteRows(const RowChunk& chunk) {
  std::span<const std::string> left = chunk.rows;
  uint64_t first = chunk.first;
  if (first < rows_end_) {
    clear_rows_.Bind(0, static_cast<int64_t>(first));
    clear_rows_.Bind(1, static_cast<int64_t>(first + left.size()));
    if (auto cleared = clear_rows_.RunOnce(); !cleared) return cleared;
  }
  while (!left.empty()) {
    size_t count = ChunkLength(left);
    std::string_view data = encoder_.Encode(left.first(count));
    uint32_t checksum = ChunkChecksum(static_cast<TaskIndex>(first), count, data);
    rows_.Bind(0, static_cast<int64_t>(first));
    rows_.Bind(1, static_cast<int64_t>(count));
    rows_.BindBlob(2, data);
    rows_.Bind(3, static_cast<int32_t>(checksum));
    if (auto written = rows_.RunOnce(); !written) return written;
    left = left.subspan(count);
    first += count;
  }
  rows_end_ = std::max(rows_end_, first);
  return {};
}

Status JournalWriter::WriteAttempt(AttemptEntry& entry, uint64_t seq) {
  RoundToStored(entry.record);
  const engine::AttemptEnded& r = entry.record;
  const AttemptEnd& e = r.end;
  uint32_t flags = (r.counts ? 1u : 0u) | static_cast<uint32_t>(e.memory_source) << 1 |
                   AttemptChecksum(seq, entry) << 3;
  Statement& s = attempt_;
  s.Bind(0, static_cast<int64_t>(seq));
  s.Bind(1, e.ref.job.value);
  s.Bind(2, e.ref.index);
  s.Bind(3, e.ref.attempt.value);
  s.Bind(4, r.node.value);
  s.Bind(5, e.slot);
  s.Bind(6, static_cast<int>(e.cause));
  s.Bind(7, e.status);
  s.Bind(8, static_cast<int>(r.verdict));
  s.Bind(9, static_cast<int16_t>(flags));
  BindSome(s, 10, e.start.ns != 0, e.start.ns / 1000 - base_us_);
  s.Bind(11, e.wall.micros());
  s.Bind(12, e.user.micros());
  s.Bind(13, e.system.micros());
  s.Bind(14, static_cast<int64_t>(e.peak_memory / 1024));
  const KeptOutput& kept = entry.kept;
  BindSome(s, 15, kept.bytes() > 0, static_cast<int64_t>(kept.position));
  BindSome(s, 16, kept.stdout_bytes > 0, static_cast<int64_t>(kept.stdout_bytes));
  BindSome(s, 17, kept.stderr_bytes > 0, static_cast<int64_t>(kept.stderr_bytes));
  if (auto written = s.RunOnce(); !written) return written;
  return IsRare(entry) ? WriteRare(entry, seq) : Status();
}

Status JournalWriter::WriteRare(const AttemptEntry& entry, uint64_t seq) {
  const AttemptEnd& e = entry.record.end;
  const KeptOutput& kept = entry.kept;
  std::string processes = EncodeProcesses(e.processes);
  Statement& s = rare_;
  s.Bind(0, static_cast<int64_t>(seq));
  BindSome(s, 1, entry.record.verdict == engine::Verdict::kRetry, entry.record.ended.ns);
  BindSome(s, 2, e.read_bytes >= 0, e.read_bytes);
  BindSome(s, 3, e.written_bytes >= 0, e.written_bytes);
  BindSome(s, 4, e.left_behind > 0, e.left_behind);
  BindSome(s, 5, e.stdout_total != kept.stdout_bytes, static_cast<int64_t>(e.stdout_total));
  BindSome(s, 6, e.stderr_total != kept.stderr_bytes, static_cast<int64_t>(e.stderr_total));
  if (e.note.empty()) {
    s.BindNull(7);
  } else {
    s.BindText(7, e.note);
  }
  if (e.processes.empty()) {
    s.BindNull(8);
  } else {
    s.BindBlob(8, processes);
  }
  return s.RunOnce();
}

Status JournalWriter::WriteLog(const engine::Record& record, uint64_t seq) {
  EncodedRecord encoded = EncodeRecord(record);
  int kind = static_cast<int>(encoded.kind);
  log_.Bind(0, static_cast<int64_t>(seq));
  log_.Bind(1, kind);
  log_.BindBlob(2, encoded.data);
  log_.Bind(3, static_cast<int32_t>(RecordChecksum(seq, kind, encoded.data)));
  return log_.RunOnce();
}

void JournalWriter::Close() {
  for (Statement* s :
       {&begin_, &commit_, &rollback_, &attempt_, &rare_, &log_, &rows_, &clear_rows_}) {
    *s = {};
  }
  db_.reset();
}

}  // namespace spate::store
