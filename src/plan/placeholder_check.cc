#include "plan/placeholder_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "format/expand.h"
#include "format/mistyped.h"

namespace spate::cli {

Status CheckPlaceholders(const RunOptions& options, const JobSettings& settings) {
  if (options.literal_braces) return {};
  format::Template::Known known{.names = settings.value_names,
                                .replace = format::ReplaceOf(settings.replace)};
  // Without values the command runs as written.
  const bool as_written = settings.row_kind == RowKind::kValues && !settings.has_source;
  auto is_kept = [&](std::string_view placeholder) {
    auto has = [&](const std::string& word) { return word.contains(placeholder); };
    return as_written && std::ranges::any_of(settings.command, has);
  };
  auto check = [&](std::string_view option, const std::string& text) -> Status {
    std::string why = format::WhyMistyped(text, known);
    for (std::string_view number : {"{#}", "{%}"}) {
      if (!text.contains(number) || !is_kept(number)) continue;
      why = fmt::format(
          "{0} is replaced by a number in this option but not in the command, because the command "
          "has "
          "no values; add a value (::: 1), write 1 instead of {0}, or keep {0} in both with "
          "--literal-braces",
          number);
    }
    if (why.empty()) return {};
    return Fail(ErrorKind::kInvalid, fmt::format("{}{}{}\nnothing was started", option,
                                                 option.empty() ? "" : ": ", why));
  };
  if (settings.row_kind == RowKind::kValues && settings.has_source) {
    for (const std::string& word : settings.command) {
      TRY(check("", word));
    }
  }
  TRY(check("--tagstring", options.show.tag_text));
  known.job = true;
  for (auto [option, pattern] : {std::pair{"--stdin", &settings.stdin_pattern},
                                 {"--stdout", &settings.stdout_pattern},
                                 {"--stderr", &settings.stderr_pattern}}) {
    TRY(check(option, *pattern));
  }
  for (auto [option, patterns] : {std::pair{"--put", &settings.put_patterns},
                                  {"--get", &settings.get_patterns},
                                  {"--forward", &settings.forward_patterns},
                                  {"--forward-file", &settings.forward_file_patterns}}) {
    known.rank = patterns == &settings.get_patterns;
    for (const std::string& pattern : *patterns) {
      TRY(check(option, pattern));
    }
  }
  return {};
}

// Most lines have no braces at all.
std::string WhyMistypedIn(const format::ListLine& line, bool literal_braces) {
  bool none = literal_braces || line.command.find('{') == std::string::npos;
  return none ? std::string() : format::WhyMistypedClause(line.command);
}

}  // namespace spate::cli
