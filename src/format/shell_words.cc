// The shell decision: NeedsShell is one pass over the bytes with a table, then a look at the
// first word. It may say yes too often (that costs a shell), never no too often: the property
// test in shell_words_test.cc compares with real shells.

#include "format/shell_words.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace spate::format {
namespace {

using std::string_view_literals::operator""sv;

constexpr bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Bytes that are special wherever they stand. '=' and '%' are so in the first word only; '~' is
// special at the start of a word and after ':' or '=', which is not worth telling apart.
constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> table{};
  for (char c : "#;\"*?[]&|<>(){}$`^~!\\'\n\0"sv) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

// Words that shells handle themselves or read as syntax, and the same program from PATH could
// differ. Sorted. Missing on purpose: echo, true and false, see FirstWordNeedsShell.
constexpr std::array kShellWords = {
    "."sv,        "alias"sv,   "bg"sv,      "bind"sv,    "break"sv,     "builtin"sv,  "caller"sv,
    "case"sv,     "cd"sv,      "chdir"sv,   "command"sv, "compgen"sv,   "complete"sv, "compopt"sv,
    "continue"sv, "coproc"sv,  "declare"sv, "dirs"sv,    "disown"sv,    "do"sv,       "done"sv,
    "elif"sv,     "else"sv,    "enable"sv,  "esac"sv,    "eval"sv,      "exec"sv,     "exit"sv,
    "export"sv,   "fc"sv,      "fg"sv,      "fi"sv,      "for"sv,       "function"sv, "getopts"sv,
    "hash"sv,     "help"sv,    "history"sv, "if"sv,      "in"sv,        "jobs"sv,     "kill"sv,
    "let"sv,      "local"sv,   "login"sv,   "logout"sv,  "mapfile"sv,   "newgrp"sv,   "popd"sv,
    "printf"sv,   "pushd"sv,   "pwd"sv,     "read"sv,    "readarray"sv, "readonly"sv, "return"sv,
    "select"sv,   "set"sv,     "shift"sv,   "shopt"sv,   "source"sv,    "suspend"sv,  "test"sv,
    "then"sv,     "time"sv,    "times"sv,   "trap"sv,    "type"sv,      "typeset"sv,  "ulimit"sv,
    "umask"sv,    "unalias"sv, "unset"sv,   "until"sv,   "wait"sv,      "while"sv,
};
static_assert(std::ranges::is_sorted(kShellWords));

bool FirstWordNeedsShell(std::string_view word, std::string_view rest) {
  if (word.find_first_of("=%") != std::string_view::npos) return true;
  if (word == ":") return true;
  if (word == "echo" || word == "true" || word == "false") {
    // The shell's own and the program differ in options only (echo -e, true --version).
    for (size_t i = 1; i < rest.size(); ++i) {
      if (rest[i] == '-' && IsBlank(rest[i - 1])) return true;
    }
    return false;
  }
  return std::ranges::binary_search(kShellWords, word);
}

}  // namespace

bool NeedsShell(std::string_view text) {
  size_t first = 0;
  while (first < text.size() && IsBlank(text[first])) ++first;
  if (first == text.size()) return true;
  bool special = false;
  for (char c : text) special |= kSpecial[static_cast<unsigned char>(c)];
  if (special) return true;
  size_t end = first;
  while (end < text.size() && !IsBlank(text[end])) ++end;
  return FirstWordNeedsShell(text.substr(first, end - first), text.substr(end));
}

std::vector<std::string> SplitBlanks(std::string_view text) {
  std::vector<std::string> words;
  size_t count = 0;
  bool in_word = false;
  for (char c : text) {
    bool blank = IsBlank(c);
    count += !blank && !in_word ? 1 : 0;
    in_word = !blank;
  }
  words.reserve(count);
  for (size_t i = 0; i < text.size();) {
    if (IsBlank(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && !IsBlank(text[end])) ++end;
    words.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return words;
}

std::vector<std::string> ShellArgv(std::string_view text, std::string_view shell) {
  std::vector<std::string> argv;
  if (shell.find_first_of(" \t") == std::string_view::npos) {
    argv.reserve(3);
    argv.emplace_back(shell);
  } else {
    argv = SplitBlanks(shell);
  }
  argv.emplace_back("-c");
  argv.emplace_back();
  // A shell would take text that starts like an option for one; a blank before it changes
  // nothing else.
  if (text.starts_with('-') || text.starts_with('+')) argv.back() += ' ';
  argv.back() += text;
  return argv;
}

std::vector<std::string> CommandArgv(std::string_view text, std::string_view shell,
                                     std::string_view own) {
  if (!shell.empty()) return ShellArgv(text, shell);
  return NeedsShell(text) ? ShellArgv(text, own) : SplitBlanks(text);
}

}  // namespace spate::format
