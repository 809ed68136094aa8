// The bytes that a POSIX shell's grammar is made of.
#pragma once

#include <cstddef>
#include <string_view>

namespace spate::format::shell_chars {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool IsNameByte(char c) { return IsNameStart(c) || IsDigit(c); }
constexpr bool IsShellBlank(char c) { return c == ' ' || c == '\t'; }
constexpr bool IsBlankOrNewline(char c) { return IsShellBlank(c) || c == '\n'; }
constexpr bool EndsWord(char c) {
  return IsBlankOrNewline(c) || c == ';' || c == '&' || c == '|' || c == '<' || c == '>' ||
         c == '(' || c == ')';
}

constexpr size_t NameLength(std::string_view text) {
  if (text.empty() || !IsNameStart(text.front())) return 0;
  size_t length = 1;
  while (length < text.size() && IsNameByte(text[length])) ++length;
  return length;
}

}  // namespace spate::format::shell_chars
