// ReplayKeeper: has the states of large jobs kept while these grow, so that questions about them
// need not replay all of their records (store/replay_file.h). Most of its work is done beside the
// loop.
//
// A job is due when as many attempts have ended as a 16th of those before, and kLeast at least: a
// file of N tasks is written again only when they have grown by as much as that is worth.
//
// Thread: the loop's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/ids.h"
#include "hub/journal_reader.h"

namespace spate::hub {

class ReplayKeeper {
 public:
  // Begins to keep a job's state; `done` comes later, by the loop, and may destroy the answer.
  // Null: that is not possible now.
  using Keep = std::function<std::unique_ptr<JournalAnswer>(JobId job, std::function<void()> done)>;

  static constexpr uint64_t kLeast = 250'000;
  // At the end of a job; a question replays fewer in less than 0.1 s.
  static constexpr uint64_t kLeastAtEnd = 50'000;

  // `ended`: attempts of a job that have ended so far, about.
  ReplayKeeper(Keep keep, std::function<uint64_t(JobId)> ended)
      : keep_(std::move(keep)), ended_(std::move(ended)) {}

  // An attempt of it has ended.
  void Ended(JobId job) {
    auto [at, is_new] = counts_.try_emplace(job);
    Count& count = at->second;
    if (is_new) count.kept = ended_(job);
    if (++count.since >= std::max(kLeast, count.kept / 16)) Due(job, count);
  }
  void Finished(JobId job);

 private:
  struct Count {
    uint64_t kept = 0;   // or known when this process began to count
    uint64_t since = 0;  // that have ended since
  };
  void Due(JobId job, Count& count);
  void Next();

  const Keep keep_;
  const std::function<uint64_t(JobId)> ended_;
  std::map<JobId, Count> counts_;  // of jobs that have not finished
  std::set<JobId> due_;
  std::unique_ptr<JournalAnswer> at_work_;  // one at a time
};

}  // namespace spate::hub
