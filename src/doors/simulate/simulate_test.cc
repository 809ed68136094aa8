#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "doors/simulate/plot.h"
#include "doors/simulate/plot_series.h"
#include "doors/simulate/replay.h"
#include "doors/simulate/simulation_text.h"

namespace spate::cli {
namespace {

using engine::place::BackfillPolicy;
using format::RigidJob;

Simulation Simulated(std::vector<RigidJob> jobs, uint32_t processors, SimulateOptions options) {
  ReplayRules rules{.policy = options.policy, .order = options.order, .perfect = options.perfect};
  if (options.on_nodes) rules.nodes = {processors};
  Simulation simulation{.options = std::move(options)};
  simulation.options.trace = "a & b.swf";
  simulation.header.computer = "Old <one>";
  simulation.header.acknowledge = "a donor";
  simulation.workload.jobs = std::move(jobs);
  simulation.workload.processors = processors;
  simulation.starts = Replay(simulation.workload, rules);
  simulation.figures = FiguresOf(simulation.workload, simulation.starts);
  simulation.workload.dropped[1] = 3;
  return simulation;
}

std::vector<int64_t> StartsOf(const std::vector<RigidJob>& jobs, uint32_t processors,
                              SimulateOptions options) {
  std::vector<int64_t> starts;
  for (const ReplayStart& start : Simulated(jobs, processors, std::move(options)).starts) {
    starts.push_back(start.start);
  }
  return starts;
}

// number, submit, run, processors, estimate
const std::vector<RigidJob> kFour = {
    {1, 0, 100, 3, 100}, {2, 1, 10, 4, 10}, {3, 2, 50, 1, 50}, {4, 3, 200, 1, 200}};

TEST(Simulate, EventsOfOneInstant) {
  using enum ReplayOrder;
  using Starts = std::vector<int64_t>;
  // At 10 the first two end, and another one arrives. In sequence the first pass comes when one
  // end is known, and by its estimate the other's.
  const std::vector<RigidJob> known = {
      {1, 0, 10, 2, 10}, {2, 0, 10, 2, 10}, {3, 1, 5, 4, 5}, {4, 10, 5, 1, 5}};
  // Here the estimates do not tell: when one end has come, a small job overtakes a large one that
  // would start at the next end of that same instant.
  const std::vector<RigidJob> unknown = {
      {1, 0, 10, 2, 30}, {2, 0, 10, 2, 20}, {3, 1, 5, 4, 5}, {4, 2, 5, 2, 5}};
  struct Case {
    const std::vector<RigidJob>& jobs;
    ReplayOrder order;
    Starts starts;
  };
  const Case cases[] = {{known, kSequence, {0, 0, 10, 15}},
                        {known, kBatch, {0, 0, 10, 15}},
                        {unknown, kSequence, {0, 0, 15, 10}},
                        {unknown, kBatch, {0, 0, 10, 15}}};
  for (const Case& c : cases) {
    EXPECT_EQ(StartsOf(c.jobs, 4, {.policy = BackfillPolicy::kEasy, .order = c.order}), c.starts)
        << (&c - cases);
  }
  EXPECT_EQ(StartsOf(unknown, 4, {.order = kSequence, .perfect = true}), (Starts{0, 0, 10, 15}));
}

TEST(Simulate, Figures) {
  const Simulation simulation = Simulated(kFour, 4, {.policy = BackfillPolicy::kEasy});
  const Figures& figures = simulation.figures;
  EXPECT_EQ(figures.jobs, 4u);
  EXPECT_DOUBLE_EQ(figures.mean_wait, (99 + 107) / 4.0);
  EXPECT_EQ(figures.max_wait, 107);
  EXPECT_EQ(figures.median_wait, 99);
  EXPECT_DOUBLE_EQ(figures.mean_bounded_slowdown, (1 + 10.9 + 1 + 307 / 200.0) / 4);
  EXPECT_DOUBLE_EQ(figures.max_bounded_slowdown, 10.9);
  EXPECT_EQ(figures.makespan, 310);
  EXPECT_DOUBLE_EQ(figures.utilisation, (300 + 40 + 50 + 200) / (4 * 310.0));
  EXPECT_EQ(figures.queue_depth_max, 2u);
  EXPECT_EQ(figures.overtook, 1u);
  EXPECT_EQ(ScheduleText(simulation),
            "1 0 0 100 3 0\n2 1 100 10 4 0\n3 2 2 50 1 1\n4 3 110 200 1 0\n");
}

TEST(Simulate, ShortJobsCountAsTenSeconds) {
  EXPECT_DOUBLE_EQ(BoundedSlowdown({1, 0, 1, 1, 1}, 0, 1), 1);
  EXPECT_DOUBLE_EQ(BoundedSlowdown({1, 0, 1, 1, 1}, 19, 1), 2);
  EXPECT_DOUBLE_EQ(BoundedSlowdown({1, 0, 20, 1, 20}, 20, 1), 2);
  // In thousandths of a second.
  EXPECT_DOUBLE_EQ(BoundedSlowdown({1, 0, 1000, 1, 1000}, 19000, 1000), 2);
}

TEST(Simulate, Json) {
  const Simulation simulation = Simulated(kFour, 4, {.policy = BackfillPolicy::kEasy});
  auto json = nlohmann::ordered_json::parse(JsonText(simulation), nullptr, false);
  std::string keys;
  for (const auto& [key, value] : json.items()) keys += (keys.empty() ? "" : " ") + key;
  EXPECT_EQ(keys,
            "type v trace computer installation acknowledge policy order estimates filter "
            "processors jobs dropped broken_lines mean_wait median_wait max_wait "
            "mean_bounded_slowdown max_bounded_slowdown utilisation queue_depth_max overtook "
            "makespan placement odd_headers");
  EXPECT_EQ(json["policy"], "easy");
  EXPECT_EQ(json["dropped"], 3);
  EXPECT_NE(JsonText(simulation).find("\"mean_wait\":51.500000,"), std::string::npos);
}

TEST(Simulate, Human) {
  const std::string text = HumanText(Simulated(kFour, 4, {.policy = BackfillPolicy::kEasy}), 80);
  EXPECT_TRUE(text.starts_with("easy, users' estimates, order seq\n")) << text;
  EXPECT_NE(text.find("3 (3 without processors)"), std::string::npos) << text;
  EXPECT_NE(text.find("Old <one>; thanks to a donor"), std::string::npos) << text;
}

TEST(Simulate, ThousandsAreSeparated) {
  Simulation simulation = Simulated(kFour, 4, {.policy = BackfillPolicy::kEasy});
  simulation.figures.mean_wait = 353776.4091;
  simulation.figures.median_wait = 1234567;
  simulation.figures.max_bounded_slowdown = 6814.97334;
  simulation.header.odd = {"line 1: 'MaxProcs: 4 x': expected a number alone; 4 is used"};
  const std::string text = HumanText(simulation, 100);
  EXPECT_NE(text.find("mean 353,776.4091 s, median 1,234,567 s, at most 107 s"), std::string::npos)
      << text;
  EXPECT_NE(text.find("at most 6,814.9733 (bounded)"), std::string::npos) << text;
  EXPECT_NE(text.find("header     line 1: 'MaxProcs: 4 x'"), std::string::npos) << text;
  EXPECT_NE(JsonText(simulation).find("\"mean_wait\":353776.409100,"), std::string::npos);
  EXPECT_NE(JsonText(simulation).find("\"odd_headers\":[\"line 1: 'MaxProcs: 4 x'"),
            std::string::npos);
  EXPECT_NE(PlotText(simulation).find("mean wait 353,776.41 s"), std::string::npos);
}

// Texts of this size are at most about 7 units wide for each letter, and the picture 900.
TEST(Simulate, PictureCutsNoName) {
  Simulation simulation = Simulated(kFour, 4, {.policy = BackfillPolicy::kEasy});
  for (int i = 0; i < 30; ++i) simulation.header.acknowledge += fmt::format(" of group {}", i);
  simulation.options.trace = std::string(300, 'x');
  const std::string svg = PlotText(simulation);
  std::string all;
  for (size_t at = svg.find("<text"); at != svg.npos; at = svg.find("<text", at + 1)) {
    const size_t begin = svg.find('>', at) + 1;
    const std::string line = svg.substr(begin, svg.find('<', begin) - begin);
    EXPECT_LE(line.size(), 140u) << line;  // with the longer names of < and >
    all += line + " ";
  }
  EXPECT_NE(all.find("of group 29"), std::string::npos) << all;
  EXPECT_EQ(std::ranges::count(all.substr(0, all.find(" jobs on ")), 'x'), 300);
  const std::string plain = PlotText(Simulated(kFour, 4, {.policy = BackfillPolicy::kEasy}));
  EXPECT_NE(plain.find("translate(0 17)"), std::string::npos) << "panels stand below the lines";
  const std::string head = svg.substr(0, svg.find("<g "));
  size_t lines = 0;
  for (size_t at = head.find("<text"); at != head.npos; at = head.find("<text", at + 1)) ++lines;
  EXPECT_NE(svg.find(fmt::format("translate(0 {})", 17 * (lines - 2))), std::string::npos);
  EXPECT_NE(head.find(std::string(300, 'x') + "</title>"), std::string::npos);
}

TEST(Simulate, SeriesOfAPicture) {
  // Parts of 31 s each.
  const PlotSeries series = SeriesOf(Simulated(kFour, 4, {.policy = BackfillPolicy::kEasy}), 10);
  EXPECT_EQ(series.first, 0);
  EXPECT_EQ(series.last, 310);
  ASSERT_EQ(series.use.size(), 10u);
  EXPECT_NEAR(series.use[0], (3 * 31 + 29) / (4 * 31.0), 1e-9);
  EXPECT_NEAR(series.use[1], (3 * 31 + 21) / (4 * 31.0), 1e-9);
  EXPECT_NEAR(series.use[9], 0.25, 1e-9);
  EXPECT_EQ(series.queue, (std::vector<int64_t>{2, 2, 2, 2, 0, 0, 0, 0, 0, 0}));
  ASSERT_TRUE(series.slowdowns[0]);
  EXPECT_FALSE(series.slowdowns[1]);
}

TEST(Simulate, PictureIsSoundXml) {
  const std::string svg = PlotText(Simulated(kFour, 4, {.policy = BackfillPolicy::kEasy}));
  EXPECT_TRUE(svg.starts_with("<svg xmlns='http://www.w3.org/2000/svg'")) << svg;
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("a &amp; b.swf"), std::string::npos);
  EXPECT_NE(svg.find("Old &lt;one&gt;; thanks to a donor"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  // One job that lasts a second.
  EXPECT_EQ(PlotText(Simulated({{1, 5, 1, 1, 1}}, 1, {})).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace spate::cli
