// How a commit goes: (1) kept output is appended to the stream file, which is synced when anything
// was written; (2) one transaction inserts rows of text, records and attempts and the job's row;
// (3) COMMIT syncs SQLite's log. A crash between (1) and (3) leaves bytes that no row points to,
// and Open cuts them off.
//
// A job's row learns from the records of the same transaction where its records lie, and of a hub's
// job how it ended.
//
// Invariants: attempt and log share one sequence 1, 2, 3, ... in the order of the records, without
// gaps but for forgotten jobs; use that was counted (UseCounted) is a row of meta; every range of
// an attempt's output lies below OutputFile's end.
#include "store/sqlite/journal_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "core/engine/record_job.h"
#include "store/attempt_entry.h"
#include "store/bytes.h"
#include "store/record_codec.h"
#include "store/sqlite/forget.h"
#include "store/sqlite/owner_file.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr std::string_view kInsertAttempt =
    "INSERT INTO attempt VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
constexpr std::string_view kInsertRare = "INSERT INTO attempt_rare VALUES(?,?,?,?,?,?,?,?,?,?)";
constexpr std::string_view kInsertLog = "INSERT INTO log VALUES(?,?,?,?,?)";
// Rows that an earlier life stored for tasks which were never accepted are replaced.
constexpr std::string_view kInsertRows = "INSERT OR REPLACE INTO rows VALUES(?,?,?,?)";
constexpr std::string_view kClearRows = "DELETE FROM rows WHERE id >= ? AND id < ?";
constexpr std::string_view kLastSeq =
    "SELECT MAX((SELECT COALESCE(MAX(seq), 0) FROM attempt),"
    "           (SELECT COALESCE(MAX(seq), 0) FROM log))";
// So that a loss of the newest rows shows.
constexpr std::string_view kWriteLastSeq =
    "INSERT INTO meta(key, value) VALUES('last_seq', ?1) "
    "ON CONFLICT(key) DO UPDATE SET value = ?1";
constexpr std::string_view kWriteUse =
    "INSERT OR REPLACE INTO meta(key, value) VALUES('use_counted', ?)";
constexpr std::string_view kWriteEpoch =
    "INSERT OR REPLACE INTO meta(key, value) VALUES('epoch', ?)";

constexpr uint64_t kReserve = 32 << 20;
constexpr uint32_t kReserveEach = 64;  // commits from one try to make it to the next

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
         e.stderr_total != entry.kept.stderr_bytes || !e.note.empty() || !e.processes.empty() ||
         entry.kept.files_bytes > 0;
}

}  // namespace

JournalWriter::JournalWriter(JournalPlace place, std::shared_ptr<KeptSum> kept, uint64_t pages)
    : place_(std::move(place)), pages_(pages), sum_(std::move(kept)), outputs_(place_, sum_) {}

Status JournalWriter::Create(Instant now) {
  base_us_ = now.ns / 1000;
  auto db = TRY(CreateJournal(place_.DbPath(), base_us_, ModeOf(place_)));
  db_.emplace(std::move(db));
  dirs_durable_ = false;
  return PrepareAll();
}

Status JournalWriter::Open() {
  if (place_.owner_file) TRY(place_.owner_file->MayWrite());
  auto db = TRY(OpenJournal(place_.DbPath()));
  db_.emplace(std::move(db));
  auto base = TRY(BaseMicros(*db_));
  base_us_ = base;
  next_seq_ = TRY(LastSeqOf(*db_)) + 1;
  return PrepareAll();
}

Result<uint64_t> LastSeqOf(Database& db) {
  int64_t last = 0;
  for (auto seq :
       {db.QueryInt(kLastSeq), MetaNumber(db, "last_seq"), MetaNumber(db, "forgotten_seq")}) {
    if (!seq) return std::unexpected(std::move(seq.error()));
    last = std::max(last, *seq);
  }
  return static_cast<uint64_t>(last);
}

