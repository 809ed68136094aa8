// What a job keeps of its command for later runs: everything that its rows need to become bodies
// again and that its command line alone does not tell. JSON in the job's row (docs/formats).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/job.h"

namespace spate::run {

std::string EncodeJobText(const JobSettings& settings);
// Fills in row_kind, command, value_names and has_source. kCorrupt when it is not ours.
Status DecodeJobText(std::string_view text, JobSettings& settings);

// --tagstring: the text in front of a task's lines, from its row. Errors: what CompileJob refuses.
using TagMaker = std::function<std::string(std::string row, TaskIndex index)>;
Result<TagMaker> MakeTag(const std::string& text, const JobSettings& settings);

// The values of a task, as people see them: a list's line is one.
std::vector<std::string> ValuesOfRow(const JobSettings& settings, std::string row);

}  // namespace spate::run
