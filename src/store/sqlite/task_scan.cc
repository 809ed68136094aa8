// A reading of the journal for people: like the engine's replay, but for one job, without what only
// the engine needs, and never refusing what does not fit (a task beyond the job's end is ignored).
#include "store/sqlite/task_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "core/model/limits.h"
#include "store/record_codec.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr std::string_view kAttempts =
    "SELECT seq, idx, verdict, flags, start_us, wall_us, user_us, system_us, peak_kb, "
    "COALESCE(stdout_len, 0) + COALESCE(stderr_len, 0) FROM attempt "
    "WHERE seq BETWEEN ? AND ? AND job = ? ORDER BY seq";
constexpr std::string_view kLog =
    "SELECT seq, kind, data FROM log WHERE seq BETWEEN ? AND ? AND job = ? ORDER BY seq";

// Values are not checked here, so damaged ones are brought within reason: 30 years.
constexpr int64_t kMostMicros = 1'000'000'000'000'000;
int64_t Sane(int64_t us) { return std::clamp(us, -kMostMicros, kMostMicros); }

Duration Sum(Duration total, int64_t us) {
  int64_t ns = 0;
  if (__builtin_add_overflow(total.ns, Sane(us) * 1000, &ns)) return Duration::Max();
  return Duration{ns};
}

class Scanner {
 public:
  explicit Scanner(int64_t base_us)
      : base_us_(std::clamp(base_us, -4 * kMostMicros, 4 * kMostMicros)) {}

  void OnAttempt(const Statement& s);
  void OnRecord(const engine::Record& record) {
    std::visit([this](const auto& r) { On(r); }, record);
  }
  TaskScan Finish();

 private:
  void On(const engine::JobAccepted& r) {
    scan_.open = r.plan.open;
    Grow(r.plan.task_count);
  }
  void On(const engine::JobGrown& r) {
    job_cancelled_ = false;
    Grow(scan_.tasks.size() + r.count);
  }
  void On(const engine::JobSealed&) { scan_.open = false; }
  void On(const engine::JobCancelled&) {
    scan_.open = false;
    job_cancelled_ = true;
    for (TaskStanding& task : scan_.tasks) {
      if (task.state == TaskState::kQueued) task.state = TaskState::kCancelled;
    }
  }
  void On(const engine::Leased& r) {
    ForEach(r.tasks, [](TaskStanding& t) { t.state = TaskState::kLeased; });
  }
  void On(const engine::Returned& r) {
    ForEach(r.tasks, [this](TaskStanding& t) {
      t.state = job_cancelled_ || t.cancelled ? TaskState::kCancelled : TaskState::kQueued;
    });
  }
  void On(const engine::TasksCancelled& r) {
    ForEach(r.tasks, [](TaskStanding& t) { t.cancelled = true; });
  }
  void On(const engine::TasksWithdrawn& r) {
    ForEach(r.tasks, [](TaskStanding& t) {
      if (t.state == TaskState::kQueued) t.state = TaskState::kCancelled;
    });
  }
  void On(const engine::TasksReopened& r) {
    job_cancelled_ = false;
    ForEach(r.tasks, [](TaskStanding& t) {
      if (t.state == TaskState::kSucceeded) return;
      t.state = TaskState::kQueued;
      t.cancelled = false;
      t.tries = 0;
    });
  }
  template <typename Other>
  void On(const Other&) {}

  void Grow(uint64_t count) {
    scan_.tasks.resize(std::min<uint64_t>(count, kLimits.tasks_per_job));
  }
  template <typename Change>
  void ForEach(const std::vector<TaskRange>& ranges, Change change) {
    for (const TaskRange& range : ranges) {
      uint64_t end = std::min<uint64_t>(uint64_t{range.first} + range.count, scan_.tasks.size());
      for (uint64_t i = range.first; i < end; ++i) change(scan_.tasks[i]);
    }
  }

  int64_t base_us_;
  bool job_cancelled_ = false;
  TaskScan scan_;
  std::vector<int64_t> walls_us_;
  int64_t first_start_us_ = INT64_MAX;
  int64_t last_end_us_ = INT64_MIN;
};

