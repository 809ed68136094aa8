// Replays one job of a journal.
#pragma once

#include "base/result.h"
#include "store/job_replay.h"
#include "store/sqlite/database.h"
#include "store/sqlite/journal_reader.h"

namespace spate::store {

// Reads `part`, which is of one job (PartOf), into `replay`, which is new. About 0.5 us for each
// attempt. Decodes what it reads, and does not check each row's checksum (CheckJob does).
// kCorrupt: a record cannot be read, or does not follow from those before it.
Status ReplayJob(Database& db, const JournalPart& part, JobReplay& replay);

}  // namespace spate::store
