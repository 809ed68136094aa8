// Exit codes of `spate`, the one list. A code is never given a second meaning.
#pragma once

#include <array>
#include <string_view>

#include "base/result.h"

namespace spate::cli {

enum ExitCode : int {
  kExitSuccess = 0,
  kExitTasksFailed = 1,
  kExitUsage = 2,
  kExitCouldNotRun = 3,
  kExitUnknown = 4,
  kExitHung = 5,
  kExitTimedOut = 124,
  kExitHangup = 129,
  kExitInterrupted = 130,
  kExitOutputClosed = 141,
  kExitTerminated = 143,
};

struct ExitCodeText {
  int code;
  std::string_view text;
};
// Texts for help and the man page.
inline constexpr std::array<ExitCodeText, 11> kExitCodeTexts = {{
    {kExitSuccess, "all tasks succeeded; for other commands: done"},
    {kExitTasksFailed, "some tasks failed (one task: its own code); damage found; a pool refused"},
    {kExitUsage, "wrong usage or wrong input; nothing was started or changed"},
    {kExitCouldNotRun, "could not run: no permission, no space, state damaged or in use"},
    {kExitUnknown, "unknown: the hub has not answered whether it did what was requested"},
    {kExitHung, "a hub is there, but does not answer"},
    {kExitTimedOut, "job wait: the time of --timeout is over; the job continues"},
    {kExitHangup, "ended by SIGHUP; the state is kept, --resume continues"},
    {kExitInterrupted, "ended by Ctrl-C; the state is kept, --resume continues"},
    {kExitOutputClosed, "standard output was closed by its reader"},
    {kExitTerminated, "ended by SIGTERM; the state is kept, --resume continues"},
}};

// The code of a command that ends with an error of this kind.
constexpr int ExitCodeOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kNotFound:
    case ErrorKind::kExists:
      return kExitUsage;
    case ErrorKind::kUnknown:
      return kExitUnknown;
    default:
      return kExitCouldNotRun;
  }
}

}  // namespace spate::cli
