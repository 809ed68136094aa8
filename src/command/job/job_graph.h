// Texts about a job's graph.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "command/history_call.h"
#include "core/model/selection.h"
#include "present/graph/graph.h"

namespace spate::cli {

struct JobGraphFacts {
  JobId job;
  std::string name;  // the job's
  // Tasks that are in their list. Those without a name have their number.
  present::TaskGraph graph;
  std::vector<uint32_t> numbers;  // by task, in the job, from 1
};
// Asks about one job.
Result<JobGraphFacts> AskGraph(HistoryCall& call, JobSelector job);

}  // namespace spate::cli
