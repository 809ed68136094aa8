#include "present/graph/depth.h"

#include <gtest/gtest.h>

#include <set>

#include "present/graph/testing_graphs.h"

namespace spate::present {
namespace {

std::string ErrorOf(const TaskGraph& graph) {
  auto shape = Shape::Of(graph);
  return shape ? "" : shape.error().message;
}

std::vector<TaskIndex> Listed(std::span<const TaskIndex> tasks) {
  return {tasks.begin(), tasks.end()};
}

using Tasks = std::vector<TaskIndex>;

TEST(Shape, KnowsBothDirectionsOnce) {
  TaskGraph graph = Diamond();
  graph.edges.push_back({0, 1});  // once more
  Shape shape = Shape::Of(graph).value();
  EXPECT_EQ(shape.edges(), 4u);
  EXPECT_EQ(Listed(shape.children(0)), (Tasks{1, 2}));
  EXPECT_EQ(Listed(shape.parents(3)), (Tasks{1, 2}));
  EXPECT_EQ(Listed(shape.parents(1)), (Tasks{0}));
  EXPECT_EQ(shape.depths(), 3u);
  EXPECT_EQ(shape.depth(3), 2u);
}

TEST(Shape, RefusesWhatIsNoGraph) {
  TaskGraph graph = Diamond();
  graph.edges.push_back({1, 4});
  EXPECT_EQ(ErrorOf(graph), "task 5 waits for task 2, but there are only 4");
  graph.edges.back() = {7, 1};
  EXPECT_EQ(ErrorOf(graph), "task 2 waits for task 8, but there are only 4");
  graph.edges.back() = {3, 1};
  EXPECT_EQ(ErrorOf(graph), "2 of 4 tasks wait for each other in a circle, or for such tasks");
  graph.edges.back() = {0, 0};
  EXPECT_EQ(ErrorOf(graph), "4 of 4 tasks wait for each other in a circle, or for such tasks");
  EXPECT_EQ(ErrorOf(TaskGraph()), "");
}

TEST(Shape, OrdersRandomGraphs) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    TaskGraph graph = RandomGraph(seed, 60, 150, 20);
    Shape shape = Shape::Of(graph).value();
    std::vector<size_t> place(60, 60);
    for (size_t i = 0; i < shape.order().size(); ++i) place[shape.order()[i]] = i;
    for (const Edge& edge : graph.edges) EXPECT_LT(place[edge.parent], place[edge.child]) << seed;
    for (TaskIndex task = 0; task < 60; ++task) {
      uint32_t longest = 0;
      for (TaskIndex parent : shape.parents(task)) {
        longest = std::max(longest, shape.depth(parent) + 1);
      }
      EXPECT_EQ(shape.depth(task), longest) << seed;
    }
  }
}

TEST(Shape, LooksAtEachTaskAndEdgeAFewTimes) {
  for (uint32_t size : {1000u, 100'000u}) {
    TaskGraph graph = RandomGraph(3, size, 2 * size, size);
    EXPECT_LE(Shape::Of(graph).value().work(), 3u * (size + 2 * size));
    EXPECT_LE(Shape::Of(FanOf(size)).value().work(), 3u * (size + 2 + 2 * size));
  }
}

TEST(Phase, IsWhatPeopleSee) {
  struct Case {
    TaskState parent, child;
    bool running;
    const char* phase;
  };
  const Case kCases[] = {{TaskState::kQueued, TaskState::kQueued, false, "waiting"},
                         {TaskState::kLeased, TaskState::kQueued, false, "waiting"},
                         {TaskState::kFailed, TaskState::kQueued, false, "waiting"},
                         {TaskState::kSucceeded, TaskState::kQueued, false, "ready"},
                         {TaskState::kSucceeded, TaskState::kLeased, false, "ready"},
                         {TaskState::kSucceeded, TaskState::kLeased, true, "running"},
                         {TaskState::kSucceeded, TaskState::kSucceeded, false, "succeeded"},
                         {TaskState::kSucceeded, TaskState::kFailed, false, "failed"},
                         {TaskState::kFailed, TaskState::kCancelled, false, "cancelled"},
                         {TaskState::kSucceeded, TaskState::kUnknown, false, "unknown"}};
  for (const Case& c : kCases) {
    TaskGraph graph = ChainOf(2);
    graph.tasks[0].state = c.parent;
    graph.tasks[1].state = c.child;
    graph.tasks[1].running = c.running;
    EXPECT_STREQ(WordOf(PhasesOf(graph, Shape::Of(graph).value())[1]), c.phase);
  }
}

TEST(Phase, EachHasALookOfItsOwn) {
  std::set<std::string> fills, lines;
  for (Phase phase : kAllPhases) {
    const PhaseStyle& style = StyleOf(phase);
    fills.insert(style.fill);
    lines.insert(fmt::format("{} {} {}", style.dashes, style.width, style.stroke));
  }
  EXPECT_EQ(fills.size(), kPhases);
  EXPECT_EQ(lines.size(), kPhases);
}

std::string TableOf(const TaskGraph& graph, uint32_t most) {
  Shape shape = Shape::Of(graph).value();
  return DepthTable(ProgressByDepth(PhasesOf(graph, shape), shape, most), 80, false);
}

TEST(DepthTable, CountsPhasesByDepth) {
  TaskGraph graph = FanOf(1200);
  graph.tasks[0].state = TaskState::kSucceeded;
  for (TaskIndex i = 1; i <= 1000; ++i) graph.tasks[i].state = TaskState::kSucceeded;
  graph.tasks[1001].state = TaskState::kFailed;
  graph.tasks[1002].state = TaskState::kLeased;
  graph.tasks[1002].running = true;
  EXPECT_EQ(TableOf(graph, 20),
            "DEPTH  TASKS  SUCCEEDED  RUNNING  READY  WAITING  FAILED\n"
            "    1      1          1        -      -        -       -\n"
            "    2  1,200      1,000        1    198        -       1\n"
            "    3      1          -        -      -        1       -\n");
}

TEST(DepthTable, JoinsDepthsWhenThereAreMany) {
  TaskGraph graph = ChainOf(10);
  for (TaskIndex i = 0; i < 5; ++i) graph.tasks[i].state = TaskState::kSucceeded;
  EXPECT_EQ(TableOf(graph, 3),
            "DEPTH  TASKS  SUCCEEDED  READY  WAITING\n"
            "  1-4      4          4      -        -\n"
            "  5-8      4          1      1        2\n"
            " 9-10      2          -      -        2\n");
  EXPECT_EQ(TableOf(TaskGraph(), 3), "");
}

}  // namespace
}  // namespace spate::present
