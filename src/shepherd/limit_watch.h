// Processes and processor time of an attempt, compared with what it asked for (memory_watch.h has
// its memory), and what holds it to its limits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/excess.h"
#include "core/model/job.h"
#include "os/cgroup.h"
#include "shepherd/process_tree.h"
#include "shepherd/protocol.h"

namespace spate::shepherd {

// Limits that the slot's cgroup is to enforce for an attempt.
os::CgroupLimits CgroupLimitsOf(const Start& start, const JobSettings& settings);
// A list of what holds an attempt to its limits, where the cgroup enforces `holds` of them.
std::vector<EnforcedLimit> EnforcedLimits(const Start& start, const JobSettings& settings,
                                          const os::CgroupHolds& holds);

class LimitWatch {
 public:
  // Processes are counted ten times a second; use of cpus is judged by windows of so long.
  static constexpr int64_t kCpuWindow = 10'000'000'000;  // nanoseconds
  // Use is more than the request when it is more by a quarter.
  static constexpr int64_t kCpuMargin = 125;  // percent

  LimitWatch(os::Cgroup& cgroup, ProcessTree& tree) : cgroup_(cgroup), tree_(tree) {}

  // Begins a fresh attempt, whose cgroup has begun.
  void Begin(const Start& start, const JobSettings& settings, int64_t now);
  // Its request of cpus changes; the others as of UseOfCpus.
  void SetCpus(uint32_t milli_cpus, int64_t now, Duration ended, Duration still);
  void Stop() { processes_at_ = cpu_at_ = INT64_MAX; }
  // When to look at which; INT64_MAX: never.
  int64_t next() const { return std::min(processes_at_, cpu_at_); }
  bool processes_due(int64_t now) const { return now >= processes_at_; }
  bool cpu_due(int64_t now) const { return now >= cpu_at_; }

  uint32_t most_processes() const { return most_processes_; }
  uint32_t milli_cpus() const { return milli_cpus_; }
  // Processes and threads, at most one more than the limit. `counts_all`: all that is in the cgroup
  // but this process is the attempt's.
  uint64_t CountProcesses(int64_t now, bool counts_all);
  // Use of cpus in the window that ends now, in thousandths; a new one begins. `ended`: by
  // processes that were waited for. `still`: so long in all the attempt has stood still.
  uint64_t UseOfCpus(int64_t now, Duration ended, Duration still);

 private:
  Duration CpuTime(Duration ended) const;

  os::Cgroup& cgroup_;
  ProcessTree& tree_;
  uint32_t most_processes_ = 0;
  uint32_t milli_cpus_ = 0;
  bool judges_cpus_ = false;
  int64_t processes_at_ = INT64_MAX;
  int64_t cpu_at_ = INT64_MAX;
  int64_t window_began_ = 0;
  Duration used_before_, still_before_;
};

}  // namespace spate::shepherd
