// Uses of a job's rows in a run, next to running them, and what later runs need for them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/run_options.h"
#include "cli/run/output_clash.h"
#include "cli/run/task_list.h"
#include "core/model/job.h"

namespace spate::run {

// Fills in what rows need to become bodies again and their command line alone does not tell, from
// the settings in the job's row. kCorrupt: they are none.
Status DecodeRowSettings(std::string_view column, JobSettings& settings);

// --tagstring: the text in front of a task's lines, from its row. Errors: what CompileJob refuses.
using TagMaker = std::function<std::string(std::string row, TaskIndex index)>;
Result<TagMaker> MakeTag(const std::string& text, const JobSettings& settings);

// The values of a task, as people see them: a list's line is one.
std::vector<std::string> ValuesOfRow(const JobSettings& settings, std::string row);

// Files that a new job's tasks write to (cli/run/output_clash.h). `settings` outlive the rules.
cli::OutputRules OutputRulesOf(const cli::RunOptions& options, const JobSettings& settings);
// Refuses a list whose tasks would overwrite each other's files.
Status CheckOutputs(const cli::RunOptions& options, const JobSettings& settings,
                    const cli::RowSource& rows);

}  // namespace spate::run
