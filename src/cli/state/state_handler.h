// `spate state check`: is what is stored sound? `spate state salvage`: what is sound of a hub's.
#pragma once

#include "cli/history/environment.h"
#include "cli/main.h"

namespace spate::cli {

Handler MakeStateHandler(HistoryEnvironment environment);

}  // namespace spate::cli
