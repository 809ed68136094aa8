// The verbs of `spate pool`.
#pragma once

#include "cli/hub/hub_screen.h"

namespace spate::cli {

// Null: it is none of these.
HubVerb PoolVerbOf(Command command);

Result<int> AddPools(const HubScreen& screen);
Result<int> PausePools(const HubScreen& screen);
Result<int> ResumePools(const HubScreen& screen);
Result<int> SetPools(const HubScreen& screen);
Result<int> RemovePools(const HubScreen& screen);

}  // namespace spate::cli
