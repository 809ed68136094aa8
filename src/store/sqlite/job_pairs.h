// How long the tasks of a job of a hub took, by what other jobs ran on their nodes meanwhile. So it
// is seen which jobs are bound by the same thing (`--bound`), and slow each other down.
#pragma once

#include <array>
#include <cstdint>

#include "base/result.h"
#include "base/time.h"
#include "core/model/needs.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/journal_reader.h"

namespace spate::store {

// Tasks that have succeeded, by the wall time of that attempt; of a gang that of its longest part.
struct PairTimes {
  uint64_t tasks = 0;
  Duration median_wall;
};

struct Pairs {
  // Tasks of other jobs were on the node for less than a tenth of the time.
  PairTimes alone;
  // Tasks of other jobs of that kind (BoundBy) were there for at least half of the time. A task may
  // count for several kinds, and for none. Of a gang the node counts where that was longest.
  std::array<PairTimes, 4> beside;
};

// Of the job of `part`. Two passes over the attempts since it was submitted, 0.2 us each, its own
// kept meanwhile (40 bytes each), and of others when nodes were theirs. What has not ended does not
// count, nor do jobs that were forgotten. kCorrupt.
Result<Pairs> ReadPairs(const JournalPlace& place, const JournalPart& part);

}  // namespace spate::store
