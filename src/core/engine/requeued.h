// Tasks that were queued again, in that order. Neighbours that come one after the other are one
// range; any task can be taken out, as a replay may take them in another order than they came. A
// place is a number that grows from one task to the next, also over all requests of a job.
// Cost: a logarithm of the number of ranges.
#pragma once

#include <cstdint>
#include <map>

#include "base/check.h"
#include "core/model/job.h"

namespace spate::engine {

class Requeued {
 public:
  bool empty() const { return ranges_.empty(); }
  size_t size() const { return ranges_.size(); }

  // In order: pairs of the place of the first task, and a TaskRange.
  auto begin() const { return ranges_.begin(); }
  auto end() const { return ranges_.end(); }

  // The task is not there yet. Its place is behind those of all others.
  void Push(TaskIndex index, uint64_t place) {
    if (!ranges_.empty()) {
      auto& [first_place, last] = *ranges_.rbegin();
      if (last.first + last.count == index && first_place + last.count == place) {
        ++last.count;
        return;
      }
    }
    Insert(place, {index, 1});
  }

  // The task is there.
  void Remove(TaskIndex index) {
    auto at = places_.upper_bound(index);
    CHECK(at != places_.begin());
    auto range = ranges_.find((--at)->second);
    TaskRange before = range->second;
    CHECK(index - before.first < before.count);
    TaskRange behind{index + 1, before.first + before.count - index - 1};
    // The rest keeps its place in the order.
    uint64_t place = range->first + (behind.first - before.first);
    range->second.count = index - before.first;
    if (range->second.count == 0) {
      ranges_.erase(range);
      places_.erase(at);
    }
    if (behind.count > 0) Insert(place, behind);
  }
  // core/model/image.h
  template <typename Self, typename Archive>
  static void Image(Self& self, Archive& archive) {
    auto& [ranges, places] = self;
    archive(ranges, places);
  }

 private:
  void Insert(uint64_t place, TaskRange range) {
    ranges_.emplace(place, range);
    places_.emplace(range.first, place);
  }

  std::map<uint64_t, TaskRange> ranges_;  // by their place in the order
  std::map<TaskIndex, uint64_t> places_;  // of each range, by its first task
};

}  // namespace spate::engine
