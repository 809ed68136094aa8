#include "format/shell_kind.h"

#include <string>
#include <vector>

#include "format/shell_words.h"

namespace spate::format {
namespace {

using std::string_view_literals::operator""sv;

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

ShellKind KindOfName(std::string_view name) {
  if (name.starts_with('-')) name.remove_prefix(1);
  for (std::string_view known : {"sh"sv, "dash"sv, "ash"sv, "busybox"sv, "posh"sv, "yash"sv}) {
    if (name == known) return ShellKind::kPosix;
  }
  if (name == "bash" || name == "rbash") return ShellKind::kBash;
  if (name == "zsh" || name == "rzsh") return ShellKind::kZsh;
  for (std::string_view known : {"ksh"sv, "ksh93"sv, "mksh"sv, "oksh"sv, "lksh"sv, "pdksh"sv}) {
    if (name == known) return ShellKind::kKsh;
  }
  return ShellKind::kOther;
}

}  // namespace

ShellKind KindOfShell(std::string_view shell) {
  std::vector<std::string> words = SplitBlanks(shell);
  if (words.empty()) return ShellKind::kBash;
  for (const std::string& word : words) {
    if (BaseName(word) == "env" || word.find('=') != std::string::npos) continue;
    return KindOfName(BaseName(word));
  }
  return ShellKind::kOther;
}

}  // namespace spate::format
