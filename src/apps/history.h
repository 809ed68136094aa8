// The history commands on this machine: `spate job`, `spate task`, `spate state`.
#pragma once

#include "cli/main.h"

namespace spate::apps {

// Fills in job, task and state. Costs nothing until one of them is called.
void WireHistory(cli::Wiring& wiring);

}  // namespace spate::apps
