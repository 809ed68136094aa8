// The DAG of a run, and what its rescue file says is done.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "core/model/graph.h"
#include "core/model/job.h"

namespace spate::pmc {

struct WorkflowTask {
  std::string_view row;   // its TASK record
  std::string_view name;  // this and all below point into the text
  std::string_view id;    // of the Pegasus record before it; may be empty
  uint32_t request = 0;   // of Workflow::requests
  bool forwards = false;  // some of its data
};

struct Workflow {
  std::string text;
  std::vector<WorkflowTask> tasks;
  std::vector<Edge> edges;
  std::vector<TaskClass> requests;        // distinct
  std::vector<std::string> first_places;  // of each, where it stands first, as "FILE:LINE"
};

// Errors (kInvalid): one line for each problem as the original tells it, each followed by one with
// its place: "FILE:LINE".
Result<Workflow> ReadWorkflow(std::string text, const std::string& path);

// By task. A task that is said to be done and has a parent that is not must run again.
std::vector<bool> DoneTasks(const Workflow& workflow,
                            const std::unordered_set<std::string_view>& said);

// The remaining work, as a job: task i of it is left[i] of the workflow.
struct Remaining {
  std::vector<TaskIndex> left;
  JobPlan plan;
  std::vector<Edge> edges;
};
Remaining WithoutDone(const Workflow& workflow, const std::vector<bool>& done);

}  // namespace spate::pmc
