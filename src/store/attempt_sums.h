// AttemptSums: what all attempts of a job took. It adds up numbers of a journal, whatever they say.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/job.h"
#include "core/model/job_facts.h"

namespace spate::store {

// Numbers of one attempt, from a journal.
struct AttemptNumbers {
  TaskIndex index = 0;
  Verdict verdict = Verdict::kRetry;
  int64_t wall_us = 0, user_us = 0, system_us = 0;
  int64_t peak_kb = 0;
  std::optional<int64_t> start_us;  // since 1970; nullopt: it never started
  int64_t output_bytes = 0;
};

class AttemptSums {
 public:
  void Add(const AttemptNumbers& attempt);

  // The median is exact below 4 ms and where few times are near it, and else within a 2048th.
  JobStatistics Statistics(uint32_t tasks_that_succeeded) const;
  // Mean of the attempts that were started, in whole microseconds; 0: none was.
  Duration MeanWall() const;

  // core/model/image.h
  template <typename Self, typename Archive>
  static void Image(Self& self, Archive& archive) {
    auto& [all, started, good_walls, first_start_us, last_end_us] = self;
    archive(all, started, good_walls, first_start_us, last_end_us);
  }

 private:
  // Times that are about equal.
  struct Bucket {
    uint64_t count = 0;
    uint64_t total_us = 0;
  };
  Duration MedianWall() const;

  JobStatistics all_;     // without what Statistics works out
  uint64_t started_ = 0;  // attempts; the others took no time
  std::unordered_map<uint32_t, Bucket>
      good_walls_;  // by bucket, whose order is that of their times
  int64_t first_start_us_ = INT64_MAX;
  int64_t last_end_us_ = INT64_MIN;
};

}  // namespace spate::store
