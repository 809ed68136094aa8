// Three panels, one above the other, over the same time: where the machine stood empty while jobs
// waited, one sees it at once. Slowdowns go over decades, so their axis is logarithmic.
#include "doors/simulate/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "doors/simulate/plot_series.h"
#include "present/graph/markup.h"

namespace spate::cli {
namespace {

constexpr size_t kParts = 600;
constexpr double kLeft = 70, kWide = 900, kHigh = 150, kTop = 70, kPitch = 200, kBottom = 50;
constexpr int kPanels = 3;
constexpr double kLine = 17;          // from one line of text to the next
constexpr size_t kLineBytes = 125;    // fit into the width, also where letters are wide
constexpr size_t kTitleBytes = 110;   // the same, bold
constexpr size_t kMostHeadLines = 6;  // of a text; a header's are bounded

struct Axis {
  double most = 1;  // the value at the upper end
  std::vector<std::pair<double, std::string>> marks = {};
  bool logarithmic = false;  // from 1 on

  double HeightOf(double value) const {
    if (!logarithmic) return kHigh * value / most;
    return kHigh * std::log10(std::max(value, 1.0)) / std::log10(most);
  }
};

struct Panel {
  std::string_view title;
  std::string_view colour;
  Axis axis;
};

double XOf(size_t part) {
  return kLeft + kWide * static_cast<double>(part) / static_cast<double>(kParts);
}

double BottomOf(int panel) { return kTop + kPitch * panel + kHigh; }

// 1, 2 or 5 times a power of ten, at least `value`.
double RoundUp(double value) {
  double power = 1;
  while (power * 10 < value) power *= 10;
  for (double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= value) return power * factor;
  }
  return power * 10;
}

Axis CountAxis(int64_t most) {
  Axis axis{.most = RoundUp(std::max(2.0, static_cast<double>(most)))};
  for (double mark : {0.0, axis.most / 2, axis.most}) {
    if (mark != std::floor(mark)) continue;
    axis.marks.emplace_back(mark, FormatCount(static_cast<uint64_t>(mark)));
  }
  return axis;
}

Axis DecadeAxis(double most) {
  Axis axis{.most = 10, .logarithmic = true};
  while (axis.most < most) axis.most *= 10;
  for (double mark = 1; mark <= axis.most; mark *= 10) {
    axis.marks.emplace_back(mark, FormatCount(static_cast<uint64_t>(mark)));
  }
  return axis;
}

std::string PanelFrame(int panel, const Panel& look) {
  const double bottom = BottomOf(panel);
  std::string text = fmt::format(
      "<text x='{:.0f}' y='{:.0f}' class='title'>{}</text>\n<rect x='{:.0f}' y='{:.0f}' "
      "width='{:.0f}' height='{:.0f}' class='frame'/>\n",
      kLeft, bottom - kHigh - 8, look.title, kLeft, bottom - kHigh, kWide, kHigh);
  for (const auto& [value, label] : look.axis.marks) {
    const double y = bottom - look.axis.HeightOf(value);
    text += fmt::format(
        "<path d='M{:.0f} {:.1f}h{:.0f}' class='grid'/><text x='{:.0f}' y='{:.1f}' "
        "class='mark' text-anchor='end'>{}</text>\n",
        kLeft, y, kWide, kLeft - 6, y + 4, label);
  }
  return text;
}

// An area below the values, each for the width of its part.
template <typename Values>
std::string Area(int panel, const Panel& look, const Values& values) {
  const double bottom = BottomOf(panel);
  std::string path = fmt::format("M{:.1f} {:.1f}", kLeft, bottom);
  for (size_t part = 0; part < values.size(); ++part) {
    path +=
        fmt::format("V{:.1f}H{:.1f}",
                    bottom - look.axis.HeightOf(static_cast<double>(values[part])), XOf(part + 1));
  }
  return fmt::format("<path d='{}V{:.1f}Z' fill='{}' fill-opacity='0.6'/>\n", path, bottom,
                     look.colour);
}

// A stroke for each part that has a value.
std::string Strokes(int panel, const Panel& look,
                    const std::vector<std::optional<double>>& values) {
  std::string path;
  for (size_t part = 0; part < values.size(); ++part) {
    if (!values[part]) continue;
    path += fmt::format("M{:.1f} {:.1f}V{:.1f}", (XOf(part) + XOf(part + 1)) / 2, BottomOf(panel),
                        BottomOf(panel) - look.axis.HeightOf(*values[part]) - 1);
  }
  return fmt::format("<path d='{}' stroke='{}' stroke-width='{:.1f}' fill='none'/>\n", path,
                     look.colour, kWide / static_cast<double>(kParts));
}

// Cut between words, and within those that are too long.
std::vector<std::string> LinesOf(std::string_view text, size_t bytes) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < kMostHeadLines) {
    size_t end = text.size();
    if (end > bytes) {
      end = text.substr(0, bytes + 1).rfind(' ');
      if (end == std::string_view::npos || end == 0) end = bytes;
      // Not within a character of several bytes.
      while (end > 1 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return lines;
}

struct TimeUnit {
  double seconds = 1;
  std::string_view name;
};

TimeUnit UnitOf(double whole) {
  if (whole > 2 * 86'400) return {86'400, "days"};
  if (whole > 2 * 3'600) return {3'600, "hours"};
  if (whole > 2 * 60) return {60, "minutes"};
  return {1, "seconds"};
}

std::string TimeAxis(const PlotSeries& series) {
  const auto whole =
      static_cast<double>(series.last - series.first) / static_cast<double>(series.second);
  const TimeUnit unit = UnitOf(whole);
  const double units = whole / unit.seconds;
  const double pitch = RoundUp(std::max(1.0, units / 10));
  const double y = BottomOf(kPanels - 1);
  std::string text;
  for (double mark = 0; mark <= units; mark += pitch) {
    const double x = kLeft + kWide * mark / units;
    text += fmt::format(
        "<path d='M{:.1f} {:.0f}v5' class='frame'/><text x='{:.1f}' y='{:.0f}' class='mark' "
        "text-anchor='middle'>{}</text>\n",
        x, y, x, y + 18, FormatCount(static_cast<uint64_t>(mark)));
  }
  return text + fmt::format(
                    "<text x='{:.0f}' y='{:.0f}' class='mark' text-anchor='middle'>{} since the "
                    "first submission</text>\n",
                    kLeft + kWide / 2, y + 36, unit.name);
}

struct HeadLine {
  std::string text;
  bool title = false;
};

std::string TitleOf(const Simulation& simulation) {
  return fmt::format("{}: {}", TitleText(simulation.options), SourceOf(simulation.options));
}

// Long names take more lines.
std::vector<HeadLine> HeadLines(const Simulation& simulation) {
  const Figures& figures = simulation.figures;
  std::vector<HeadLine> lines;
  auto add = [&](std::string_view text, bool title) {
    for (std::string& line : LinesOf(text, title ? kTitleBytes : kLineBytes)) {
      lines.push_back({std::move(line), title});
    }
  };
  add(TitleOf(simulation), true);
  add(fmt::format("{} jobs on {} processors, mean bounded slowdown {}, mean wait {} s, utilization "
                  "{:.2f}%",
                  FormatCount(figures.jobs), FormatCount(simulation.workload.processors),
                  NumberText(figures.mean_bounded_slowdown, 4), NumberText(figures.mean_wait, 2),
                  100 * figures.utilisation),
      false);
  add(OriginText(simulation.header), false);
  return lines;
}

std::string Head(const std::string& title, const std::vector<HeadLine>& lines, double below) {
  const double width = kLeft + kWide + 20;
  const double height = BottomOf(kPanels - 1) + kBottom + below;
  std::string text = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' viewBox='0 0 "
      "{0:.0f} {1:.0f}' font-family='sans-serif' font-size='12'>\n<title>{2}</title>\n",
      width, height, present::XmlText(title));
  text +=
      "<style>.title{font-weight:bold}.frame{fill:none;stroke:#888}.grid{stroke:#ddd}"
      ".mark{fill:#555}</style>\n<rect width='100%' height='100%' fill='#fff'/>\n";
  double y = 20;
  for (const HeadLine& line : lines) {
    text += fmt::format("<text x='{:.0f}' y='{:.0f}' class='{}'>{}</text>\n", kLeft, y,
                        line.title ? "title" : "mark", present::XmlText(line.text));
    y += kLine;
  }
  return text + fmt::format("<g transform='translate(0 {:.0f})'>\n", below);
}

double LargestOf(const std::vector<std::optional<double>>& values) {
  double largest = 1;
  for (const auto& value : values) largest = std::max(largest, value.value_or(1));
  return largest;
}

}  // namespace

std::string PlotText(const Simulation& simulation) {
  const PlotSeries series = SeriesOf(simulation, kParts);
  const Panel use{
      "Processors in use", "#2a7ab0", {.most = 1, .marks = {{0, "0%"}, {0.5, "50%"}, {1, "100%"}}}};
  const Panel queue{"Waiting jobs", "#d08020",
                    CountAxis(static_cast<int64_t>(simulation.figures.queue_depth_max))};
  const Panel slowdown{"Mean bounded slowdown, by time of submission", "#a03050",
                       DecadeAxis(LargestOf(series.slowdowns))};
  const std::vector<HeadLine> lines = HeadLines(simulation);
  std::string text =
      Head(TitleOf(simulation), lines, kLine * static_cast<double>(lines.size() - 2));
  text += PanelFrame(0, use) + Area(0, use, series.use);
  text += PanelFrame(1, queue) + Area(1, queue, series.queue);
  text += PanelFrame(2, slowdown) + Strokes(2, slowdown, series.slowdowns);
  return text + TimeAxis(series) + "</g>\n</svg>\n";
}

}  // namespace spate::cli
