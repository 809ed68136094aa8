#include "doors/pmc/run/talk.h"

#include "os/fd.h"
#include "os/terminal.h"

namespace spate::pmc {

void Talk::Log(LogLevel level, std::string_view text) const {
  if (Logs(level)) (void)os::WriteAll(os::kStderr, LogLine(level, text), "standard error");
}

}  // namespace spate::pmc
