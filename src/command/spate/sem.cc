// `spate sem`
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/units.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "cli/report.h"
#include "cli/run/shell_check.h"
#include "client/surroundings.h"
#include "format/shell_words.h"
#include "run/semaphore.h"

namespace spate::cli::command {
namespace {

constexpr Option kSlots = {.names = "jobs",
                           .letters = "j",
                           .argument = "N",
                           .heading = Heading::kSlots,
                           .help = "limit of commands at once (default: 1)"};

constexpr Option kSemaphore = {.names = "id,semaphore-name",
                               .argument = "NAME",
                               .heading = Heading::kSlots,
                               .help = "name of the semaphore (default: default)"};

constexpr Option kForeground = {.names = "fg",
                                .heading = Heading::kSlots,
                                .help = "wait for the command, and exit with its code"};

constexpr Option kWaitForAll = {
    .names = "wait", .heading = Heading::kSlots, .help = "wait until all commands have ended"};

constexpr Option kTimeout = {.names = "timeout,semaphore-timeout,st",
                             .argument = "T",
                             .heading = Heading::kSlots,
                             .help = "give up after T, with exit code 1"};

Result<std::string> ParseSemaphore(std::string_view value) {
  bool plain = !value.empty() && value.find('/') == std::string_view::npos && value.front() != '.';
  if (plain) return std::string(value);
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a valid name; a name has no / and does not begin with a dot",
                          EscapeForScreen(value)));
}

Result<run::SemOptions> SemOptionsOf(const Words& words, uint32_t cores) {
  run::SemOptions options;
  OptionReader in(words);
  SlotRule rule{.form = SlotRule::Form::kCount, .value = 1};
  in.Read(kSlots, rule, ParseSlotRule);
  in.Read(kSemaphore, options.name, ParseSemaphore);
  options.foreground = in.Has(kForeground);
  options.wait = in.Has(kWaitForAll);
  Duration timeout;
  if (in.Read(kTimeout, timeout, ParseDuration)) options.timeout = timeout;
  TRY(in.status());
  options.slots = SlotCount(rule, cores);
  bool one = words.rest.size() == 1;
  ShellCheck shell(JobSettings(), /*inherits=*/true, "write bash -c '...'");
  TRY(shell.Check(words.rest));
  options.argv = one ? format::CommandArgv(words.rest.front()) : words.rest;
  if (options.argv.empty() != options.wait) {
    return Fail(ErrorKind::kInvalid,
                options.wait
                    ? "--wait waits for running commands; leave out the command"
                    : "the command is missing; write spate sem -j 4 -- COMMAND, or --wait");
  }
  return options;
}

Result<int> RunWithSemaphore(const Words& words) {
  auto here = TRY(client::Surroundings::Find());
  auto options = TRY(SemOptionsOf(words, here.machine.facts().cores));
  std::string state(words.Last(opt::kState).value_or(""));
  TRY(client::CheckHome(state, here));
  return run::Semaphore(options, client::StateDirOf(state, here));
}

}  // namespace

extern const Command kSpateSem = {
    .order = 550,
    .group = CommandGroup::kMachine,
    .name = "sem",
    .arguments = "-- COMMAND... | --wait",
    .summary = "run a command when a semaphore has room for it",
    .details =
        "Waits until fewer than -j commands of that name run, then starts the command in the "
        "background and returns; with --fg, it waits for the command. `spate sem --wait` waits for "
        "all of them. A place becomes free when the command and all processes that it started have "
        "ended or closed their files, however they ended. One word with blanks is shell text.",
    .examples = {{{"spate sem -j 4 -- gzip a.txt", "at most 4 at once, in the background"},
                  {"spate sem --id disk --fg -- cp a b", "another semaphore; wait for the end"},
                  {"spate sem --wait", "wait until all have ended"}}},
    .words_max = 0,
    .takes_command = true,
    .options = {{opt::kState, kSlots, kSemaphore, kForeground, kWaitForAll, kTimeout}},
    .run =
        [](const Invocation& invocation) {
          auto code = RunWithSemaphore(invocation.words);
          return code ? *code : ReportError(code.error());
        },
};

}  // namespace spate::cli::command
