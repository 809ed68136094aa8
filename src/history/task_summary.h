// A task as facts (core/model/job_facts.h), from its summary.
#pragma once

#include <string>
#include <vector>

#include "core/model/job_facts.h"
#include "history/live_tasks.h"
#include "history/source.h"
#include "store/history.h"

namespace spate::history {

AttemptFacts AttemptFactsOf(const store::AttemptEntry& attempt);
TaskFacts TaskFactsOf(const store::TaskSummary& task);
// The command, cut to the length that facts may have, whatever its sender made up.
std::string Bounded(std::string command);
// The processes of a job's tasks; none when nobody runs it or they cannot be seen.
std::vector<LiveTask> LiveTasksOf(const Source& source, const store::JobSummary& job);

}  // namespace spate::history
