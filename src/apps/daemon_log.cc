#include "apps/daemon_log.h"

#include <fmt/format.h>

#include "base/units.h"
#include "base/utc.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/terminal.h"

namespace spate::apps {

void LogLine(std::string_view text) {
  std::string line = fmt::format("{} {}\n", FormatUtc(os::Clock().Now()), EscapeForScreen(text));
  // A log that cannot be written is no reason to stop.
  (void)os::WriteAll(os::kStderr, line, "log");
}

}  // namespace spate::apps
