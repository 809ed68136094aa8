// `spate top`: a hub on the screen, drawn anew every second, until the user has seen enough.
//
// Plain escape sequences on the alternate screen, which every terminal of today knows: see
// docs/design/012-looking.md.
#pragma once

#include "cli/options/words.h"

namespace spate::submit {

// `once`: prints what is now, and ends. Reports its own errors; returns the exit code.
int Top(const cli::Invocation& invocation, bool once);

}  // namespace spate::submit
