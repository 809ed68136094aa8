// How long the tasks of a job of a hub took, by what other jobs ran on their nodes meanwhile.
#pragma once

#include "base/result.h"
#include "store/history.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/journal_reader.h"

namespace spate::store {

// Reads pairs of the job of `part`. Two passes over the attempts since it was submitted, 0.2 us
// each, its own kept meanwhile (40 bytes each), and of others when nodes were theirs. What has not
// ended does not count, nor do jobs that were forgotten. kCorrupt.
Result<Pairs> ReadPairs(const JournalPlace& place, const JournalPart& part);

}  // namespace spate::store