void Scanner::OnAttempt(const Statement& s) {
  auto index = static_cast<uint64_t>(s.Int(1));
  if (index >= scan_.tasks.size()) return;
  TaskStanding& task = scan_.tasks[index];
  int64_t wall = Sane(s.Int(5));
  switch (static_cast<engine::Verdict>(s.Int(2))) {
    case engine::Verdict::kSucceeded:
      task.state = TaskState::kSucceeded;
      walls_us_.push_back(wall);
      break;
    case engine::Verdict::kRetry:
      task.state = TaskState::kQueued;
      break;
    case engine::Verdict::kFailed:
      task.state = TaskState::kFailed;
      break;
    case engine::Verdict::kUnknown:
      task.state = TaskState::kUnknown;
      break;
    case engine::Verdict::kCancelled:
      task.state = TaskState::kCancelled;
      break;
  }
  task.last_seq = static_cast<uint64_t>(s.Int(0));
  if (task.attempts < UINT16_MAX) ++task.attempts;
  if ((s.Int(3) & 1) != 0 && task.tries < UINT16_MAX) ++task.tries;
  JobStatistics& all = scan_.statistics;
  ++all.attempts;
  all.total_wall = Sum(all.total_wall, wall);
  all.total_user = Sum(all.total_user, s.Int(6));
  all.total_system = Sum(all.total_system, s.Int(7));
  uint64_t peak = static_cast<uint64_t>(s.Int(8)) * 1024;
  if (peak > all.peak_memory) {
    all.peak_memory = peak;
    all.peak_task = static_cast<TaskIndex>(index);
  }
  all.output_bytes += static_cast<uint64_t>(s.Int(9));
  if (!s.IsNull(4)) {
    int64_t start = Sane(s.Int(4));
    first_start_us_ = std::min(first_start_us_, start);
    last_end_us_ = std::max(last_end_us_, start + wall);
  }
}

TaskScan Scanner::Finish() {
  JobCounts& counts = scan_.counts;
  counts.total = static_cast<uint32_t>(scan_.tasks.size());
  for (const TaskStanding& task : scan_.tasks) {
    switch (task.state) {
      case TaskState::kQueued:
        ++counts.queued;
        break;
      case TaskState::kLeased:
        ++counts.leased;
        break;
      case TaskState::kSucceeded:
        ++counts.succeeded;
        break;
      case TaskState::kFailed:
        ++counts.failed;
        break;
      case TaskState::kCancelled:
        ++counts.cancelled;
        break;
      case TaskState::kUnknown:
        ++counts.unknown;
        break;
    }
  }
  JobStatistics& all = scan_.statistics;
  if (!walls_us_.empty()) {
    auto middle = walls_us_.begin() + static_cast<ptrdiff_t>(walls_us_.size() / 2);
    std::ranges::nth_element(walls_us_, middle);
    all.median_wall = Duration::Micros(*middle);
  }
  if (first_start_us_ <= last_end_us_) {
    all.first_start = Instant{(first_start_us_ + base_us_) * 1000};
    all.last_end = Instant{(last_end_us_ + base_us_) * 1000};
    double seconds = (all.last_end - all.first_start).seconds();
    if (seconds > 0) all.tasks_per_second = counts.succeeded / seconds;
  }
  return std::move(scan_);
}

Result<TaskScan> Scan(Database& db, const JournalPart& part) {
  auto base = BaseMicros(db);
  auto attempts = db.Prepare(kAttempts);
  auto log = db.Prepare(kLog);
  for (const Error* e : {base ? nullptr : &base.error(), attempts ? nullptr : &attempts.error(),
                         log ? nullptr : &log.error()}) {
    if (e != nullptr) return std::unexpected(*e);
  }
  BindPart(*attempts, part);
  BindPart(*log, part);
  Scanner scanner(*base);
  auto more_attempts = attempts->Step();
  auto more_log = log->Step();
  while (more_attempts && more_log && (*more_attempts || *more_log)) {
    if (*more_attempts && (!*more_log || attempts->Int(0) < log->Int(0))) {
      scanner.OnAttempt(*attempts);
      more_attempts = attempts->Step();
      continue;
    }
    auto record = DecodeRecord(static_cast<int>(log->Int(1)), log->Bytes(2));
    if (!record) {
      return Within(
          fmt::format("'{}', row {} of table log", EscapeForScreen(db.path()), log->Int(0)),
          std::move(record.error()));
    }
    scanner.OnRecord(*record);
    more_log = log->Step();
  }
  if (!more_attempts) return std::unexpected(std::move(more_attempts.error()));
  if (!more_log) return std::unexpected(std::move(more_log.error()));
  return scanner.Finish();
}

}  // namespace

Result<TaskScan> ScanTasks(Database& db, const JournalPart& part) {
  // One transaction, so that both tables are of the same moment.
  if (auto begun = db.Run("BEGIN"); !begun) return std::unexpected(std::move(begun.error()));
  auto scan = Scan(db, part);
  (void)db.Run("ROLLBACK");
  return scan;
}

}  // namespace spate::store
