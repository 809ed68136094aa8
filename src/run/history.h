// The history commands (`spate job`, `spate task`, `spate report`, `spate state`): about the runs
// of this machine, or the jobs of a hub.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/main.h"
#include "client/asker.h"
#include "history/source.h"

namespace spate::apps {

// Fills in job, task and state, about this machine. Costs nothing until one of them is called.
void WireHistory(cli::Wiring& wiring);

// Whether AskHistory can carry it out.
bool IsOfHistory(cli::Command command);
// The same about the jobs of a hub; `reach` makes commands mean it. The exit code; errors are told.
int AskHistory(client::Asker& hub, const std::string& reach, const cli::Invocation& invocation);

// The journal of a hub, as the viewer may see it. Reads the hub's folder while the hub writes; for
// a process of its own, since it may take long.
history::Source JournalOfHub(const std::string& hub_dir, history::Viewer viewer);

}  // namespace spate::apps
