#include "store/sqlite/replay_job.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/units.h"
#include "store/record_codec.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

using engine::Record;

// Columns of an attempt that the engine looks at, and then those that are summed up.
constexpr std::string_view kAttempts =
    "SELECT seq, idx, attempt, node, cause, verdict, flags, status, wall_us, "
    "user_us, system_us, peak_kb, start_us, COALESCE(stdout_len, 0) + COALESCE(stderr_len, 0) "
    "FROM attempt WHERE seq BETWEEN ? AND ? AND job = ? ORDER BY seq";
constexpr const char* kEnded = "SELECT ended_ns FROM attempt_rare WHERE seq = ?";
constexpr const char* kLog =
    "SELECT seq, kind, data FROM log WHERE seq BETWEEN ? AND ? AND job IN (0, ?) ORDER BY seq";

class Replayer {
 public:
  Replayer(Database& db, const JournalPart& part, JobReplay& replay)
      : db_(db), part_(part), replay_(replay) {}

  Status Run();

 private:
  Status Prepare();
  Status TakeAttempt();
  void SumUp(TaskIndex index, Verdict verdict);
  Status TakeLog();
  Result<Instant> ReadEnded(uint64_t seq);
  Error DoesNotFollow(std::string_view table, uint64_t seq) const;

  Database& db_;
  const JournalPart& part_;
  JobReplay& replay_;
  Statement attempts_, ended_, log_;
  int64_t base_us_ = 0;
  Record attempt_ = MakeEnd();
};

Status Replayer::Prepare() {
  const std::pair<Statement*, std::string_view> all[] = {
      {&attempts_, kAttempts}, {&ended_, kEnded}, {&log_, kLog}};
  TRY(db_.PrepareAll(all));
  base_us_ = TRY(BaseMicros(db_));
  BindPart(attempts_, part_);
  BindPart(log_, part_);
  return {};
}

Status Replayer::Run() {
  TRY(Prepare());
  auto more_attempts = attempts_.Step();
  auto more_log = log_.Step();
  while (more_attempts && more_log && (*more_attempts || *more_log)) {
    bool is_attempt = *more_attempts && (!*more_log || attempts_.Int(0) < log_.Int(0));
    TRY(is_attempt ? TakeAttempt() : TakeLog());
    (is_attempt ? more_attempts : more_log) = (is_attempt ? attempts_ : log_).Step();
  }
  if (!more_attempts) return std::unexpected(std::move(more_attempts.error()));
  if (!more_log) return std::unexpected(std::move(more_log.error()));
  return {};
}

Error Replayer::DoesNotFollow(std::string_view table, uint64_t seq) const {
  return {ErrorKind::kCorrupt,
          fmt::format("'{}' is damaged: row {} of table {} contradicts what was before it; "
                      "it was left as it is",
                      EscapeForScreen(db_.path()), seq, table)};
}

Status Replayer::TakeAttempt() {
  auto& ended = std::get<engine::AttemptEnded>(attempt_);
  const auto seq = static_cast<uint64_t>(attempts_.Int(0));
  const int64_t index = attempts_.Int(1);
  const auto cause = FromNumber<Cause>(attempts_.Int(4));
  const auto verdict = FromNumber<Verdict>(attempts_.Int(5));
  if (index < 0 || index > UINT32_MAX || !cause || !verdict)
    return std::unexpected(DoesNotFollow("attempt", seq));
  ended.end.ref = {part_.job, static_cast<TaskIndex>(index),
                   Attempt(static_cast<uint16_t>(attempts_.Int(2)))};
  ended.node = NodeId(static_cast<uint32_t>(attempts_.Int(3)));
  ended.end.cause = *cause;
  ended.verdict = *verdict;
  ended.counts = (attempts_.Int(6) & 1) != 0;
  ended.end.status = static_cast<int32_t>(attempts_.Int(7));
  ended.end.wall = Duration{attempts_.Nanos(8)};
  // A retry counts its delay from the end, which is kept exactly; of others it does not matter.
  ended.ended = *verdict == Verdict::kRetry ? TRY(ReadEnded(seq)) : Instant();
  if (!replay_.Apply(seq, attempt_)) return std::unexpected(DoesNotFollow("attempt", seq));
  SumUp(ended.end.ref.index, *verdict);
  return {};
}

void Replayer::SumUp(TaskIndex index, Verdict verdict) {
  AttemptNumbers numbers{.index = index,
                         .verdict = verdict,
                         .wall_us = attempts_.Int(8),
                         .user_us = attempts_.Int(9),
                         .system_us = attempts_.Int(10),
                         .peak_kb = attempts_.Int(11),
                         .start_us = std::nullopt,
                         .output_bytes = attempts_.Int(13)};
  if (!attempts_.IsNull(12)) numbers.start_us = attempts_.Nanos(12, base_us_) / 1000;
  replay_.Add(numbers);
}

Result<Instant> Replayer::ReadEnded(uint64_t seq) {
  ended_.Bind(0, static_cast<int64_t>(seq));
  auto found = ended_.Step();
  const Instant ended = found && *found ? Instant{ended_.Int(0)} : Instant();
  ended_.Reset();
  if (!found) return std::unexpected(std::move(found.error()));
  return ended;
}

Status Replayer::TakeLog() {
  const auto seq = static_cast<uint64_t>(log_.Int(0));
  auto record = DecodeRecord(static_cast<int>(log_.Int(1)), log_.Bytes(2));
  if (!record) {
    return Within(fmt::format("'{}', row {} of table log", EscapeForScreen(db_.path()), seq),
                  std::move(record.error()));
  }
  if (!replay_.Apply(seq, *record)) return std::unexpected(DoesNotFollow("log", seq));
  return {};
}

}  // namespace

Status ReplayJob(Database& db, const JournalPart& part, JobReplay& replay) {
  // One transaction, so that both tables are of the same moment.
  TRY(db.Run("BEGIN"));
  auto replayed = Replayer(db, part, replay).Run();
  (void)db.Run("ROLLBACK");
  return replayed;
}

}  // namespace spate::store
