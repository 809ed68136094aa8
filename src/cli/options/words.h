// Words: a command line taken apart by what its command takes, before any value is understood.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/command.h"

namespace spate::cli {

struct TypedOption {
  const Option* opt;
  std::string value;  // of a switch: "true" or "false"
  friend bool operator==(const TypedOption&, const TypedOption&) = default;
};

struct Words {
  const Command* command = nullptr;
  std::vector<TypedOption> options;  // in the order typed; short forms are replaced already
  std::vector<std::string> words;    // before `--`
  std::vector<std::string> rest;     // after `--`, untouched
  bool has_rest = false;             // there was a `--`
  std::vector<std::string> notes;    // for the user, of options: "--eta: ...; ignored"

  // True if a switch is on, or an option was given. The last one counts; --quiet=false takes back
  // an earlier -q, which is short for --output quiet.
  bool Has(const Option& opt) const;
  std::optional<std::string_view> Last(const Option& opt) const;
  std::vector<std::string> All(const Option& opt) const;
};

// `argv`: what stands after the command's name. With --help or --help-all anywhere before `--`
// nothing else is judged. Errors (kInvalid) name the wrong word and what to write instead; which
// command takes an option that this one does not is looked up in `all`. The words refer to
// `command`, which outlives them.
Result<Words> ParseWords(const Command& command, std::span<const std::string> argv,
                         CommandList all = {});

// Refuses two different places for one kind of output, and an order for JSON: one of the options
// would be dropped without a word. For what was typed on one command line; that may override
// profiles and $SPATE_OPTIONS.
Status CheckGivenOnce(const Words& typed);

// The place of the first word that is neither an option nor an option's value, from `at` on.
size_t FirstPlainWord(const Command& command, std::span<const std::string> argv, size_t at = 0);

// The option that "--jobs", "--jobs=3", "-j" or "-kj" (its last letter) names; null: none.
const Option* FindOption(const Command& command, std::string_view word);

// Words that people type for a command, or behind a noun, when they think of another program.
struct CommandWord {
  std::string_view words;  // "ls job:ls", separated by blanks
  std::string_view meant;  // "job list": is understood; "spate job list": a hint
};
std::span<const CommandWord> CommandWords();

// The command that the first words name, and how many words that took; an error names the nearest
// command. `argv` is not empty. The noun alone ("job") is an error that lists its verbs.
struct FoundCommand {
  const Command* command;  // what is carried out, whatever name was typed
  size_t words = 1;
};
Result<FoundCommand> FindCommand(std::span<const std::string> argv, CommandList commands);

}  // namespace spate::cli
