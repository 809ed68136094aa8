// The critical path of a graph: the tasks that decide how long it takes, however many run at once.
#pragma once

#include <string>
#include <vector>

#include "present/graph/phase.h"

namespace spate::present {

// When a task runs, counted from the graph's start, with room for all at once.
struct TaskTimes {
  Duration length;    // measured, else planned, else 0
  Duration earliest;  // its start
  Duration latest;    // its start, if nothing is to end later by it
  Duration slack() const { return latest - earliest; }
};

struct CriticalPath {
  // The path of the greatest sum of lengths, of several the one of most tasks, then the one of
  // lower numbers at its end, and so on up. Empty only without tasks.
  std::vector<TaskIndex> path;
  Duration total;
  std::vector<TaskTimes> times;  // by task
  uint32_t unknown = 0;          // tasks of neither a measured nor a planned time, of all
  uint64_t work = 0;             // tasks and edges looked at
};

// Linear. Sums that a Duration cannot hold stay at its greatest value.
CriticalPath CriticalPathOf(const TaskGraph& graph, const Shape& shape);

// For people, raw bytes of names in it: total and how much of it is done, then the path, a line a
// task with time and state, at most `shown` (at least 2) of them, then what the times leave out.
std::vector<std::string> CriticalPathLines(const CriticalPath& critical, const TaskGraph& graph,
                                           const std::vector<Phase>& phases, uint32_t shown = 8);

}  // namespace spate::present
