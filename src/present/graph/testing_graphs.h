// Graphs for tests.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>

#include "base/prng.h"
#include "present/graph/graph.h"

namespace spate::present {

inline TaskIndex AddTask(TaskGraph& graph, std::string name) {
  graph.tasks.emplace_back().name = std::move(name);
  return static_cast<TaskIndex>(graph.tasks.size() - 1);
}

inline TaskIndex AddAfter(TaskGraph& graph, std::string name,
                          std::initializer_list<TaskIndex> parents) {
  TaskIndex task = AddTask(graph, std::move(name));
  for (TaskIndex parent : parents) graph.edges.push_back({parent, task});
  return task;
}

inline TaskGraph TasksOf(size_t count) {
  TaskGraph graph;
  for (size_t i = 0; i < count; ++i) AddTask(graph, fmt::format("task{}", i + 1));
  return graph;
}

// a before b and c, these before d.
inline TaskGraph Diamond() {
  TaskGraph graph;
  AddTask(graph, "a");
  AddAfter(graph, "b", {0});
  AddAfter(graph, "c", {0});
  AddAfter(graph, "d", {1, 2});
  return graph;
}

inline TaskGraph ChainOf(uint32_t count) {
  TaskGraph graph = TasksOf(count);
  for (TaskIndex i = 1; i < count; ++i) graph.edges.push_back({i - 1, i});
  return graph;
}

// One, `count` after it, one after all of these.
inline TaskGraph FanOf(uint32_t count) {
  TaskGraph graph;
  AddTask(graph, "split");
  for (TaskIndex i = 1; i <= count; ++i) AddAfter(graph, fmt::format("part_{}", i), {0});
  TaskIndex join = AddTask(graph, "join");
  for (TaskIndex i = 1; i <= count; ++i) graph.edges.push_back({i, join});
  return graph;
}

// The graph by which Montage makes mosaics of `images` pictures of the sky.
inline TaskGraph MontageOf(uint32_t images) {
  TaskGraph graph;
  for (uint32_t i = 0; i < images; ++i) AddTask(graph, fmt::format("mProject_{}", i + 1));
  TaskIndex first_diff = images;
  for (TaskIndex i = 0; i + 1 < images; ++i) {
    AddAfter(graph, fmt::format("mDiffFit_{}", 2 * i + 1), {i, i + 1});
    if (i + 4 < images) AddAfter(graph, fmt::format("mDiffFit_{}", 2 * i + 2), {i, i + 4});
  }
  auto end = static_cast<TaskIndex>(graph.tasks.size());
  TaskIndex concat = AddTask(graph, "mConcatFit");
  for (TaskIndex diff = first_diff; diff < end; ++diff) graph.edges.push_back({diff, concat});
  TaskIndex model = AddAfter(graph, "mBgModel", {concat});
  for (TaskIndex i = 0; i < images; ++i) {
    AddAfter(graph, fmt::format("mBackground_{}", i + 1), {i, model});
  }
  auto table_end = static_cast<TaskIndex>(graph.tasks.size());
  TaskIndex table = AddTask(graph, "mImgtbl");
  for (TaskIndex i = model + 1; i < table_end; ++i) graph.edges.push_back({i, table});
  TaskIndex add = AddAfter(graph, "mAdd", {table});
  TaskIndex shrink = AddAfter(graph, "mShrink", {add});
  AddAfter(graph, "mJPEG", {shrink});
  return graph;
}

// Edges go from lower to higher numbers that are at most `reach` apart, or from the second half to
// the first one where the seed says so; states and times are drawn as well.
inline TaskGraph RandomGraph(uint64_t seed, uint32_t tasks, uint32_t edges, uint32_t reach) {
  Prng prng(seed);
  TaskGraph graph = TasksOf(tasks);
  for (GraphTask& task : graph.tasks) {
    task.state = static_cast<TaskState>(prng.Below(6));
    task.running = prng.Chance(50);
    if (prng.Chance(60)) task.wall = Duration::Millis(static_cast<int64_t>(prng.Below(5000)));
    if (prng.Chance(60)) task.planned = Duration::Seconds(static_cast<int64_t>(prng.Below(5)));
  }
  for (uint32_t i = 0; i < edges && tasks > 1; ++i) {
    auto parent = static_cast<TaskIndex>(prng.Below(tasks - 1));
    auto far = std::min(reach, tasks - 1 - parent);
    graph.edges.push_back({parent, parent + 1 + static_cast<TaskIndex>(prng.Below(far))});
  }
  if (prng.Chance(50)) {  // numbers need not follow the edges
    for (Edge& edge : graph.edges) edge = {tasks - 1 - edge.parent, tasks - 1 - edge.child};
  }
  return graph;
}

}  // namespace spate::present
