// The history commands (`spate job`, `spate task`, `spate report`, `spate state`): about the runs
// of this machine, or the jobs of a hub.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/main.h"
#include "client/asker.h"
#include "history/source.h"

namespace spate::run {

// What is asked about this machine's runs is answered from here.
history::Source RunsIn(const std::string& state_dir, uint32_t cores);

// Fills in job, task and state, about this machine. Costs nothing until one of them is called.
void WireHistory(cli::Wiring& wiring);

// Whether AskHistory can carry it out.
bool IsOfHistory(cli::Command command);
// The same about the jobs of a hub; `reach` makes commands mean it. The exit code; errors are told.
int AskHistory(client::Asker& hub, const std::string& reach, const cli::Invocation& invocation);

}  // namespace spate::run
