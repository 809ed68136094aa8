// Names that only bash knows, and a first look at a shell text for any of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace spate::format {

// The variables that bash sets itself and other shells do not, in order.
inline constexpr std::array<std::string_view, 11> kBashVariables = {
    "BASHPID",    "EPOCHREALTIME", "EPOCHSECONDS", "EUID",    "HOSTNAME", "OSTYPE",
    "PIPESTATUS", "RANDOM",        "SECONDS",      "SRANDOM", "UID",
};
static_assert(std::ranges::is_sorted(kBashVariables));

// Words that are a command's name to bash.
struct BashCommand {
  std::string_view word;
  std::string_view instead;
};
inline constexpr BashCommand kBashCommands[] = {
    {"[[", "[ ... ]"},           {"coproc", ""},
    {"declare", "NAME=VALUE"},   {"function", "NAME() { ...; }"},
    {"let", "NAME=$((...))"},    {"mapfile", "while read"},
    {"popd", "(cd DIR && ...)"}, {"pushd", "(cd DIR && ...)"},
    {"readarray", "while read"}, {"shopt", ""},
    {"source", ". FILE"},        {"typeset", "NAME=VALUE"},
};

// True if `text` holds bytes that shell_dialect.h might find. It knows no quotes, so it is often
// true where nothing is found, but never false where something is. One pass, no allocation: a list
// may have millions of lines.
bool MayHoldBash(std::string_view text);

}  // namespace spate::format
