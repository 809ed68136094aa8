#include "core/model/resize.h"

#include <algorithm>
#include <utility>

namespace spate {

Needs Resized(Needs needs, const TaskSize& to, bool running) {
  needs.milli_cpus = to.milli_cpus.value_or(needs.milli_cpus);
  needs.memory = to.memory.value_or(needs.memory);
  if (to.time_limit && needs.time.ns > 0) {
    needs.time = running ? *to.time_limit : std::min(needs.time, *to.time_limit);
  }
  return needs;
}

Needs Larger(Needs one, const Needs& other) {
  one.milli_cpus = std::max(one.milli_cpus, other.milli_cpus);
  one.memory = std::max(one.memory, other.memory);
  const bool known = one.time.ns > 0 && other.time.ns > 0;
  one.time = known ? std::max(one.time, other.time) : Duration();
  return one;
}

}  // namespace spate
