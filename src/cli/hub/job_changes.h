// Shared parts of the commands that change the jobs of a hub.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "cli/hub/hub_screen.h"
#include "wire/questions.h"

namespace spate::cli {

// "job 12", "3 jobs"
std::string JobsText(const std::vector<JobId>& jobs);
// Of those that had ended before.
void SayEnded(const HubScreen& screen, const wire::JobsChanged& done);
// Changes the jobs that the words name as `question` says, and tells that they did what `text`
// says. The exit code.
Result<int> ChangeJobs(const HubScreen& screen, wire::ChangeJobs question, std::string_view text);

}  // namespace spate::cli
