#include "store/sqlite/prune.h"

#include <algorithm>

#include "store/sqlite/folder_lock.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

// By then, the maker of a new folder has locked it.
constexpr Duration kKeepUnaccepted = Duration::Seconds(60);
// Journals unchanged for this time are no longer opened: earlier looks have removed what
// was never accepted, and the rest is removed by age.
constexpr Duration kLooksBack = Duration::Seconds(2 * 24 * 3600);

struct Folder {
  uint32_t number = 0;
  std::string path;
  uint64_t bytes = 0;
  uint64_t db_bytes = 0;
  uint64_t log_bytes = 0;
  Instant changed;
};

Folder Measure(const std::string& state_dir, uint32_t number) {
  Folder folder;
  folder.number = number;
  folder.path = JobPath(state_dir, number);
  for (const char* name : {"/job.db", "/job.db-wal", "/output", "/lock", "/replay"}) {
    auto info = os::Stat(folder.path + name);
    if (!info) continue;
    folder.bytes += info->size;
    // A question makes no job younger.
    if (std::string_view(name) == "/replay") continue;
    folder.changed = std::max(folder.changed, info->modified);
    if (std::string_view(name) == "/job.db") folder.db_bytes = info->size;
    if (std::string_view(name) == "/job.db-wal") folder.log_bytes = info->size;
  }
  // A folder that is just being made is empty.
  if (folder.changed == Instant()) {
    auto info = os::Stat(folder.path);
    folder.changed = info ? info->modified : Instant::Never();
  }
  return folder;
}

// Folds the log of a run that was killed into the database. Returns the bytes that this freed.
uint64_t FoldLog(const std::string& state_dir, const Folder& folder) {
  if (folder.log_bytes == 0) return 0;
  auto dir = JobDir::Open(state_dir, folder.number);  // nobody runs it, nor begins to
  if (!dir) return 0;
  {
    auto db = OpenJournal(dir->DbPath());
    // A damaged one stays as it is. Closing the last connection folds and removes the log.
    if (!db || !db->Run("PRAGMA wal_checkpoint(TRUNCATE)")) return 0;
  }
  return folder.log_bytes;
}

class Pruner {
 public:
  Pruner(const std::string& state_dir, const PruneOptions& options, Instant now)
      : state_dir_(state_dir), options_(options), now_(now) {}

  Result<PruneReport> Run() {
    auto numbers = TRY(RunNumbers(state_dir_));
    SweepForgotten(state_dir_);
    std::vector<Folder> folders;
    for (uint32_t number : numbers) folders.push_back(Measure(state_dir_, number));
    std::ranges::sort(folders, {}, [](const Folder& f) { return std::pair(f.changed, f.number); });
    for (const Folder& folder : folders) report_.bytes += folder.bytes;
    report_.jobs = folders.size();
    for (const Folder& folder : folders) {
      if (steps_ >= options_.most_steps) break;
      auto owner = RunningOwner(folder.path);
      if (!owner || *owner) continue;  // nothing here waits for a lock
      bool old = folder.changed + options_.keep_age < now_ || IsUnaccepted(folder);
      if (old || (report_.bytes > options_.keep_size && IsFinished(folder))) {
        Remove(folder);
      } else {
        uint64_t freed = FoldLog(state_dir_, folder);
        report_.freed_bytes += freed;
        report_.bytes -= freed;
      }
    }
    std::ranges::sort(report_.removed);
    return std::move(report_);
  }

 private:
  bool IsUnaccepted(const Folder& folder) {
    if (now_ < folder.changed + kKeepUnaccepted) return false;
    if (folder.db_bytes == 0 && folder.log_bytes == 0) return true;
    if (folder.changed + kLooksBack < now_) return false;
    ++steps_;
    auto summary = SummarizeJob(state_dir_, folder.number);
    return !summary && summary.error().kind == ErrorKind::kNotFound;
  }
  bool IsFinished(const Folder& folder) const {
    auto summary = SummarizeJob(state_dir_, folder.number);
    return summary && summary->standing == JobStanding::kFinished;
  }
  void Remove(const Folder& folder) {
    ++steps_;
    // Refused when somebody runs it, or began to since we looked.
    if (!ForgetJob(state_dir_, folder.number)) return;
    report_.removed.push_back(folder.number);
    report_.freed_bytes += folder.bytes;
    report_.bytes -= folder.bytes;
    --report_.jobs;
  }

  const std::string& state_dir_;
  const PruneOptions& options_;
  Instant now_;
  PruneReport report_;
  size_t steps_ = 0;
};

}  // namespace

Result<PruneReport> Prune(const std::string& state_dir, const PruneOptions& options, Instant now) {
  std::string mark = os::JoinPath(state_dir, "pruned");
  auto last = os::Stat(mark);
  if (last && last->modified <= now && now - last->modified < options.at_most_every) {
    PruneReport skipped;
    skipped.skipped = true;
    return skipped;
  }
  auto report = Pruner(state_dir, options, now).Run();
  if (report && report->jobs > 0) (void)os::WriteFile(mark, "\n", 0600);
  return report;
}

}  // namespace spate::store
