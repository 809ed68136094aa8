// Effects of a policy on a trace's jobs, in numbers.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "doors/simulate/formats/swf.h"
#include "doors/simulate/replay.h"

namespace spate::cli {

// Means are over all jobs, none left out at the beginning or the end.
struct Figures {
  uint64_t jobs = 0;
  double mean_wait = 0;     // seconds
  int64_t median_wait = 0;  // this and the other whole times in the workload's units
  int64_t max_wait = 0;
  double mean_bounded_slowdown = 0;
  double max_bounded_slowdown = 0;
  double utilisation = 0;        // of the processors, from the first submission to the last end
  uint64_t queue_depth_max = 0;  // jobs that waited at once, beyond the instant of their submission
  uint64_t overtook = 0;         // jobs that started before one that had come earlier
  int64_t makespan = 0;          // from the first submission to the last end
};

// From this moment on so many jobs wait.
struct QueueStep {
  int64_t at = 0;
  int64_t depth = 0;
  friend auto operator<=>(const QueueStep&, const QueueStep&) = default;
};
// In the order of time, one step for each instant. Whoever starts at the instant of its submission
// never waits.
std::vector<QueueStep> QueueOver(const std::vector<format::RigidJob>& jobs,
                                 const std::vector<ReplayStart>& starts);

// How much longer a job took than it ran; short ones count as 10 s, so that they do not rule it.
// `second` is that of the workload.
double BoundedSlowdown(const format::RigidJob& job, int64_t start, int64_t second);
// At least one job.
Figures FiguresOf(const format::Workload& workload, const std::vector<ReplayStart>& starts);

}  // namespace spate::cli
