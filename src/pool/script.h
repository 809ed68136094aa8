// The script of a pilot: what a batch system runs on the first host of an allocation.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pool/driver.h"

namespace spate::pool {

struct ScriptPart {
  std::string_view system;             // the driver's name
  std::optional<Duration> time_limit;  // what the pilot counts with, unless the system tells more
  std::string_view lines;              // of shell, ended by newlines: what this system needs;
                                       // they may set spate_host, the system's name of the host
};

// Begins with "#!/bin/sh" and has no CR before a newline, whatever the spec holds. It exports
//   SPATE_PILOT          the tag
//   SPATE_PILOT_SYSTEM   the driver's name
//   SPATE_PILOT_STARTED  seconds since 1970
//   SPATE_PILOT_SECONDS  the time limit, if one is known
// and hands SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 on to the pilot as one SIGTERM. The pilot
// starts with USR1 and USR2 ignored: systems send them to the whole process group. Its exit status
// is the pilot's. If that is not 0, the last line on stderr is
//   spate: the pilot ended with exit status N on host H
// unless the lines or the prologue set another EXIT trap.
std::string PilotScript(const PilotSpec& spec, const ScriptPart& part);

}  // namespace spate::pool
