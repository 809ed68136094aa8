#include "cli/report.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "os/terminal.h"
#include "present/advice.h"
#include "present/table/text_width.h"

namespace spate::cli {

void PrintMessage(std::string_view text) {
  std::string line = fmt::format("spate: {}\n", text);
  const os::Environment environment = os::Environment::OfProcess();
  if (os::LookAtTerminal(os::kStderr, environment).is_terminal) {
    line = present::WrapMessage(line, os::TerminalWidth(os::kStderr, environment));
  }
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int ReportError(const Error& error) {
  PrintMessage(present::TextOf(error));
  return ExitCodeOf(error.kind);
}

}  // namespace spate::cli
