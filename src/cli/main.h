// The front of `spate`: takes the command line apart and calls the command.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/words.h"
#include "cli/programs.h"
#include "cli/world.h"

namespace spate::cli {

struct Wiring;

struct Invocation {
  Words words;
  // Words after the command's name, behind the words of its profiles: a job keeps them for
  // --resume and retry.
  std::vector<std::string> argv;
  // From $SPATE_OPTIONS: they hold where argv and an earlier run say nothing. In `words`, too.
  std::vector<std::string> preset = {};
  const Wiring* wiring = nullptr;
  // Writes the data of an answer; empty: to standard output.
  std::function<Status(std::string_view)> out = {};
};

// The parts of a program.
struct Wiring {
  CommandList commands;
  std::vector<Programs> programs;  // of the doors
  World* world = nullptr;
};

// The whole of main(): help, errors of usage, and the command's body. Returns the exit code.
int Main(int argc, char** argv, const Wiring& wiring);

// `spate help [COMMAND]` and `spate version`
int TellHelp(const std::vector<std::string>& words, const Wiring& wiring);
int TellVersion();
// The script by which a shell ("bash", "zsh", "fish") completes words.
int TellCompletion(const std::string& shell, const Wiring& wiring);

}  // namespace spate::cli
