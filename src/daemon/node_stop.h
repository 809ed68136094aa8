// `spate node stop`: ends a node of this machine, with its tasks, which run elsewhere then.
#pragma once

#include "cli/main.h"

namespace spate::daemon {

int StopNode(const cli::Invocation& invocation);

}  // namespace spate::daemon
