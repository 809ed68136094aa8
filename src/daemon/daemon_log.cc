#include "daemon/daemon_log.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/units.h"
#include "base/utc.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"

namespace spate::daemon {

namespace {

// True if standard error is a stream of systemd's journal, which has the time itself
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

// Lines before BeginLog are messages: the log will be elsewhere.
bool leaves_terminal = false;

// Lines logged before BeginLog, which only the terminal has shown; nullopt: after BeginLog. Lines
// beyond this bound are not kept.
constexpr size_t kEarlyBytes = 1 << 20;
std::optional<std::string>& EarlyLines() {
  static std::optional<std::string> lines{""};
  return lines;
}

// Twice as much is kept: this file and the one before it.
void KeepBound() {
  constexpr uint64_t kMost = 16 << 20;
  const std::string& path = LogPath();
  if (path.empty()) return;
  auto info = os::StatFd(os::kStderr, path);
  if (!info || info->size < kMost) return;
  // An old file that cannot be renamed keeps growing; a missing one is made again.
  (void)os::Rename(path, path + ".1");
  (void)os::LogTo(path);
}

}  // namespace

Result<std::optional<os::Background>> EnterBackground(const DaemonLife& life) {
  leaves_terminal = life.background;
  if (!life.background) return std::nullopt;
  return TRY(os::Background::Enter());
}

void LogLine(std::string_view text) {
  static const bool to_journal = IsJournal();
  // "<6>": for information (sd-daemon(3)).
  std::string line =
      to_journal ? fmt::format("<6>{}\n", EscapeForScreen(text))
                 : fmt::format("{} {}\n", FormatUtc(os::Clock().Now()), EscapeForScreen(text));
  const bool is_message = leaves_terminal && EarlyLines();
  // A log that cannot be written is no reason to stop.
  (void)os::WriteAll(os::kStderr,
                     is_message ? fmt::format("spate: {}\n", EscapeForScreen(text)) : line, "log");
  if (EarlyLines() && EarlyLines()->size() < kEarlyBytes) *EarlyLines() += line;
  KeepBound();
}

Status BeginLog(std::optional<os::Background>& background, const DaemonLife& life) {
  LogPath() = life.log;
  const std::string early = std::exchange(EarlyLines(), std::nullopt).value_or("");
  if (background) {
    TRY(background->Ready(life.log));
  } else if (!life.log.empty()) {
    TRY(os::LogTo(life.log));
  }
  if (!life.log.empty()) (void)os::WriteAll(os::kStderr, early, "log");
  return {};
}

void LogAnew(const DaemonLife& life) {
  if (life.log.empty()) return;
  if (auto again = os::LogTo(life.log); !again) LogLine(again.error().message);
}

}  // namespace spate::daemon
