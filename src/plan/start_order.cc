#include "plan/start_order.h"

#include <numeric>
#include <utility>

#include "base/prng.h"

namespace spate::cli {

std::vector<TaskIndex> Shuffled(uint32_t tasks, uint64_t seed) {
  std::vector<TaskIndex> order(tasks);
  std::iota(order.begin(), order.end(), 0);
  Prng prng(seed);
  for (uint32_t i = tasks; i > 1; --i) std::swap(order[i - 1], order[prng.Below(i)]);
  return order;
}

}  // namespace spate::cli
