// The verbs of `spate job`, and `spate report`, one file each. They return an exit code.
#pragma once

#include "base/result.h"
#include "cli/history/call.h"

namespace spate::cli {

Result<int> JobList(HistoryCall& call);
Result<int> JobInfo(HistoryCall& call);
Result<int> JobTasks(HistoryCall& call);
Result<int> JobCat(HistoryCall& call);
Result<int> JobTail(HistoryCall& call);
Result<int> JobGet(HistoryCall& call);
Result<int> JobForget(HistoryCall& call);
Result<int> Report(HistoryCall& call);
// The first of a job's failures, with the end of what they wrote to stderr, as `run` tells them.
// No verb of its own: the end of `submit --wait`.
Result<int> JobFailures(HistoryCall& call);

// --limit; `otherwise` when it is not given.
Result<uint64_t> LimitOf(const Words& words, uint64_t otherwise);

}  // namespace spate::cli
