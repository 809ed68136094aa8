// `spate state check`: is what is stored sound?
#pragma once

#include "cli/history/environment.h"
#include "cli/main.h"

namespace spate::cli {

Handler MakeStateHandler(HistoryEnvironment environment);

}  // namespace spate::cli
