// Shared parts of the commands about the pools of a hub.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "command/hub_screen.h"
#include "core/model/pool_facts.h"
#include "wire/questions.h"

namespace spate::cli {

// Those that the words name, or all; with their pilots, if wanted.
Result<std::vector<PoolFacts>> AskPools(const HubScreen& screen, bool pilots);
void SayNoPool(const HubScreen& screen);
// Changes the pools that the words name as `question` says.
Status ChangePools(const HubScreen& screen, wire::ChangePools question);
// Prints the result of a change: `done`, or the error. Returns the exit code.
Result<int> TellChanged(const HubScreen& screen, const Status& changed, std::string_view done);

}  // namespace spate::cli
