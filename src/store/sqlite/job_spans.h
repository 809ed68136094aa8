// JobSpans: where the records of a hub's jobs lie in the one sequence of all. A job that waits for
// long has thousands of others' records between its own; who removes it need not look at those.
//
// Table `span`: ranges of numbers, at most 2 * kMost for each job, with few records of others
// between those of the job. They are written when the job has finished. A job without rows there
// (of an older journal, for one) has all between its first and its last record as its range; a lost
// or damaged row leaves records that nobody sees.
//
// Thread: the store's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/sqlite/database.h"

namespace spate::store {

// Ascending, without overlap; the first and the last number of each.
class SpanList {
 public:
  static constexpr size_t kMost = 64;
  // Records of others that are looked at rather than made a gap.
  static constexpr uint64_t kNear = 64;

  // Numbers above all of the list, or of its last range again.
  void Add(uint64_t first, uint64_t last);
  const std::vector<std::pair<uint64_t, uint64_t>>& spans() const { return spans_; }

 private:
  void CloseSmallGaps();

  std::vector<std::pair<uint64_t, uint64_t>> spans_;
};

using SpansOfJobs = std::unordered_map<JobId, SpanList>;

class JobSpans {
 public:
  Status Prepare(Database& db);
  // Spans of unfinished jobs, from their records, before the first Add.
  void Know(SpansOfJobs spans) { known_ = std::move(spans); }
  // The job's first record.
  void Begin(JobId job, uint64_t seq);
  // Another one is written. Within the caller's transaction.
  Status Add(JobId job, uint64_t seq);
  // The job has finished with that.
  Status Finished(JobId job);
  void Forget(JobId job) { known_.erase(job); }

 private:
  Result<SpanList> Load(JobId job, uint64_t seq);

  SpansOfJobs known_;  // of unfinished jobs
  Statement read_, range_, write_;
};

}  // namespace spate::store
