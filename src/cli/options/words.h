// Words: a command line taken apart by the table, before any value is understood.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/table.h"

namespace spate::cli {

struct TypedOption {
  Opt opt;
  std::string value;  // of a switch: "true" or "false"
  friend bool operator==(const TypedOption&, const TypedOption&) = default;
};

struct Words {
  Command command = Command::kRun;
  std::vector<TypedOption> options;  // in the order typed; short forms are replaced already
  std::vector<std::string> words;    // before `--`
  std::vector<std::string> rest;     // after `--`, untouched
  bool has_rest = false;             // there was a `--`

  // Whether a switch is on, or an option was given. The last one counts; --quiet=false takes back
  // an earlier -q, which is short for --output quiet.
  bool Has(Opt opt) const;
  std::optional<std::string_view> Last(Opt opt) const;
  std::vector<std::string> All(Opt opt) const;
};

// `argv`: what stands after the command's name. With --help or --help-all anywhere before `--`
// nothing else is judged. Errors (kInvalid) name the wrong word and what to write instead.
Result<Words> ParseWords(Command command, std::span<const std::string> argv);

// The command that the first words name, and how many words that took; an error names the nearest
// command. `argv` is not empty. The noun alone ("job") is an error that lists its verbs.
struct FoundCommand {
  Command command;
  size_t words = 1;
};
Result<FoundCommand> FindCommand(std::span<const std::string> argv);

}  // namespace spate::cli
