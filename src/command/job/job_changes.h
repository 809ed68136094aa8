// Shared parts of the commands that change jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "command/hub_screen.h"
#include "core/model/selection.h"
#include "wire/questions.h"

namespace spate::cli {

// "job 12", "3 jobs"
std::string JobsText(const std::vector<JobId>& jobs);
// The jobs that the words name, or all unfinished ones of --user. kInvalid: neither, or both.
Result<JobSelector> NamedJobs(const HubScreen& screen);
// Reports jobs that were not changed: they `are` this already.
Status TellSame(const HubScreen& screen, const std::vector<JobId>& jobs,
                std::string_view are = "has already ended");
// With --json, the line of a job, or of so many of its tasks: "held", "cancelled", "none" ...
Status PutChange(const HubScreen& screen, JobId job, std::string_view change,
                 std::optional<uint32_t> tasks = {});
// Changes these jobs as `question` says, and tells that they did what `text` says; its first word
// is the change for programs. The exit code.
Result<int> ChangeJobs(const HubScreen& screen, wire::ChangeJobs question, std::string_view text);

}  // namespace spate::cli
