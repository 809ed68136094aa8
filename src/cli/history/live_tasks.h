// Which tasks of a running job are running now. The journal does not tell: it knows leases, and a
// task is leased a little before it starts. Their processes do: each knows its task by its
// environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace spate::cli {

struct LiveTask {
  TaskIndex index = 0;
  uint16_t attempt = 0;
  uint16_t slot = 0;
  int64_t pid = 0;  // the oldest of its processes
  Instant since;    // to about 10 ms
};

// Tasks of the job among the descendants of the process `owner`, by index. What cannot be read
// (another user's) is left out. `proc` is "/proc", or a tree of a test.
std::vector<LiveTask> FindLiveTasks(const std::string& proc, int64_t owner, JobId job, Instant now);

}  // namespace spate::cli
