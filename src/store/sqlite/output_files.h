// OutputFiles: the stream files of a journal's jobs, for its writer. One for each job, made by its
// first output; only some are open at once.
//
// Thread: the store's.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>

#include "store/sqlite/database.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/output_file.h"

namespace spate::store {

class OutputFiles {
 public:
  explicit OutputFiles(JournalPlace place) : place_(std::move(place)) {}

  // Takes what is to be kept of an attempt's output. `db` tells where a job's file durably ends,
  // and its limit, when its file is opened for the first time.
  Result<KeptOutput> Add(Database& db, JobId job, const TaskOutput& output);
  // Writes and syncs what was added.
  Status Sync();
  // The job's limit has changed.
  // Where the job's output ends, told by who has read its records: then they need not be read again
  // for it, which takes long when many others have been written since.
  void KnowEnd(JobId job, uint64_t end) { known_ends_[job] = end; }
  void SetLimit(JobId job, uint64_t limit);
  // The job has finished: its file is not kept open. All is synced.
  void Leave(JobId job);

 private:
  struct Entry {
    OutputFile file;
    std::list<JobId>::iterator used;  // while it is open
  };
  JobId KeyOf(JobId job) const { return place_.is_hub ? job : JobId(); }
  Result<OutputFile*> Open(Database& db, JobId job);
  Status CloseOldest();

  JournalPlace place_;
  std::map<JobId, Entry> entries_;        // by KeyOf; closed ones keep their ends
  std::map<JobId, uint64_t> known_ends_;  // KnowEnd, until the file is opened
  std::list<JobId> open_;                 // the newest used first
};

}  // namespace spate::store
