#include "doors/parasol/programs/para_talk.h"

#include <cerrno>
#include <string>

#include "os/environment.h"
#include "os/fd.h"
#include "os/signals.h"
#include "os/terminal.h"

namespace spate::parasol {
namespace {

constexpr uint64_t kStepsOfADot = 20;

}  // namespace

void ParaTalk(const ParaOptions& options, std::string_view line) {
  if (options.verbose > 0) ParaWarn(line);
}

void ParaWarn(std::string_view line) {
  (void)os::WriteAll(os::kStderr, std::string(line) + "\n", "standard error");
}

ParaDots::ParaDots(const ParaOptions& options)
    : ParaDots(options.verbose > 0 &&
               os::LookAtTerminal(os::kStderr, os::Environment()).is_terminal) {}

ParaDots::~ParaDots() {
  if (steps_ >= kStepsOfADot) ParaWarn("");
}

void ParaDots::Step() {
  if (!shown_ || ++steps_ % kStepsOfADot != 0) return;
  (void)os::WriteAll(os::kStderr, ".", "standard error");
}

Status ParaPrint(std::string_view text) {
  auto written = os::WriteAll(os::kStdout, text, "standard output");
  if (!written && errno == EPIPE) os::DieOfSignal(os::kSignalPipe);
  return written;
}

}  // namespace spate::parasol
