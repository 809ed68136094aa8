// Retries: which failures, where, and with how much memory: options to policy, and back to text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/job.h"

namespace spate::cli {

// Causes that --retry-on names.
struct RetryCauses {
  CauseSet causes = 0;
  std::vector<ExitRange> exits;  // sorted, without overlaps
};
// "exit,signal", "all", "signal,exit:3,75,137-140".
Result<RetryCauses> ParseRetryCauses(std::string_view text);
// The same text again, in the shortest form.
std::string RetryOnText(const RetryPolicy& policy);
// "x2", "x1.5": percent.
Result<uint32_t> ParseGrowth(std::string_view text);
std::string GrowthText(uint32_t percent);  // "x1.5"

// `memory`: what all tasks ask for; 0: nothing.
Status CheckRetries(const RetryPolicy& retry, uint64_t memory);

}  // namespace spate::cli
