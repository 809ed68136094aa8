// Table: rows in columns that fit a width, whatever is in them. Rows stream: the widths are taken
// from the first ones, so that a million rows cost no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace spate::present {

enum class Align : uint8_t { kLeft, kRight };
enum class Tone : uint8_t { kPlain, kGood, kBad, kDoubtful };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  // The width to which this column may be cut if the table is too wide; 0: it is not cut. If it is
  // not the last one, it has names, which are cut to 200 in any table.
  uint32_t least = 0;
};

struct Cell {
  std::string text;  // any bytes; shown escaped
  Tone tone = Tone::kPlain;
};

// `text` between the codes of a colour.
std::string Toned(std::string_view text, Tone tone);

class Table {
 public:
  using Sink = std::function<void(std::string_view)>;
  // No line is wider than `width`, unless that is kWholeWidth. `sink` gets whole lines.
  Table(std::vector<Column> columns, uint32_t width, bool colour, Sink sink);

  // One cell for each column, in order. Missing cells are empty, and cells beyond the last column
  // are left out: a row never ends the program.
  void Add(std::vector<Cell> cells);
  // Writes what is held back. A table without rows writes nothing.
  void Finish();
  uint64_t rows() const { return rows_; }

 private:
  void SetWidths();
  void WriteRow(const std::vector<Cell>& cells);

  std::vector<Column> columns_;
  size_t width_;  // SIZE_MAX: no bound
  bool colour_;
  Sink sink_;
  std::vector<std::vector<Cell>> held_;  // until the widths are known
  std::vector<size_t> widths_;
  uint64_t rows_ = 0;
};

}  // namespace spate::present
