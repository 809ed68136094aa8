#include "core/engine/place/place.h"

#include <gtest/gtest.h>

namespace spate::engine::place {
namespace {

NodeView View(uint32_t fit, uint32_t held, Duration wall) {
  return {NodeId(1), fit, held * (kWhole / (fit ? fit : 1)), wall};
}

TEST(Room, TableOfCases) {
  struct Case {
    const char* what;
    NodeView view;
    uint32_t room;
  };
  for (const auto& [what, view, room] : {
           Case{"an idle node of unknown speed: its slots and one more each", View(2, 0, {}), 4},
           Case{"a node that never fits", View(0, 0, {}), 0},
           Case{"full", View(2, 4, {}), 0},
           Case{"half of the ahead used: refill", View(2, 3, {}), 1},
           Case{"short tasks: 40 ms ahead", View(2, 0, Duration::Millis(1)), 82},
           Case{"short tasks, more than half left: wait", View(2, 50, Duration::Millis(1)), 0},
           Case{"short tasks, half left: refill", View(2, 42, Duration::Millis(1)), 40},
           Case{"very short tasks: the lease's limit", View(2, 0, Duration::Micros(1)), 258},
           Case{"long tasks: one ahead for each slot", View(8, 0, Duration::Seconds(10)), 16},
       }) {
    EXPECT_EQ(Room(view, kLimits), room) << what;
  }
}

TEST(Spread, FillsTheEmptiestNodesFirstAndStopsAtReady) {
  NodeView busy = View(2, 3, {});
  NodeView idle = View(4, 0, {});
  idle.node = NodeId(2);
  auto assignments = Spread({busy, idle}, 8, kLimits);
  ASSERT_EQ(assignments.size(), 1u);
  EXPECT_EQ(assignments[0].node, NodeId(2));
  EXPECT_EQ(assignments[0].count, 8u);
  EXPECT_EQ(Spread({busy, idle}, 9, kLimits).size(), 2u);
  EXPECT_TRUE(Spread({busy, idle}, 0, kLimits).empty());
}

}  // namespace
}  // namespace spate::engine::place
