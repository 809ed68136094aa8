#include "cli/conclude.h"

#include "cli/options/run_options.h"
#include "cli/report.h"
#include "os/fd.h"
#include "os/terminal.h"
#include "present/advice.h"
#include "present/json/error_line.h"

namespace spate::cli {

std::function<Status(std::string_view)> OutOf(const Invocation& invocation) {
  if (invocation.out) return invocation.out;
  return [](std::string_view bytes) { return os::WriteAll(os::kStdout, bytes, "standard output"); };
}

int Conclude(const Invocation& invocation, const Result<int>& code, bool hung) {
  if (code) return *code;
  int exit_code = ReportError(code.error());
  if (hung) exit_code = kExitHung;
  auto form = OutputFormOf(invocation.words);
  if (form && *form == OutputForm::kJson) {
    (void)OutOf(invocation)(
        present::ErrorLine(code.error(), present::TextOf(code.error()), exit_code));
  }
  return exit_code;
}

}  // namespace spate::cli
