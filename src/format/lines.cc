#include "format/lines.h"

#include <algorithm>

namespace spate::format {
namespace {

constexpr std::string_view kLineBlanks = " \t\r\n\v\f";

}  // namespace

std::optional<std::string_view> NextLine(std::string_view* rest) {
  if (rest->empty()) return std::nullopt;
  size_t end = std::min(rest->find('\n'), rest->size());
  bool complete = end < rest->size();
  std::string_view line = rest->substr(0, end);
  rest->remove_prefix(end + (complete ? 1 : 0));
  if (complete && line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view NextWord(std::string_view* rest) {
  size_t start = std::min(rest->find_first_not_of(kLineBlanks), rest->size());
  size_t end = std::min(rest->find_first_of(kLineBlanks, start), rest->size());
  std::string_view word = rest->substr(start, end - start);
  rest->remove_prefix(end);
  return word;
}

std::string_view TrimBlanks(std::string_view text) {
  size_t start = text.find_first_not_of(kLineBlanks);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kLineBlanks) + 1 - start);
}

}  // namespace spate::format
