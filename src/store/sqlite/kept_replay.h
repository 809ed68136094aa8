// A job's replay with the help of its file (store/replay_file.h), and the keeping of that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "store/job_replay.h"
#include "store/job_row.h"
#include "store/sqlite/database.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/journal_reader.h"

namespace spate::store {

struct KeptReplay {
  // The replay of a job in that place.
  KeptReplay(const JobPlace& place, const JobRow& row)
      : path(JournalOf(place, row.job.value).ReplayPath(row.job)),
        created(row.created),
        keep_after(place.keep_replay_after) {}

  std::string path;     // of the file
  Instant created;      // the job
  uint64_t keep_after;  // JobPlace::keep_replay_after
};

// Like ReplayJob, but of the records behind the file. If these are many, the file is written anew,
// where this user may. A file that does not fit the journal is left aside, as all are where
// `from_start`. No error is the file's.
Result<std::shared_ptr<JobReplay>> ReplayJob(Database& db, const JournalPart& part,
                                             const KeptReplay& kept, bool from_start);

// Writes the file, where this user may. An error costs the next reader time, and nothing else.
void KeepReplay(Database& db, const JournalPart& part, const KeptReplay& kept,
                const JobReplay& replay);

}  // namespace spate::store
