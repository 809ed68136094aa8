// What jobs have used, from their attempts that have ended.
#pragma once

#include <cstdint>
#include <map>

#include "base/result.h"
#include "base/time.h"
#include "store/sqlite/journal_place.h"

namespace spate::store {

struct Use {
  uint64_t tasks = 0;        // that came to an end; one that was reopened, each time
  uint64_t failed = 0;       // of them, those that failed or are unknown
  uint64_t ends = 0;         // of attempts
  Duration cpu, wall;        // of all attempts
  uint64_t peak_memory = 0;  // the largest of one attempt

  void Add(const Use& other);
};

// By job, those without an end left out, of what ended since then. One pass over all attempts of
// the journal, 0.2 us each; other processes may write meanwhile. kCorrupt.
Result<std::map<uint32_t, Use>> ReadUse(const JournalPlace& place, Instant since = {});

}  // namespace spate::store
