#include "daemon/daemon_log.h"

#include <fmt/format.h>

#include "base/units.h"
#include "base/utc.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"

namespace spate::daemon {

namespace {

// Whether standard error is a stream of systemd's journal, which has the time itself
// ($JOURNAL_STREAM, systemd.exec(5)).
bool IsJournal() {
  auto info = os::StatFd(os::kStderr, "standard error");
  return info && os::Environment::OfProcess().GetOr("JOURNAL_STREAM", "") ==
                     fmt::format("{}:{}", info->device, info->inode);
}

// The file of the log, where it is one of ours.
std::string& LogPath() {
  static std::string path;
  return path;
}

// Twice as much is kept: this file and the one before it.
void KeepBound() {
  constexpr uint64_t kMost = 16 << 20;
  const std::string& path = LogPath();
  if (path.empty()) return;
  auto info = os::StatFd(os::kStderr, path);
  if (!info || info->size < kMost) return;
  // Where the old file cannot be renamed, it grows on; where it is gone, a new one is made.
  (void)os::Rename(path, path + ".1");
  (void)os::LogTo(path);
}

}  // namespace

void LogLine(std::string_view text) {
  static const bool to_journal = IsJournal();
  // "<6>": for information (sd-daemon(3)).
  std::string line =
      to_journal ? fmt::format("<6>{}\n", EscapeForScreen(text))
                 : fmt::format("{} {}\n", FormatUtc(os::Clock().Now()), EscapeForScreen(text));
  // A log that cannot be written is no reason to stop.
  (void)os::WriteAll(os::kStderr, line, "log");
  KeepBound();
}

Status BeginLog(std::optional<os::Background>& background, const DaemonLife& life) {
  LogPath() = life.log;
  if (background) return background->Ready(life.log);
  return life.log.empty() ? Status() : os::LogTo(life.log);
}

void LogAnew(const DaemonLife& life) {
  if (life.log.empty()) return;
  if (auto again = os::LogTo(life.log); !again) LogLine(again.error().message);
}

}  // namespace spate::daemon
