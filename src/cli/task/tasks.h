// Shared parts of the commands about single tasks.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/history/call.h"
#include "core/model/job_facts.h"

namespace spate::cli {

std::string IdOf(const TaskDetails& task);
// Calls `print` for every task that the call's words name; prints ids itself where only those are
// wanted. Returns the exit code.
Result<int> ForEachTask(HistoryCall& call, const std::function<void(const TaskDetails&)>& print);

// Result of an attempt: "exit code 3, tried again".
std::string AttemptText(const AttemptFacts& attempt);

}  // namespace spate::cli
