// A simulation as people and programs read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doors/simulate/figures.h"
#include "doors/simulate/formats/swf.h"
#include "doors/simulate/simulate_options.h"

namespace spate::cli {

// One that has been run.
struct Simulation {
  SimulateOptions options;
  format::SwfHeader header;  // of a history: the machine, and whose it is
  uint64_t broken_lines = 0;
  format::Workload workload;  // in the order of submission
  std::vector<ReplayStart> starts;
  Figures figures;
};

// The file or the folder that was named.
const std::string& SourceOf(const SimulateOptions& options);
// Policy, estimates and order.
std::string TitleText(const SimulateOptions& options);
// With a comma between thousands.
std::string NumberText(double value, int decimals);
// No line is wider than `width`.
std::string HumanText(const Simulation& simulation, uint32_t width);
// One line.
std::string JsonText(const Simulation& simulation);
// A line for each job, in the order of submission: its number (of a history "JOB.TASK"),
// submission, start, run time, processors, and 1 where it overtook somebody, else 0.
std::string ScheduleText(const Simulation& simulation);
// Origin of the trace and its credits, as far as it states them. Any bytes.
std::string OriginText(const format::SwfHeader& header);

}  // namespace spate::cli
