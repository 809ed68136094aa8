#include "present/table/table.h"

#include <algorithm>

#include "base/units.h"
#include "present/table/text_width.h"

namespace spate::present {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kSampleRows = 500;
// Without this bound, one long name would move the rest of every row.
constexpr size_t kMostOfName = 200;

size_t Total(const std::vector<size_t>& widths) {
  size_t total = widths.empty() ? 0 : (widths.size() - 1) * kGap;
  for (size_t width : widths) total += width;
  return total;
}

}  // namespace

std::string Toned(std::string_view text, Tone tone) {
  if (tone == Tone::kPlain) return std::string(text);
  const char* code = tone == Tone::kGood  ? "\x1b[32m"
                     : tone == Tone::kBad ? "\x1b[31m"
                                          : "\x1b[33m";
  return std::string(code).append(text).append("\x1b[0m");
}

Table::Table(std::vector<Column> columns, uint32_t width, bool colour, Sink sink)
    : columns_(std::move(columns)),
      width_(width < kWholeWidth ? width : SIZE_MAX),
      colour_(colour),
      sink_(std::move(sink)) {}

void Table::Add(std::vector<Cell> cells) {
  cells.resize(columns_.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i].text = EscapeForScreen(cells[i].text);
    const bool is_name = columns_[i].least > 0 && i + 1 < cells.size();
    if (is_name) cells[i].text = CutToWidth(cells[i].text, kMostOfName);
  }
  ++rows_;
  if (!widths_.empty()) return WriteRow(cells);
  held_.push_back(std::move(cells));
  if (held_.size() == kSampleRows) Finish();
}

void Table::Finish() {
  if (held_.empty()) return;
  SetWidths();
  std::vector<Cell> titles;
  for (const Column& column : columns_) titles.push_back({column.title});
  WriteRow(titles);
  for (const auto& cells : held_) WriteRow(cells);
  held_.clear();
}

void Table::SetWidths() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = columns_[i].title.size();
    for (const auto& cells : held_) width = std::max(width, DisplayWidth(cells[i].text));
    widths_.push_back(width);
  }
  // The widest of those that may be cut gives, one column at a time.
  for (size_t over = Total(widths_); over > width_; --over) {
    size_t widest = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      bool may = columns_[i].least > 0 && widths_[i] > columns_[i].least;
      if (may && (widest == columns_.size() || widths_[i] > widths_[widest])) widest = i;
    }
    if (widest == columns_.size()) break;
    --widths_[widest];
  }
  // Later rows may be longer: the last column takes what is left.
  size_t total = Total(widths_);
  if (total < width_ && columns_.back().align == Align::kLeft) widths_.back() += width_ - total;
}

void Table::WriteRow(const std::vector<Cell>& cells) {
  std::string line;
  size_t blanks = 0;  // before the next text; none at the end of a line
  size_t room = width_;
  for (size_t i = 0; i < cells.size(); ++i) {
    size_t gap = i == 0 ? 0 : kGap;
    if (room <= gap) break;
    room -= gap;
    blanks += gap;
    // A cell that may not be cut pushes the rest of its line to the right instead.
    bool may_cut = columns_[i].least > 0 && width_ < SIZE_MAX;
    size_t most = may_cut ? std::min(widths_[i], room) : room;
    std::string text = CutToWidth(cells[i].text, most);
    size_t used = DisplayWidth(text);
    size_t pad = std::min(widths_[i] - std::min(widths_[i], used), room - used);
    room -= used + pad;
    if (columns_[i].align == Align::kRight) blanks += pad;
    if (!text.empty()) {
      line.append(blanks, ' ');
      line += colour_ ? Toned(text, cells[i].tone) : text;
      blanks = 0;
    }
    if (columns_[i].align == Align::kLeft) blanks += pad;
  }
  sink_(line + '\n');
}

}  // namespace spate::present
