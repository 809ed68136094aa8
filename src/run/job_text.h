// What a run makes of its job's rows beside running them, and what later runs need for it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/job.h"

namespace spate::run {

// Fills in what rows need to become bodies again and their command line alone does not tell, from
// the settings in the job's row. kCorrupt: they are none.
Status TakeRowSettings(std::string_view column, JobSettings& settings);

// --tagstring: the text in front of a task's lines, from its row. Errors: what CompileJob refuses.
using TagMaker = std::function<std::string(std::string row, TaskIndex index)>;
Result<TagMaker> MakeTag(const std::string& text, const JobSettings& settings);

// The values of a task, as people see them: a list's line is one.
std::vector<std::string> ValuesOfRow(const JobSettings& settings, std::string row);

}  // namespace spate::run
