// Uses of a job's rows in a run, next to running them, and what later runs need for them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/run_options.h"
#include "core/model/job.h"
#include "plan/output_clash.h"
#include "plan/task_list.h"
#include "view/run_view.h"

namespace spate::run {

// How a job's row names a list: absolute, without "." and ".."; "-" as it is.
std::string ListName(const std::string& cwd, const std::string& file);

// Fills in what rows need to become bodies again and their command line alone does not tell, from
// the settings in the job's row. kCorrupt: they are none.
Status DecodeRowSettings(std::string_view column, JobSettings& settings);

// The values of a task, as people see them: a list's line is one.
std::vector<std::string> ValuesOfRow(const JobSettings& settings, std::string row);

// Texts of a job's tasks for its view, made of their rows. Errors: what CompileJob refuses.
// `settings`, `options` and what `row` refers to outlive them.
struct TextsOf {
  const JobSettings& settings;
  const cli::RunOptions& options;
  JobId job;
  std::string cwd;  // where the job was made: names of its lists count from there
  std::function<std::optional<std::string>(TaskIndex)> row;  // nullopt: not known
};
Result<cli::ViewTexts> MakeTexts(TextsOf of);

// Files that a new job's tasks write to (plan/output_clash.h). `settings` outlive the rules.
cli::OutputRules OutputRulesOf(const cli::RunOptions& options, const JobSettings& settings);
// Refuses a list whose tasks would overwrite each other's files.
Status CheckOutputs(const cli::RunOptions& options, const JobSettings& settings,
                    const cli::RowSource& rows);

}  // namespace spate::run
