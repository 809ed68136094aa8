// The words of the commands that make jobs or run them again, as jobs keep them, to be read again.
#pragma once

#include "cli/options/command.h"

namespace spate::cli {

// Without a body: the commands themselves are in src/command/.
extern const Command kRunWords, kRetryWords, kSubmitWords, kAddWords;

}  // namespace spate::cli
