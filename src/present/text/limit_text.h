// Words for the limits of tasks: what was asked for, and what enforces it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/facts.h"
#include "core/model/job_facts.h"
#include "core/model/run_look.h"
#include "present/text/running_text.h"

namespace spate::present {

// "memory 2.0 GB (kill), 50 processes (stop), 100 open files"; empty: nothing beyond the defaults
// was asked for.
std::string LimitsText(const Needs& needs, const TaskLimits& limits);
// A line for each way in which nodes enforce the limits of running tasks: "on n1: memory by its
// cgroup, processes by counting". Attempts of which nothing is known are left out.
std::vector<std::string> EnforcedLines(std::span<const RunningFacts> running, Uses uses);
// "task 3 used 3.0 GB of memory, but asked for 2.0 GB of memory (stopped)"
std::string ExcessText(uint32_t task, const Excess& excess);

}  // namespace spate::present