Status JournalWriter::PrepareAll() {
  if (waiting_) db_->WaitForLocks(waiting_);
  if (pages_ > 0) {
    std::string sql = "PRAGMA max_page_count = " + std::to_string(pages_);
    TRY(db_->Run(sql.c_str()));
  }
  const std::pair<Statement*, std::string_view> all[] = {
      {&begin_, "BEGIN IMMEDIATE"}, {&commit_, "COMMIT"},
      {&rollback_, "ROLLBACK"},     {&attempt_, kInsertAttempt},
      {&rare_, kInsertRare},        {&log_, kInsertLog},
      {&rows_, kInsertRows},        {&clear_rows_, kClearRows},
      {&last_seq_, kWriteLastSeq},  {&use_, kWriteUse}};
  TRY(db_->PrepareAll(all));
  TRY(jobs_.Prepare(*db_, place_.is_hub));
  TRY(spans_.Prepare(*db_));
  return pools_.Prepare(*db_);
}

// Syncs the parts of a fresh journal that a commit's sync of SQLite's log does not cover: the file
// itself (an empty one would make SQLite drop its log) and the folder's name. The first sync of a
// fresh log syncs the folder too.
Status JournalWriter::MakeDirsDurable() {
  TRY(db_->SyncFile());
  TRY(os::FsyncDir(os::DirName(place_.folder)));
  dirs_durable_ = true;
  return {};
}

Status JournalWriter::KeepOutputs(std::span<const WriteItem> items) {
  kept_.clear();
  next_kept_ = 0;
  for (const WriteItem& item : items) {
    size_t next = 0;
    for (const engine::Record& record : item.records) {
      if (next == item.outputs.size()) break;
      const auto* ended = std::get_if<engine::AttemptEnded>(&record);
      if (ended == nullptr) continue;
      const TaskOutputPtr& output = item.outputs[next++];
      Kept& kept = kept_.emplace_back();
      if (output == nullptr) continue;
      kept.output = TRY(outputs_.Add(*db_, ended->end.ref.job, *output));
      kept.why = outputs_.why();
    }
    kept_.resize(kept_.size() + item.outputs.size() - next);  // outputs of no attempt
  }
  return outputs_.Sync();
}

// Output of tasks never stops a hub: where the disk has no room for it, it is not kept.
Status JournalWriter::AddOutputs(std::span<const WriteItem> items) {
  auto kept = KeepOutputs(items);
  const bool full = !kept && kept.error().kind == ErrorKind::kExhausted;
  if (!full || !place_.is_hub) return kept;
  TRY(outputs_.DropUnsynced());
  const bool keeps = sum_->keep.exchange(false);
  kept = KeepOutputs(items);
  sum_->keep = keeps;
  return kept;
}

Status JournalWriter::Commit(std::span<const WriteItem> items) {
  CHECK(is_open());
  if (place_.owner_file) TRY(place_.owner_file->MayWrite());
  TRY(AddOutputs(items));
  if (!dirs_durable_) {
    TRY(MakeDirsDurable());
  }
  if (place_.is_hub && !has_reserve_ && commits_++ % kReserveEach == 0) MakeReserve();
  const uint64_t first = next_seq_;
  Status status = Write(items);
  if (!status && status.error().kind == ErrorKind::kExhausted && GiveUpReserve()) {
    next_seq_ = first;
    next_kept_ = 0;
    status = Write(items);
  }
  for (JobId job : finished_) outputs_.Leave(job);
  if (status) RemoveGone();
  if (status && !items.empty()) MarkEnd(items.back().now);
  return status;
}

