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

// Reads the hub's jobs of a state folder, else those of runs; or of STATE/hub or STATE/jobs alone.
// Writes nothing; other processes may write at the same time. kNotFound: there are neither;
// kCorrupt.
Result<FoundHistory> ReadHistory(const std::string& state);

}  // namespace spate::cli
