// Lessons of earlier runs for a new one: which of them to resume, and how long tasks took.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options/run_options.h"
#include "plan/list_change.h"
#include "store/sqlite/job_list.h"

namespace spate::run {

struct EarlierRun {
  std::optional<store::JobSummary> job;  // nullopt: there is none
  // The newest that would have been it, but was never accepted.
  std::optional<uint32_t> passed_over;
};
// The newest job of the same lists (or of the same command) from the same folder. Of a command with
// other values: the one that had most of them, if it had some of each source. Without lists and
// command: the newest one of the folder that is not finished.
Result<EarlierRun> FindEarlierRun(const std::string& state_dir, const std::string& cwd,
                                  const cli::RunOptions& options);

// The newest run of the same lists from the same folder, if it was cut off (by a kill, a power
// failure) with tasks left. Of the newest few runs: a new run waits for the answer.
std::optional<store::JobSummary> FindCutOff(const std::string& state_dir, const std::string& cwd,
                                            const cli::RunOptions& options);

// The order that starts what took longest first, by the newest earlier run of the same lists or
// command; tasks that it did not know come before all others. Empty when there is no such run.
std::vector<TaskIndex> LongestFirst(const std::string& state_dir, const std::string& cwd,
                                    const cli::RunOptions& options, const cli::RowSource& rows);

}  // namespace spate::run
