#include "core/model/graph.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace spate {
namespace {

TEST(Graph, FindsACycle) {
  EXPECT_TRUE(FindCycle(0, {}).empty());
  EXPECT_TRUE(FindCycle(4, std::vector<Edge>{{0, 1}, {0, 2}, {1, 3}, {2, 3}}).empty());
  EXPECT_EQ(FindCycle(2, std::vector<Edge>{{1, 1}}), std::vector<TaskIndex>{1});
  // With a way into it, and one out of it.
  auto cycle = FindCycle(6, std::vector<Edge>{{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}, {4, 5}});
  EXPECT_EQ(cycle.size(), 3u);
}

// Each task of what was found waits for the one before it, and the first for the last.
TEST(Graph, ACycleIsOne) {
  Prng prng(7);
  int cyclic = 0;
  for (int world = 0; world < 300; ++world) {
    auto tasks = static_cast<uint32_t>(1 + prng.Below(12));
    std::vector<Edge> edges;
    for (uint64_t n = prng.Below(16); n > 0; --n) {
      edges.push_back(
          {static_cast<TaskIndex>(prng.Below(tasks)), static_cast<TaskIndex>(prng.Below(tasks))});
    }
    std::vector<TaskIndex> cycle = FindCycle(tasks, edges);
    cyclic += cycle.empty() ? 0 : 1;
    for (size_t i = 0; i < cycle.size(); ++i) {
      Edge edge{cycle[i], cycle[(i + 1) % cycle.size()]};
      EXPECT_NE(std::ranges::find(edges, edge), edges.end());
    }
    // Without a cycle a task of which all parents are done is always found.
    std::vector<bool> done(tasks);
    bool goes_on = cycle.empty();
    uint32_t count = 0;
    while (goes_on) {
      goes_on = false;
      for (TaskIndex i = 0; i < tasks; ++i) {
        bool waits = std::ranges::any_of(
            edges, [&](const Edge& edge) { return edge.child == i && !done[edge.parent]; });
        if (done[i] || waits) continue;
        done[i] = goes_on = true;
        ++count;
      }
    }
    EXPECT_EQ(count == tasks, cycle.empty());
  }
  EXPECT_GT(cyclic, 30);
}

}  // namespace
}  // namespace spate
