#include "os/thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace spate::os {

std::thread ThreadWithoutSignals(std::function<void()> work) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return thread;
}

}  // namespace spate::os
