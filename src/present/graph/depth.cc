#include "present/graph/depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/units.h"
#include "present/table/table.h"

namespace spate::present {
namespace {

Tone ToneOf(Phase phase) {
  switch (phase) {
    case Phase::kSucceeded:
      return Tone::kGood;
    case Phase::kFailed:
      return Tone::kBad;
    case Phase::kCancelled:
    case Phase::kUnknown:
      return Tone::kDoubtful;
    default:
      return Tone::kPlain;
  }
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::vector<Phase> PhasesThatOccur(const std::vector<DepthRange>& ranges) {
  std::vector<Phase> occur;
  for (Phase phase : kAllPhases) {
    bool found = std::any_of(ranges.begin(), ranges.end(),
                             [&](const DepthRange& range) { return range.counts[phase] > 0; });
    if (found) occur.push_back(phase);
  }
  return occur;
}

}  // namespace

std::vector<DepthRange> ProgressByDepth(const std::vector<Phase>& phases, const Shape& shape,
                                        uint32_t most) {
  uint32_t length = std::max(1u, (shape.depths() + most - 1) / most);
  std::vector<DepthRange> ranges((shape.depths() + length - 1) / length);
  for (uint32_t i = 0; i < ranges.size(); ++i) {
    ranges[i].first = i * length;
    ranges[i].last = std::min(shape.depths(), (i + 1) * length) - 1;
  }
  for (TaskIndex task = 0; task < phases.size(); ++task) {
    ranges[shape.depth(task) / length].counts.Add(phases[task]);
  }
  return ranges;
}

std::string DepthText(const DepthRange& range) {
  if (range.first == range.last) return FormatCount(range.first + 1);
  return fmt::format("{}-{}", FormatCount(range.first + 1), FormatCount(range.last + 1));
}

std::string DepthTable(const std::vector<DepthRange>& ranges, uint32_t width, bool colour) {
  std::vector<Phase> occur = PhasesThatOccur(ranges);
  std::vector<Column> columns = {{"DEPTH", Align::kRight}, {"TASKS", Align::kRight}};
  for (Phase phase : occur) columns.push_back({Upper(WordOf(phase)), Align::kRight});
  std::string text;
  Table table(std::move(columns), width, colour, [&](std::string_view line) { text += line; });
  for (const DepthRange& range : ranges) {
    std::vector<Cell> cells = {{DepthText(range)}, {FormatCount(range.counts.total)}};
    for (Phase phase : occur) {
      uint32_t count = range.counts[phase];
      cells.push_back({count ? FormatCount(count) : "-", count ? ToneOf(phase) : Tone::kPlain});
    }
    table.Add(std::move(cells));
  }
  table.Finish();
  return text;
}

}  // namespace spate::present
