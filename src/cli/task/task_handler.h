// `spate task info|explain`: single tasks, from the history.
#pragma once

#include "cli/history/environment.h"
#include "cli/main.h"

namespace spate::cli {

Handler MakeTaskHandler(HistoryEnvironment environment);

}  // namespace spate::cli
