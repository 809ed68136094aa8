#include "present/graph/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "present/graph/rows.h"
#include "present/graph/testing_graphs.h"

namespace spate::present {
namespace {

constexpr double kBoxWidth = 90;
constexpr double kTiny = 0.01;

bool Overlap(const Box& a, const Box& b) {
  return a.x + kTiny < b.x + b.width && b.x + kTiny < a.x + a.width &&
         a.y + kTiny < b.y + b.height && b.y + kTiny < a.y + a.height;
}

bool Inside(const Box& a, const Box& b) {
  return a.x > b.x - kTiny && a.y > b.y - kTiny && a.x + a.width < b.x + b.width + kTiny &&
         a.y + a.height < b.y + b.height + kTiny;
}

bool Inside(const Point& a, const Box& b) {
  return a.x > b.x + kTiny && a.y > b.y + kTiny && a.x < b.x + b.width - kTiny &&
         a.y < b.y + b.height - kTiny;
}

// Area of a block: the box of its task, or the frame around its tasks.
Box PlaceOf(const Layout& layout, uint32_t block) {
  const Box& first = layout.boxes[layout.blocks.blocks[block].tasks.front()];
  if (layout.blocks.blocks[block].tasks.size() == 1) return first;
  for (const Box& frame : layout.frames) {
    if (Inside(first, frame)) return frame;
  }
  ADD_FAILURE() << "no frame around block " << block;
  return first;
}

Point Along(const Point& from, const std::array<Point, 3>& curve, double t) {
  double u = 1 - t, a = u * u * u, b = 3 * u * u * t, c = 3 * u * t * t, d = t * t * t;
  return {a * from.x + b * curve[0].x + c * curve[1].x + d * curve[2].x,
          a * from.y + b * curve[0].y + c * curve[1].y + d * curve[2].y};
}

std::vector<Point> Samples(const Route& route) {
  std::vector<Point> points = {route.start};
  Point from = route.start;
  for (const auto& curve : route.curves) {
    for (int i = 1; i <= 8; ++i) points.push_back(Along(from, curve, i / 8.0));
    from = curve[2];
  }
  return points;
}

void CheckPlaces(const Layout& layout) {
  Box picture = {0, 0, layout.width, layout.height};
  std::vector<Box> places;
  std::set<TaskIndex> seen;
  size_t grids = 0;
  for (uint32_t block = 0; block < layout.blocks.blocks.size(); ++block) {
    places.push_back(PlaceOf(layout, block));
    EXPECT_TRUE(Inside(places.back(), picture));
    const auto& tasks = layout.blocks.blocks[block].tasks;
    grids += tasks.size() > 1;
    for (TaskIndex task : tasks) {
      EXPECT_TRUE(seen.insert(task).second);
      EXPECT_TRUE(Inside(layout.boxes[task], places.back()));
    }
    for (size_t i = 1; i < tasks.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        EXPECT_FALSE(Overlap(layout.boxes[tasks[i]], layout.boxes[tasks[j]]));
      }
    }
  }
  EXPECT_EQ(seen.size(), layout.boxes.size());
  EXPECT_EQ(layout.frames.size(), grids);
  for (size_t i = 1; i < places.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(Overlap(places[i], places[j])) << i << " " << j;
  }
}

void CheckRoute(const Layout& layout, const Route& route) {
  Box parent = PlaceOf(layout, route.parent), child = PlaceOf(layout, route.child);
  EXPECT_NEAR(route.start.x, parent.x + parent.width / 2, kTiny);
  EXPECT_NEAR(route.start.y, parent.y + parent.height, kTiny);
  EXPECT_NEAR(route.end().x, child.x + child.width / 2, kTiny);
  EXPECT_NEAR(route.end().y, child.y, kTiny);
  std::vector<Point> points = Samples(route);
  for (size_t i = 1; i < points.size(); ++i) {
    if (layout.columns == 1) EXPECT_GE(points[i].y, points[i - 1].y - kTiny);
    EXPECT_TRUE(Inside(Box{points[i].x, points[i].y, 0, 0}, {0, 0, layout.width, layout.height}));
  }
  if (layout.columns == 1) EXPECT_GT(child.y, parent.y + parent.height);
}

// Edges with bends pass between the boxes.
void CheckClear(const Layout& layout, const Route& route) {
  if (route.is_far) return;
  for (const Point& point : Samples(route)) {
    for (const Box& box : layout.boxes) EXPECT_FALSE(Inside(point, box));
  }
}

Layout Checked(const TaskGraph& graph) {
  Shape shape = Shape::Of(graph).value();
  Layout layout = LayoutOf(shape, kBoxWidth);
  CheckPlaces(layout);
  std::set<BlockEdge> drawn;
  for (const Route& route : layout.routes) {
    EXPECT_TRUE(drawn.insert({route.parent, route.child}).second);
    CheckRoute(layout, route);
    if (graph.tasks.size() <= 200) CheckClear(layout, route);
  }
  std::set<BlockEdge> needed;
  for (const Edge& edge : graph.edges) {
    needed.insert({layout.blocks.of[edge.parent], layout.blocks.of[edge.child]});
  }
  EXPECT_EQ(drawn, needed);
  return layout;
}

TEST(Blocks, GatherWhatHasTheSameNeighbours) {
  Blocks all = BlocksOf(Shape::Of(FanOf(20)).value());
  ASSERT_EQ(all.blocks.size(), 3u);
  EXPECT_EQ(all.blocks[1].tasks.size(), 20u);
  EXPECT_EQ(all.edges, (std::vector<BlockEdge>{{0, 1}, {1, 2}}));
  EXPECT_EQ(BlocksOf(Shape::Of(FanOf(4)).value()).blocks.size(), 6u);
  EXPECT_EQ(BlocksOf(Shape::Of(TasksOf(2)).value()).blocks.size(), 1u);
}

TEST(Blocks, JoinWideLevelsThatLeadIntoTheSame) {
  Blocks all = BlocksOf(Shape::Of(MontageOf(80)).value());
  std::vector<size_t> sizes;
  for (const Block& block : all.blocks) sizes.push_back(block.tasks.size());
  EXPECT_EQ(sizes, (std::vector<size_t>{80, 155, 1, 1, 80, 1, 1, 1, 1}));
  EXPECT_EQ(BlocksOf(Shape::Of(MontageOf(14)).value()).blocks.size(), 57u);
}

TEST(Blocks, LowerWhatHasNoParents) {
  TaskGraph graph = ChainOf(5);
  AddTask(graph, "input");
  graph.edges.push_back({5, 4});
  EXPECT_EQ(BlocksOf(Shape::Of(graph).value()).blocks[5].level, 3u);
}

TEST(Layout, OfADiamond) {
  Layout layout = Checked(Diamond());
  ASSERT_EQ(layout.boxes.size(), 4u);
  EXPECT_NEAR(layout.boxes[0].x, layout.boxes[3].x, kTiny);
  EXPECT_NEAR(layout.boxes[1].y, layout.boxes[2].y, kTiny);
  EXPECT_NEAR(layout.boxes[1].x + layout.boxes[2].x, 2 * layout.boxes[0].x, kTiny);
}

TEST(Layout, OfNothingAndOfOne) {
  EXPECT_EQ(Checked(TaskGraph()).boxes.size(), 0u);
  Layout layout = Checked(TasksOf(1));
  EXPECT_EQ(layout.width, kBoxWidth);
  EXPECT_EQ(layout.height, kBoxHeight);
}

TEST(Layout, OfRandomGraphs) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    auto tasks = static_cast<uint32_t>(2 + seed);
    Checked(RandomGraph(seed, tasks, tasks * static_cast<uint32_t>(seed % 4) / 2, 2 + tasks / 3));
  }
}

