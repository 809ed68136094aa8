// Log of a daemon for its operator: lines with the time on standard error, which is the
// terminal, the system's journal, or the file that Background gave it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/background.h"

namespace spate::daemon {

// How the process of a daemon lives.
struct DaemonLife {
  bool background = false;
  // The file of its log; empty in the foreground: standard error. At 16 MB it becomes FILE.1.
  std::string log;
};

// Goes into the background if `life` says so.
Result<std::optional<os::Background>> EnterBackground(const DaemonLife& life);
// Logs a line: before BeginLog to the terminal, and BeginLog copies it to the file. On the terminal
// of a program that goes into the background it is a message like others.
void LogLine(std::string_view text);
// The daemon serves: from now on it logs as `life` says.
Status BeginLog(std::optional<os::Background>& background, const DaemonLife& life);
// Takes up a new file, after the old one was renamed.
void LogAnew(const DaemonLife& life);

}  // namespace spate::daemon
