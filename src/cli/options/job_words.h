// The options of the commands that make jobs or run them again: their lists, and the words of these
// commands as jobs keep them, to be read again.
#pragma once

#include "cli/options/command.h"

namespace spate::cli {

namespace opt {
extern const OptionGroup kOfRun, kOfRetry, kOfSubmit, kOfAdd;
}  // namespace opt

// Without a body: the commands themselves are in src/command/.
extern const Command kRunWords, kRetryWords, kSubmitWords, kAddWords;

}  // namespace spate::cli
