#include "hub/replay_keeper.h"

#include <utility>

namespace spate::hub {

void ReplayKeeper::Finished(JobId job) {
  auto at = counts_.find(job);
  if (at == counts_.end()) return;
  if (at->second.since >= kLeastAtEnd) Due(job, at->second);
  counts_.erase(at);
}

void ReplayKeeper::Due(JobId job, Count& count) {
  count.kept += std::exchange(count.since, 0);
  due_.insert(job);
  if (!at_work_) Next();
}

// A job that cannot be kept now is due again when it has grown as much.
void ReplayKeeper::Next() {
  at_work_ = nullptr;
  while (!at_work_ && !due_.empty()) {
    const JobId job = due_.extract(due_.begin()).value();
    at_work_ = keep_(job, [this] { Next(); });
  }
}

}  // namespace spate::hub
