// RowGenerator counts through the combinations like an odometer: a group is a source with those
// that are linked to it, the last group turns fastest. Nothing is held but the values themselves
// and, with -X, the combinations of one row.

#include "format/sources/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "core/model/limits.h"
#include "format/byte_order_mark.h"
#include "format/sources/colsep.h"

namespace spate::format {
namespace {

struct Separator {
  bool is_file;
  bool linked;
};

std::optional<Separator> SeparatorOf(std::string_view word) {
  if (word == ":::") return Separator{false, false};
  if (word == ":::+") return Separator{false, true};
  if (word == "::::") return Separator{true, false};
  if (word == "::::+") return Separator{true, true};
  return std::nullopt;
}

constexpr bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view Trimmed(std::string_view text, Trim trim) {
  if (trim == Trim::kLeft || trim == Trim::kBoth) {
    while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  }
  if (trim == Trim::kRight || trim == Trim::kBoth) {
    while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  }
  return text;
}

}  // namespace

Result<CommandWords> ParseCommandWords(std::span<const std::string> words) {
  CommandWords parsed;
  size_t at = 0;
  while (at < words.size() && !SeparatorOf(words[at])) parsed.command.push_back(words[at++]);
  while (at < words.size()) {
    const std::string& word = words[at++];
    Separator separator = *SeparatorOf(word);
    size_t end = at;
    while (end < words.size() && !SeparatorOf(words[end])) ++end;
    if (end == at) {
      return Fail(ErrorKind::kInvalid,
                  separator.is_file
                      ? fmt::format("{} without a file: name the files of values after it (- is "
                                    "standard input), as in `-- gzip {{}} {} names.txt`",
                                    word, word)
                      : fmt::format("{} without values: write them after it, as in `-- gzip {{}} "
                                    "{} a b c`; values in a file come with ::::, values from "
                                    "standard input without any :::",
                                    word, word));
    }
    if (separator.is_file) {
      for (; at < end; ++at) {
        parsed.sources.push_back({.is_file = true, .linked = separator.linked, .file = words[at]});
      }
    } else {
      parsed.sources.push_back({.linked = separator.linked,
                                .values = {words.begin() + static_cast<ptrdiff_t>(at),
                                           words.begin() + static_cast<ptrdiff_t>(end)}});
      at = end;
    }
  }
  return parsed;
}

Result<std::vector<std::string_view>> SplitValues(std::string_view text, bool null_separated) {
  char end_byte = null_separated ? '\0' : '\n';
  if (!null_separated) text = WithoutByteOrderMark(text);
  std::vector<std::string_view> values;
  values.reserve(static_cast<size_t>(std::ranges::count(text, end_byte)) + 1);
  while (!text.empty()) {
    size_t end = text.find(end_byte);
    std::string_view value = text.substr(0, end);
    text.remove_prefix(std::min(value.size() + 1, text.size()));
    if (!null_separated) {
      if (value.find('\0') != std::string_view::npos) {
        return Fail(ErrorKind::kInvalid,
                    fmt::format("line {} contains a NUL byte, which is not allowed in values; use "
                                "-0 if the values end in NUL bytes, as with `find -print0`",
                                values.size() + 1));
      }
      if (value.ends_with('\r')) value.remove_suffix(1);
    }
    values.push_back(value);
  }
  return values;
}

Result<std::vector<std::string_view>> SplitAt(std::string_view text, std::string_view delimiter) {
  std::vector<std::string_view> values;
  while (!text.empty()) {
    size_t end = text.find(delimiter);
    std::string_view value = text.substr(0, end);
    text.remove_prefix(std::min(value.size() + delimiter.size(), text.size()));
    if (value.find('\0') != std::string_view::npos) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("value {} contains a NUL byte, which is not allowed in values; use "
                              "-0 if the values end in NUL bytes",
                              values.size() + 1));
    }
    values.push_back(value);
  }
  return values;
}

struct RowGenerator::State {
  struct Group {
    size_t first = 0;  // of sources
    size_t count = 0;
    size_t length = 0;  // of the shortest
    size_t position = 0;
  };

