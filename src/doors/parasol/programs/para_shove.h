// para shove: pushes a batch until it is done.
#pragma once

#include "base/result.h"
#include "doors/parasol/programs/para_cycle.h"

namespace spate::parasol {

// Shoves a loaded batch. 0 when all jobs are done, 130 after Ctrl-C; an error when a job has failed
// in all its tries, or the batch is sick for the third time. The hub may go away and come back
// after the first push.
Result<int> Shove(ParaCycle& cycle);

}  // namespace spate::parasol