// Writes the mark in place at each commit, so that a killed process leaves the newest number. It is
// synced less often, for power failures. An error does not matter.
void JournalWriter::MarkEnd(Instant now) {
  constexpr Duration kEvery = Duration::Seconds(1);
  constexpr uint64_t kMostRecords = 10'000;
  const std::string path = place_.BeganPath();
  if (!mark_) {
    auto opened = os::OpenWrite(path, os::OpenHow::kReadWrite, 0600);
    if (!opened) return;
    mark_ = std::move(*opened);
    synced_at_ = now;
  }
  (void)os::WriteAllAt(mark_.get(), fmt::format("{:020}\n", next_seq_ - 1), 0, path);
  const bool just_synced = now >= synced_at_ && now - synced_at_ < kEvery;
  if (just_synced && next_seq_ < synced_ + kMostRecords) return;
  if (next_seq_ == synced_) return;
  synced_at_ = now;
  synced_ = next_seq_;
  (void)os::Fsync(mark_.get(), path);
}

Status JournalWriter::Write(std::span<const WriteItem> items) {
  finished_.clear();
  forgotten_.clear();
  forgetter_.BeginCommit();
  TRY(begin_.RunOnce());
  Status status = WriteItems(items);
  if (status) status = commit_.RunOnce();
  // The error of what went wrong first is the one to report.
  if (!status) (void)rollback_.RunOnce();
  return status;
}

// A file that takes room which the journal has when nothing else is left. Not of a small disk's
// last part, and only while there is plenty.
void JournalWriter::MakeReserve() {
  auto space = os::SpaceOf(place_.folder);
  if (!space || !sum_->keep) return;
  const uint64_t bytes = std::min<uint64_t>(kReserve, space->total / 16);
  if (space->free < 4 * bytes) return;
  auto file = os::OpenWrite(place_.ReservePath(), os::OpenHow::kReadWrite, 0600);
  has_reserve_ = file && os::Allocate(file->get(), bytes, place_.ReservePath()).has_value();
}

bool JournalWriter::GiveUpReserve() {
  // It may be of an earlier life.
  if (!place_.is_hub || !os::Exists(place_.ReservePath())) return false;
  has_reserve_ = false;
  return os::RemoveFile(place_.ReservePath()).has_value();
}

Status JournalWriter::RemoveReplay(JobId job) {
  return place_.is_hub ? os::RemoveFile(place_.ReplayPath(job)) : Status();
}

// After a commit. What cannot be removed now is looked for again in the next life of the hub.
void JournalWriter::RemoveGone() {
  gone_.clear();  // this commit has removed the last trace of them
  for (JobId job : forgotten_) {
    if (outputs_.Remove(job) && RemoveReplay(job)) gone_.push_back(job);
  }
}

Status JournalWriter::WriteItems(std::span<const WriteItem> items) {
  uint64_t first = next_seq_;
  for (JobId job : gone_) TRY(forgetter_.End(*db_, job));
  for (const WriteItem& item : items) {
    for (const auto& chunk : item.rows) {
      TRY(WriteRows(*chunk));
    }
    TRY(WriteRecords(item));
    for (const RowChange& change : item.changes) {
      TRY(WriteChange(change));
    }
  }
  if (next_seq_ == first) return {};
  last_seq_.Bind(0, static_cast<int64_t>(next_seq_ - 1));
  return last_seq_.RunOnce();
}

Status JournalWriter::WriteRecords(const WriteItem& item) {
  size_t attempts = 0;
  size_t ends = 0;
  AttemptEntry entry;
  for (const engine::Record& record : item.records) {
    if (engine::ReplacesEarlier(record)) {
      TRY(WriteUse(record));
      continue;
    }
    uint64_t seq = next_seq_++;
    if (place_.is_hub) TRY(NoteSpan(record, seq));
    const auto* ended = std::get_if<engine::AttemptEnded>(&record);
    if (ended == nullptr) {
      const bool is_end = engine::StepOf(record) == engine::JobStep::kEnd;
      Instant now = is_end && ends < item.ends.size() ? item.ends[ends++] : item.now;
      TRY(WriteLog(record, seq, now));
      continue;
    }
    entry.record = *ended;
    entry.kept = attempts < item.kept.size() ? item.kept[attempts] : KeptOutput{};
    if (attempts < item.outputs.size()) {
      const Kept& kept = kept_[next_kept_ + attempts];
      entry.kept = kept.output;
      const bool known = kept.why != NotKept::kNone;
      if (entry.missing() > 0) entry.record.end.not_kept = known ? kept.why : NotKept::kSpool;
    }
    ++attempts;
    if (NotKept why = entry.record.end.not_kept;
        why != NotKept::kNone && EndsTask(entry.record.verdict)) {
      TRY(jobs_.LostOutput(entry.record.end.ref.job, why));
    }
    TRY(WriteAttempt(entry, seq));
  }
  next_kept_ += item.outputs.size();
  return {};
}

