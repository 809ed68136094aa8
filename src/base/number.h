// A text that is one number.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace spate {

// The whole text, in decimal; without blanks or a plus.
template <typename Number>
std::optional<Number> ReadNumber(std::string_view text) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace spate
