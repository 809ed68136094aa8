#include "remote/pmix/messages.h"

#include <fmt/format.h>

#include <charconv>

namespace spate::remote {
namespace {

// The set of a fence may name many ranks.
constexpr size_t kLineMost = size_t{1} << 20;

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

template <typename T>
std::optional<T> NumberOf(std::string_view text) {
  T number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string FormatPmix(std::string_view words, std::string_view body) {
  return fmt::format("{} {}\n{}", words, body.size(), body);
}

Result<uint64_t> SizeOfPmix(std::string_view bytes) {
  const size_t end = bytes.substr(0, kLineMost).find('\n');
  if (end == std::string_view::npos) {
    if (bytes.size() < kLineMost) return uint64_t{0};
    return Fail(ErrorKind::kCorrupt, "a message of PMIx is too long");
  }
  const auto words = WordsOf(bytes.substr(0, end));
  const auto size = words.size() < 2 ? std::nullopt : NumberOf<uint64_t>(words.back());
  if (!size || *size > kPmixBodyMost) {
    return Fail(ErrorKind::kCorrupt, "something that is not a PMIx message");
  }
  return end + 1 + *size;
}

PmixMessage ReadPmix(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  PmixMessage message{WordsOf(bytes.substr(0, end)), bytes.substr(end + 1)};
  message.words.pop_back();
  return message;
}

std::string FormatRanks(const std::vector<uint32_t>& ranks) {
  std::string text;
  for (size_t i = 0, end = 0; i < ranks.size(); i = end) {
    end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[i]);
    if (end > i + 1) text += fmt::format("-{}", ranks[end - 1]);
  }
  return text;
}

std::optional<std::vector<RankRange>> ParseRanks(std::string_view text, uint32_t limit) {
  std::vector<RankRange> ranges;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view range = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t dash = range.find('-');
    const auto first = ParseNumber(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseNumber(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= limit) return std::nullopt;
    if (!ranges.empty() && *first <= ranges.back().last) return std::nullopt;
    ranges.push_back({*first, *last});
  }
  return ranges.empty() ? std::nullopt : std::optional(ranges);
}

std::optional<uint32_t> ParseNumber(std::string_view text) { return NumberOf<uint32_t>(text); }

}  // namespace spate::remote
