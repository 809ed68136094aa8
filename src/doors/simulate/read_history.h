// The jobs in a state folder, of a hub or of runs.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "doors/simulate/job_history.h"

namespace spate::cli {

struct FoundHistory {
  JobHistory jobs;
  bool of_hub = false;
  std::vector<std::string> problems;  // runs that cannot be read, and are left out
};

// Of a state folder the hub's jobs, else those of runs; or of STATE/hub or STATE/jobs alone.
// Nothing is written, and other processes may write meanwhile. kNotFound: there are neither;
// kCorrupt.
Result<FoundHistory> ReadHistory(const std::string& state);

}  // namespace spate::cli
