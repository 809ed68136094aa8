#include "os/file_size.h"

#include <signal.h>
#include <sys/resource.h>

namespace spate::os {

void FailBeyondFileSize() { signal(SIGXFSZ, SIG_IGN); }

bool HasFileSizeLimit() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace spate::os
