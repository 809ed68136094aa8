#include "store/sqlite/attempt_sums.h"

#include <algorithm>

namespace spate::store {
namespace {

// Values are not checked here, so damaged ones are brought within reason: 30 years.
constexpr int64_t kMostMicros = 1'000'000'000'000'000;
int64_t Sane(int64_t us) { return std::clamp(us, -kMostMicros, kMostMicros); }

Duration Sum(Duration total, int64_t us) {
  int64_t ns = 0;
  if (__builtin_add_overflow(total.ns, Sane(us) * 1000, &ns)) return Duration::Max();
  return Duration{ns};
}

Duration MedianOf(std::vector<int64_t> walls_us) {
  if (walls_us.empty()) return {};
  auto middle = walls_us.begin() + static_cast<ptrdiff_t>(walls_us.size() / 2);
  std::ranges::nth_element(walls_us, middle);
  return Duration::Micros(*middle);
}

}  // namespace

void AttemptSums::Add(const Statement& row, int first, TaskIndex index, bool succeeded) {
  const int64_t wall = Sane(row.Int(first));
  if (succeeded) good_walls_us_.push_back(wall);
  ++all_.attempts;
  all_.total_wall = Sum(all_.total_wall, wall);
  all_.total_user = Sum(all_.total_user, row.Int(first + 1));
  all_.total_system = Sum(all_.total_system, row.Int(first + 2));
  auto peak = static_cast<uint64_t>(row.Int(first + 3)) * 1024;
  if (peak > all_.peak_memory) {
    all_.peak_memory = peak;
    all_.peak_task = index;
  }
  if (!row.IsNull(first + 4)) {
    int64_t start = Sane(row.Int(first + 4));
    first_start_us_ = std::min(first_start_us_, start);
    last_end_us_ = std::max(last_end_us_, start + wall);
  }
  all_.output_bytes += static_cast<uint64_t>(row.Int(first + 5));
}

JobStatistics AttemptSums::Statistics(int64_t base_us, uint32_t tasks_that_succeeded) const {
  JobStatistics all = all_;
  all.median_wall = MedianOf(good_walls_us_);
  if (first_start_us_ > last_end_us_) return all;
  const int64_t base = std::clamp(base_us, -4 * kMostMicros, 4 * kMostMicros);
  all.first_start = Instant{(first_start_us_ + base) * 1000};
  all.last_end = Instant{(last_end_us_ + base) * 1000};
  double seconds = (all.last_end - all.first_start).seconds();
  if (seconds > 0) all.tasks_per_second = tasks_that_succeeded / seconds;
  return all;
}

}  // namespace spate::store