TEST(Layout, StandsWideRowsUpright) {
  Layout layout = Checked(MontageOf(14));
  EXPECT_TRUE(layout.boxes[20].upright);
  EXPECT_GT(layout.boxes[20].height, layout.boxes[20].width);
  EXPECT_FALSE(layout.boxes.back().upright);
  EXPECT_LT(layout.boxes.back().height, layout.boxes.back().width);
}

TEST(Layout, IsTheSameEachTime) {
  Shape shape = Shape::Of(RandomGraph(9, 100, 200, 30)).value();
  Layout a = LayoutOf(shape, kBoxWidth), b = LayoutOf(shape, kBoxWidth);
  for (TaskIndex task = 0; task < 100; ++task) {
    EXPECT_EQ(a.boxes[task].x, b.boxes[task].x);
    EXPECT_EQ(a.boxes[task].y, b.boxes[task].y);
  }
}

TEST(Layout, HasAGoodShape) {
  TaskGraph threes = TasksOf(999);
  for (TaskIndex i = 0; i < 999; i += 3) {
    threes.edges.insert(threes.edges.end(), {{i, i + 1}, {i + 1, i + 2}});
  }
  for (const TaskGraph& graph : {ChainOf(300), ChainOf(3000), FanOf(1000), MontageOf(14),
                                 MontageOf(80), MontageOf(250), threes, TasksOf(500)}) {
    Layout layout = Checked(graph);
    EXPECT_LT(layout.width, 3 * layout.height) << graph.tasks.size();
    EXPECT_LT(layout.height, 3 * layout.width) << graph.tasks.size();
  }
  EXPECT_GT(Checked(ChainOf(300)).columns, 5u);
  EXPECT_EQ(Checked(MontageOf(14)).columns, 1u);
}

