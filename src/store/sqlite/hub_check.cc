// CheckHub: all tables of a hub's journal, row by row.
#include <fmt/format.h>

#include <utility>

#include "base/units.h"
#include "core/model/task_files.h"
#include "store/sqlite/hub_scan.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/log_check.h"
#include "store/sqlite/output_file.h"
#include "store/sqlite/pool_log.h"
#include "store/sqlite/row_chunk.h"
#include "store/sqlite/row_reader.h"
#include "store/sqlite/salvage.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/shared_settings.h"

namespace spate::store {
namespace {

class HubChecker {
 public:
  HubChecker(Database& db, JournalPlace place) : db_(db), place_(std::move(place)) {}

  HubCheck Run() {
    CheckStructure();
    CheckJobs();
    for (const char* table : {"meta", "node", "credential", "forgotten"}) CheckSums(table);
    CheckRecords();
    CheckRows();
    CheckPools();
    return std::move(check_);
  }

 private:
  void Problem(std::string text) {
    CheckReport& all = check_.all;
    if (all.problems.size() < CheckReport::kMaxProblems) {
      all.problems.push_back(std::move(text));
    } else {
      ++all.more_problems;
    }
  }
  void ProblemOf(JobId job, std::string text) {
    auto& problems = check_.jobs[job.value];
    if (problems.size() < CheckReport::kMaxProblems) problems.push_back(std::move(text));
  }

  void CheckStructure() {
    auto check = db_.Prepare("PRAGMA integrity_check(20)");
    if (!check) return Problem(check.error().message);
    for (;;) {
      auto row = check->Step();
      if (!row) return Problem(row.error().message);
      if (!*row) return;
      std::string text = check->Text(0);
      if (text != "ok") Problem(fmt::format("'{}': {}", EscapeForScreen(db_.path()), text));
    }
  }

  void CheckJobs() {
    auto select = db_.Prepare(fmt::format(
        "SELECT job.id, {}, {} AND {}, settings, shared.id FROM job LEFT JOIN job_text ON "
        "job_text.job = job.id {} ORDER BY job.id",
        IsSound("job"), IsSound("job_text"), AreSharedSound(), kJoinShared));
    if (!select) return Problem(select.error().message);
    for (;;) {
      auto row = select->Step();
      if (!row) return Problem(row.error().message);
      if (!*row) return;
      JobId job(static_cast<uint32_t>(select->Int(0)));
      ++check_.job_count;
      const bool text = select->Int(2) != 0 && JoinSettings(select->Bytes(3), select->Int(4), "");
      for (auto [sound, table] : {std::pair{select->Int(1) != 0, "job"}, {text, "job_text"}}) {
        if (sound) continue;
        ProblemOf(job, fmt::format("row {} of table {} (checksum)", job.value, table));
      }
    }
  }

  void CheckSums(const std::string& table) {
    auto wrong =
        db_.QueryInt(fmt::format("SELECT COUNT(*) FROM {} WHERE NOT ({})", table, IsSound(table)));
    if (!wrong) return Problem(wrong.error().message);
    if (*wrong > 0)
      Problem(fmt::format("{} of table {} (checksum)", CountOf(*wrong, "row"), table));
  }

  void CheckRecords() {
    auto reader = JournalReader::Begin(db_, {.of = JournalPart::Of::kFrom});
    if (!reader) return Problem(reader.error().message);
    for (;;) {
      auto entry = reader->Next();
      if (!entry) {
        const auto& damage = reader->damage();
        if (!damage) return Problem(entry.error().message);
        if (damage->job && *damage->job != JobId()) {
          ProblemOf(*damage->job, entry.error().message);
        } else {
          Problem(entry.error().message);
        }
        continue;
      }
      if (*entry == nullptr) return;
      const auto* attempt = std::get_if<AttemptEntry>(&(*entry)->what);
      if (attempt == nullptr) {
        ++check_.all.log_records;
        continue;
      }
      if (attempt->record.verdict != engine::Verdict::kPart) ++check_.all.attempts;
      CheckOutput(*attempt);
    }
  }

  // A job's output may be removed during the check, and a backup has none.
  void CheckOutput(const AttemptEntry& attempt) {
    if (attempt.kept.bytes() == 0 || check_.outputs.size() >= CheckReport::kMaxProblems) return;
    const JobId job = attempt.record.end.ref.job;
    if (job != output_of_) {
      output_of_ = job;
      output_ = OutputReader(place_.OutputPath(job));
    }
    auto sound = output_.Check(attempt);
    if (sound || sound.error().kind == ErrorKind::kNotFound) return;
    check_.outputs.push_back(std::move(sound.error().message));
  }

  void CheckRows() {
    VisitRows(db_, [this](JobId job, Result<DecodedChunk> chunk) {
      if (chunk) {
        const bool of_tasks = IndexOfKey(chunk->first_key) < kFirstPieceRow;  // else files of --put
        check_.all.rows += of_tasks ? chunk->ends.size() : 0;
      } else {
        ProblemOf(job, chunk.error().message);
      }
    });
  }

  void CheckPools() {
    int64_t damaged = 0;
    VisitPoolLog(db_, [&](const Result<PoolLogEntry>& entry) { damaged += entry ? 0 : 1; });
    if (damaged > 0) {
      check_.pools.push_back(fmt::format("{} of table pool_log damaged", CountOf(damaged, "row")));
    }
    if (auto pools = ReadPools(db_); !pools) check_.pools.push_back(pools.error().message);
    auto aside = PoolLogsAside(db_);
    if (!aside) return check_.pools.push_back(aside.error().message);
    if (*aside > 0) {
      check_.pools.push_back(
          fmt::format("the hub has excluded {}; add all pools again", CountOf(*aside, "table")));
    }
  }

  static std::string CountOf(int64_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  }

  Database& db_;
  const JournalPlace place_;
  HubCheck check_;
  JobId output_of_;  // the job of the attempt that was checked last
  OutputReader output_{""};
};

}  // namespace

HubCheck CheckJournal(Database& db, const JournalPlace& place) {
  return HubChecker(db, place).Run();
}

Result<HubCheck> CheckHub(const std::string& hub_dir) {
  JournalPlace place{hub_dir, true};
  if (!os::Exists(place.DbPath())) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no hub in '{}'", EscapeForScreen(hub_dir)));
  }
  auto db = OpenJournalToRead(place.DbPath(), IsFrozen(place));
  if (db) {
    HubCheck check = CheckJournal(*db, place);
    if (auto whole = CheckMark(*db, place); !whole) {
      check.all.problems.push_back(std::move(whole.error().message));
    }
    return check;
  }
  if (db.error().kind != ErrorKind::kCorrupt) return std::unexpected(std::move(db.error()));
  HubCheck check;
  check.all.problems.push_back(std::move(db.error().message));
  return check;
}

}  // namespace spate::store
