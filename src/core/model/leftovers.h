// The lines of an attempt's note about processes that its commands left running. The shepherd
// writes them, and views find them again.
#pragma once

#include <string_view>

namespace spate {

// Spate ended them, and the attempt is none the worse: "left behind: sleep (pid 12), ended".
inline constexpr std::string_view kLeftBehindLine = "leftover processes: ";
inline constexpr std::string_view kLeftBehindEnd = ", ended";
// The attempt failed because of them: "left processes running: sort (pid 12); ...".
inline constexpr std::string_view kLeftRunningLine = "left processes running: ";
// The attempt failed as one of them did: "left running: sort (pid 12) exited with 2".
inline constexpr std::string_view kLeftoverFailedLine = "left running: ";
// Prefix of the text about files that an attempt waits to open. This text is reported like the
// texts about processes that were left running.
inline constexpr std::string_view kStillWaiting = "still waiting ";

// The line of `note` that begins with `begin`, without its newline; empty when there is none.
inline std::string_view NoteLine(std::string_view note, std::string_view begin) {
  while (!note.empty()) {
    std::string_view line = note.substr(0, note.find('\n'));
    if (line.starts_with(begin)) return line;
    note.remove_prefix(line.size() == note.size() ? line.size() : line.size() + 1);
  }
  return {};
}

}  // namespace spate
