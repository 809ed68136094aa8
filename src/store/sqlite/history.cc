#include "store/sqlite/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "store/record_codec.h"
#include "store/sqlite/attempt_columns.h"
#include "store/sqlite/schema.h"

namespace spate::store {

Result<History> History::Open(const JobPlace& place, uint32_t number) {
  auto summary = SummarizeJob(place, number);
  if (!summary) return std::unexpected(std::move(summary.error()));
  if (summary->standing == JobStanding::kDamaged) {
    return Fail(ErrorKind::kCorrupt, std::move(summary->problem));
  }
  bool frozen = IsFrozen(summary->place);
  auto db = OpenJournalToRead(summary->place.DbPath(), frozen);
  if (!db) return std::unexpected(std::move(db.error()));
  auto base = BaseMicros(*db);
  auto attempt = db->Prepare(fmt::format("{} WHERE seq = ?", kSelectAttempt));
  auto rare = db->Prepare(fmt::format("{} WHERE seq = ?", kSelectRare));
  for (const Error* e : {base ? nullptr : &base.error(), attempt ? nullptr : &attempt.error(),
                         rare ? nullptr : &rare.error()}) {
    if (e != nullptr) return std::unexpected(*e);
  }
  History history(std::move(*summary), std::move(*db), frozen);
  history.base_us_ = *base;
  history.attempt_ = std::move(*attempt);
  history.rare_ = std::move(*rare);
  return history;
}

Result<std::shared_ptr<const JobReplay>> History::Replayed() {
  if (replay_) return replay_;
  auto replay = std::make_shared<JobReplay>(part_.job);
  auto replayed = ReplayJob(db_, part_, *replay);
  if (!replayed) return std::unexpected(std::move(replayed.error()));
  replay_ = std::move(replay);
  return replay_;
}

Result<JobCounts> History::Counts() {
  auto replay = Replayed();
  if (!replay) return std::unexpected(std::move(replay.error()));
  JobCounts counts = (*replay)->job().counts();
  if (!IsAtWork(summary_)) counts.queued += std::exchange(counts.leased, 0);
  return counts;
}

TaskState History::StateOf(TaskIndex index) const {
  TaskState state = replay_->job().StateOf(index);
  return state == TaskState::kLeased && !IsAtWork(summary_) ? TaskState::kQueued : state;
}

Result<JobStatistics> History::Statistics() {
  auto replay = Replayed();
  if (!replay) return std::unexpected(std::move(replay.error()));
  return (*replay)->sums().Statistics(base_us_, (*replay)->job().counts().succeeded);
}

Result<Duration> History::MeanWall() {
  auto mean = db_.Prepare(
      "SELECT CAST(AVG(wall_us) AS INTEGER) FROM attempt WHERE seq BETWEEN ? AND ? AND job = ? "
      "AND start_us IS NOT NULL");
  if (!mean) return std::unexpected(std::move(mean.error()));
  BindPart(*mean, part_);
  auto found = mean->Step();
  if (!found) return std::unexpected(std::move(found.error()));
  return Duration::Micros(mean->Int(0));  // NULL is 0
}

Result<AttemptEntry> History::ReadAttempt(uint64_t seq) {
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

Result<TaskSummary> History::SummaryOf(TaskIndex index) {
  const TaskEnds& ends = replay_->EndsOf(index);
  TaskSummary summary = {.index = index,
                         .state = StateOf(index),
                         .attempts = ends.attempts,
                         .tries = ends.tries,
                         .last = std::nullopt,
                         .has_parts = ends.has_parts,
                         .left_list = replay_->job().LeftList(index)};
  if (ends.last_seq != 0) {
    auto last = ReadAttempt(ends.last_seq);
    if (!last) return std::unexpected(std::move(last.error()));
    summary.last = std::move(*last);
  }
  return summary;
}

Status History::Tasks(const TaskFilter& filter,
                      const std::function<bool(const TaskSummary&)>& visit) {
  auto replay = Replayed();
  if (!replay) return std::unexpected(std::move(replay.error()));
  uint64_t size = (*replay)->job().task_count();
  uint64_t first = std::min<uint64_t>(filter.first, size);
  uint64_t end = first + std::min(filter.count, size - first);
  for (uint64_t i = first; i < end; ++i) {
    auto index = static_cast<TaskIndex>(i);
    if ((filter.states & TaskFilter::Bit(StateOf(index))) == 0) continue;
    if (!filter.left_list && (*replay)->job().LeftList(index)) continue;
    auto summary = SummaryOf(index);
    if (!summary) return std::unexpected(std::move(summary.error()));
    if (!visit(*summary)) break;
  }
  return {};
}

Result<TaskSummary> History::Task(TaskIndex index) {
  auto replay = Replayed();
  if (!replay) return std::unexpected(std::move(replay.error()));
  const uint32_t size = (*replay)->job().task_count();
  if (index >= size) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("job {} has {} tasks, and none with the number {}", summary_.number,
                            size, uint64_t{index} + 1));
  }
  return SummaryOf(index);
}

