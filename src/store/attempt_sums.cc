#include "store/attempt_sums.h"

#include <algorithm>
#include <bit>
#include <map>

namespace spate::store {
namespace {

// Values are not checked here, so damaged ones are brought within reason: 30 years.
constexpr int64_t kMostMicros = 1'000'000'000'000'000;
int64_t Sane(int64_t us) { return std::clamp(us, -kMostMicros, kMostMicros); }
int64_t SaneTime(int64_t us) { return std::clamp(us, -4 * kMostMicros, 4 * kMostMicros); }

Duration Sum(Duration total, int64_t us) {
  int64_t ns = 0;
  if (__builtin_add_overflow(total.ns, Sane(us) * 1000, &ns)) return Duration::Max();
  return Duration{ns};
}

// A bucket holds one time, or times whose first 12 bits are the same.
constexpr int kBucketBits = 12;
uint32_t BucketOf(uint64_t us) {
  const int shift = std::max(static_cast<int>(std::bit_width(us)) - kBucketBits, 0);
  return (static_cast<uint32_t>(shift) << (kBucketBits - 1)) + static_cast<uint32_t>(us >> shift);
}

}  // namespace

void AttemptSums::Add(const AttemptNumbers& attempt) {
  const int64_t wall = Sane(attempt.wall_us);
  if (attempt.verdict == Verdict::kSucceeded) {
    const auto us = static_cast<uint64_t>(std::max<int64_t>(wall, 0));
    Bucket& bucket = good_walls_[BucketOf(us)];
    ++bucket.count;
    bucket.total_us += us;
  }
  if (attempt.verdict != Verdict::kPart) ++all_.attempts;
  all_.total_wall = Sum(all_.total_wall, wall);
  all_.total_user = Sum(all_.total_user, attempt.user_us);
  all_.total_system = Sum(all_.total_system, attempt.system_us);
  auto peak = static_cast<uint64_t>(attempt.peak_kb) * 1024;
  if (peak > all_.peak_memory) {
    all_.peak_memory = peak;
    all_.peak_task = attempt.index;
  }
  if (attempt.start_us) {
    ++started_;
    int64_t start = SaneTime(*attempt.start_us);
    first_start_us_ = std::min(first_start_us_, start);
    last_end_us_ = std::max(last_end_us_, start + wall);
  }
  all_.output_bytes += static_cast<uint64_t>(attempt.output_bytes);
}

Duration AttemptSums::MeanWall() const {
  if (started_ == 0) return {};
  return Duration::Micros(all_.total_wall.micros() / static_cast<int64_t>(started_));
}

// The mean of the bucket that has the middle one.
Duration AttemptSums::MedianWall() const {
  const std::map<uint32_t, Bucket> ascending(good_walls_.begin(), good_walls_.end());
  uint64_t count = 0;
  for (const auto& [number, bucket] : ascending) count += bucket.count;
  uint64_t left = count / 2;
  for (const auto& [number, bucket] : ascending) {
    if (left < bucket.count) {
      return Duration::Micros(static_cast<int64_t>(bucket.total_us / bucket.count));
    }
    left -= bucket.count;
  }
  return {};
}

JobStatistics AttemptSums::Statistics(uint32_t tasks_that_succeeded) const {
  JobStatistics all = all_;
  all.median_wall = MedianWall();
  if (first_start_us_ > last_end_us_) return all;
  all.first_start = Instant{first_start_us_ * 1000};
  all.last_end = Instant{last_end_us_ * 1000};
  double seconds = (all.last_end - all.first_start).seconds();
  if (seconds > 0) all.tasks_per_second = tasks_that_succeeded / seconds;
  return all;
}

}  // namespace spate::store
