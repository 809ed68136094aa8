#include "cli/text/bash_hint.h"

#include <algorithm>

namespace spate::cli {
namespace {

constexpr std::string_view kComplaints[] = {
    "[[: not found",
    "Bad substitution",
    "source: not found",
    "declare: not found",
    "function: not found",
    "shopt: not found",
    "pushd: not found",
    "popd: not found",
    "let: not found",
    "mapfile: not found",
    "readarray: not found",
    "Bad for loop variable",
    "Illegal option -o pipefail",
    "Syntax error: \"(\" unexpected",
    "Syntax error: redirection unexpected",
};

bool IsRangeEnd(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  bool letter = text.size() == 1 &&
                ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'));
  return number || letter;
}

}  // namespace

std::string BashInErrors(std::string_view errors) {
  while (!errors.empty()) {
    std::string_view line = errors.substr(0, errors.find('\n'));
    errors.remove_prefix(std::min(line.size() + 1, errors.size()));
    if (!line.starts_with("/bin/sh: ") && !line.starts_with("sh: ")) continue;
    for (std::string_view complaint : kComplaints) {
      if (line.find(complaint) != std::string_view::npos) return std::string(complaint);
    }
  }
  return {};
}

std::string_view BashInCommand(std::string_view command) {
  if (command.find("..") == std::string_view::npos) return {};
  bool quoted = false;
  for (size_t at = 0; at < command.size(); ++at) {
    if (command[at] == '\'') quoted = !quoted;
    bool expands = command[at] == '{' && (at == 0 || command[at - 1] != '$');
    if (quoted || !expands) continue;
    std::string_view rest = command.substr(at);
    size_t close = rest.find('}');
    if (close == std::string_view::npos) return {};
    std::string_view inside = rest.substr(1, close - 1);
    size_t dots = inside.find("..");
    if (dots == std::string_view::npos) continue;
    if (IsRangeEnd(inside.substr(0, dots)) && IsRangeEnd(inside.substr(dots + 2))) {
      return rest.substr(0, close + 1);
    }
  }
  return {};
}

}  // namespace spate::cli
