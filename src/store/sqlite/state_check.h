// CheckJob: is a job's folder sound? For `spate state check`; reads all of it and writes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/engine/record.h"

namespace spate::store {

struct CheckReport {
  std::vector<std::string> problems;  // one full line each, at most kMaxProblems
  uint64_t more_problems = 0;         // beyond them
  uint64_t attempts = 0;
  uint64_t log_records = 0;
  uint64_t rows = 0;          // of tasks' text
  uint64_t output_bytes = 0;  // that attempts point to
  bool sound() const { return problems.empty(); }
  static constexpr size_t kMaxProblems = 20;
};

// Checks SQLite's own structure, every checksum, the sequence, the ranges of output, that rows and
// attempts belong to tasks of the job. `visit` (may be null) gets every readable record in order,
// so that the caller can replay them through an engine.
// An error: the check itself could not be made (kNotFound, kPermission).
Result<CheckReport> CheckJob(const std::string& state_dir, uint32_t number,
                             const std::function<void(const engine::Record&)>& visit = nullptr);

}  // namespace spate::store
