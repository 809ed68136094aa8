// `spate top`: a hub on the screen, drawn anew every second, until the user has seen enough.
//
// Plain escape sequences on the alternate screen, which every terminal of today knows: see
// docs/design/012-looking.md.
#pragma once

#include "cli/main.h"

namespace spate::submit {

int Top(const cli::Invocation& invocation);

}  // namespace spate::submit
