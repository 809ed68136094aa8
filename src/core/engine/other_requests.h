// Tasks of a job that make other requests than before.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/engine/job_state.h"
#include "core/model/ranges.h"

namespace spate::engine {

// Makes the record of such a change: requests that the job has keep their numbers.
class OtherRequests {
 public:
  explicit OtherRequests(const JobState& job)
      : job_(job), all_(job.requests()), changed_{job.id(), {}, {}} {}

  uint32_t NumberOf(TaskClass request) {
    auto same = std::find(all_.begin(), all_.end(), request);
    const auto number = static_cast<uint32_t>(same - all_.begin());
    if (same != all_.end()) return number;
    changed_.new_requests.push_back(request);
    all_.push_back(std::move(request));
    return number;
  }
  // By index, ascending.
  void Add(TaskIndex index, uint32_t request) {
    if (request == job_.RequestOf(index)) return;
    AppendRequest(changed_.runs, index, request);
  }
  NeedsChanged Take() { return std::move(changed_); }

 private:
  const JobState& job_;
  std::vector<TaskClass> all_;
  NeedsChanged changed_;
};

// The requests that these tasks make with the change.
NeedsChanged WithChange(const JobState& job, std::vector<TaskRange> tasks,
                        const std::function<void(TaskClass&)>& change);

}  // namespace spate::engine
