// A prepared job runs to its end, and is shown meanwhile.
#pragma once

#include "base/result.h"
#include "run/prepared_job.h"

namespace spate::run {

// `resumed`: results that its last run did not bring are delivered first. Returns the exit code.
Result<int> RunToEnd(PreparedJob& job, bool resumed);

}  // namespace spate::run
