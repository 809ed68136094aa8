// `spate state check`: is what is stored sound? `spate state salvage`: what is sound of a hub's.
// `spate job forget` of runs, and a hub's backup and restore.
#pragma once

#include "cli/history/environment.h"
#include "cli/main.h"

namespace spate::cli {

Handler MakeStateHandler(HistoryEnvironment environment);

}  // namespace spate::cli
