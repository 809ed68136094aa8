#include "present/graph/svg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "present/graph/svg_text.h"
#include "present/graph/testing_graphs.h"

namespace spate::present {
namespace {

std::string SvgOf(const TaskGraph& graph, std::string title = "job 7") {
  std::string text;
  Shape shape = Shape::Of(graph).value();
  CriticalPath critical = CriticalPathOf(graph, shape);
  WriteSvg({graph, shape, critical, std::move(title)},
           [&](std::string_view piece) { text += piece; });
  return text;
}

size_t CountIn(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += what.size()) ++count;
  return count;
}

// The defect of `text` as XML; empty when each tag is closed by its own, and no markup sign or
// control byte is in text or values.
std::string Fault(std::string_view text) {
  std::vector<std::string> open;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '&') {
      size_t end = text.find(';', at);
      std::string name(text.substr(at, end - at));
      constexpr std::array kKnown = {"&amp", "&lt", "&gt", "&quot", "&#39"};
      if (std::ranges::find(kKnown, name) == kKnown.end()) return "entity " + name;
    }
    if (static_cast<unsigned char>(text[at]) < 0x20 && text[at] != '\n') return "control byte";
    if (text[at] != '<') {
      ++at;
      continue;
    }
    size_t end = text.find('>', at);
    if (end == text.npos) return "no end of a tag";
    std::string tag(text.substr(at + 1, end - at - 1));
    std::string name = tag.substr(0, tag.find(' '));
    if (CountIn(tag, "\"") % 2 || CountIn(tag, "<")) return "in tag " + tag;
    if (name.starts_with('/')) {
      if (open.empty() || "/" + open.back() != name) return "end of " + name;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
    at = end + 1;
  }
  return open.empty() ? "" : "open: " + open.back();
}

std::string Drawing(const std::string& svg) { return svg.substr(svg.find("<g transform")); }

TEST(Svg, OfTwoTasks) {
  TaskGraph graph = ChainOf(2);
  graph.tasks[0].state = TaskState::kSucceeded;
  graph.tasks[0].wall = Duration::Millis(1500);
  graph.tasks[1].planned = Duration::Seconds(60);
  std::string svg = SvgOf(graph);
  EXPECT_EQ(Fault(svg), "");
  EXPECT_EQ(Drawing(svg),
            "<g transform=\"translate(288,94)\">\n"
            "<path class=\"e k\" marker-end=\"url(#b)\" d=\"M32 26V50.5\"/>\n"
            "<g id=\"t1\" class=\"p0 c\"><title>task1: succeeded, took 1.50 s, slack 0.00 s</title>"
            "<rect class=\"b\" rx=\"4\" x=\"0\" y=\"0\" width=\"64\" height=\"26\"/>"
            "<use href=\"#m0\" x=\"12\" y=\"13\"/><text x=\"22\" y=\"17\">task1</text></g>\n"
            "<g id=\"t2\" class=\"p2 c\"><title>task2: ready, planned 1m00s, slack 0.00 s</title>"
            "<rect class=\"b\" rx=\"4\" x=\"0\" y=\"56\" width=\"64\" height=\"26\"/>"
            "<use href=\"#m2\" x=\"12\" y=\"69\"/><text x=\"22\" y=\"73\">task2</text></g>\n"
            "</g>\n</svg>\n");
  std::string head = svg.substr(0, svg.find("<g transform"));
  EXPECT_NE(head.find("2 tasks, 1 edge, 2 levels"), std::string::npos);
  EXPECT_NE(head.find(">1 succeeded<"), std::string::npos);
  EXPECT_NE(head.find(">1 ready<"), std::string::npos);
  EXPECT_NE(head.find("critical path: 1m02s in 2 tasks"), std::string::npos);
  EXPECT_EQ(head.find("failed<"), std::string::npos);
}

TEST(Svg, DrawsEachTaskOnceInsideTheView) {
  for (const TaskGraph& graph : {Diamond(), MontageOf(14), MontageOf(80), FanOf(1000), ChainOf(300),
                                 RandomGraph(5, 300, 500, 60), TasksOf(3000), TaskGraph()}) {
    std::string svg = SvgOf(graph);
    EXPECT_EQ(Fault(svg), "");
    EXPECT_EQ(CountIn(svg, "<rect class=\"b\""), graph.tasks.size());
    for (size_t i = 1; i <= graph.tasks.size(); ++i) {
      EXPECT_EQ(CountIn(svg, fmt::format("<g id=\"t{}\" ", i)), 1u);
    }
    double width = 0, height = 0, x = 0, y = 0, left, top, wide, high;
    ASSERT_EQ(
        std::sscanf(svg.c_str() + svg.find("viewBox"), "viewBox=\"0 0 %lf %lf", &width, &height),
        2);
    ASSERT_EQ(std::sscanf(Drawing(svg).c_str(), "<g transform=\"translate(%lf,%lf)", &x, &y), 2);
    constexpr const char* kBox = "<rect class=\"b\" rx=\"4\" x=";
    for (size_t at = 0; (at = svg.find(kBox, at)) != svg.npos; ++at) {
      ASSERT_EQ(std::sscanf(svg.c_str() + at,
                            "<rect class=\"b\" rx=\"4\" x=\"%lf\" y=\"%lf\" "
                            "width=\"%lf\" height=\"%lf\"",
                            &left, &top, &wide, &high),
                4);
      EXPECT_TRUE(left >= 0 && top >= 0 && x + left + wide <= width && y + top + high <= height);
    }
  }
}

