// A hub from its first line to its last: of `spate hub start`, and of others who say how.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/main.h"
#include "daemon/daemon_log.h"
#include "daemon/hub_program.h"

namespace spate::daemon {

// Opens the hub and lets it run to its end; the exit code. What `options` lacks of a process (open
// files, `log`, `stopped`) is filled in. `welcome` is for the screen, once it serves.
Result<int> RunHub(HubProgram::Options options, const DaemonLife& life,
                   const std::function<std::string(HubProgram&)>& welcome);

int StartHub(const cli::Invocation& invocation);
// The port at which the access files that this folder's hub gave out name it; nullopt: there are
// none.
std::optional<uint16_t> KnownPort(const std::string& hub_dir);

}  // namespace spate::daemon
