// The programs of Parasol.
#pragma once

#include "cli/programs.h"

namespace spate::parasol {

// Any error, and too few words.
inline constexpr int kParasolExitError = 255;

cli::Programs ParasolPrograms();

}  // namespace spate::parasol
