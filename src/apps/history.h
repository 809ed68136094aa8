// The history commands on this machine: `spate job`, `spate task`, `spate state`.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/history/environment.h"
#include "cli/main.h"
#include "wire/client_messages.h"

namespace spate::apps {

// Fills in job, task and state. Costs nothing until one of them is called.
void WireHistory(cli::Wiring& wiring);

// `spate job list|info|tasks|cat` and `spate task info|explain` about the jobs of a hub, as the
// viewer may see them. Reads the hub's folder while the hub writes; for a process of its own, since
// it may take long. Returns the exit code; errors go to `write_err`.
struct HubQuestion {
  std::string hub_dir;
  cli::Viewer viewer;
  wire::Command asked;  // but for its words
  std::function<Status(std::string_view)> write_out;
  std::function<void(std::string_view)> write_err;
};
int HubHistory(HubQuestion question, const cli::Invocation& invocation);
// Of this job what cli::JobFailures tells.
int HubFailures(HubQuestion question, const std::string& job);

}  // namespace spate::apps
