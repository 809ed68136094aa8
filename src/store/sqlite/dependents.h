// The jobs of a hub that were submitted to start after another one and were cancelled.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "store/history.h"

namespace spate::store {

// Those that have ended, with cancelled tasks: `most` of them, and how many there are. Of one
// user, or of all. Looks at no more than a million of the jobs that came after `on`, about 5 us
// for each that has cancelled tasks. kCorrupt.
Result<Dependents> CancelledDependents(const JobPlace& place, JobId on, std::string_view user,
                                       size_t most);

}  // namespace spate::store
