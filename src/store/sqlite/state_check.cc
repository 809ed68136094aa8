#include "store/sqlite/state_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "core/engine/record_job.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/log_check.h"
#include "store/sqlite/output_file.h"
#include "store/sqlite/row_chunk.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

class Checker {
 public:
  Checker(const std::string& path, Database db,
          const std::function<void(const engine::Record&)>& visit)
      : path_(path), db_(std::move(db)), visit_(visit) {}

  // False after Run: the job was never accepted, and that is no damage.
  bool accepted() const { return accepted_; }
  CheckReport Run() {
    if (auto whole = CheckMark(db_, {path_, false}); !whole) Problem(whole.error().message);
    CheckStructure();
    auto row = ReadJobRow(db_);
    bool none = !row && row.error().kind == ErrorKind::kNotFound;
    if (!row && !none) Problem(row.error().message);
    CheckRecords();
    accepted_ = report_.log_records + report_.attempts > 0 || (row && row->first_seq != 0);
    if (row && (row->first_seq != first_seq_ || row->last_seq != last_seq_)) {
      Problem(
          fmt::format("the row of table job says that its records are {} to {}, and they are "
                      "{} to {} (0: the first or the last is not there)",
                      row->first_seq, row->last_seq, first_seq_, last_seq_));
    }
    CheckRows();
    return std::move(report_);
  }

 private:
  void Problem(std::string text) {
    if (report_.problems.size() < CheckReport::kMaxProblems) {
      report_.problems.push_back(std::move(text));
    } else {
      ++report_.more_problems;
    }
  }

  void CheckStructure() {
    auto check = db_.Prepare("PRAGMA quick_check(20)");
    if (!check) return Problem(check.error().message);
    for (;;) {
      auto row = check->Step();
      if (!row) return Problem(row.error().message);
      if (!*row) return;
      std::string text = check->Text(0);
      if (text != "ok") Problem(fmt::format("'{}': {}", EscapeForScreen(db_.path()), text));
    }
  }

  void CheckRecords() {
    auto output = os::Stat(path_ + "/output");
    output_size_ = output ? output->size : 0;
    auto reader = JournalReader::Begin(db_);
    if (!reader) return Problem(reader.error().message);
    engine::Record end = MakeEnd();
    for (;;) {
      auto entry = reader->Next();
      if (!entry) {
        Problem(entry.error().message);
        continue;
      }
      if (*entry == nullptr) return;
      const engine::Record& record = (*entry)->RecordBy(end);
      if (const AttemptEntry* attempt = (*entry)->attempt()) {
        if (attempt->record.verdict != engine::Verdict::kPart) ++report_.attempts;
        CheckAttempt((*entry)->seq, *attempt);
      } else {
        ++report_.log_records;
        NoteSequence((*entry)->seq, record);
        tasks_ += engine::AddedTasks(record);
      }
      if (visit_) visit_(record);
    }
  }

  // The writer's rule.
  void NoteSequence(uint64_t seq, const engine::Record& record) {
    const engine::JobStep step = engine::StepOf(record);
    if (step == engine::JobStep::kBegin) first_seq_ = seq;
    if (step == engine::JobStep::kEnd || last_seq_ != 0) last_seq_ = seq;
    if (step == engine::JobStep::kReopen) last_seq_ = 0;
  }

  void CheckAttempt(uint64_t seq, const AttemptEntry& attempt) {
    TaskIndex index = attempt.record.end.ref.index;
    if (index >= tasks_) {
      Problem(fmt::format("row {} of table attempt is of task {}, and the job has {}", seq,
                          uint64_t{index} + 1, tasks_));
    }
    const KeptOutput& kept = attempt.kept;
    if (kept.bytes() == 0) return;
    report_.output_bytes += kept.bytes();
    if (kept.position < output_end_) {
      Problem(fmt::format("the output of task {} overlaps another's", uint64_t{index} + 1));
    }
    output_end_ = std::max(output_end_, kept.position + kept.bytes());
    if (output_end_ > output_size_) {
      Problem(fmt::format("'{}/output' has {} bytes, and the output of task {} ends at {}",
                          EscapeForScreen(path_), output_size_, uint64_t{index} + 1, output_end_));
    } else if (auto sound = output_.Check(attempt); !sound) {
      Problem(sound.error().message);
    }
  }

  void CheckRows() {
    auto select = db_.Prepare("SELECT id, count, data, checksum FROM rows ORDER BY id");
    if (!select) return Problem(select.error().message);
    uint64_t end = 0;
    for (;;) {
      auto row = select->Step();
      if (!row) return Problem(row.error().message);
      if (!*row) break;
      auto key = static_cast<uint64_t>(select->Int(0));
      uint64_t first = IndexOfKey(key);
      auto count = static_cast<uint64_t>(select->Int(1));
      if (first != end && first < tasks_) {
        Problem(fmt::format("the text of tasks {} to {} is missing or occurs twice",
                            std::min(first, end) + 1, std::max(first, end)));
      }
      auto chunk = DecodeChunk(key, count, select->Bytes(2), static_cast<uint32_t>(select->Int(3)));
      if (!chunk) Problem(chunk.error().message);
      report_.rows += count;
      end = first + count;
    }
    if (end < tasks_) {
      Problem(fmt::format("the text of tasks {} to {} is missing", end + 1, tasks_));
    }
  }

  std::string path_;
  OutputReader output_{path_ + "/output"};
  Database db_;
  const std::function<void(const engine::Record&)>& visit_;
  CheckReport report_;
  bool accepted_ = true;
  uint64_t tasks_ = 0;
  uint64_t first_seq_ = 0;
  uint64_t last_seq_ = 0;
  uint64_t output_size_ = 0;
  uint64_t output_end_ = 0;
};

}  // namespace

Result<CheckReport> CheckJob(const std::string& state_dir, uint32_t number,
                             const std::function<void(const engine::Record&)>& visit) {
  std::string path = JobPath(state_dir, number);
  if (!os::Exists(path + "/job.db")) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("no job {} in '{}'", number, EscapeForScreen(state_dir)));
  }
  auto db = OpenJournalToRead(path + "/job.db", IsFrozen(JournalPlace{path, false}));
  if (db) {
    Checker checker(path, std::move(*db), visit);
    CheckReport report = checker.Run();
    if (checker.accepted() || !report.sound()) return report;
    return Fail(ErrorKind::kNotFound, fmt::format("job {} was never accepted", number));
  }
  if (db.error().kind != ErrorKind::kCorrupt) return std::unexpected(std::move(db.error()));
  CheckReport report;
  report.problems.push_back(std::move(db.error().message));
  return report;
}

}  // namespace spate::store
