// How notes name the process of a gang that decided its end. The end itself is that of the part
// that ended last, with the cause and the status of the one that decided.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/number.h"

namespace spate {

// "rank 3 on node n2 ended with exit code 1; the others were ended for it"
inline constexpr std::string_view kOthersEnded = "; the others were ended for it";

namespace internal {
template <typename IsIt>
std::string_view FindLine(std::string_view note, IsIt is_it) {
  while (!note.empty()) {
    std::string_view line = note.substr(0, note.find('\n'));
    if (is_it(line)) return line;
    note.remove_prefix(line.size() == note.size() ? line.size() : line.size() + 1);
  }
  return {};
}
}  // namespace internal

// The line of `note` that ends so, without its newline; empty when there is none.
inline std::string_view DecidedLine(std::string_view note) {
  return internal::FindLine(note, [](auto line) { return line.ends_with(kOthersEnded); });
}

// The rank of a line of a part's note: "rank 3 exited with 1", "rank 3 was killed by SIGKILL".
inline std::optional<uint32_t> RankOfLine(std::string_view line) {
  constexpr std::string_view kRank = "rank ";
  if (!line.starts_with(kRank)) return std::nullopt;
  line.remove_prefix(kRank.size());
  return ReadNumber<uint32_t>(line.substr(0, line.find(' ')));
}
// The line about the rank that failed first in the part; empty when there is none.
inline std::string_view FailedRankLine(std::string_view note) {
  return internal::FindLine(note, [](auto line) { return RankOfLine(line).has_value(); });
}

}  // namespace spate
