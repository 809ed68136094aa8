// AttemptSums: what all attempts of a job took. It adds up columns, whatever they say.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "core/model/job.h"
#include "store/sqlite/database.h"

namespace spate::store {

struct JobStatistics {
  uint64_t attempts = 0;
  Duration median_wall;  // of the attempts that succeeded
  Duration total_wall;   // of all attempts
  Duration total_user;
  Duration total_system;
  uint64_t peak_memory = 0;  // of the largest attempt
  TaskIndex peak_task = 0;
  Instant first_start;  // zero: nothing was started
  Instant last_end;
  double tasks_per_second = 0;  // that succeeded, from first_start to last_end
  uint64_t output_bytes = 0;    // kept
};

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
