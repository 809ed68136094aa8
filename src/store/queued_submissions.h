// The names of submissions whose jobs' rows are not durable yet.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/ids.h"

namespace spate::store {

class QueuedSubmissions {
 public:
  void Add(const std::string& submission, JobId job) {
    if (!submission.empty()) jobs_[submission] = job;
  }
  // The row of this job is durable. Another one may have taken its name meanwhile, where it was
  // dropped.
  void Written(const std::string& submission, JobId job) {
    auto at = jobs_.find(submission);
    if (at != jobs_.end() && at->second == job) jobs_.erase(at);
  }
  std::optional<JobId> Find(const std::string& submission) const {
    auto at = jobs_.find(submission);
    return at == jobs_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::map<std::string, JobId> jobs_;
};

}  // namespace spate::store
