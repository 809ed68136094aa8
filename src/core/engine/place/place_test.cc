#include "core/engine/place/place.h"

#include <gtest/gtest.h>

namespace spate::engine::place {
namespace {

NodeView View(uint32_t fit, uint32_t held, Duration wall) {
  return {.fit = fit, .used = held * (kWhole / (fit ? fit : 1)), .task_wall = wall};
}
NodeView Contended(NodeView view, uint64_t percent_by_others) {
  view.contended = true;
  view.used_by_others = kWhole * percent_by_others / 100;
  return view;
}
NodeView Served(NodeView view) {
  view.served = true;
  return view;
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
           Case{"contended: long tasks do not wait there",
                Contended(View(8, 0, Duration::Seconds(10)), 0), 8},
           Case{"contended: nor do those of unknown length", Contended(View(8, 2, {}), 50), 2},
           Case{"contended: short tasks are held ahead as ever",
                Contended(View(2, 0, Duration::Millis(1)), 0), 82},
           Case{"contended: half of it is others'", Contended(View(2, 0, Duration::Millis(1)), 50),
                41},
           Case{"contended and full", Contended(View(8, 0, Duration::Seconds(10)), 100), 0},
           Case{"a node that is being refilled", Served(View(2, 50, Duration::Millis(1))), 32},
       }) {
    EXPECT_EQ(Room(view, kLimits), room) << what;
  }
}

}  // namespace
}  // namespace spate::engine::place
