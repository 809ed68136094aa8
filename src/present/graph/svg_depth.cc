// A bar for each depth, or for a few neighbouring ones: its length says how many tasks there are,
// its parts say in which phases. Beside it stand the tasks that people look for first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "present/graph/depth.h"
#include "present/graph/markup.h"
#include "present/graph/svg_text.h"
#include "present/table/text_width.h"

namespace spate::present {
namespace {

constexpr double kLine = 22, kBar = 16;
constexpr double kLabelEnd = 110, kCountEnd = 190, kBarStart = 200, kBarLength = 520;
constexpr double kNamesStart = kBarStart + kBarLength + 30, kWidth = kNamesStart + 420;
constexpr double kLeastPart = 3;
constexpr size_t kNames = 3, kMarginColumns = 20;

// Failures first, what has succeeded last.
int Rank(Phase phase) {
  constexpr std::array<int, kPhases> kRanks = {6, 2, 4, 5, 0, 3, 1};
  return kRanks[static_cast<size_t>(phase)];
}

using Few = std::vector<std::pair<int, TaskIndex>>;  // ascending, at most kNames

void Keep(Few& few, std::pair<int, TaskIndex> task) {
  if (few.size() == kNames && task > few.back()) return;
  if (few.size() == kNames) few.pop_back();
  few.insert(std::upper_bound(few.begin(), few.end(), task), task);
}

std::vector<Few> FewOfEach(const std::vector<DepthRange>& ranges, const std::vector<Phase>& phases,
                           const Shape& shape) {
  std::vector<Few> few(ranges.size());
  for (TaskIndex task = 0; task < phases.size(); ++task) {
    uint32_t length = ranges.front().last + 1;
    Keep(few[shape.depth(task) / length], {Rank(phases[task]), task});
  }
  return few;
}

std::string NamesText(const TaskGraph& graph, const Few& few, uint32_t of) {
  std::string text;
  for (const auto& [rank, task] : few) {
    std::string name = CutToWidth(EscapeForScreen(graph.tasks[task].name), kMarginColumns);
    text += (text.empty() ? "" : ", ") + name;
  }
  return of > few.size() ? text + ", ..." : text;
}

std::string CountsText(const DepthRange& range) {
  std::string text = "depth " + DepthText(range);
  for (Phase phase : kAllPhases) {
    if (range.counts[phase] == 0) continue;
    text += fmt::format(", {} {}", FormatCount(range.counts[phase]), WordOf(phase));
  }
  return text;
}

// Levels of one task and of a million are both to be seen: lengths grow with the logarithm.
double LengthOf(uint32_t tasks, uint32_t most) {
  return kBarLength * std::log1p(tasks) / std::log1p(most);
}

std::string BarText(const DepthRange& range, double top, uint32_t most) {
  std::string text = fmt::format("<g class=\"l\"><title>{}</title>", CountsText(range));
  double x = kBarStart, whole = LengthOf(range.counts.total, most);
  for (Phase phase : kAllPhases) {
    if (range.counts[phase] == 0) continue;
    double length = std::max(kLeastPart, whole * range.counts[phase] / range.counts.total);
    text += fmt::format(
        "<g class=\"p{}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>{}</g>",
        static_cast<int>(phase), SvgNumber(x), SvgNumber(top), SvgNumber(length), SvgNumber(kBar),
        length > 20 ? SvgMark(phase, x + length / 2, top + kBar / 2) : "");
    x += length;
  }
  return text + "</g>\n";
}

std::string Words(double x, double y, const char* attributes, std::string_view words) {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", SvgNumber(x), SvgNumber(y),
                     attributes, XmlText(words));
}

}  // namespace

void WriteSvgByDepth(const SvgInput& input, const std::vector<Phase>& phases,
                     const TextSink& sink) {
  std::vector<DepthRange> ranges = ProgressByDepth(phases, input.shape, kMostBars);
  std::vector<Few> few = FewOfEach(ranges, phases, input.shape);
  PhaseCounts counts;
  uint32_t most = 1;
  for (const DepthRange& range : ranges) {
    counts.Add(range.counts);
    most = std::max(most, range.counts.total);
  }
  sink(SvgHead(input, counts, "; bars grow with the logarithm", kWidth,
               kLine * static_cast<double>(ranges.size() + 1)));
  constexpr const char* kToTheRight = " class=\"n\" text-anchor=\"end\"";
  sink(Words(kLabelEnd, 12, kToTheRight, "depth") + Words(kCountEnd, 12, kToTheRight, "tasks"));
  for (size_t i = 0; i < ranges.size(); ++i) {
    double top = kLine * static_cast<double>(i + 1), base = top + 12;
    sink(Words(kLabelEnd, base, " text-anchor=\"end\"", DepthText(ranges[i])));
    sink(Words(kCountEnd, base, " text-anchor=\"end\"", FormatCount(ranges[i].counts.total)));
    sink(BarText(ranges[i], top, most));
    sink(Words(kNamesStart, base, "", NamesText(input.graph, few[i], ranges[i].counts.total)));
  }
  sink("</g>\n</svg>\n");
}

}  // namespace spate::present