TEST(Layout, BoundsBendsAndWork) {
  for (uint32_t tasks : {750u, 3000u}) {
    TaskGraph graph = ChainOf(tasks);  // deep, so that all other edges are long
    for (const Edge& edge : RandomGraph(2, tasks, 4 * tasks, tasks).edges) {
      graph.edges.push_back({std::min(edge.parent, edge.child), std::max(edge.parent, edge.child)});
    }
    Layout layout = LayoutOf(Shape::Of(graph).value(), kBoxWidth);
    size_t nodes = kMostBends + graph.tasks.size(), edges = kMostBends + graph.edges.size();
    EXPECT_LE(layout.work, 100 * (nodes + 2 * edges));
    EXPECT_TRUE(std::ranges::any_of(layout.routes, &Route::is_far));
    EXPECT_FALSE(std::ranges::all_of(layout.routes, &Route::is_far));
  }
}

Rows RowsOfAll(const TaskGraph& graph) {
  Blocks all = BlocksOf(Shape::Of(graph).value());
  std::vector<uint32_t> members(all.blocks.size());
  for (uint32_t i = 0; i < members.size(); ++i) members[i] = i;
  return RowsOf(all, members, all.edges, ~0u);
}

uint64_t CrossingsOneByOne(const Rows& rows) {
  uint64_t crossings = 0;
  for (const auto& row : rows.rows) {
    auto place = [&](uint32_t node) {
      const auto& its = rows.rows[rows.nodes[node].row];
      return std::find(its.begin(), its.end(), node) - its.begin();
    };
    for (size_t i = 0; i < row.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        for (uint32_t a : rows.nodes[row[i]].below) {
          for (uint32_t b : rows.nodes[row[j]].below) crossings += place(a) < place(b);
        }
      }
    }
  }
  return crossings;
}

TEST(Rows, CountCrossings) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rows rows = RowsOfAll(RandomGraph(seed, 40, 80, 12));
    EXPECT_EQ(Crossings(rows), CrossingsOneByOne(rows));
    uint64_t before = Crossings(rows);
    Untangle(rows);
    EXPECT_LE(Crossings(rows), before);
    EXPECT_EQ(Crossings(rows), CrossingsOneByOne(rows));
  }
}

// Two ladders that share their ends, given in an order that tangles them.
TEST(Rows, Untangle) {
  TaskGraph graph = TasksOf(6);
  for (TaskIndex i = 0; i < 3; ++i) {
    for (TaskIndex other : {i, (i + 1) % 3}) {
      if (i + other != 2) graph.edges.push_back({i, 3 + other});
    }
  }
  Rows rows = RowsOfAll(graph);
  std::reverse(rows.rows[1].begin(), rows.rows[1].end());
  EXPECT_GT(Crossings(rows), 0u);
  Untangle(rows);
  EXPECT_EQ(Crossings(rows), 0u);
}

}  // namespace
}  // namespace spate::present
