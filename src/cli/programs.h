// Programs that a door brings: `spate` is one of them when it is started under that name (a link),
// or as `spate NAME`. They keep the command lines, messages and exit codes that scripts know. Help,
// manual and completion read their usage.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::cli {

// Takes what stands after the name; returns the exit code. An error is told on standard error.
using ProgramRun = Result<int> (*)(std::span<const std::string> args);

struct Program {
  std::string_view name;
  std::string_view summary;  // one line for its man page
  std::string_view usage;    // told on standard error when there are too few words
  ProgramRun run = nullptr;  // null: it needs more than its command line, see ProgramEntry
  // Its commands for completion, as "list jobs"; those with one first word together. Null: none.
  std::vector<std::string> (*commands)() = nullptr;
};
// Those of one door.
struct Programs {
  std::string_view title;  // "Programs of Parasol"
  std::string_view help;   // the command that shows the usage of one
  int error_code = 255;    // of any error, and of too few words
  std::span<const Program> all;
};
using DoorPrograms = std::span<const Programs>;

// Null for another name.
const Program* FindProgram(DoorPrograms doors, std::string_view name);

// True if the usage names this command: at the start of a line, or after a comma.
bool UsageNames(const Program& program, std::string_view command);
// "-batch=", "-all", ...: the options that the usage explains.
std::vector<std::string> UsageOptions(const Program& program);

// For completion, a line each: of names such as "job list" the next words behind `before` ("job ").
std::string NextWords(const std::vector<std::string>& names, std::string_view before);
// The same: what may be the last of `typed`, which stands behind the program's name; ":files".
std::string WordsAfter(const Program& program, std::span<const std::string> typed);

// The exit code when this is one of them, else nullopt. `run_of` knows the programs that have no
// `run` of their own.
std::optional<int> ProgramEntry(int argc, char** argv, DoorPrograms doors,
                                ProgramRun (*run_of)(std::string_view name));

}  // namespace spate::cli
