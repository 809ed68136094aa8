// OutputFiles: the stream files of a journal's jobs, for its writer. One for each job, made by its
// first output; only some are open at once.
//
// Thread: the store's.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "store/sqlite/database.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/output_file.h"

namespace spate::store {

// Shared by the store's thread and its owner.
struct KeptSum {
  std::atomic<bool> keep = true;    // see HubStore::KeepOutput
  std::atomic<int64_t> change = 0;  // see HubStore::OutputChange
};

class OutputFiles {
 public:
  OutputFiles(JournalPlace place, std::shared_ptr<KeptSum> sum)
      : place_(std::move(place)), sum_(std::move(sum)) {}

  // Takes what is to be kept of an attempt's output: nothing, where no descriptor is to be had for
  // its file or KeptSum says so, and it has no files of --get. `db` tells where a job's file
  // durably ends, and its limit, when its file is opened for the first time.
  Result<KeptOutput> Add(Database& db, JobId job, const TaskOutput& output);
  // Why the last Add did not keep all, where that is known.
  NotKept why() const { return why_; }
  // Takes back what was added since the last Sync.
  Status DropUnsynced();
  // Removes a job's file, of which no row is left.
  Status Remove(JobId job);
  // Writes and syncs what was added.
  Status Sync();
  // Sets the end of the job's output, if its records were read: then they need not be read again
  // for it, which takes long when many others have been written since.
  void KnowEnd(JobId job, uint64_t end) { known_ends_[job] = end; }
  // JobRow::keep_output has changed.
  void SetLimit(JobId job, int64_t limit);
  // The job has finished: its file is not kept open. All is synced.
  void Leave(JobId job);

 private:
  struct Entry {
    OutputFile file;
    std::list<JobId>::iterator used;  // while it is open
    uint64_t on_disk = 0;             // as KeptSum knows it
  };
  JobId KeyOf(JobId job) const { return place_.is_hub ? job : JobId(); }
  Result<OutputFile*> Open(Database& db, JobId job);
  Status OpenFile(OutputFile& file, uint64_t end);
  Status CloseOldest();
  Status SyncOne(Entry& entry);

  JournalPlace place_;
  std::shared_ptr<KeptSum> sum_;
  NotKept why_ = NotKept::kNone;
  std::map<JobId, Entry> entries_;        // by KeyOf; closed ones keep their ends
  std::map<JobId, uint64_t> known_ends_;  // KnowEnd, until the file is opened
  std::list<JobId> open_;                 // the newest used first
  os::Fd spare_;                          // given up when the process has no descriptors left
};

}  // namespace spate::store
