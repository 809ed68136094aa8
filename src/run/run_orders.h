// `spate job wait|progress|hold|release|cancel` about runs of this machine, from any terminal of
// their user (run/run_entrance.h is the run's end of it).
#pragma once

#include "cli/main.h"

namespace spate::run {

// Whether these commands mean a hub's jobs: as SpeaksOfHub, but --state DIR is the hub's where one
// has its folder there.
bool OrdersGoToHub(const cli::Words& words);

// Handlers; they report their own errors. Return the exit code.
int WaitForRuns(const cli::Invocation& invocation);
int OrderRuns(const cli::Invocation& invocation);

}  // namespace spate::run