  RowRules rules;
  std::vector<SourceValues> sources;
  std::vector<Group> groups;
  std::optional<ColumnSplitter> splitter;
  Trim trim = Trim::kNone;
  std::vector<std::string> names;
  bool exhausted = false;

  // -X: combinations that were taken and not given out yet, each joined by '\0'.
  std::deque<std::string> pending;
  size_t pending_bytes = 0;
  size_t spread = 0;      // combinations of each of the last rows; 0: not reached
  size_t last_count = 0;  // of combinations that fitted into a row
  std::vector<std::string_view> columns;

  Status DecodeHeader();
  void MakeGroups();
  bool AppendRecord(std::string* row);
  void AppendValue(const SourceValues& source, size_t position, std::string* row);
  Result<bool> NextFilled(std::string* row);
  void Refill(size_t limit);
  std::string JoinPending(size_t count) const;
  size_t LargestFit(size_t limit);
};

Status RowGenerator::State::DecodeHeader() {
  for (size_t i = 0; i < sources.size(); ++i) {
    std::vector<std::string_view>& values = sources[i].values;
    if (!sources[i].names.empty()) continue;
    if (values.empty()) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("--header : uses the first value of each source as its name, but "
                              "source {} has none; add a first line, or leave out --header",
                              i + 1));
    }
    columns.clear();
    if (splitter) {
      splitter->Split(values.front(), columns);
    } else {
      columns.push_back(values.front());
    }
    for (std::string_view name : columns) names.emplace_back(Trimmed(name, trim));
    values.erase(values.begin());
  }
  return {};
}

void RowGenerator::State::MakeGroups() {
  for (size_t i = 0; i < sources.size(); ++i) {
    size_t length = sources[i].values.size();
    if (i > 0 && sources[i].linked) {
      ++groups.back().count;
      groups.back().length = std::min(groups.back().length, length);
    } else {
      groups.push_back({.first = i, .count = 1, .length = length});
    }
  }
  exhausted = groups.empty() ||
              std::ranges::any_of(groups, [](const Group& group) { return group.length == 0; });
}

void RowGenerator::State::AppendValue(const SourceValues& source, size_t position,
                                      std::string* row) {
  std::string_view value = source.values[position];
  if (!source.names.empty()) {
    *row += value;
    return;
  }
  if (!splitter) {
    *row += Trimmed(value, trim);
    return;
  }
  columns.clear();
  splitter->Split(value, columns);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) *row += '\0';
    *row += Trimmed(columns[i], trim);
  }
}

// The next combination, behind what *row holds; false at the end.
bool RowGenerator::State::AppendRecord(std::string* row) {
  if (exhausted) return false;
  bool first = true;
  for (const Group& group : groups) {
    for (size_t i = group.first; i < group.first + group.count; ++i) {
      if (!first) *row += '\0';
      first = false;
      AppendValue(sources[i], group.position, row);
    }
  }
  for (size_t i = groups.size(); i > 0; --i) {
    Group& group = groups[i - 1];
    if (++group.position < group.length) return true;
    group.position = 0;
  }
  exhausted = true;
  return true;
}

void RowGenerator::State::Refill(size_t limit) {
  // One more than wanted tells whether these are the last ones.
  while (pending.size() <= limit && pending_bytes <= kLimits.argv_bytes) {
    std::string record;
    if (!AppendRecord(&record)) return;
    pending_bytes += record.size() + 1;
    pending.push_back(std::move(record));
  }
}

std::string RowGenerator::State::JoinPending(size_t count) const {
  std::string row;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) row += '\0';
    row += pending[i];
  }
  return row;
}

