// The command line of `para`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::parasol {

struct ParaOptions {
  std::vector<std::string> words;  // the command and what follows it

  uint64_t tries = 4;  // in total
  uint64_t max_queue = 2'000'000;
  uint64_t min_push = 1;
  uint64_t max_push = 100'000;
  int64_t warn_minutes = 4320;  // below 0: each running job is slow
  int64_t kill_minutes = 0;     // 0: never
  int64_t delay_seconds = 0;
  std::optional<int64_t> priority, max_job;
  double cpus = 0;           // 0: not said
  uint64_t ram = 0;          // likewise
  std::string dir, job_dir;  // absolute: the batch's folder, and where jobs run
  int64_t verbose = 1;
  bool eta = false;
};

// Capital letters count as small ones.
bool SameWord(std::string_view a, std::string_view b);

Result<ParaOptions> ReadParaOptions(std::span<const std::string> args);

// "high", "medium", "low" or 1 to 10000.
Result<int64_t> ReadParaPriority(std::string_view text);
// A number, or "unlimited": -1.
Result<int64_t> ReadParaMaxJob(std::string_view text);
Result<double> ReadParaCpus(std::string_view text);

}  // namespace spate::parasol
