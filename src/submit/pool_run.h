// `spate run --pool SYSTEM:OPTIONS`: a run whose tasks run in pilots of a batch system. It is a run
// with a hub of its own (daemon/pool_hub.h), in a folder that follows from what was typed, so that
// --resume finds it.
#pragma once

#include "cli/main.h"

namespace spate::submit {

int RunWithPool(const cli::Invocation& invocation);

}  // namespace spate::submit
