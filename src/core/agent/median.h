// The median of the newest samples.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"

namespace spate::agent {

// Keeps the newest kKept samples. Add costs O(kKept) moves of 8 bytes.
class Median {
 public:
  static constexpr size_t kKept = 1001;
  // Fewer samples give no median, as in GNU parallel.
  static constexpr size_t kLeast = 3;

  void Add(Duration sample) {
    if (by_age_.size() == kKept) {
      sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), by_age_.front()));
      by_age_.pop_front();
    }
    by_age_.push_back(sample);
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), sample), sample);
  }
  std::optional<Duration> Get() const {
    if (sorted_.size() < kLeast) return std::nullopt;
    return sorted_[sorted_.size() / 2];
  }

 private:
  std::deque<Duration> by_age_;
  std::vector<Duration> sorted_;
};

}  // namespace spate::agent
