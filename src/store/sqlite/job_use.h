// Resources that jobs have used, from their attempts that have ended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "store/history.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/journal_reader.h"

namespace spate::store {

// By job, those without an end left out, of what ended since then. One pass over all attempts of
// the journal, or of this part of it, 0.2 us each; other processes may write meanwhile. kCorrupt.
Result<std::map<uint32_t, Use>> ReadUse(const JournalPlace& place, Instant since = {},
                                        const std::optional<JournalPart>& part = {});

}  // namespace spate::store
