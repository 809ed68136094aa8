// Decides which jobs the words of a command mean: a hub's, or those of runs on this machine.
#pragma once

#include <string>

#include "cli/options/words.h"
#include "client/surroundings.h"

namespace spate::run {

// True if commands about jobs speak to a hub when they are not told otherwise.
bool HubIsConfigured(const client::Surroundings& here);

// True if the words speak of a hub's jobs: --hub and --access do, --local and --state do not, and
// else they do where a hub is configured.
bool SpeaksOfHub(const cli::Words& words);

// The same for orders, but --state DIR is the hub's where one has its folder there.
bool OrdersGoToHub(const cli::Words& words);

// Options that make commands mean the runs that the words mean: " --local".
std::string RunsOption(const cli::Words& words, const client::Surroundings& here);

}  // namespace spate::run
