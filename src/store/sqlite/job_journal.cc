#include "store/sqlite/job_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "store/record_codec.h"
#include "store/sqlite/attempt_columns.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/replay_job.h"
#include "store/sqlite/schema.h"

namespace spate::store {

Result<SqliteJobJournal> SqliteJobJournal::Open(const JobPlace& place, uint32_t number) {
  auto summary = TRY(SummarizeJob(place, number));
  if (summary.standing == JobStanding::kDamaged) {
    return Fail(ErrorKind::kCorrupt, std::move(summary.problem));
  }
  const JournalPlace journal = JournalOf(place, number);
  bool frozen = IsFrozen(journal);
  auto db = TRY(OpenJournalToRead(journal.DbPath(), frozen));
  auto base = BaseMicros(db);
  auto attempt = db.Prepare(fmt::format("{} WHERE seq = ?", kSelectAttempt));
  auto rare = db.Prepare(fmt::format("{} WHERE seq = ?", kSelectRare));
  for (const Error* e : {base ? nullptr : &base.error(), attempt ? nullptr : &attempt.error(),
                         rare ? nullptr : &rare.error()}) {
    if (e != nullptr) return std::unexpected(*e);
  }
  SqliteJobJournal history(std::move(summary), place, std::move(db), frozen);
  history.base_us_ = *base;
  history.attempt_ = std::move(*attempt);
  history.rare_ = std::move(*rare);
  return history;
}

Result<std::shared_ptr<JobReplay>> SqliteJobJournal::Replay(bool from_start) {
  return ReplayJob(db_, part_, kept_, from_start);
}

void SqliteJobJournal::KeepMarks(const JobReplay& replay, uint64_t rows_read) {
  constexpr uint64_t kRowsOfRecord = 8;  // take as long as applying a record
  if (rows_read / kRowsOfRecord >= kept_.keep_after) KeepReplay(db_, part_, kept_, replay);
}

Result<AttemptEntry> SqliteJobJournal::ReadAttempt(uint64_t seq) {
  AttemptEntry entry;
  attempt_.Bind(0, static_cast<int64_t>(seq));
  auto found = attempt_.Step();
  std::optional<uint32_t> checksum;
  if (found && *found) checksum = AttemptFromColumns(attempt_, base_us_, entry);
  attempt_.Reset();
  if (!found) return std::unexpected(std::move(found.error()));
  rare_.Bind(0, static_cast<int64_t>(seq));
  auto rare = rare_.Step();
  bool fine = rare.has_value() && (!*rare || RareFromColumns(rare_, entry));
  rare_.Reset();
  if (!rare) return std::unexpected(std::move(rare.error()));
  if (!checksum || !fine || *checksum != AttemptChecksum(seq, entry)) {
    return Fail(ErrorKind::kCorrupt, fmt::format("'{}' is damaged: row {} of table attempt",
                                                 EscapeForScreen(db_.path()), seq));
  }
  return entry;
}

Status SqliteJobJournal::AttemptsBetween(uint64_t first, uint64_t last, const AttemptVisit& visit) {
  JournalPart part = part_;
  part.first = std::max(part.first, first);
  part.last = std::min(part.last, last);
  auto find = TRY(db_.Prepare(
      "SELECT seq FROM attempt WHERE seq BETWEEN ? AND ? AND job = ? ORDER BY seq DESC"));
  BindPart(find, part);
  for (;;) {
    auto more = TRY(find.Step());
    if (!more) return {};
    auto seq = static_cast<uint64_t>(find.Int(0));
    auto attempt = TRY(ReadAttempt(seq));
    if (!visit(seq, attempt)) return {};
  }
}

Result<std::string> SqliteJobJournal::RowText(TaskIndex index) {
  auto row = TRY(rows_.Row(summary().row.job, index));
  return std::string(row);
}

Status SqliteJobJournal::Log(const std::function<void(const engine::Record&)>& visit) {
  auto log = TRY(db_.Prepare(
      "SELECT seq, kind, data FROM log WHERE seq BETWEEN ? AND ? AND job IN (0, ?) ORDER BY seq"));
  BindPart(log, part_);
  for (;;) {
    auto more = TRY(log.Step());
    if (!more) return {};
    auto record = DecodeRecord(static_cast<int>(log.Int(1)), log.Bytes(2));
    if (!record) {
      return Within(
          fmt::format("'{}', row {} of table log", EscapeForScreen(db_.path()), log.Int(0)),
          std::move(record.error()));
    }
    visit(*record);
  }
}

}  // namespace spate::store
