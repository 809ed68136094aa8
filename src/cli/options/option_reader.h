// From words to values: what the folders that take options apart share.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "cli/options/values.h"
#include "cli/options/words.h"
#include "format/shell_words.h"

namespace spate::cli {

// Reads the values of one Words; keeps the first error.
class OptionReader {
 public:
  explicit OptionReader(const Words& words) : words_(words) {}

  const Words& words() const { return words_; }
  bool Has(const Option& opt) const { return words_.Has(opt); }

  // Calls parse(value) for the last value of `opt`, when there is one, and stores what it gives.
  template <typename T, typename Parse>
  bool Read(const Option& opt, T& target, Parse parse) {
    auto value = words_.Last(opt);
    if (!value) return false;
    auto parsed = parse(*value);
    if (!parsed) return RecordError(opt, parsed.error());
    target = std::move(*parsed);
    return true;
  }

  // The same for every value of a repeated option; add(parsed) takes it.
  template <typename Parse, typename Add>
  void ReadAll(const Option& opt, Parse parse, Add add) {
    for (const std::string& value : words_.All(opt)) {
      auto parsed = parse(std::string_view(value));
      if (!parsed) {
        RecordError(opt, parsed.error());
        return;
      }
      add(std::move(*parsed));
    }
  }

  void Text(const Option& opt, std::string& target) {
    Read(opt, target, [](std::string_view value) -> Result<std::string> {
      if (value.empty()) return Fail(ErrorKind::kInvalid, "the value is empty");
      return std::string(value);
    });
  }

  // Names of nodes or labels, one for each value: a list in one value would match nothing.
  std::vector<std::string> Names(const Option& opt) {
    std::vector<std::string> names;
    auto read = [&](std::string_view value) -> Result<std::string> {
      if (value.empty()) return Fail(ErrorKind::kInvalid, "the value is empty");
      if (value.find_first_of(", []") == std::string_view::npos) return std::string(value);
      return Fail(ErrorKind::kInvalid,
                  fmt::format("'{}' is a list of names; {}", EscapeForScreen(value),
                              opt.repeat ? "repeat the option for each name"
                                         : "to use any of several nodes, start them with --label "
                                           "NAME and write --label NAME"));
    };
    ReadAll(opt, read, [&](std::string name) { names.push_back(std::move(name)); });
    return names;
  }

  // Reads by the target's type: true for a switch that is on, all values of a repeated option, a
  // text that is not empty, a time, one of the option's words.
  void Value(const Option& opt, bool& target) { target = Has(opt); }
  void Value(const Option& opt, std::vector<std::string>& target) { target = words_.All(opt); }
  void Value(const Option& opt, std::string& target) { Text(opt, target); }
  void Value(const Option& opt, Duration& target) { Read(opt, target, ParseDuration); }
  template <HasWords E>
  void Value(const Option& opt, E& target) {
    Read(opt, target, [&](std::string_view value) -> Result<E> {
      const auto words = format::SplitBlanks(opt.words);
      const auto meant = FromWord<E>(value);
      if (meant && std::ranges::find(words, value) != words.end()) return *meant;
      return NotOneOf(opt, value);
    });
  }

  // One of a few words.
  template <typename T>
  void Choice(const Option& opt, T& target,
              std::initializer_list<std::pair<std::string_view, T>> choices) {
    Read(opt, target, [&](std::string_view value) -> Result<T> {
      for (const auto& [name, meaning] : choices) {
        if (name == value) return meaning;
      }
      return NotOneOf(opt, value);
    });
  }

  bool RecordError(const Option& opt, const Error& error) {
    if (error_.message.empty()) {
      error_ = {error.kind, fmt::format("{}: {}", DashedName(opt), error.message)};
    }
    return false;
  }

  Status status() const {
    if (error_.message.empty()) return {};
    return std::unexpected(error_);
  }

 private:
  static std::unexpected<Error> NotOneOf(const Option& opt, std::string_view value) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not one of: {}", EscapeForScreen(value), opt.words));
  }

  const Words& words_;
  Error error_;
};

// An option of a command whose values go to an Out, and the way there.
template <typename Out>
struct RowOf {
  Option option;
  void (*fill)(OptionReader& in, const Option& option, Out& out);
};
template <typename Out>
void ReadRows(std::span<const RowOf<Out>> rows, OptionReader& in, Out& out) {
  for (const RowOf<Out>& row : rows) row.fill(in, row.option, out);
}
// For the command's list.
template <typename Out, size_t count>
constexpr std::array<OptionRef, count> RefsOf(const RowOf<Out> (&rows)[count]) {
  std::array<OptionRef, count> refs;
  std::ranges::transform(rows, refs.begin(), [](const auto& row) { return OptionRef(row.option); });
  return refs;
}
// The row of this name, for code outside of the rows.
template <typename Out, size_t count>
consteval const Option& Named(const RowOf<Out> (&rows)[count], std::string_view name) {
  for (const RowOf<Out>& row : rows) {
    if (row.option.name() == name) return row.option;
  }
  throw "there is no such row";
}

inline auto CountUpTo(uint32_t max) {
  return [max](std::string_view value) { return ParseCountUpTo(value, max); };
}

}  // namespace spate::cli
