// Tasks of a running job that run now. The journal does not tell: it knows leases, and a task is
// leased a little before it starts. Processes do: each knows its task by its environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/job_facts.h"

namespace spate::history {

// Tasks of the job among the descendants of the process `owner`, by index. What cannot be read
// (another user's) is left out. `proc` is "/proc", or a tree of a test.
std::vector<LiveTask> FindLiveTasks(const std::string& proc, int64_t owner, JobId job, Instant now);

}  // namespace spate::history
