// Programs of Parasol: `spate` is one of them when it is started under that name (a link), or as
// `spate NAME`. They keep the command lines, messages and exit codes that scripts know.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::parasol {

// Any error, and too few words.
inline constexpr int kParasolExitError = 255;

// Takes what stands after the name; returns the exit code. An error is told on standard error.
using ParasolRun = Result<int> (*)(std::span<const std::string> args);

struct ParasolProgram {
  std::string_view name;
  std::string_view summary;  // one line for its man page
  std::string_view usage;    // told on standard error when there are too few words
  ParasolRun run = nullptr;  // null: it needs more than cli/ has, see ParasolEntry
};
std::span<const ParasolProgram> ParasolPrograms();
// Null for another name.
const ParasolProgram* FindParasolProgram(std::string_view name);

// Whether the usage names this command: at the start of a line, or behind a comma.
bool UsageNames(const ParasolProgram& program, std::string_view command);
// "-batch=", "-all", ...: the options that the usage explains.
std::vector<std::string> UsageOptions(const ParasolProgram& program);

// The exit code when this is one of them, else nullopt. `run_of` knows the programs that have no
// `run` of their own.
std::optional<int> ParasolEntry(int argc, char** argv, ParasolRun (*run_of)(std::string_view name));

}  // namespace spate::parasol
