#include "format/script_line.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace spate::format {
namespace {

// The bytes that a POSIX shell's grammar is made of.
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

// Commands that change nothing but their shell when at least so many words follow.
struct Setting {
  std::string_view word;
  size_t words = 1;
};
constexpr Setting kSettings[] = {{"cd", 0},     {"export"}, {"module"}, {"set"},
                                 {"ulimit", 2}, {"umask"},  {"unset"},  {"exit", 0}};
constexpr size_t kLongestWord = 6;
constexpr std::string_view kParts[] = {"do", "done", "elif", "else", "esac", "fi", "then"};

// The end of the word that begins at `at`, with its quotations and substitutions.
size_t WordEnd(std::string_view text, size_t at) {
  std::string open;  // the bytes that end them, the innermost last
  for (; at < text.size() && (!open.empty() || !EndsWord(text[at])); ++at) {
    const char c = text[at];
    const char close = open.empty() ? '\0' : open.back();
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (!open.empty() && c == close) {
      open.pop_back();
    } else if (close == '\'') {
      continue;
    } else if (c == '\\') {
      ++at;
    } else if (c == '"' || c == '`' || (c == '\'' && close != '"')) {
      open += c;
    } else if ((c == '$' && next == '(') || (c == '(' && close == ')')) {
      at += c == '$' ? 1U : 0U;
      open += ')';
    } else if (c == '$' && next == '{') {
      open += '}';
    }
  }
  return std::min(at, text.size());
}

// The words and operators before a comment, and whether there is one.
struct Tokens {
  std::vector<std::string_view> list;
  bool comment = false;
};
Tokens Split(std::string_view text) {
  Tokens tokens;
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    tokens.comment = text[at] == '#';
    if (tokens.comment) break;
    at = EndsWord(text[at]) ? text.find_first_not_of(text[at], at) : WordEnd(text, at);
    at = std::min(at, text.size());
    if (!IsShellBlank(text[start])) tokens.list.push_back(text.substr(start, at - start));
  }
  return tokens;
}

// x=$(prog) runs a program.
bool IsAssignment(std::string_view text) {
  std::string_view rest = text.substr(NameLength(text));
  return rest.size() < text.size() && (rest.starts_with('=') || rest.starts_with("+=")) &&
         !text.contains("$(") && !text.contains('`');
}

// True: a simple command of these words changes nothing but its shell.
bool OnlySets(std::span<const std::string_view> words) {
  return std::ranges::all_of(words, IsAssignment) ||
         std::ranges::any_of(kSettings, [&](const Setting& setting) {
           return setting.word == words.front() && words.size() > setting.words;
         });
}

}  // namespace

bool EndsInComment(std::string_view text) { return Split(text).comment; }

bool IsScriptLine(std::string_view command) {
  const std::string_view first = command.substr(0, NameLength(command));
  const char next = first.size() < command.size() ? command[first.size()] : ' ';
  if (next != '=' && next != '+') {  // no assignment: nearly all lines
    if (first.size() > kLongestWord || !EndsWord(next)) return false;
    if (std::ranges::find(kParts, first) != std::ranges::end(kParts)) return true;
    auto known = std::ranges::find(kSettings, first, &Setting::word);
    if (known == std::ranges::end(kSettings) || first == "exit") return false;  // cd x || exit
  }
  std::vector<std::string_view> words;
  for (std::string_view token : Split(command).list) {
    if (!EndsWord(token.front())) {
      words.push_back(token);
    } else if ((token != ";" && token != "&&" && token != "||") || !OnlySets(words)) {
      return false;
    } else {
      words.clear();
    }
  }
  return OnlySets(words);
}

}  // namespace spate::format
