// The order in which tasks are started, where it is not the one of their list.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace spate::cli {

// All tasks, each once. The same seed gives the same order.
std::vector<TaskIndex> Shuffled(uint32_t tasks, uint64_t seed);

}  // namespace spate::cli
