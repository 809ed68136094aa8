#include "present/graph/dot.h"

#include <gtest/gtest.h>

#include "present/graph/markup.h"
#include "present/graph/testing_graphs.h"

namespace spate::present {
namespace {

std::string DotOf(const TaskGraph& graph, std::string_view title) {
  std::string text;
  Shape shape = Shape::Of(graph).value();
  WriteDot(graph, shape, CriticalPathOf(graph, shape), title,
           [&](std::string_view piece) { text += piece; });
  return text;
}

TEST(Dot, OfADiamond) {
  TaskGraph graph = Diamond();
  graph.tasks[0].state = TaskState::kSucceeded;
  graph.tasks[0].wall = Duration::Millis(1500);
  graph.tasks[2].state = TaskState::kFailed;
  EXPECT_EQ(DotOf(graph, "job 7"),
            "digraph {\n"
            "  graph [label=\"job 7\", labelloc=t];\n"
            "  node [shape=box, fontname=\"Helvetica\"];\n"
            "  t1 [label=\"a\", tooltip=\"a: succeeded, took 1.50 s, slack 0.00 s\", "
            "style=\"filled,solid\", fillcolor=\"#8fd3bd\", color=\"#00664b\"];\n"
            "  t2 [label=\"b\", tooltip=\"b: ready, time unknown\", "
            "style=\"filled,dashed\", fillcolor=\"#fdf1a0\", color=\"#7d6f00\"];\n"
            "  t3 [label=\"c\", tooltip=\"c: failed, time unknown\", "
            "style=\"filled,bold\", fillcolor=\"#f0935a\", color=\"#8f3400\"];\n"
            "  t4 [label=\"d\", tooltip=\"d: waiting, time unknown\", "
            "style=\"filled,dotted\", fillcolor=\"#ffffff\", color=\"#6e6e6e\"];\n"
            "  t1 -> t2 [penwidth=3];\n"
            "  t1 -> t3;\n"
            "  t2 -> t4 [penwidth=3];\n"
            "  t3 -> t4;\n"
            "}\n");
}

TEST(Dot, CutsLongLabelsOnly) {
  TaskGraph graph;
  AddTask(graph, std::string(100, 'x'));
  std::string text = DotOf(graph, "");
  EXPECT_NE(text.find("label=\"" + std::string(37, 'x') + "...\""), std::string::npos);
  EXPECT_NE(text.find("tooltip=\"" + std::string(100, 'x') + ": ready"), std::string::npos);
}

TEST(Markup, QuotesForDot) {
  const std::pair<std::string, const char*> kCases[] = {{"", R"("")"},
                                                        {"a b", R"("a b")"},
                                                        {R"(say "x")", R"("say \"x\"")"},
                                                        {R"(\N\)", R"("\\N\\")"},
                                                        {"a\nb", R"("a\\nb")"},
                                                        {"&lt;", R"("&amp;lt;")"},
                                                        {"<b>", R"("<b>")"},
                                                        {"\xff", R"("\\xff")"},
                                                        {"ä", R"("ä")"}};
  for (const auto& [text, quoted] : kCases) EXPECT_EQ(DotQuoted(text), quoted);
}

TEST(Markup, EscapesForXml) {
  const std::pair<std::string, const char*> kCases[] = {
      {"", ""},
      {"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
      {std::string("\0\x1b", 2), "\\x00\\x1b"},
      {"a\tb\r\n", "a\\tb\\r\\n"},
      {"\xc3\xa4\xc3", "ä\\xc3"},
      {"x\xef\xbf\xbey\xef\xbf\xbf", "x\xef\xbf\xbdy\xef\xbf\xbd"},
      {"]]>", "]]&gt;"}};
  for (const auto& [text, escaped] : kCases) EXPECT_EQ(XmlText(text), escaped);
}

}  // namespace
}  // namespace spate::present
