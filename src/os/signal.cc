#include "os/signal.h"

#include <csignal>

namespace spate::os {

void IgnoreSignal(int signo) { std::signal(signo, SIG_IGN); }

void StopThisProcess() { std::raise(SIGSTOP); }

}  // namespace spate::os
