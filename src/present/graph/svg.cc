#include "present/graph/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/units.h"
#include "present/graph/layout.h"
#include "present/graph/markup.h"
#include "present/graph/svg_text.h"
#include "present/graph/tooltip.h"
#include "present/table/text_width.h"

namespace spate::present {
namespace {

constexpr size_t kNameColumns = 18;
constexpr double kColumn = 6.8;  // a letter of the box's text, about
constexpr double kNameStart = 22, kNameEnd = 8;
constexpr size_t kEdgesWithHeads = 1'000;
constexpr double kHead = 5.5;  // an arrow's head beyond the end of its line

std::string ShortName(const GraphTask& task) {
  return CutToWidth(EscapeForScreen(task.name), kNameColumns);
}

double BoxWidth(const TaskGraph& graph) {
  size_t columns = 3;
  for (const GraphTask& task : graph.tasks) {
    columns = std::max(columns, DisplayWidth(ShortName(task)));
  }
  return std::ceil(kNameStart + kNameEnd + kColumn * static_cast<double>(columns));
}

std::string PointText(Point point) {
  return fmt::format("{} {}", SvgNumber(point.x), SvgNumber(point.y));
}

// `short_by`: of its end, which goes straight down.
std::string PathText(Route route, double short_by) {
  route.curves.back()[2].y -= short_by;
  std::string text = "M" + PointText(route.start);
  Point from = route.start;
  for (const auto& [first, second, end] : route.curves) {
    bool straight = from.x == end.x && first.x == end.x && second.x == end.x;
    text += straight
                ? "V" + SvgNumber(end.y)
                : fmt::format("C{} {} {}", PointText(first), PointText(second), PointText(end));
    from = end;
  }
  return text;
}

void WriteRoutes(const SvgInput& input, const Layout& layout, const TextSink& sink) {
  std::set<BlockEdge> critical;
  for (size_t i = 1; i < input.critical.path.size(); ++i) {
    critical.insert(
        {layout.blocks.of[input.critical.path[i - 1]], layout.blocks.of[input.critical.path[i]]});
  }
  bool heads = layout.routes.size() <= kEdgesWithHeads;
  for (bool bold : {false, true}) {
    for (const Route& route : layout.routes) {
      if (critical.contains({route.parent, route.child}) != bold) continue;
      const char* head = bold ? " marker-end=\"url(#b)\"" : " marker-end=\"url(#a)\"";
      sink(fmt::format("<path class=\"e{}{}\"{} d=\"{}\"/>\n", route.is_far ? " f" : "",
                       bold ? " k" : "", heads ? head : "", PathText(route, heads ? kHead : 0)));
    }
  }
}

std::string RectText(const Box& box, const char* attributes) {
  return fmt::format("<rect {} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", attributes,
                     SvgNumber(box.x), SvgNumber(box.y), SvgNumber(box.width),
                     SvgNumber(box.height));
}

std::string BoxText(const SvgInput& input, TaskIndex task, Phase phase, const Box& box,
                    bool is_critical) {
  const GraphTask& it = input.graph.tasks[task];
  std::string text =
      fmt::format("<g id=\"t{}\" class=\"p{}{}\"><title>{}</title>", uint64_t{task} + 1,
                  static_cast<int>(phase), is_critical ? " c" : "",
                  XmlText(Tooltip(it, phase, input.critical.times[task])));
  text += RectText(box, "class=\"b\" rx=\"4\"");
  std::string name = XmlText(ShortName(it));
  double middle = box.upright ? box.x + box.width / 2 : box.y + box.height / 2;
  if (box.upright) {
    double bottom = box.y + box.height;
    text += SvgMark(phase, middle, bottom - 12);
    text += fmt::format("<text transform=\"translate({},{})rotate(-90)\">{}</text>",
                        SvgNumber(middle + 4), SvgNumber(bottom - kNameStart), name);
  } else {
    text += SvgMark(phase, box.x + 12, middle);
    text += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", SvgNumber(box.x + kNameStart),
                        SvgNumber(middle + 4), name);
  }
  return text + "</g>\n";
}

bool HasEdgeAtFrame(const Layout& layout) {
  const auto& blocks = layout.blocks.blocks;
  return std::any_of(layout.routes.begin(), layout.routes.end(), [&](const Route& route) {
    return blocks[route.parent].tasks.size() + blocks[route.child].tasks.size() > 2;
  });
}

void WriteBoxes(const SvgInput& input, const std::vector<Phase>& phases, const TextSink& sink) {
  Layout layout = LayoutOf(input.shape, BoxWidth(input.graph));
  PhaseCounts counts;
  for (Phase phase : phases) counts.Add(phase);
  const char* note =
      HasEdgeAtFrame(layout) ? "; an arrow at a frame stands for edges of tasks in it" : "";
  sink(SvgHead(input, counts, note, layout.width, layout.height));
  WriteRoutes(input, layout, sink);
  for (const Box& frame : layout.frames) sink(RectText(frame, "class=\"g\" rx=\"8\"") + "\n");
  std::vector<bool> is_critical(phases.size());
  for (TaskIndex task : input.critical.path) is_critical[task] = true;
  for (TaskIndex task = 0; task < phases.size(); ++task) {
    sink(BoxText(input, task, phases[task], layout.boxes[task], is_critical[task]));
  }
  sink("</g>\n</svg>\n");
}

}  // namespace

bool IsDrawnByDepth(const Shape& shape) {
  return shape.tasks() > kMostBoxes || shape.edges() > kMostLines;
}

void WriteSvg(const SvgInput& input, const TextSink& sink) {
  std::vector<Phase> phases = PhasesOf(input.graph, input.shape);
  if (IsDrawnByDepth(input.shape)) return WriteSvgByDepth(input, phases, sink);
  WriteBoxes(input, phases, sink);
}

}  // namespace spate::present
