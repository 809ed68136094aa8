// Programs of Parasol: `spate` is one of them when it is started under that name (a link), or as
// `spate NAME`. They keep the command lines, messages and exit codes that scripts know.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spate::cli {

// Any error, and too few words.
inline constexpr int kParasolExitError = 255;

struct ParasolProgram {
  std::string_view name;
  std::string_view summary;  // one line for its man page
  std::string_view usage;    // told on standard error when there are too few words
  // Takes what stands after the name; returns the exit code. An error is told on standard error.
  Result<int> (*run)(std::span<const std::string> args);
};
std::span<const ParasolProgram> ParasolPrograms();
// Null for another name.
const ParasolProgram* FindParasolProgram(std::string_view name);

// The exit code when this is one of them, else nullopt.
std::optional<int> ParasolEntry(int argc, char** argv);

}  // namespace spate::cli
