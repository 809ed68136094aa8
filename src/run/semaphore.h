// `spate sem`: runs a command when fewer than -j others of the same name run. The places are locks
// on files of the state folder, held by the commands themselves, so whatever is killed, a place is
// free when its command is gone.
#pragma once

#include "cli/main.h"

namespace spate::run {

int Semaphore(const cli::Invocation& invocation);

}  // namespace spate::run
