// `spate hub start`: a hub from its first line to its last.
#pragma once

#include "cli/main.h"

namespace spate::apps {

int StartHub(const cli::Invocation& invocation);

}  // namespace spate::apps
