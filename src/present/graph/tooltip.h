// Text that a drawing shows for a task under the pointer.
#pragma once

#include <string>

#include "present/graph/critical_path.h"

namespace spate::present {

// Name, phase, times and slack, raw bytes of the name in it.
std::string Tooltip(const GraphTask& task, Phase phase, const TaskTimes& times);

}  // namespace spate::present
