#include "cli/report.h"

#include <cstdio>
#include <string>

namespace spate::cli {

int ReportError(const Error& error) {
  std::string text = "spate: " + error.message + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
  return ExitCodeOf(error.kind);
}

}  // namespace spate::cli