TEST(Svg, AnyNameIsSafe) {
  const std::string kNames[] = {"<script>alert(1)</script>",
                                "a & b",
                                "]]>",
                                "\"'",
                                "tab\tline\n",
                                std::string("nul\0", 4),
                                "\xff\xfe",
                                "\xed\xa0\x80",
                                "\xef\xbf\xbf",
                                std::string(100'000, 'x'),
                                "日本語日本語日本語日本語",
                                "",
                                "e\xcc\x81"};
  for (const std::string& name : kNames) {
    TaskGraph graph;
    AddTask(graph, name);
    std::string svg = SvgOf(graph, name);
    EXPECT_EQ(Fault(svg), "");
    graph = ChainOf(3001);
    graph.tasks[0].name = name;
    EXPECT_EQ(Fault(SvgOf(graph, name)), "");
  }
  TaskGraph graph;
  AddTask(graph, "<a&b>\xff");
  EXPECT_NE(SvgOf(graph).find(">&lt;a&amp;b&gt;\\xff</text>"), std::string::npos);
  graph.tasks[0].name = "a_name_that_is_rather_long";
  EXPECT_NE(SvgOf(graph).find(">a_name_that_is_...</text>"), std::string::npos);
  EXPECT_NE(SvgOf(graph).find("<title>a_name_that_is_rather_long: ready"), std::string::npos);
}

TEST(Svg, TurnsTheTextOfUprightBoxes) {
  std::string svg = SvgOf(MontageOf(14));
  EXPECT_EQ(CountIn(svg, "rotate(-90)"), 14u + 23u + 14u);
}

TEST(Svg, ShowsTheCriticalPath) {
  TaskGraph graph = Diamond();
  graph.tasks[2].wall = Duration::Seconds(1);
  std::string svg = SvgOf(graph);
  EXPECT_EQ(CountIn(svg, " c\"><title>"), 3u);
  EXPECT_NE(svg.find("id=\"t3\" class=\"p3 c\""), std::string::npos);
  EXPECT_EQ(CountIn(Drawing(svg), "class=\"e k\""), 2u);
  EXPECT_EQ(svg.find("at a frame"), std::string::npos);
  EXPECT_EQ(SvgOf(TasksOf(5)).find("at a frame"), std::string::npos);
  EXPECT_NE(SvgOf(FanOf(5)).find("at a frame"), std::string::npos);
  EXPECT_EQ(CountIn(Drawing(svg), "class=\"e\""), 2u);
}

TEST(Svg, GivesEachPhaseItsLook) {
  std::string svg = SvgOf(TasksOf(1));
  for (Phase phase : kAllPhases) {
    EXPECT_NE(
        svg.find(fmt::format(".p{} rect{{fill:{}", static_cast<int>(phase), StyleOf(phase).fill)),
        std::string::npos);
    EXPECT_NE(svg.find(fmt::format("id=\"m{}\"", static_cast<int>(phase))), std::string::npos);
  }
}

TEST(Svg, DrawsByDepthWhatIsTooMuch) {
  EXPECT_FALSE(IsDrawnByDepth(Shape::Of(ChainOf(kMostBoxes)).value()));
  EXPECT_TRUE(IsDrawnByDepth(Shape::Of(ChainOf(kMostBoxes + 1)).value()));
  EXPECT_TRUE(IsDrawnByDepth(Shape::Of(RandomGraph(1, 2000, 25'000, 2000)).value()));
  TaskGraph graph = FanOf(4000);
  graph.tasks[0].state = TaskState::kSucceeded;
  for (TaskIndex i = 1; i <= 1000; ++i) graph.tasks[i].state = TaskState::kSucceeded;
  graph.tasks[2000].state = TaskState::kFailed;
  std::string svg = SvgOf(graph);
  EXPECT_EQ(Fault(svg), "");
  EXPECT_EQ(CountIn(svg, "<g class=\"l\">"), 3u);
  EXPECT_EQ(CountIn(svg, "<rect class=\"b\""), 0u);
  EXPECT_NE(svg.find("<title>depth 2, 1,000 succeeded, 2,999 ready, 1 failed</title>"),
            std::string::npos);
  EXPECT_NE(svg.find(">part_2000, part_1001, part_1002, ...<"), std::string::npos);
  EXPECT_NE(svg.find(">4,000<"), std::string::npos);
}

TEST(Svg, BoundsTheBarsByDepth) {
  std::string svg = SvgOf(ChainOf(100'000));
  EXPECT_EQ(CountIn(svg, "<g class=\"l\">"), kMostBars);
  EXPECT_NE(svg.find(">99,501-100,000<"), std::string::npos);
  EXPECT_LT(svg.size(), 100'000u);
}

TEST(Svg, WritesNumbersBriefly) {
  const std::pair<double, const char*> kCases[] = {{0, "0"},        {-0.01, "0"},  {12, "12"},
                                                   {12.34, "12.3"}, {11.96, "12"}, {-3.5, "-3.5"}};
  for (const auto& [value, text] : kCases) EXPECT_EQ(SvgNumber(value), text);
}

}  // namespace
}  // namespace spate::present
