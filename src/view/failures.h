// Messages about the failures of a hub's job, at its end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/asker.h"
#include "core/model/job_facts.h"

namespace spate::cli {

// The first of a job's `failed` failures, with the end of what they wrote to stderr, as `run` tells
// them: for the end of `submit --wait`. `quiet`: a line for each failure, without what it wrote.
Result<std::string> FailuresText(client::Asker& hub, JobId job, uint64_t failed,
                                 std::string_view reach, bool quiet);

// For the end of a job: what the hub knows about it; nothing when it cannot tell.
JobDetails AskDetails(client::Asker& hub, JobId job);

using SayText = std::function<void(std::string)>;
// Reports output that was not kept. Returns kExitTasksFailed if there is any cause other than a
// --keep-output that the user typed.
int TellNotKept(JobId job, const std::vector<NotKeptFacts>& facts, const SayText& say);
// The same; nullopt: all was kept.
std::optional<int> AskNotKept(client::Asker& hub, JobSelector job, const SayText& say);

}  // namespace spate::cli
