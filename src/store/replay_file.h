// ReplayFile: the state of a JobReplay in a file next to the journal, so that the next question
// need not replay what this one has. It follows from the journal: it may be removed at any time,
// and a reader that finds anything wrong with it replays the journal.
//
// The layout is in docs/formats/replay.md. Only the program that wrote a file reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "store/job_replay.h"

namespace spate::store {

// The source of a file, beyond its job.
struct ReplayOrigin {
  int64_t journal = 0;  // of a journal, as no other one has it
  Instant created;      // of the job
  uint64_t mark = 0;    // of the records JobReplay::recent
};

struct SavedReplay {
  std::unique_ptr<JobReplay> replay;
  ReplayOrigin origin;
};

// kNotFound; kPermission: others could have written it; kCorrupt: it is cut or damaged, of another
// program or of another job. Blocks are checked when they are read.
Result<SavedReplay> OpenReplay(const std::string& path, JobId job);

// Replaces the file; readers see the old one or the new one. Not synced: what a crash cuts is
// noticed. After an error nothing of it is left.
Status SaveReplay(const std::string& path, const JobReplay& replay, const ReplayOrigin& origin);

}  // namespace spate::store
