// From `-- COMMAND ::: values :::: files` to the rows of a job (docs/formats/placeholders.md).
//
//   ParseCommandWords   what stands after `--`
//   SplitValues         the text of a file of values
//   RowGenerator        one row after another, without holding them all
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::format {

// One source as it was typed.
struct SourceWords {
  bool is_file = false;             // :::: and -a: values come from `file`
  bool linked = false;              // :::+ and ::::+: goes in step with the source before it
  std::vector<std::string> values;  // of :::
  std::string file;                 // "-" is standard input
  friend bool operator==(const SourceWords&, const SourceWords&) = default;
};

struct CommandWords {
  std::vector<std::string> command;  // may be empty; CompileJob refuses that
  std::vector<SourceWords> sources;  // in order; each file of :::: is a source of its own
  friend bool operator==(const CommandWords&, const CommandWords&) = default;
};

// Errors: a ::: without values, a :::: without files.
Result<CommandWords> ParseCommandWords(std::span<const std::string> words);

enum class Trim : uint8_t { kNone, kLeft, kRight, kBoth };
// "n", "l", "r", "lr" or "rl", as parallel's --trim.

// The values in the text of a file: lines (LF or CR LF; a byte order mark is skipped), or what
// NUL bytes end. Views into `text`. Errors: a NUL byte in a line; the caller adds the file's name.
Result<std::vector<std::string_view>> SplitValues(std::string_view text, bool null_separated);
// The same for values that end with `delimiter`, which is not empty. The rest after the last one is
// a value, too, unless it is empty.
Result<std::vector<std::string_view>> SplitAt(std::string_view text, std::string_view delimiter);

struct SourceValues {
  std::vector<std::string_view> values;  // what they view must outlive the generator
  bool linked = false;
  // Not empty: each value is so many columns already, joined by '\0', and the rules are not for it.
  // Such sources come before all others.
  std::vector<std::string> names = {};
};

struct RowRules {
  std::string colsep;        // regular expression between the columns of a value; empty: none
  bool columns = false;      // values are columns joined by '\0' already (--csv)
  bool header = false;       // the first value of each source names its columns
  std::optional<Trim> trim;  // blanks around values; default: both ends with colsep, else none
  // -n: so many combinations of values go into one row; 0: one, or with `fill` no bound.
  uint32_t max_records = 0;
  // -X: as many as fit, spread over `slots` where they would all fit into fewer rows.
  bool fill = false;
  uint32_t slots = 1;
  // True if a row's command is short enough to be started; wanted with `fill`. More values never
  // make a command shorter.
  std::function<bool(std::string_view row)> fits;
};

// Rows in parallel's order: all combinations of the sources, the last one changing fastest.
// Linked sources go in step and end with the shortest. A source without values makes no rows.
class RowGenerator {
 public:
  // Errors: a wrong regular expression, a header that is not there.
  static Result<RowGenerator> Make(std::vector<SourceValues> sources, RowRules rules);
  RowGenerator(RowGenerator&&) noexcept;
  RowGenerator& operator=(RowGenerator&&) noexcept;
  ~RowGenerator();

  // The names of the columns, of --header and of sources that have them, for
  // JobSettings::value_names.
  const std::vector<std::string>& names() const;
  // How many values one record has; nullopt when that is not known (colsep).
  std::optional<size_t> values_per_record() const;
  // How many values each row has at most; nullopt when that is not known (colsep, -X).
  std::optional<size_t> values_per_row() const;
  // How many rows there will be, from the start; nullopt for -X. Bounded by 2^63.
  std::optional<uint64_t> row_count() const;

  // Puts the next row (values joined by '\0') into *row; false when there is none left. Errors: a
  // single combination that does not fit.
  Result<bool> Next(std::string* row);

 private:
  struct State;
  explicit RowGenerator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace spate::format
