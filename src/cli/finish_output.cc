#include "cli/finish_output.h"

#include <cerrno>
#include <cstdio>

#include "cli/exit_code.h"
#include "cli/report.h"
#include "os/error.h"

namespace spate::cli {

int FinishOutput() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return kExitSuccess;
  if (errno == EPIPE) return kExitOutputClosed;
  // The errno of an earlier failed write may be gone.
  const int error = errno != 0 ? errno : EIO;
  return ReportError(os::SystemError(error, "write to", "standard output"));
}

}  // namespace spate::cli
