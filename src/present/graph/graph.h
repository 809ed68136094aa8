// A job's tasks and who waits for whom, as the texts and drawings of this folder take them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "core/model/graph.h"

namespace spate::present {

struct GraphTask {
  std::string name;  // any bytes
  TaskState state = TaskState::kQueued;
  bool running = false;             // leased, and started
  std::optional<Duration> wall;     // measured, of its last attempt
  std::optional<Duration> planned;  // as its --time says
};

struct TaskGraph {
  std::vector<GraphTask> tasks;
  std::vector<Edge> edges;  // in any order; one given twice counts once
};

// Gets a text piece by piece.
using TextSink = std::function<void(std::string_view)>;

}  // namespace spate::present