Result<std::vector<AttemptEntry>> History::Attempts(TaskIndex index) {
  auto find = db_.Prepare(
      "SELECT seq FROM attempt WHERE seq BETWEEN ? AND ? AND job = ? AND idx = ? ORDER BY seq");
  if (!find) return std::unexpected(std::move(find.error()));
  BindPart(*find, part_);
  find->Bind(3, index);
  std::vector<AttemptEntry> attempts;
  for (;;) {
    auto more = find->Step();
    if (!more) return std::unexpected(std::move(more.error()));
    if (!*more) return attempts;
    auto attempt = ReadAttempt(static_cast<uint64_t>(find->Int(0)));
    if (!attempt) return std::unexpected(std::move(attempt.error()));
    attempts.push_back(std::move(*attempt));
  }
}

Status History::NewestAttempts(
    const std::function<bool(uint64_t seq, const AttemptEntry&)>& visit) {
  auto find = db_.Prepare(
      "SELECT seq FROM attempt WHERE seq BETWEEN ? AND ? AND job = ? ORDER BY seq DESC");
  if (!find) return std::unexpected(std::move(find.error()));
  BindPart(*find, part_);
  for (;;) {
    auto more = find->Step();
    if (!more) return std::unexpected(std::move(more.error()));
    if (!*more) return {};
    auto seq = static_cast<uint64_t>(find->Int(0));
    auto attempt = ReadAttempt(seq);
    if (!attempt) return std::unexpected(std::move(attempt.error()));
    if (!visit(seq, *attempt)) return {};
  }
}

Result<std::string> History::RowText(TaskIndex index) {
  auto row = rows_.Row(summary_.row.job, index);
  if (!row) return std::unexpected(std::move(row.error()));
  return std::string(*row);
}

Result<std::string> History::NodeName(NodeId node) {
  auto find = db_.Prepare("SELECT name FROM node WHERE id = ?");
  if (!find) return std::unexpected(std::move(find.error()));
  find->Bind(0, node.value);
  auto found = find->Step();
  if (!found) return std::unexpected(std::move(found.error()));
  return *found ? find->Text(0) : std::string();
}

Status History::Log(const std::function<void(const engine::Record&)>& visit) {
  auto log = db_.Prepare(
      "SELECT seq, kind, data FROM log WHERE seq BETWEEN ? AND ? AND job IN (0, ?) ORDER BY seq");
  if (!log) return std::unexpected(std::move(log.error()));
  BindPart(*log, part_);
  for (;;) {
    auto more = log->Step();
    if (!more) return std::unexpected(std::move(more.error()));
    if (!*more) return {};
    auto record = DecodeRecord(static_cast<int>(log->Int(1)), log->Bytes(2));
    if (!record) {
      return Within(
          fmt::format("'{}', row {} of table log", EscapeForScreen(db_.path()), log->Int(0)),
          std::move(record.error()));
    }
    visit(*record);
  }
}

}  // namespace spate::store
