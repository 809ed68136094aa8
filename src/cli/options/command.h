// Commands: each is defined by one file of src/command/, and found in a list of all. The parser,
// --help, the man pages and the shells' completions are made from the definitions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/option.h"

namespace spate::cli {

struct Invocation;

// How `spate --help` puts the commands together.
enum class CommandGroup : uint8_t { kMachine, kHub, kNodes, kPools, kRunning, kHistory, kGeneral };
std::string_view TitleOf(CommandGroup group);
inline constexpr int kCommandGroupCount = 7;

// Words that shells offer for a command: numbers of jobs, of those that have not ended,
// "12." for a task of job 12, ...
enum class Completes : uint8_t {
  kNothing,
  kFiles,
  kJobs,
  kUnfinishedJobs,
  kTasks,
  kNodes,
  kPools,
  kSystems,
  kCommands
};

struct Example {
  std::string_view command;  // as one types it in a shell
  std::string_view text;     // what it does
};

// Tasks that the words of a command describe: of a new job, or of a job that run again.
enum class Makes : uint8_t { kNoJob, kRun, kRetry, kSubmission, kAddition };

struct Command {
  // Lists of commands, as those of help and manual, are in this order; alike: by name.
  int order = 0;
  CommandGroup group = CommandGroup::kGeneral;
  std::string_view name;       // "run", "job list"
  std::string_view arguments;  // of the usage line, after [OPTIONS]
  Completes completes = Completes::kNothing;
  std::string_view summary;           // one line, without a full stop
  std::string_view details;           // paragraphs for --help-all and the man page
  std::array<Example, 4> examples{};  // two to four; those without a command are none
  std::string_view footer;            // the last line of --help; empty: none
  Makes makes = Makes::kNoJob;
  uint32_t words_min = 0;  // words that are no options, before `--`
  uint32_t words_max = UINT32_MAX;
  bool takes_command = false;  // whether `-- COMMAND...` may follow
  // Without --help and --help-all, which all take; up to the first that is none.
  std::array<OptionRef, 24> options{};
  // Advice for an option ("-S", "--sshlogin") that the command does not take and that
  // people know from other programs; nullopt: nothing is known.
  std::optional<std::string> (*hint)(std::string_view typed) = nullptr;
  // True if such an option is ignored, with its advice as a note.
  bool (*ignores)(std::string_view typed) = nullptr;
  // Carries it out; returns an exit code (cli/exit_code.h), and reports its own errors. Null: this
  // is another name of `same_as`.
  int (*run)(const Invocation& invocation) = nullptr;
  const Command* same_as = nullptr;
};

// All commands of a program, by `order`.
using CommandList = std::span<const Command* const>;

// All that it takes, groups taken apart, --help and --help-all at the end.
std::vector<const Option*> OptionsOf(const Command& command);
bool Takes(const Command& command, const Option& option);
std::span<const Example> ExamplesOf(const Command& command);
// The command that is carried out: itself, or what it is another name of.
const Command& MeantBy(const Command& command);
inline bool IsOtherName(const Command& command) { return command.same_as != nullptr; }
// Null: there is none of this name.
const Command* FindNamed(CommandList commands, std::string_view name);

}  // namespace spate::cli
