#include "format/bash_scan.h"

#include <cstdint>

#include "format/shell_chars.h"

namespace spate::format {
namespace {

using shell_chars::IsDigit, shell_chars::IsNameByte, shell_chars::NameLength;

constexpr size_t kRangeBytes = 64;  // of {1..3}

// Bytes after which a command's name may begin, and what may begin otherwise: pairs of bytes that
// no quick look can pass over.
constexpr std::string_view kSeparators = " \t\n;&|<>()`";
constexpr std::string_view kTellingPairs[] = {"&>", "|&", "<(", "<<", ">(", ">&", "((", "[[",
                                              "]=", "]+", "$'", "${", "+=", "==", "=("};

// The scan looks up one entry for each byte and the next one, and branches only where that is
// telling. Bytes that mean nothing share a class, so the tables stay small.
constexpr size_t kClasses = 64;
constexpr uint8_t kTells = 1;
constexpr uint8_t kTellsAfterSeparator = 2;
struct ScanTables {
  std::array<uint8_t, 256> class_of{};
  std::array<uint8_t, kClasses> mask{};  // of the byte before: what counts after it
  std::array<uint8_t, kClasses * kClasses> pairs{};
};

constexpr ScanTables kScan = [] {
  ScanTables made;
  size_t classes = 1;
  auto class_of = [&](char c) -> size_t {
    uint8_t& number = made.class_of[static_cast<uint8_t>(c)];
    if (number == 0) number = static_cast<uint8_t>(classes++);
    return number;
  };
  auto add = [&](char first, char second, uint8_t tells) {
    size_t row = class_of(first) * kClasses;
    made.pairs[row + class_of(second)] |= tells;
  };
  for (std::string_view pair : kTellingPairs) add(pair[0], pair[1], kTells);
  for (std::string_view name : kBashVariables) add('$', name.front(), kTells);
  for (const BashCommand& known : kBashCommands) {
    add(known.word[0], known.word[1], kTellsAfterSeparator);
  }
  made.mask.fill(kTells);
  for (char c : kSeparators) made.mask[class_of(c)] = kTells | kTellsAfterSeparator;
  // {1..3}, {a..z}: anything but what is a placeholder or a group.
  size_t brace = class_of('{') * kClasses;
  for (size_t next = 0; next < kClasses; ++next) made.pairs[brace + next] |= kTells;
  for (char c : std::string_view("} \t\n")) made.pairs[brace + class_of(c)] = 0;
  return made;
}();

bool IsBashVariable(std::string_view name) {
  return std::ranges::any_of(kBashVariables, [name](std::string_view known) {
    return known.size() == name.size() && known == name;
  });
}

bool MayBeCommand(std::string_view rest) {
  return std::ranges::any_of(kBashCommands, [rest](const BashCommand& known) {
    return rest.front() == known.word.front() && rest.starts_with(known.word) &&
           (rest.size() == known.word.size() || !IsNameByte(rest[known.word.size()]));
  });
}

// Judges the text after a dollar.
bool MayBeExpansion(std::string_view rest) {
  if (rest.empty()) return false;
  if (rest.front() == '\'') return true;
  if (rest.front() != '{') return IsBashVariable(rest.substr(0, NameLength(rest)));
  rest.remove_prefix(1);
  size_t length = NameLength(rest);
  if (length == 0) {
    while (length < rest.size() && IsDigit(rest[length])) ++length;
  }
  bool plain = length > 0 && length < rest.size() && rest[length] == '}';
  return !plain || IsBashVariable(rest.substr(0, length));
}

bool MayBeRange(std::string_view rest) {
  size_t close = rest.substr(0, kRangeBytes).find('}');
  return close != std::string_view::npos &&
         rest.substr(0, close).find("..") != std::string_view::npos;
}

// True if the pair of bytes at `at`, which is telling, begins a construct of bash's.
bool MayBegin(std::string_view text, size_t at) {
  char third = at + 2 < text.size() ? text[at + 2] : '\0';
  switch (text[at]) {
    case '<':
      return text[at + 1] == '(' || third == '<';
    case '>':
      // >&1 and >&- are every shell's.
      return text[at + 1] == '(' || (!IsDigit(third) && third != '-');
    case ']':
      return text[at + 1] == '=' || third == '=';
    case '{':
      return MayBeRange(text.substr(at));
    case '$':
      return MayBeExpansion(text.substr(at + 1));
    case '&':
    case '|':
    case '(':
    case '[':
    case '+':
    case '=':
      return true;
    default:
      return MayBeCommand(text.substr(at));
  }
}

}  // namespace

bool MayHoldBash(std::string_view text) {
  auto class_at = [text](size_t i) -> size_t {
    return kScan.class_of[static_cast<uint8_t>(text[i])];
  };
  uint8_t mask = kTells | kTellsAfterSeparator;
  size_t now = text.empty() ? 0 : class_at(0);
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    size_t next = class_at(at + 1);
    if ((kScan.pairs[now * kClasses + next] & mask) != 0 && MayBegin(text, at)) return true;
    mask = kScan.mask[now];
    now = next;
  }
  return false;
}

}  // namespace spate::format
