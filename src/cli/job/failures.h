// Messages about the failures of a hub's job, at its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/asker.h"
#include "core/model/job_facts.h"

namespace spate::cli {

// The first of a job's `failed` failures, with the end of what they wrote to stderr, as `run` tells
// them: for the end of `submit --wait`.
Result<std::string> FailuresText(client::Asker& hub, JobId job, uint64_t failed,
                                 std::string_view reach);

// The nodes that a hub's job failed on while others succeeded elsewhere; empty also when the hub
// cannot tell. For the end of a job.
std::vector<BlamedFacts> AskBlamed(client::Asker& hub, JobId job);

}  // namespace spate::cli
