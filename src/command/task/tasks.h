// Shared parts of the commands about single tasks.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "command/history_call.h"
#include "core/model/facts.h"
#include "core/model/job_facts.h"

namespace spate::cli {

std::string IdOf(const TaskDetails& task);
// Calls `print` for every task that the call's words name; prints ids itself where only those are
// wanted. Returns the exit code.
Result<int> ForEachTask(HistoryCall& call, const std::function<void(const TaskDetails&)>& print);

// Lines of a page: the news of the start of the task's gang, and when it started. `running`:
// where it runs, as a hub knows.
std::vector<std::string> StartLinesOf(const TaskDetails& task,
                                      std::span<const RunningFacts> running);

// Gives the parents that the tasks wait for their names, of those that have one.
void NameParents(HistoryCall& call, std::span<TaskWhy> tasks);

// Result of an attempt: "exit code 3, tried again".
std::string AttemptText(const AttemptFacts& attempt);

}  // namespace spate::cli
