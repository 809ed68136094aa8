#include "format/script_text.h"

#include <algorithm>
#include <array>

#include "format/byte_order_mark.h"
#include "format/lines.h"
#include "format/shell_words.h"

namespace spate::format {
namespace {

using std::string_view_literals::operator""sv;

constexpr size_t kSignMost = 40;  // bytes that are shown of it

// Directives of batch systems in a script; an option follows.
constexpr std::array kDirectives = {"#SBATCH"sv, "#PBS"sv, "#$"sv, "#BSUB"sv, "#HQ"sv, "#FLUX:"sv};

bool IsDirective(std::string_view line) {
  return std::ranges::any_of(kDirectives, [&](std::string_view word) {
    if (!line.starts_with(word)) return false;
    std::string_view rest = line.substr(word.size());
    size_t option = rest.find_first_not_of(" \t");
    return option != std::string_view::npos && option > 0 && rest[option] == '-';
  });
}

std::string SignOf(std::string_view line) {
  std::string sign(line.substr(0, kSignMost));
  if (line.size() > kSignMost) sign += "...";
  return sign;
}

bool NamesSpate(std::string_view interpreter) {
  return std::ranges::any_of(SplitBlanks(interpreter), [](std::string_view word) {
    return word.substr(word.rfind('/') + 1) == "spate";
  });
}

}  // namespace

std::optional<ScriptText> FindScript(std::string_view beginning) {
  beginning = WithoutByteOrderMark(beginning);
  ScriptText script;
  if (beginning.starts_with("#!")) {
    std::string_view line = *NextLine(&beginning);
    std::string interpreter(TrimBlanks(line.substr(2)));
    if (!NamesSpate(interpreter)) script = {SignOf(TrimBlanks(line)), std::move(interpreter)};
  }
  // They count before the first command only.
  while (auto line = NextLine(&beginning)) {
    std::string_view text = TrimBlanks(*line);
    if (!text.empty() && text.front() != '#') break;
    if (IsDirective(text)) script.directives.emplace_back(text);
  }
  if (script.sign.empty() && script.directives.empty()) return std::nullopt;
  if (script.sign.empty()) script.sign = SignOf(script.directives.front());
  return script;
}

}  // namespace spate::format