Status JournalWriter::NoteSpan(const engine::Record& record, uint64_t seq) {
  const JobId job = engine::JobOf(record);
  if (job == JobId()) return {};
  if (engine::StepOf(record) != engine::JobStep::kBegin) return spans_.Add(job, seq);
  spans_.Begin(job, seq);
  return {};
}

Status JournalWriter::WriteRows(const RowChunk& chunk) {
  std::span<const std::string> left = chunk.rows;
  uint64_t key = RowKey(chunk.job, chunk.first);
  clear_rows_.Bind(0, static_cast<int64_t>(key));
  clear_rows_.Bind(1, static_cast<int64_t>(key + left.size()));
  TRY(clear_rows_.RunOnce());
  while (!left.empty()) {
    size_t count = ChunkLength(left);
    std::string_view data = encoder_.Encode(left.first(count));
    rows_.Bind(0, static_cast<int64_t>(key));
    rows_.Bind(1, static_cast<int64_t>(count));
    rows_.BindBlob(2, data);
    rows_.Bind(3, static_cast<int32_t>(ChunkChecksum(key, count, data)));
    TRY(rows_.RunOnce());
    left = left.subspan(count);
    key += count;
  }
  return {};
}

Status JournalWriter::WriteAttempt(AttemptEntry& entry, uint64_t seq) {
  RoundToStored(entry.record);
  const auto& r = entry.record;
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
  s.Bind(9, (int64_t{static_cast<uint8_t>(e.not_kept)} << 16) + static_cast<int16_t>(flags));
  BindSome(s, 10, e.start.ns != 0, e.start.ns / 1000 - base_us_);
  s.Bind(11, e.wall.micros());
  s.Bind(12, e.user.micros());
  s.Bind(13, e.system.micros());
  s.Bind(14, static_cast<int64_t>(e.peak_memory / 1024));
  const KeptOutput& kept = entry.kept;
  BindSome(s, 15, kept.bytes() > 0, static_cast<int64_t>(kept.position));
  BindSome(s, 16, kept.stdout_bytes > 0, static_cast<int64_t>(kept.stdout_bytes));
  BindSome(s, 17, kept.stderr_bytes > 0, static_cast<int64_t>(kept.stderr_bytes));
  s.BindBlob(18, kept.sums);
  TRY(s.RunOnce());
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
  BindSome(s, 9, kept.files_bytes > 0, static_cast<int64_t>(kept.files_bytes));
  return s.RunOnce();
}

Status JournalWriter::WriteLog(const engine::Record& record, uint64_t seq, Instant now) {
  EncodedRecord encoded = EncodeRecord(record);
  JobId job = engine::JobOf(record);
  log_.Bind(0, static_cast<int64_t>(seq));
  log_.Bind(1, job.value);
  log_.Bind(2, encoded.kind);
  log_.BindBlob(3, encoded.data);
  log_.Bind(4, static_cast<int32_t>(RecordChecksum(seq, encoded.kind, encoded.data)));
  TRY(log_.RunOnce());
  return job.value == 0 ? Status() : NoteInJob(record, job, seq, now);
}

