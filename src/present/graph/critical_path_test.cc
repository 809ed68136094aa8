#include "present/graph/critical_path.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "present/graph/testing_graphs.h"

namespace spate::present {
namespace {

using Tasks = std::vector<TaskIndex>;

CriticalPath PathOf(const TaskGraph& graph) {
  return CriticalPathOf(graph, Shape::Of(graph).value());
}

std::vector<std::string> LinesOf(const TaskGraph& graph, uint32_t shown = 8) {
  Shape shape = Shape::Of(graph).value();
  return CriticalPathLines(CriticalPathOf(graph, shape), graph, PhasesOf(graph, shape), shown);
}

TaskGraph TimedDiamond() {
  TaskGraph graph = Diamond();
  graph.tasks[0].wall = Duration::Seconds(2);
  graph.tasks[0].state = TaskState::kSucceeded;
  graph.tasks[1].planned = Duration::Seconds(3);
  graph.tasks[2].wall = Duration::Seconds(1);  // measured counts, not planned
  graph.tasks[2].planned = Duration::Seconds(60);
  graph.tasks[3].planned = Duration::Seconds(5);
  return graph;
}

TEST(CriticalPath, OfADiamond) {
  CriticalPath critical = PathOf(TimedDiamond());
  EXPECT_EQ(critical.path, (Tasks{0, 1, 3}));
  EXPECT_EQ(critical.total, Duration::Seconds(10));
  EXPECT_EQ(critical.unknown, 0u);
  EXPECT_EQ(critical.times[2].earliest, Duration::Seconds(2));
  EXPECT_EQ(critical.times[2].latest, Duration::Seconds(4));
  EXPECT_EQ(critical.times[2].slack(), Duration::Seconds(2));
  EXPECT_EQ(critical.times[3].earliest, Duration::Seconds(5));
}

TEST(CriticalPath, TiesGoToMoreTasksThenToLowerNumbers) {
  EXPECT_EQ(PathOf(Diamond()).path, (Tasks{0, 1, 3}));  // no times at all
  EXPECT_EQ(PathOf(Diamond()).unknown, 4u);
  EXPECT_EQ(PathOf(TasksOf(3)).path, (Tasks{0}));
  TaskGraph graph = Diamond();
  AddAfter(graph, "e", {2});
  AddAfter(graph, "f", {4});
  EXPECT_EQ(PathOf(graph).path, (Tasks{0, 2, 4, 5}));
  EXPECT_TRUE(PathOf(TaskGraph()).path.empty());
}

TEST(CriticalPath, HugeAndNegativeTimesDoNoHarm) {
  TaskGraph graph = ChainOf(3);
  for (GraphTask& task : graph.tasks) task.planned = Duration::Max();
  CriticalPath critical = PathOf(graph);
  EXPECT_EQ(critical.total, Duration::Max());
  EXPECT_EQ(critical.times[2].earliest, Duration::Max());
  EXPECT_EQ(critical.path, (Tasks{0, 1, 2}));
  for (const TaskTimes& times : critical.times) EXPECT_EQ(times.slack(), Duration());
  for (GraphTask& task : graph.tasks) task.wall = Duration::Seconds(-5);
  EXPECT_EQ(PathOf(graph).total, Duration());
}

// The longest path by trying all of them.
Duration Longest(const TaskGraph& graph, const Shape& shape, TaskIndex task) {
  Duration after;
  for (TaskIndex child : shape.children(task)) {
    after = std::max(after, Longest(graph, shape, child));
  }
  const GraphTask& it = graph.tasks[task];
  return after + (it.wall ? *it.wall : it.planned.value_or(Duration()));
}

void CheckTimes(const TaskGraph& graph, const Shape& shape, const CriticalPath& critical) {
  Duration longest;
  for (TaskIndex task = 0; task < shape.tasks(); ++task) {
    longest = std::max(longest, Longest(graph, shape, task));
    const TaskTimes& times = critical.times[task];
    EXPECT_GE(times.slack(), Duration());
    EXPECT_LE(times.latest + times.length, critical.total);
  }
  EXPECT_EQ(critical.total, longest);
  for (const Edge& edge : graph.edges) {
    const TaskTimes& parent = critical.times[edge.parent];
    const TaskTimes& child = critical.times[edge.child];
    EXPECT_LE(parent.earliest + parent.length, child.earliest);
    EXPECT_LE(parent.latest + parent.length, child.latest);
  }
}

void CheckPath(const Shape& shape, const CriticalPath& critical) {
  Duration sum;
  for (size_t i = 0; i < critical.path.size(); ++i) {
    const TaskTimes& times = critical.times[critical.path[i]];
    EXPECT_EQ(times.slack(), Duration());
    EXPECT_EQ(times.earliest, sum);
    sum = sum + times.length;
    if (i == 0) continue;
    auto parents = shape.parents(critical.path[i]);
    EXPECT_TRUE(std::binary_search(parents.begin(), parents.end(), critical.path[i - 1]));
  }
  EXPECT_EQ(sum, critical.total);
}

TEST(CriticalPath, OfRandomGraphs) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    TaskGraph graph = RandomGraph(seed, 40, 50, 12);
    Shape shape = Shape::Of(graph).value();
    CriticalPath critical = CriticalPathOf(graph, shape);
    CheckTimes(graph, shape, critical);
    CheckPath(shape, critical);
  }
}

TEST(CriticalPath, LooksAtEachTaskAndEdgeTwice) {
  for (uint32_t size : {1000u, 100'000u}) {
    TaskGraph graph = RandomGraph(4, size, 2 * size, size);
    EXPECT_LE(PathOf(graph).work, 2u * (size + 2 * size));
    EXPECT_LE(PathOf(ChainOf(size)).work, 4u * size);
  }
}

TEST(CriticalPath, IsTold) {
  EXPECT_EQ(LinesOf(TimedDiamond()),
            (std::vector<std::string>{"10.0 s in 3 tasks; done: 1 of them (2.00 s, 20 %)",
                                      "a: 2.00 s, succeeded", "b: 3.00 s planned, ready",
                                      "d: 5.00 s planned, waiting"}));
  EXPECT_EQ(LinesOf(TaskGraph()), std::vector<std::string>());
}

TEST(CriticalPath, IsToldInFewLines) {
  TaskGraph graph = ChainOf(1000);
  graph.tasks[0].wall = Duration::Seconds(1);
  EXPECT_EQ(LinesOf(graph, 3),
            (std::vector<std::string>{
                "1.00 s in 1,000 tasks; done: 0 of them (0.00 s, 0 %)", "task1: 1.00 s, ready",
                "task2: time unknown, waiting", "... 997 more", "task1000: time unknown, waiting",
                "counted as 0: 999 tasks without a measured time or a --time"}));
  EXPECT_EQ(LinesOf(ChainOf(8)).size(), 10u);
  EXPECT_EQ(LinesOf(ChainOf(9)).size(), 11u);
}

}  // namespace
}  // namespace spate::present
