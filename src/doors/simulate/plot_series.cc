#include "doors/simulate/plot_series.h"

#include <algorithm>
#include <cmath>

namespace spate::cli {
namespace {

// Equal parts of a time.
class Parts {
 public:
  Parts(int64_t first, int64_t last, size_t count)
      : first_(first),
        length_(static_cast<double>(last - first) / static_cast<double>(count)),
        count_(count) {}

  double length() const { return length_; }
  // From 0 to their number.
  double PlaceOf(int64_t at) const { return static_cast<double>(at - first_) / length_; }
  size_t PartOf(int64_t at) const { return std::min(static_cast<size_t>(PlaceOf(at)), count_ - 1); }

 private:
  int64_t first_;
  double length_;
  size_t count_;
};

// Each job counts for its share of the parts in which it begins and ends, and wholly between them:
// as steps, which are summed up last.
std::vector<double> UseOf(const Simulation& simulation, const Parts& parts, size_t count) {
  std::vector<double> steps(count + 2);
  auto step = [&](int64_t at, double processors) {
    const double place = parts.PlaceOf(at);
    const size_t part = parts.PartOf(at);
    const double inside = std::min(1.0, static_cast<double>(part + 1) - place);
    steps[part] += processors * inside;
    steps[part + 1] += processors * (1 - inside);
  };
  for (size_t i = 0; i < simulation.starts.size(); ++i) {
    const format::RigidJob& job = simulation.workload.jobs[i];
    const double share = static_cast<double>(job.processors) / simulation.workload.processors;
    step(simulation.starts[i].start, share);
    step(simulation.starts[i].start + job.run, -share);
  }
  std::vector<double> use(count);
  double sum = 0;
  for (size_t part = 0; part < count; ++part) {
    sum += steps[part];
    use[part] = std::clamp(sum, 0.0, 1.0);
  }
  return use;
}

std::vector<int64_t> QueueIn(const Simulation& simulation, const Parts& parts, size_t count) {
  std::vector<int64_t> most(count, 0);
  size_t part = 0;
  int64_t depth = 0;
  for (const QueueStep& step : QueueOver(simulation.workload.jobs, simulation.starts)) {
    for (const size_t now = parts.PartOf(step.at); part < now;) most[++part] = depth;
    depth = step.depth;
    most[part] = std::max(most[part], depth);
  }
  return most;
}

std::vector<std::optional<double>> SlowdownsIn(const Simulation& simulation, const Parts& parts,
                                               size_t count) {
  std::vector<double> sums(count);
  std::vector<uint64_t> jobs(count);
  for (size_t i = 0; i < simulation.starts.size(); ++i) {
    const format::RigidJob& job = simulation.workload.jobs[i];
    const size_t part = parts.PartOf(job.submit);
    sums[part] += BoundedSlowdown(job, simulation.starts[i].start, simulation.workload.second);
    ++jobs[part];
  }
  std::vector<std::optional<double>> means(count);
  for (size_t part = 0; part < count; ++part) {
    if (jobs[part] > 0) means[part] = sums[part] / static_cast<double>(jobs[part]);
  }
  return means;
}

}  // namespace

PlotSeries SeriesOf(const Simulation& simulation, size_t count) {
  PlotSeries series;
  series.first = simulation.workload.jobs.front().submit;
  series.last = series.first + simulation.figures.makespan;
  series.second = simulation.workload.second;
  const Parts parts(series.first, series.last, count);
  series.use = UseOf(simulation, parts, count);
  series.queue = QueueIn(simulation, parts, count);
  series.slowdowns = SlowdownsIn(simulation, parts, count);
  return series;
}

}  // namespace spate::cli
