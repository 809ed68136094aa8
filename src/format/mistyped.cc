#include "format/mistyped.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/near.h"
#include "base/units.h"

namespace spate::format {
namespace {

constexpr bool BeginsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool IsPlaceholderByte(char c) {
  return BeginsName(c) || (c >= '0' && c <= '9') || c == '-';
}

// The word at the front of what is in braces, when nothing follows that a placeholder cannot have.
std::optional<std::string_view> NameIn(std::string_view content) {
  size_t end = 0;
  while (end < content.size() && IsPlaceholderByte(content[end])) ++end;
  std::string_view name = content.substr(0, end);
  if (name.size() < 2 || !BeginsName(name.front()) || name.back() == '-') return std::nullopt;
  std::string_view part = content.substr(end);
  bool suffix = part.starts_with("%.") && part.size() > 2;
  bool path = part.size() <= 4 && part.find_first_not_of("./") == std::string_view::npos;
  return suffix || path ? std::optional(name) : std::nullopt;
}

// True if braces that begin at text[open] belong to the text before them.
bool BelongToText(std::string_view text, size_t open) {
  if (open == 0) return false;
  constexpr std::string_view kBefore = "$%@#\\{";
  if (kBefore.find(text[open - 1]) != std::string_view::npos) return true;
  size_t start = open;
  while (start > 0 && IsPlaceholderByte(text[start - 1])) --start;
  return start > 0 && start < open && text[start - 1] == '\\';
}

bool IsAwkStatement(std::string_view word) {
  using std::string_view_literals::operator""sv;
  constexpr std::array kStatements = {"print"sv,  "printf"sv,  "next"sv,  "nextfile"sv, "exit"sv,
                                      "return"sv, "getline"sv, "break"sv, "continue"sv};
  return std::ranges::find(kStatements, word) != kStatements.end();
}

constexpr std::string_view kAsText = "to pass text in braces as it is, add --literal-braces";

}  // namespace

std::string WhyMistyped(std::string_view text, const Template::Known& known) {
  if (text.contains("{##}")) {
    return fmt::format(
        "{{##}}: the number of all tasks is not known before the last value is "
        "read, so there is no such placeholder; {}",
        kAsText);
  }
  std::vector<std::string_view> names;
  for (const std::string& name : known.names) {
    if (!name.empty()) names.push_back(name);
  }
  if (known.job) names.insert(names.end(), {"index", "job"});
  if (known.rank) names.emplace_back("rank");
  if (names.empty()) return "";
  const Template parsed = Template::Parse(text, known);
  for (const Piece& piece : parsed.pieces()) {
    if (piece.kind != Piece::Kind::kText) continue;
    std::string_view literal = piece.text;
    for (size_t close = literal.find('}'); close != std::string_view::npos;
         close = literal.find('}', close + 1)) {
      size_t open = literal.substr(0, close).rfind('{');
      if (open == std::string_view::npos || BelongToText(literal, open)) continue;
      std::string_view content = literal.substr(open + 1, close - open - 1);
      auto name = NameIn(content);
      if (!name || IsAwkStatement(*name)) continue;
      std::string meant;
      if (auto near = Nearest(*name, names)) {
        meant = fmt::format("; did you mean {{{}{}}}?", EscapeForScreen(*near),
                            EscapeForScreen(content.substr(name->size())));
      }
      constexpr size_t kMostNames = 8;
      bool more = names.size() > kMostNames;
      if (more) names.resize(kMostNames);
      return fmt::format("{{{}}}: no value is called {}{}\nthe names are {}{}; {}",
                         EscapeForScreen(content), EscapeForScreen(*name), meant,
                         EscapeForScreen(fmt::format("{}", fmt::join(names, ", "))),
                         more ? ", ..." : "", kAsText);
    }
  }
  return "";
}

namespace {

struct ClauseWord {
  std::string_view word;
  size_t least;  // words after it
  size_t most;
  std::array<std::string_view, 2> first = {};  // what may follow it; empty: anything
};
constexpr std::array kClauseWords = {
    ClauseWord{"check", 3, 3, {"in", "out"}}, ClauseWord{"use", 2, 2, {"cpu", "ram"}},
    ClauseWord{"name", 1, 1}, ClauseWord{"after", 1, SIZE_MAX}, ClauseWord{"forward", 2, 2}};

bool IsMistypedAs(const ClauseWord& clause, const std::vector<std::string_view>& words) {
  std::string_view word = words.front();
  size_t rest = words.size() - 1;
  if (rest < clause.least || rest > clause.most) return false;
  if (!clause.first.front().empty()) {
    // The second word must be right: one slip is looked for, not two.
    bool fits = std::ranges::find(clause.first, words[1]) != clause.first.end();
    return fits && EditDistance(word, clause.word, 2) == 1;
  }
  // {named x} and the like are words of their own.
  return !word.starts_with(clause.word) && EditDistance(word, clause.word, 2) == 1;
}

}  // namespace

std::string WhyMistypedClause(std::string_view command) {
  constexpr std::string_view kGaps = " \t";
  for (size_t open = command.find('{'); open != std::string_view::npos;
       open = command.find('{', open + 1)) {
    size_t close = command.find_first_of("{}", open + 1);
    if (close == std::string_view::npos || command[close] == '{') continue;
    if (open > 0 && command[open - 1] == '$') continue;
    std::string_view inner = command.substr(open + 1, close - open - 1);
    if (inner.empty() || !BeginsName(inner.front())) continue;
    if (inner.find_first_of("\"'$;=()") != std::string_view::npos) continue;  // a program's
    std::vector<std::string_view> words;
    for (size_t at = 0; at < inner.size();) {
      size_t end = std::min(inner.find_first_of(kGaps, at), inner.size());
      words.push_back(inner.substr(at, end - at));
      at = std::min(inner.find_first_not_of(kGaps, end), inner.size());
    }
    for (const ClauseWord& clause : kClauseWords) {
      if (!IsMistypedAs(clause, words)) continue;
      return fmt::format("{}: '{}' is not a clause; did you mean {}? {}",
                         EscapeForScreen(command.substr(open, close + 1 - open)),
                         EscapeForScreen(words.front()), clause.word, kAsText);
    }
  }
  return "";
}

}  // namespace spate::format
