#include "core/model/selection.h"

#include <algorithm>
#include <tuple>

namespace spate {

std::vector<NumberRange> Merged(std::vector<NumberRange> ranges) {
  for (NumberRange& range : ranges) {
    range.last -= (range.last - range.first) % range.step;
    if (range.first == range.last) range.step = 1;
  }
  auto row = [](const NumberRange& range) {
    return std::tuple(range.step, range.first % range.step, range.first);
  };
  std::ranges::sort(ranges, {}, row);
  std::vector<NumberRange> merged;
  for (const NumberRange& range : ranges) {
    bool meets = !merged.empty() && merged.back().step == range.step &&
                 merged.back().first % range.step == range.first % range.step &&
                 range.first <= uint64_t{merged.back().last} + range.step;
    if (meets) {
      merged.back().last = std::max(merged.back().last, range.last);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

bool JobSelector::Contains(uint32_t number, uint32_t last_number) const {
  return all || (last && number == last_number) ||
         std::ranges::any_of(ranges,
                             [&](const NumberRange& range) { return range.Contains(number); });
}

bool TasksOfJob::Contains(uint32_t task_number) const {
  return all || std::ranges::any_of(
                    ranges, [&](const NumberRange& range) { return range.Contains(task_number); });
}

}  // namespace spate
