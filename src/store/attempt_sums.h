// AttemptSums: what all attempts of a job took. It adds up numbers of a journal, whatever they say.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/model/job.h"
#include "core/model/job_facts.h"

namespace spate::store {

// Of one attempt, as a journal has it.
struct AttemptNumbers {
  TaskIndex index = 0;
  bool succeeded = false;
  int64_t wall_us = 0, user_us = 0, system_us = 0;
  int64_t peak_kb = 0;
  std::optional<int64_t> start_us;  // since 1970; nullopt: it never started
  int64_t output_bytes = 0;
};

class AttemptSums {
 public:
  void Add(const AttemptNumbers& attempt);

  JobStatistics Statistics(uint32_t tasks_that_succeeded) const;

 private:
  JobStatistics all_;  // without what Statistics works out
  std::vector<int64_t> good_walls_us_;
  int64_t first_start_us_ = INT64_MAX;
  int64_t last_end_us_ = INT64_MIN;
};

}  // namespace spate::store
