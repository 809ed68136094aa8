// The history commands on this machine: `spate job`, `spate task`, `spate state`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/history/environment.h"
#include "cli/main.h"

namespace spate::apps {

// Fills in job, task and state. Costs nothing until one of them is called.
void WireHistory(cli::Wiring& wiring);

// `spate job list|info|tasks|cat` and `spate task info|explain` about the jobs of a hub, as the
// viewer may see them. Reads the hub's folder while the hub writes; for a process of its own, since
// it may take long. `width` and `terminal` are those of whoever reads the answer. Returns the exit
// code; errors go to `write_err`.
int HubHistory(const std::string& hub_dir, cli::Viewer viewer, int width, bool terminal,
               const cli::Invocation& invocation, std::function<Status(std::string_view)> write_out,
               std::function<void(std::string_view)> write_err);

}  // namespace spate::apps