// Starts from what the last row held, so that the work is in proportion to the row and not to
// what is pending.
size_t RowGenerator::State::LargestFit(size_t limit) {
  if (!rules.fits) return limit;
  size_t fit = 0;
  size_t probe = std::min(limit, std::max<size_t>(last_count, 1));
  while (rules.fits(JoinPending(probe))) {
    fit = probe;
    if (fit == limit) break;
    probe = std::min(limit, probe * 2);
  }
  // Unless all fit, `probe` are too many.
  while (fit < limit && probe - fit > 1) {
    size_t middle = fit + (probe - fit) / 2;
    (rules.fits(JoinPending(middle)) ? fit : probe) = middle;
  }
  last_count = fit;
  return fit;
}

Result<bool> RowGenerator::State::NextFilled(std::string* row) {
  size_t limit = rules.max_records > 0 ? rules.max_records : std::numeric_limits<size_t>::max() - 1;
  if (spread > 0) limit = std::min(limit, spread);
  Refill(limit);
  if (pending.empty()) return false;
  size_t count = LargestFit(std::min(limit, pending.size()));
  if (count == 0) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("the command is too long to start, even with the single value '{}'; "
                            "pass the value in a file",
                            EscapeForScreen(std::string_view(pending.front()).substr(0, 60))));
  }
  if (spread == 0 && exhausted && count == pending.size()) {
    spread = (count + rules.slots - 1) / rules.slots;
    count = spread;
  }
  *row = JoinPending(count);
  for (size_t i = 0; i < count; ++i) {
    pending_bytes -= pending.front().size() + 1;
    pending.pop_front();
  }
  return true;
}

RowGenerator::RowGenerator(std::unique_ptr<State> state) : state_(std::move(state)) {}
RowGenerator::RowGenerator(RowGenerator&&) noexcept = default;
RowGenerator& RowGenerator::operator=(RowGenerator&&) noexcept = default;
RowGenerator::~RowGenerator() = default;

Result<RowGenerator> RowGenerator::Make(std::vector<SourceValues> sources, RowRules rules) {
  CHECK(rules.slots > 0);
  auto state = std::make_unique<State>();
  state->sources = std::move(sources);
  state->rules = std::move(rules);
  if (!state->rules.colsep.empty()) {
    auto splitter = TRY(ColumnSplitter::Make(state->rules.colsep));
    state->splitter = std::move(splitter);
    state->trim = Trim::kBoth;
  }
  if (state->rules.columns) state->splitter = ColumnSplitter::AtNul();
  state->trim = state->rules.trim.value_or(state->trim);
  for (const SourceValues& source : state->sources) {
    state->names.insert(state->names.end(), source.names.begin(), source.names.end());
  }
  if (state->rules.header) {
    TRY(state->DecodeHeader());
  }
  state->MakeGroups();
  return RowGenerator(std::move(state));
}

const std::vector<std::string>& RowGenerator::names() const { return state_->names; }

std::optional<size_t> RowGenerator::values_per_record() const {
  if (state_->splitter) return std::nullopt;
  size_t values = 0;
  for (const SourceValues& source : state_->sources) {
    values += std::max<size_t>(source.names.size(), 1);
  }
  return values;
}

std::optional<size_t> RowGenerator::values_per_row() const {
  auto values = values_per_record();
  if (!values || state_->rules.fill) return std::nullopt;
  return *values * std::max(state_->rules.max_records, 1u);
}

std::optional<uint64_t> RowGenerator::row_count() const {
  constexpr uint64_t kMax = uint64_t{1} << 63;
  if (state_->rules.fill) return std::nullopt;
  uint64_t records = state_->groups.empty() ? 0 : 1;
  for (const State::Group& group : state_->groups) {
    if (group.length == 0) return 0;
    records = records > kMax / group.length ? kMax : records * group.length;
  }
  uint64_t each = std::max(state_->rules.max_records, 1u);
  return records / each + (records % each == 0 ? 0 : 1);
}

Result<bool> RowGenerator::Next(std::string* row) {
  if (state_->rules.fill) return state_->NextFilled(row);
  row->clear();
  if (!state_->AppendRecord(row)) return false;
  for (uint32_t i = 1; i < state_->rules.max_records && !state_->exhausted; ++i) {
    *row += '\0';
    state_->AppendRecord(row);
  }
  return true;
}

}  // namespace spate::format
