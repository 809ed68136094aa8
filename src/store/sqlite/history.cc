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
  auto summary = TRY(SummarizeJob(place, number));
  if (summary.standing == JobStanding::kDamaged) {
    return Fail(ErrorKind::kCorrupt, std::move(summary.problem));
  }
  bool frozen = IsFrozen(summary.place);
  auto db = TRY(OpenJournalToRead(summary.place.DbPath(), frozen));
  auto base = BaseMicros(db);
  auto attempt = db.Prepare(fmt::format("{} WHERE seq = ?", kSelectAttempt));
  auto rare = db.Prepare(fmt::format("{} WHERE seq = ?", kSelectRare));
  for (const Error* e : {base ? nullptr : &base.error(), attempt ? nullptr : &attempt.error(),
                         rare ? nullptr : &rare.error()}) {
    if (e != nullptr) return std::unexpected(*e);
  }
  History history(std::move(summary), std::move(db), frozen);
  history.base_us_ = *base;
  history.attempt_ = std::move(*attempt);
  history.rare_ = std::move(*rare);
  return history;
}

Result<std::shared_ptr<const JobReplay>> History::Replayed() {
  if (replay_) return replay_;
  auto replay = std::make_shared<JobReplay>(part_.job);
  TRY(ReplayJob(db_, part_, *replay));
  replay_ = std::move(replay);
  return replay_;
}

Result<JobCounts> History::Counts() {
  auto replay = TRY(Replayed());
  JobCounts counts = replay->job().counts();
  if (!IsAtWork(summary_)) counts.queued += std::exchange(counts.leased, 0);
  return counts;
}

TaskState History::StateOf(TaskIndex index) const {
  TaskState state = replay_->job().StateOf(index);
  return state == TaskState::kLeased && !IsAtWork(summary_) ? TaskState::kQueued : state;
}

Result<JobStatistics> History::Statistics() {
  auto replay = TRY(Replayed());
  return replay->sums().Statistics(base_us_, replay->job().counts().succeeded);
}

Result<Duration> History::MeanWall() {
  auto mean = TRY(db_.Prepare(
      "SELECT CAST(AVG(wall_us) AS INTEGER) FROM attempt WHERE seq BETWEEN ? AND ? AND job = ? "
      "AND start_us IS NOT NULL"));
  BindPart(mean, part_);
  TRY(mean.Step());
  return Duration::Micros(mean.Int(0));  // NULL is 0
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
    auto last = TRY(ReadAttempt(ends.last_seq));
    summary.last = std::move(last);
  }
  return summary;
}

Status History::Tasks(const TaskFilter& filter,
                      const std::function<bool(const TaskSummary&)>& visit) {
  auto replay = TRY(Replayed());
  uint64_t size = replay->job().task_count();
  uint64_t first = std::min<uint64_t>(filter.first, size);
  uint64_t end = first + std::min(filter.count, size - first);
  for (uint64_t i = first; i < end; ++i) {
    auto index = static_cast<TaskIndex>(i);
    if ((filter.states & TaskFilter::Bit(StateOf(index))) == 0) continue;
    if (!filter.left_list && replay->job().LeftList(index)) continue;
    auto summary = TRY(SummaryOf(index));
    if (!visit(summary)) break;
  }
  return {};
}

Result<TaskSummary> History::Task(TaskIndex index) {
  auto replay = TRY(Replayed());
  const uint32_t size = replay->job().task_count();
  if (index >= size) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("job {} has {} tasks, and none with the number {}", summary_.number,
                            size, uint64_t{index} + 1));
  }
  return SummaryOf(index);
}

Result<std::vector<AttemptEntry>> History::Attempts(TaskIndex index) {
  auto find = TRY(db_.Prepare(
      "SELECT seq FROM attempt WHERE seq BETWEEN ? AND ? AND job = ? AND idx = ? ORDER BY seq"));
  BindPart(find, part_);
  find.Bind(3, index);
  std::vector<AttemptEntry> attempts;
  for (;;) {
    auto more = TRY(find.Step());
    if (!more) return attempts;
    auto attempt = TRY(ReadAttempt(static_cast<uint64_t>(find.Int(0))));
    attempts.push_back(std::move(attempt));
  }
}

Status History::NewestAttempts(
    const std::function<bool(uint64_t seq, const AttemptEntry&)>& visit) {
  auto find = TRY(db_.Prepare(
      "SELECT seq FROM attempt WHERE seq BETWEEN ? AND ? AND job = ? ORDER BY seq DESC"));
  BindPart(find, part_);
  for (;;) {
    auto more = TRY(find.Step());
    if (!more) return {};
    auto seq = static_cast<uint64_t>(find.Int(0));
    auto attempt = TRY(ReadAttempt(seq));
    if (!visit(seq, attempt)) return {};
  }
}

Result<std::string> History::RowText(TaskIndex index) {
  auto row = TRY(rows_.Row(summary_.row.job, index));
  return std::string(row);
}

Result<std::string> History::NodeName(NodeId node) {
  auto find = TRY(db_.Prepare("SELECT name FROM node WHERE id = ?"));
  find.Bind(0, node.value);
  auto found = TRY(find.Step());
  return found ? find.Text(0) : std::string();
}

Status History::Log(const std::function<void(const engine::Record&)>& visit) {
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
