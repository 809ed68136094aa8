#include "daemon/daemon_log.h"

#include <fmt/format.h>

#include "base/units.h"
#include "base/utc.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/terminal.h"

namespace spate::daemon {

void LogLine(std::string_view text) {
  std::string line = fmt::format("{} {}\n", FormatUtc(os::Clock().Now()), EscapeForScreen(text));
  // A log that cannot be written is no reason to stop.
  (void)os::WriteAll(os::kStderr, line, "log");
}

Status BeginLog(std::optional<os::Background>& background, const DaemonLife& life) {
  if (background) return background->Ready(life.log);
  return life.log.empty() ? Status() : os::LogTo(life.log);
}

void LogAnew(const DaemonLife& life) {
  if (life.log.empty()) return;
  if (auto again = os::LogTo(life.log); !again) LogLine(again.error().message);
}

}  // namespace spate::daemon
