#include "doors/simulate/figures.h"

#include <algorithm>

namespace spate::cli {
namespace {

constexpr int64_t kShortRun = 10;  // seconds

}  // namespace

std::vector<QueueStep> QueueOver(const std::vector<format::RigidJob>& jobs,
                                 const std::vector<ReplayStart>& starts) {
  std::vector<QueueStep> steps;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (starts[i].start == jobs[i].submit) continue;
    steps.push_back({jobs[i].submit, 1});
    steps.push_back({starts[i].start, -1});
  }
  std::sort(steps.begin(), steps.end());
  size_t kept = 0;
  int64_t depth = 0;
  for (const QueueStep& step : steps) {
    depth += step.depth;
    if (kept > 0 && steps[kept - 1].at == step.at) --kept;
    steps[kept++] = {step.at, depth};
  }
  steps.resize(kept);
  return steps;
}

double BoundedSlowdown(const format::RigidJob& job, int64_t start, int64_t second) {
  auto took = static_cast<double>(start - job.submit + job.run);
  return std::max(1.0, took / static_cast<double>(std::max(job.run, kShortRun * second)));
}

Figures FiguresOf(const format::Workload& workload, const std::vector<ReplayStart>& starts) {
  const std::vector<format::RigidJob>& jobs = workload.jobs;
  Figures figures{.jobs = jobs.size()};
  std::vector<int64_t> waits;
  double waited = 0, slowdown = 0, work = 0;
  int64_t first = jobs.front().submit, last = first;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const format::RigidJob& job = jobs[i];
    waits.push_back(starts[i].start - job.submit);
    waited += static_cast<double>(waits.back());
    const double bounded = BoundedSlowdown(job, starts[i].start, workload.second);
    slowdown += bounded;
    figures.max_bounded_slowdown = std::max(figures.max_bounded_slowdown, bounded);
    work += static_cast<double>(job.run) * job.processors;
    first = std::min(first, job.submit);
    last = std::max(last, starts[i].start + job.run);
    figures.overtook += starts[i].overtakes;
  }
  const auto count = static_cast<double>(jobs.size());
  figures.mean_wait = waited / count / static_cast<double>(workload.second);
  figures.mean_bounded_slowdown = slowdown / count;
  figures.makespan = last - first;
  figures.utilisation = work / (workload.processors * static_cast<double>(figures.makespan));
  for (const QueueStep& step : QueueOver(jobs, starts)) {
    figures.queue_depth_max = std::max(figures.queue_depth_max, static_cast<uint64_t>(step.depth));
  }
  std::sort(waits.begin(), waits.end());
  figures.median_wait = waits[waits.size() / 2];
  figures.max_wait = waits.back();
  return figures;
}

}  // namespace spate::cli
