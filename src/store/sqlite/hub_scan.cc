#include "store/sqlite/hub_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "core/engine/record_job.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

class Replayer {
 public:
  Replayer(Database& db, HubScan& scan, const std::function<void(const engine::Record&)>& visit)
      : db_(db), scan_(scan), visit_(visit) {}

  Result<bool> Run() {
    uint64_t first = INT64_MAX;
    for (const auto& [job, seq] : scan_.unfinished) first = std::min(first, seq);
    auto reader =
        JournalReader::Begin(db_, {.of = JournalPart::Of::kFrom, .job = {}, .first = first});
    if (!reader) return std::unexpected(std::move(reader.error()));
    engine::Record end = MakeEnd();
    for (;;) {
      auto entry = reader->Next();
      if (!entry) {
        if (!reader->damage()) return std::unexpected(std::move(entry.error()));
        TRY(SetAside(*reader->damage(), entry.error()));
        continue;
      }
      if (*entry == nullptr) return again_;
      const bool needed = Visit((*entry)->seq, (*entry)->RecordBy(end));
      if (const auto* ended = (*entry)->attempt(); ended != nullptr && needed) NoteOutput(*ended);
    }
  }

 private:
  // True if the record belongs to what a hub needs.
  bool Visit(uint64_t seq, const engine::Record& record) {
    JobId job = engine::JobOf(record);
    if (job != JobId()) {
      auto at = scan_.unfinished.find(job);
      if (at == scan_.unfinished.end() || seq < at->second) return false;
      scan_.spans[job].Add(seq, seq);
    }
    if (!again_) visit_(record);
    return true;
  }
  void NoteOutput(const AttemptEntry& entry) {
    if (entry.kept.bytes() == 0) return;
    uint64_t& end = scan_.output[entry.record.end.ref.job];
    end = std::max(end, entry.kept.position + entry.kept.bytes());
  }

  void Drop(std::map<JobId, uint64_t>::iterator& at, const Error& why) {
    scan_.damaged.emplace(at->first, why.message);
    at = scan_.unfinished.erase(at);
    again_ = true;
  }

  // Sets aside the job of a damaged row, or every job that the row may belong to.
  Status SetAside(const JournalReader::Damaged& damage, const Error& why) {
    if (damage.job) {
      // A checksum is short enough to be right by chance: then it is the job that the row says.
      bool found = false;
      for (JobId job : {*damage.job, damage.says}) {
        auto at = scan_.unfinished.find(job);
        if (at == scan_.unfinished.end() || at->second > damage.last) continue;
        Drop(at, why);
        found = true;
      }
      if (found) return {};
      if (damage.is_log && *damage.job == JobId()) return std::unexpected(why);
      if (damage.is_sure) return {};  // it is in nobody's way
      auto other = TRY(IsOfOther(*damage.job, damage.last));
      if (other) return {};
    }
    for (auto at = scan_.unfinished.begin(); at != scan_.unfinished.end();) {
      if (at->second > damage.last) {
        ++at;
      } else {
        Drop(at, why);
      }
    }
    return {};
  }

  // True for a row of the history of a job that has finished, or that is already set aside.
  Result<bool> IsOfOther(JobId job, uint64_t seq) {
    if (scan_.damaged.contains(job)) return true;
    auto count = TRY(db_.QueryInt(fmt::format(
        "SELECT EXISTS(SELECT 1 FROM job WHERE id = {0} AND {1} BETWEEN first_seq AND last_seq) OR "
        "EXISTS(SELECT 1 FROM forgotten WHERE job = {0} AND {1} <= last_seq)",
        job.value, seq)));
    return count != 0;
  }

  Database& db_;
  HubScan& scan_;
  const std::function<void(const engine::Record&)>& visit_;
  bool again_ = false;
};

}  // namespace

Result<HubScan> ScanJobs(Database& db) {
  auto select = TRY(db.Prepare(
      fmt::format("SELECT id, first_seq, last_seq, {} FROM job ORDER BY id", IsSound("job"))));
  HubScan scan;
  for (;;) {
    auto more = TRY(select.Step());
    if (!more) return scan;
    JobId job(static_cast<uint32_t>(select.Int(0)));
    scan.last_job = std::max(scan.last_job, job);
    if (select.Int(3) == 0) {
      scan.damaged.emplace(job, fmt::format("'{}' is damaged: row {} of table job (checksum)",
                                            EscapeForScreen(db.path()), job.value));
    } else if (!select.IsNull(1) && select.IsNull(2)) {
      scan.unfinished.emplace(job, static_cast<uint64_t>(select.Int(1)));
    }
  }
}

Result<bool> ReplayHub(Database& db, HubScan& scan,
                       const std::function<void(const engine::Record&)>& visit) {
  return Replayer(db, scan, visit).Run();
}

}  // namespace spate::store
