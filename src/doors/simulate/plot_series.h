// Data of a simulation's picture: three courses over time, in equal parts of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "doors/simulate/simulation_text.h"

namespace spate::cli {

struct PlotSeries {
  int64_t first = 0;                             // the first submission
  int64_t last = 0;                              // the last end
  int64_t second = 1;                            // as of the workload
  std::vector<double> use;                       // mean of each part, 0 to 1
  std::vector<int64_t> queue;                    // most jobs that waited in each part
  std::vector<std::optional<double>> slowdowns;  // mean over jobs that were submitted in it, if any
};

PlotSeries SeriesOf(const Simulation& simulation, size_t parts);

}  // namespace spate::cli
