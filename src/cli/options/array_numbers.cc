#include "cli/options/array_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/units.h"
#include "cli/options/run_options.h"
#include "core/model/limits.h"

namespace spate::cli {
namespace {

// Takes a number from the front of `text`.
std::optional<uint64_t> NextNumber(std::string_view& text) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool TakeSign(std::string_view& text, char sign) {
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(1);
  return true;
}

// "7", "1-10" or "0-100:5" from the front of `text`.
std::optional<ArrayRange> TakeRange(std::string_view& text) {
  ArrayRange range;
  auto first = NextNumber(text);
  if (!first) return std::nullopt;
  range.first = range.last = *first;
  if (TakeSign(text, '-')) {
    auto last = NextNumber(text);
    if (!last || *last < *first) return std::nullopt;
    range.last = *last;
  }
  if (TakeSign(text, ':')) {
    auto step = NextNumber(text);
    if (!step || *step == 0) return std::nullopt;
    range.step = *step;
  }
  return range;
}

// A number that is in two of the ranges.
std::optional<uint64_t> NamedTwice(std::vector<ArrayRange> ranges) {
  std::ranges::sort(ranges, {}, &ArrayRange::first);
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (size_t j = i + 1; j < ranges.size() && ranges[j].first <= ranges[i].last; ++j) {
      const ArrayRange& of = ranges[j];
      uint64_t last = std::min(ranges[i].last, of.last);
      for (uint64_t n = of.first; n <= last; n += of.step) {
        if ((n - ranges[i].first) % ranges[i].step == 0) return n;
        if (last - n < of.step) break;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Result<ArrayNumbers> ParseArray(std::string_view value) {
  constexpr size_t kRangesMost = 1000;
  std::string_view rest = value;
  ArrayNumbers array;
  auto wrong = [&](std::string_view why) {
    return Fail(ErrorKind::kInvalid, fmt::format("'{}' {}", EscapeForScreen(value), why));
  };
  constexpr std::string_view kForms =
      "is not a range; write for example 1-1000, 0-100:5, 1,3,7-9 or 1-1000%20";
  do {
    auto range = TakeRange(rest);
    if (!range) return wrong(kForms);
    array.ranges.push_back(*range);
    if (array.ranges.size() > kRangesMost) return wrong("is more than 1,000 ranges; use a list");
  } while (TakeSign(rest, ','));
  if (TakeSign(rest, '%')) {
    auto most = NextNumber(rest);
    if (!most || *most == 0 || *most > kLimits.tasks_per_job) return wrong(kForms);
    array.most = static_cast<uint32_t>(*most);
  }
  if (!rest.empty()) return wrong(kForms);
  uint64_t count = 0;
  for (const ArrayRange& range : array.ranges) {
    if ((range.last - range.first) / range.step < kLimits.tasks_per_job)
      count += range.count();
    else
      count = kLimits.tasks_per_job + uint64_t{1};
    if (count > kLimits.tasks_per_job) {
      return wrong(fmt::format("has more than {} tasks; split it into several jobs",
                               FormatCount(kLimits.tasks_per_job)));
    }
  }
  if (auto twice = NamedTwice(array.ranges)) return wrong(fmt::format("names {} twice", *twice));
  return array;
}

Status CheckArray(const RunOptions& options) {
  const SourceOptions& sources = options.sources;
  if (!sources.array) return {};
  if (!sources.has_command && !options.resume) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("--array provides values for a command; write the command after --, as "
                            "in spate {} --array 1-100 -- ./step {{}}",
                            options.is_submit ? "submit" : "run"));
  }
  std::string other(sources.input.any() ? "--pipepart" : OptionOfValues(sources));
  if (auto separator = ValueSeparatorIn(sources.command)) other = *separator;
  if (other.empty()) return {};
  return Fail(ErrorKind::kInvalid,
              fmt::format("--array already provides the values; leave out {}", other));
}

}  // namespace spate::cli
