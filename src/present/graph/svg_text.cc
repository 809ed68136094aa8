#include "present/graph/svg_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "present/graph/markup.h"
#include "present/table/text_width.h"
#include "present/text/end_text.h"

namespace spate::present {
namespace {

constexpr double kLegendLine = 24;
constexpr double kLegendTop = 62;  // the middle of its first line
constexpr double kLeastWidth = 640;

constexpr std::array<const char*, kPhases> kMarks = {
    "M-4 .5L-1.2 3.2L4 -3.5",                                        // a tick
    "M-2.5 -3.5L4 0L-2.5 3.5Z",                                      // a wedge: goes on
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",                  // a ring
    "M-4 0h.01M0 0h.01M4 0h.01",                                     // three dots
    "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5",                          // a cross
    "M-4 0H4",                                                       // a bar
    "M-2.4 -2.2a2.4 2.4 0 1 1 3.6 2.1q-1.2 .6 -1.2 1.6M0 4.2h.01"};  // a question mark

std::string Styles() {
  std::string text =
      "<style>\n"
      "text{font-family:Helvetica,Arial,'DejaVu Sans',sans-serif;font-size:11px;fill:#111}\n"
      ".h{font-size:16px;font-weight:bold}.n{fill:#555}\n"
      ".m{fill:none;stroke:#111;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}\n"
      ".e{fill:none;stroke:#8a8a8a;stroke-width:1.1}.f{stroke-dasharray:6 4;stroke:#bbb}\n"
      ".k{stroke:#000;stroke-width:3}\n"
      ".g{fill:#f4f4f4;stroke:#aaa}\n";
  for (Phase phase : kAllPhases) {
    const PhaseStyle& style = StyleOf(phase);
    text += fmt::format(".p{} rect{{fill:{};stroke:{};stroke-width:{}", static_cast<int>(phase),
                        style.fill, style.stroke, style.width);
    if (*style.dashes) text += fmt::format(";stroke-dasharray:{}", style.dashes);
    text += "}\n";
  }
  return text + ".c rect{stroke:#000;stroke-width:3.4}\n</style>\n";
}

std::string Definitions() {
  std::string text =
      "<defs>\n<marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"2\" refY=\"4\" markerWidth=\"7\" "
      "markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
      "<path d=\"M0 .8L8 4L0 7.2Z\" fill=\"#666\"/></marker>\n"
      "<marker id=\"b\" viewBox=\"0 0 8 8\" refX=\"4\" refY=\"4\" markerWidth=\"11\" "
      "markerHeight=\"11\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
      "<path d=\"M0 .4L8 4L0 7.6Z\"/></marker>\n";
  for (Phase phase : kAllPhases) {
    auto number = static_cast<size_t>(phase);
    text += fmt::format("<path id=\"m{}\" class=\"m\" d=\"{}\"/>\n", number, kMarks[number]);
  }
  return text + "</defs>\n";
}

// Signs and words beside each other, in as many lines as the width asks for.
class Legend {
 public:
  explicit Legend(double width) : width_(width) {}

  void Add(const std::string& words, double sign_width,
           const std::function<std::string(double, double)>& sign) {
    double wide = sign_width + 8 + 6.2 * static_cast<double>(DisplayWidth(words)) + 16;
    if (x_ > kSvgMargin && x_ + wide > width_) {
      x_ = kSvgMargin;
      y_ += kLegendLine;
    }
    text_ += sign(x_, y_) + fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n",
                                        SvgNumber(x_ + sign_width + 8), SvgNumber(y_ + 4), words);
    x_ += wide;
  }

  double bottom() const { return y_ + kLegendLine / 2; }
  const std::string& text() const { return text_; }

 private:
  double width_, x_ = kSvgMargin, y_ = kLegendTop;
  std::string text_;
};

Legend LegendOf(const SvgInput& input, const PhaseCounts& counts, double width) {
  Legend legend(width);
  for (Phase phase : kAllPhases) {
    if (counts[phase] == 0) continue;
    std::string words = fmt::format("{} {}", FormatCount(counts[phase]), WordOf(phase));
    legend.Add(words, 24, [&](double x, double y) {
      return fmt::format(
          "<g class=\"p{}\"><rect x=\"{}\" y=\"{}\" width=\"24\" height=\"16\" rx=\"3\"/>{}</g>",
          static_cast<int>(phase), SvgNumber(x), SvgNumber(y - 8), SvgMark(phase, x + 12, y));
    });
  }
  if (input.critical.path.size() > 1) {
    std::string words = fmt::format("critical path: {} in {}", FormatDuration(input.critical.total),
                                    CountOf(input.critical.path.size(), "task"));
    legend.Add(words, 24, [](double x, double y) {
      return fmt::format("<path class=\"e k\" d=\"M{0} {1}H{2}\"/>", SvgNumber(x), SvgNumber(y),
                         SvgNumber(x + 24));
    });
  }
  return legend;
}

}  // namespace

std::string SvgNumber(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string SvgMark(Phase phase, double x, double y) {
  return fmt::format("<use href=\"#m{}\" x=\"{}\" y=\"{}\"/>", static_cast<int>(phase),
                     SvgNumber(x), SvgNumber(y));
}

std::string SvgHead(const SvgInput& input, const PhaseCounts& counts, std::string_view note,
                    double width, double height) {
  double whole = std::max(width + 2 * kSvgMargin, kLeastWidth);
  Legend legend = LegendOf(input, counts, whole);
  double top = legend.bottom() + kSvgMargin;
  double bottom = top + height + kSvgMargin;
  auto columns = static_cast<size_t>((whole - 2 * kSvgMargin) / 9);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
             "viewBox=\"0 0 {0} {1}\">\n",
             SvgNumber(whole), SvgNumber(bottom)) +
         fmt::format("<title>{}</title>\n", XmlText(input.title)) + Styles() + Definitions() +
         "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" +
         fmt::format("<text class=\"h\" x=\"{}\" y=\"26\">{}</text>\n", SvgNumber(kSvgMargin),
                     XmlText(CutToWidth(EscapeForScreen(input.title), columns))) +
         fmt::format("<text class=\"n\" x=\"{}\" y=\"43\">{}, {}, {}{}</text>\n",
                     SvgNumber(kSvgMargin), CountOf(counts.total, "task"),
                     CountOf(input.shape.edges(), "edge"), CountOf(input.shape.depths(), "level"),
                     note) +
         legend.text() +
         fmt::format("<g transform=\"translate({},{})\">\n", SvgNumber((whole - width) / 2),
                     SvgNumber(top));
}

}  // namespace spate::present
