// A hub from its first line to its last: of `spate hub start`, and of others who say how.
#pragma once

#include <functional>
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
// The line that starts the hub of this folder as it was started last.
std::string StartLineOf(const std::string& hub_dir);

}  // namespace spate::daemon
