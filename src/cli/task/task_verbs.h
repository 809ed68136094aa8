// The verbs of `spate task`, one file each. They return an exit code.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/history/call.h"
#include "cli/history/log_facts.h"
#include "cli/history/task_facts.h"
#include "store/sqlite/history.h"

namespace spate::cli {

Result<int> TaskInfo(HistoryCall& call);
Result<int> TaskExplain(HistoryCall& call);

// One task that a command is about.
struct TaskAtHand {
  store::History& history;
  TaskTexts& texts;
  const LogFacts& log;
  const store::TaskSummary& task;
  std::string command;
  std::vector<store::AttemptEntry> attempts;  // that have ended, in order
  std::string id() const { return TaskId(history.summary().number, task.index); }
};
// Calls `print` for every task that the call's words name; prints ids itself where only those are
// wanted. Returns the exit code.
Result<int> ForEachTask(HistoryCall& call, const std::function<void(const TaskAtHand&)>& print);

// What became of an attempt: "exit code 3, tried again".
std::string AttemptText(const store::AttemptEntry& attempt);

}  // namespace spate::cli
