// Signals that a process deals with outside a loop (os/real_loop.h has OnSignal for the rest).
#pragma once

namespace spate::os {

void IgnoreSignal(int signo);
// SIGSTOP to this process; returns when it was continued.
void StopThisProcess();

}  // namespace spate::os
