// The verbs of `spate job`, and `spate report`, one file each. They return an exit code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/history/call.h"
#include "client/asker.h"

namespace spate::cli {

Result<int> JobList(HistoryCall& call);
Result<int> JobInfo(HistoryCall& call);
Result<int> JobTasks(HistoryCall& call);
Result<int> JobGraph(HistoryCall& call);
Result<int> JobCat(HistoryCall& call);
Result<int> JobTail(HistoryCall& call);
Result<int> Report(HistoryCall& call);

// The first of a job's `failed` failures, with the end of what they wrote to stderr, as `run` tells
// them: for the end of `submit --wait`.
Result<std::string> FailuresText(client::Asker& hub, JobId job, uint64_t failed,
                                 std::string_view reach);

// The nodes that a hub's job failed on while others succeeded elsewhere; empty also when the hub
// cannot tell. For the end of a job.
std::vector<BlamedFacts> AskBlamed(client::Asker& hub, JobId job);

// --limit; `otherwise` when it is not given.
Result<uint64_t> LimitOf(const Words& words, uint64_t otherwise);

}  // namespace spate::cli
