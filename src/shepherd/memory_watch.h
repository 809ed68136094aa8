// The memory of an attempt: its limit, by the slot's cgroup or by looking, and how much it was at
// most.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/model/attempt.h"
#include "os/cgroup.h"
#include "shepherd/protocol.h"

namespace spate::shepherd {

class MemoryWatch {
 public:
  explicit MemoryWatch(os::Cgroup& cgroup) : cgroup_(cgroup) {}

  // Begins a fresh attempt, whose cgroup has begun.
  void Begin(const Start& start, int64_t now);
  // The attempt's limit from now on; 0: none.
  void SetLimit(uint64_t bytes);
  // When to Sample; never after Stop.
  int64_t next_sample() const { return sample_at_; }
  void Stop() { sample_at_ = INT64_MAX; }
  // Only puts the next one off.
  void Skip(int64_t now);
  // Looks at all that is below this process, and at `more` bytes that it holds for them. Returns
  // what it needs: pages that processes share count once, pages of files do not count.
  uint64_t Sample(int64_t now, uint64_t more);
  // Its processes have so much, by somebody else's look.
  void Saw(uint64_t bytes) {
    sampled_peak_ = std::max(sampled_peak_, bytes);
    resident_peak_ = std::max(resident_peak_, bytes);
  }
  // Adds a process that was waited for.
  void Add(const rusage& usage);

  uint64_t limit() const { return limit_; }
  bool IsOver(uint64_t bytes) const { return limit_ != 0 && bytes > limit_; }
  // The kernel has ended a process because of the limit.
  bool WasOut() { return cgroup_.WasOutOfMemory(); }
  // The peak, and by what it is known.
  void AddTo(AttemptEnd& end);
  // For stderr of an attempt that went over its limit, after AddTo. The note gets the same peak.
  std::string LastWords(AttemptEnd& end) const;

 private:
  uint64_t SampleTree(int64_t now, uint64_t more);
  uint64_t NeedOfCgroup(uint64_t peak);

  os::Cgroup& cgroup_;
  uint64_t cache_ = 0;  // page cache of the cgroup when it was looked at last, by any attempt
  uint64_t limit_ = 0;
  bool asked_ = false;  // samples are wanted
  int64_t began_at_ = 0;
  int64_t sample_at_ = INT64_MAX;
  uint64_t sampled_peak_ = 0;
  uint64_t resident_peak_ = 0;  // the largest sum of resident pages, each counted by each process
  // The last close look: resident and needed memory, and when there may be another one.
  uint64_t resident_then_ = 0;
  uint64_t need_then_ = 0;
  int64_t look_after_ = 0;
  uint64_t rusage_peak_ = 0;
};

}  // namespace spate::shepherd