// The newest use replaces the one before it, because one is counted each minute. It takes no number
// of the sequence, which would get a gap for each replaced one: its row has the number that it
// follows.
Status JournalWriter::WriteUse(const engine::Record& record) {
  std::string value;
  ByteWriter(value).Varint(next_seq_ - 1);
  value += EncodeRecord(record).data;
  use_.BindBlob(0, value);
  return use_.RunOnce();
}

Status JournalWriter::NoteInJob(const engine::Record& record, JobId job, uint64_t seq,
                                Instant now) {
  switch (engine::StepOf(record)) {
    case engine::JobStep::kUsual:
      return {};
    case engine::JobStep::kBegin: {
      auto written = jobs_.Accepted(job, seq);
      // Else the next life of the hub would not know the job.
      CHECK(!written || !place_.is_hub || db_->Changes() == 1);
      return written;
    }
    case engine::JobStep::kEnd: {
      finished_.push_back(job);
      if (!place_.is_hub) return jobs_.Finished(job, seq);
      TRY(spans_.Finished(job));
      // A hub forgets what has finished: nobody would write it down after a kill.
      JobProgress end{.job = job,
                      .state = JobState::kFinished,
                      .started = {},
                      .ended = now,
                      .counts = std::get<engine::JobFinished>(record).counts};
      return jobs_.Ended(end, seq);
    }
    case engine::JobStep::kReopen:
      if (const auto* again = std::get_if<engine::TasksReopened>(&record)) {
        TRY(jobs_.Again(job, again->tasks));
      }
      return jobs_.Reopened(job);
    case engine::JobStep::kOther:
      break;
  }
  TRY(jobs_.Followed(job, seq));
  return place_.is_hub && db_->Changes() > 0 ? spans_.Finished(job) : Status();
}

Status JournalWriter::WriteChange(const RowChange& change) {
  if (const auto* row = std::get_if<JobRow>(&change)) {
    outputs_.SetLimit(row->job, row->keep_output);
    return jobs_.Write(*row);
  }
  if (const auto* progress = std::get_if<JobProgress>(&change)) return jobs_.Write(*progress);
  if (const auto* node = std::get_if<NodeRow>(&change)) return WriteNode(*db_, *node);
  if (const auto* old = std::get_if<NodesForgotten>(&change)) return RemoveNodes(*db_, *old);
  if (const auto* row = std::get_if<CredentialRow>(&change)) return WriteCredential(*db_, *row);
  if (const auto* forget = std::get_if<ForgetPiece>(&change)) {
    const bool done = TRY(forgetter_.Forget(*db_, forget->job, forget->damaged));
    *forget->done = done;
    outputs_.Leave(forget->job);
    spans_.Forget(forget->job);
    if (done) forgotten_.push_back(forget->job);
    return {};
  }
  if (const auto* end = std::get_if<OutputEnd>(&change)) {
    outputs_.KnowEnd(end->job, end->end);
    return {};
  }
  if (const auto* known = std::get_if<SpansKnown>(&change)) {
    spans_.Know(std::move(*known->spans));
    return {};
  }
  if (const auto* pools = std::get_if<PoolsChanged>(&change)) return pools_.Write(*pools);
  if (const auto* cut = std::get_if<PoolsCut>(&change)) return pools_.Write(*cut);
  if (const auto* aside = std::get_if<PoolsSetAside>(&change)) return pools_.Write(*aside);
  if (const auto* all = std::get_if<PoolsCopied>(&change)) return pools_.Write(*all);
  auto epoch = TRY(db_->Prepare(kWriteEpoch));
  epoch.Bind(0, std::get<EpochBegun>(change).epoch.value);
  return epoch.RunOnce();
}

void JournalWriter::Close() {
  for (Statement* s : {&begin_, &commit_, &rollback_, &attempt_, &rare_, &log_, &rows_,
                       &clear_rows_, &last_seq_, &use_}) {
    *s = {};
  }
  jobs_ = {};
  spans_ = {};
  pools_ = {};
  forgetter_ = {};
  mark_.Reset();
  db_.reset();
}

}  // namespace spate::store
