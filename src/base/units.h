// Text of durations, sizes and counts, as people type and read them.
//
// Durations: "90" (seconds), "1.5s", "200ms", "10m", "1h30m", "2d", "HH:MM:SS", "MM:SS".
// Sizes: "512" (bytes), "64K", "1.5G", "2GiB", "2GB"; K M G T P are powers of 1024, whatever
// follows. Underscores may stand between digits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace spate {

// At least 0. Errors say which forms are understood.
Result<Duration> ParseDuration(std::string_view text);
Result<uint64_t> ParseSize(std::string_view text);
// The memory of a task or node: a size. A number without a unit that is too small for bytes (1 to
// 15,999,999) is an error that names M and G, because batch systems read it as megabytes.
Result<uint64_t> ParseMemory(std::string_view text);
// A plain decimal count, with underscores allowed between digits.
Result<uint64_t> ParseCount(std::string_view text);

// The change of a clock that showed first one time, then the other: "set back by 1h02m".
std::string FormatClockStep(Instant from, Instant to);
std::string FormatDuration(Duration d);   // "0.21 s", "3.4 s", "2m05s", "1h02m", "3d04h"
std::string FormatSize(uint64_t bytes);   // "812 B", "1.5 KB", "20 GB" (powers of 1024)
std::string FormatCount(uint64_t count);  // "1,234,567"

// Bytes that a terminal may show: control bytes, and bytes that are not valid UTF-8, become \xNN
// (newline, tab and return become \n, \t, \r), and deceptive characters \uNNNN or \UNNNNNNNN.
std::string EscapeForScreen(std::string_view text);
// A character of UTF-8 that nobody sees, that breaks the line, or that has text after it shown in
// another direction.
bool IsDeceptive(std::string_view sequence);
// One word of POSIX shell: unchanged when nothing in it is special, else in single quotes.
std::string ShellQuote(std::string_view word);

}  // namespace spate
