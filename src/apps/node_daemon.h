// `spate node start`: a node from its first line to its last.
//
//   TERM, INT   end the tasks, which run elsewhere then, and stop
//   QUIT        stop and leave the tasks to their shepherds, for the next node of this name
//   HUP         open the log file anew
#pragma once

#include "cli/main.h"

namespace spate::apps {

int StartNode(const cli::Invocation& invocation);

}  // namespace spate::apps
