// What is told of a job's graph.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/graph/graph.h"
#include "cli/history/call.h"
#include "core/model/selection.h"

namespace spate::cli {

struct JobGraphFacts {
  JobId job;
  std::string name;  // the job's
  TaskGraph graph;   // tasks without a name have their number
};
// Of one job.
Result<JobGraphFacts> AskGraph(HistoryCall& call, JobSelector job);

}  // namespace spate::cli
