#include "cli/report.h"

#include <cstdio>
#include <string>

#include "present/advice.h"

namespace spate::cli {

int ReportError(const Error& error) {
  std::string text = "spate: " + present::TextOf(error) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
  return ExitCodeOf(error.kind);
}

}  // namespace spate::cli
