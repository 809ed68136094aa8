#include "core/engine/place/place.h"

#include <gtest/gtest.h>

namespace spate::engine::place {
namespace {

constexpr uint32_t kCpu = 1000;

// A node with a processor for each slot, and tasks that take one each.
struct World {
  World(uint32_t slots, uint32_t held, Duration wall) {
    offer.slots = slots;
    offer.milli_cpus = slots * kCpu;
    AddTasks(own, offer, needs, held);
    view.fit = slots;
    view.task_wall = wall;
  }
  Offer offer;
  Needs needs;
  Amounts own;
  Amounts others;
  Amounts about;
  NodeView view;

  uint32_t RoomNow() {
    view.offer = &offer;
    view.needs = &needs;
    view.own = &own;
    view.exactly = &others;
    view.about = &about;
    return RoomFor(view, kLimits.lease_tasks, kLimits.lease_ahead);
  }
};

World View(uint32_t slots, uint32_t held, Duration wall) { return World(slots, held, wall); }
World Contended(World world, uint32_t by_others) {
  world.view.contended = true;
  AddTasks(world.others, world.offer, world.needs, by_others);
  return world;
}
World Late(World world) {
  world.view.ends_late_by = Duration::Millis(200);
  return world;
}
World Served(World world) {
  world.view.served = true;
  return world;
}

TEST(Room, TableOfCases) {
  struct Case {
    const char* what;
    World world;
    uint32_t room;
  };
  for (auto [what, world, room] : {
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
           Case{"contended: nor do those of unknown length", Contended(View(8, 2, {}), 4), 2},
           Case{"contended: short tasks are held ahead as ever",
                Contended(View(2, 0, Duration::Millis(1)), 0), 82},
           Case{"contended: half of it is others'", Contended(View(2, 0, Duration::Millis(1)), 1),
                41},
           Case{"contended and full", Contended(View(8, 0, Duration::Seconds(10)), 8), 0},
           Case{"ends come late: as many ahead as end meanwhile",
                Late(Contended(View(4, 0, Duration::Millis(500)), 0)), 6},
           Case{"ends come late: one ahead at least",
                Late(Contended(View(4, 0, Duration::Seconds(3)), 0)), 5},
           Case{"ends come late, and are rare",
                Late(Contended(View(4, 0, Duration::Seconds(4)), 0)), 4},
           Case{"ends come late: short tasks", Late(View(2, 0, Duration::Millis(1))), 482},
           Case{"ends come late: the limit, as often in this time",
                Late(View(2, 0, Duration::Micros(1))), 6 * 256 + 2},
           Case{"a node that is being refilled", Served(View(2, 50, Duration::Millis(1))), 32},
       }) {
    EXPECT_EQ(world.RoomNow(), room) << what;
  }
}

Offer CardNode() {
  Offer offer{.slots = 32, .milli_cpus = 32 * kCpu, .memory = 64};
  offer.named = {{"gpus", {"0"}}};
  return offer;
}
Needs Card() { return {.milli_cpus = kCpu, .named = {{"gpus", 1}}}; }

TEST(Room, EachResourceIsCountedByItself) {
  const Offer offer = CardNode();
  const Needs cpu;
  const Needs card = Card();
  Amounts others;
  Amounts about;
  AddTasks(others, offer, card, 1);
  NodeView view{.offer = &offer, .needs = &cpu, .fit = 32, .exactly = &others, .about = &about};
  view.contended = true;
  EXPECT_EQ(RoomFor(view, kLimits.lease_tasks, kLimits.lease_ahead), 31u)
      << "the only card is taken, and no more than one processor";
  view.needs = &card;
  view.fit = 1;
  EXPECT_EQ(RoomFor(view, kLimits.lease_tasks, kLimits.lease_ahead), 0u);
}

TEST(Room, ALargeTaskDoesNotFitByRounding) {
  const Offer offer = CardNode();
  const Needs large{.milli_cpus = 16 * kCpu, .named = {}};
  Amounts others;
  Amounts about;
  AddTasks(others, offer, Needs{}, 17);
  NodeView view{.offer = &offer, .needs = &large, .fit = 2, .exactly = &others, .about = &about};
  view.contended = true;
  EXPECT_EQ(RoomFor(view, kLimits.lease_tasks, kLimits.lease_ahead), 0u)
      << "15 of 16 processors are free";
  // Nobody knows how many short tasks of a node run: they count to the nearest task.
  about.Add(others, kParts);
  others = Amounts();
  EXPECT_EQ(RoomFor(view, kLimits.lease_tasks, kLimits.lease_ahead), 1u);
}

TEST(Amounts, WhatStartsAndWhatWaits) {
  const Offer offer = CardNode();
  Amounts held;
  AddTasks(held, offer, Card(), 1);
  EXPECT_FALSE(Crowded(offer, held));
  EXPECT_TRUE(Starts(offer, held, Needs{}));
  EXPECT_FALSE(Starts(offer, held, Card()));
  EXPECT_EQ(Used(offer, held), kWhole);
  AddTasks(held, offer, Card(), 1);
  EXPECT_TRUE(Crowded(offer, held));
  SubtractTasks(held, offer, Card(), 2);
  EXPECT_EQ(Used(offer, held), 0u);
}

}  // namespace
}  // namespace spate::engine::place
