// Tasks that wait for other tasks of their job.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/model/job.h"

namespace spate {

// `child` may start when `parent` has succeeded.
struct Edge {
  TaskIndex parent = 0;
  TaskIndex child = 0;
  SPATE_FIELDS(1, parent, 2, child);
  friend auto operator<=>(const Edge&, const Edge&) = default;
};

// The tasks of one cycle, each before one that waits for it; empty: there is none. The edges are
// among so many tasks. Cost: both.
std::vector<TaskIndex> FindCycle(uint32_t tasks, std::span<const Edge> edges);

// Visits each task that waits for no cycle, after its parents, with its children. False: there is a
// cycle. Cost: tasks and edges.
using TaskVisitor = std::function<void(TaskIndex task, std::span<const TaskIndex> children)>;
bool VisitInOrder(uint32_t tasks, std::span<const Edge> edges, const TaskVisitor& visit);

}  // namespace spate
