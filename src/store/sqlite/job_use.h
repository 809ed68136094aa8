// Resources that jobs have used, from their attempts that have ended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/journal_reader.h"

namespace spate::store {

struct Use {
  uint64_t tasks = 0;        // that came to an end; one that was reopened, each time
  uint64_t failed = 0;       // of them, those that failed or are unknown
  uint64_t ends = 0;         // of attempts
  Duration cpu, wall;        // of all attempts
  uint64_t peak_memory = 0;  // the largest of one attempt
  // Of attempts that succeeded: the longest, and the most thousandths of processors that one used,
  // on average; 0: none ran for kLongEnough.
  Duration longest;
  uint32_t most_milli_cpus = 0;

  void Add(const Use& other);
};

// Processor times of shorter attempts are those of starting them.
inline constexpr Duration kLongEnough = Duration::Seconds(1);

// By job, those without an end left out, of what ended since then. One pass over all attempts of
// the journal, or of this part of it, 0.2 us each; other processes may write meanwhile. kCorrupt.
Result<std::map<uint32_t, Use>> ReadUse(const JournalPlace& place, Instant since = {},
                                        const std::optional<JournalPart>& part = {});

}  // namespace spate::store
