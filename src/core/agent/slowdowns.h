// Slowdowns: finds attempts that move less while another job is on their node.
//
// Windows of equal length say how much each attempt has moved. A task has phases of its own, so a
// fall alone says nothing. It counts when it begins in the window in which the other job comes,
// lasts in every window until that job has left, and ends there: then the other job is its likely
// cause. Whatever else changes meanwhile on the node ends the look at this pair.
//
// Pure: no clock, no I/O. Kept: kBefore windows of each attempt, and three numbers of each pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/time.h"
#include "core/model/slowed.h"

namespace spate::agent {

class Slowdowns {
 public:
  static constexpr Duration kWindow = Duration::Seconds(10);
  static constexpr size_t kBefore = 6;  // windows that are compared, at most
  static constexpr size_t kFew = 3;     // and at least: before, meanwhile and after
  // Bytes a second. Less than this is no rate that could fall.
  static constexpr uint64_t kLeastRate = 100'000;

  struct Sample {
    AttemptRef ref;
    // Bytes a second in this window, by TrafficKind. Nothing where its processes were not all the
    // same from the window's beginning to its end.
    std::optional<std::array<uint64_t, kCountOf<TrafficKind>>> rates;
  };
  // A window has passed, with all attempts that were on the node at its end. Returns what is found
  // with it. Cost: a look at each sample.
  std::vector<SlowedBeside> Add(const std::vector<Sample>& window);

 private:
  using Rates = std::array<uint64_t, kCountOf<TrafficKind>>;
  using Jobs = std::set<JobId>;
  // A job that has come while the attempt ran.
  struct Visit {
    JobId job;
    Rates before = {};  // the least of them
    Rates most = {};    // meanwhile
    size_t windows = 0;
    bool left = false;
    Rates after = {};  // the least since it has left
    size_t windows_after = 0;
  };
  struct Attempt {
    std::deque<Rates> steady;    // the last windows, while the same jobs were there
    std::optional<Visit> visit;  // at most one: a second one hides the cause
    bool seen = false;
  };
  void Look(const AttemptRef& ref, Attempt& attempt, const Rates& rates,
            std::vector<SlowedBeside>& found);

  std::map<AttemptRef, Attempt> attempts_;
  Jobs jobs_;  // on the node at the end of the last window
};

}  // namespace spate::agent
