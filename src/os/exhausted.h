// The end of a process that lacks something of the machine without which it cannot continue: a
// message for its user and exit code 3, not an abort.
#pragma once

#include <string_view>

namespace spate::os {

inline constexpr std::string_view kOutOfMemory =
    "out of memory; free some, or raise the limit (ulimit -v)";

// Prints "spate: WHAT" on standard error, for which it needs no memory, and ends the process with
// exit code 3.
[[noreturn]] void EndExhausted(std::string_view what);

// From now on, the process ends that way when nobody catches the exception for missing memory or a
// missing thread. All other such exceptions abort as before.
void ExplainExhaustion();

}  // namespace spate::os
