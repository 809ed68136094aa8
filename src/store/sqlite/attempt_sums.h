// AttemptSums: what all attempts of a job took. It adds up columns, whatever they say.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "core/model/job.h"
#include "core/model/job_facts.h"
#include "store/sqlite/database.h"

namespace spate::store {

class AttemptSums {
 public:
  // The columns that Add reads, from `first` on.
  static constexpr const char* kColumns =
      "wall_us, user_us, system_us, peak_kb, start_us, "
      "COALESCE(stdout_len, 0) + COALESCE(stderr_len, 0)";
  void Add(const Statement& row, int first, TaskIndex index, bool succeeded);

  JobStatistics Statistics(int64_t base_us, uint32_t tasks_that_succeeded) const;

 private:
  JobStatistics all_;  // without what Statistics works out
  std::vector<int64_t> good_walls_us_;
  int64_t first_start_us_ = INT64_MAX;
  int64_t last_end_us_ = INT64_MIN;
};

}  // namespace spate::store
