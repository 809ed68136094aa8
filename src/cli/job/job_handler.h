// `spate job list|info|tasks|cat|tail|forget`: what the history knows about jobs.
#pragma once

#include "cli/history/environment.h"
#include "cli/main.h"

namespace spate::cli {

Handler MakeJobHandler(HistoryEnvironment environment);

}  // namespace spate::cli
