// Texts of the history commands about one job, as fields and as words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "command/history_call.h"
#include "core/model/job_facts.h"
#include "present/json/json_line.h"
#include "present/table/table.h"

namespace spate::cli {

present::Tone ToneOf(JobStanding standing);
// For JSON: of a finished job how it came out.
JobFacts WithOutcome(JobFacts job);
// "spate run -j 8 list.txt", as it was typed; "spate submit ..." of a hub's job. Of the values
// behind a ::: no more than `values`, and how many more there are: "::: 1 2 3 (and 4,997 more
// values)".
std::string CommandLineOf(const JobFacts& job, bool on_hub, size_t values = SIZE_MAX);

// Commands to resume the job, or to run its failed tasks again.
std::string ResumeCommandOf(const HistoryCall& call, const JobFacts& job);
std::string RetryCommandOf(const HistoryCall& call, std::string_view selector);

// "1-3, 7 and 9"; at most `most` parts, then how many more of `count` there are.
std::string TaskNumbersText(const std::vector<TaskRange>& tasks, uint64_t count, size_t most);

// "1 cpu, 2 GB of memory, 1 gpus"
std::string NeedsText(const Needs& needs);
// "8 processes on 4 nodes, which run nothing else"; empty: no gang.
std::string GangText(const GangShape& gang);
// The shape of gangs, the deadline and what tasks wait for, as fields of a line.
void AddClassFields(present::JsonLine& line, const TaskClass& tasks);

}  // namespace spate::cli
