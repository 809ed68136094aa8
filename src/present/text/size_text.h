// Requests of tasks that change, in words.
#pragma once

#include <optional>
#include <string>

#include "core/model/resize.h"

namespace spate::present {

// "2 -> 4 cpus, 2.0 GB -> 8.0 GB of memory, time limit 1h00m"; without `from` the new sizes alone.
std::string SizeText(const TaskSize& to, const std::optional<TaskSize>& from = std::nullopt);
// The state of a running task's change: "2 -> 4 cpus by ann: ordered; it holds both requests until
// its node confirms".
std::string ResizeText(const ResizeFact& change);

}  // namespace spate::present
