// `spate sem`: runs a command when fewer than -j others of the same name run. The places are locks
// on files of the state folder, held by the commands themselves, so whatever is killed, a place is
// free when its command is gone.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "cli/options/values.h"
#include "cli/report.h"
#include "client/surroundings.h"
#include "format/shell_words.h"
#include "os/file.h"
#include "os/find_program.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/spawn_child.h"
#include "plan/shared_needs.h"
#include "present/text/end_text.h"

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

struct SemOptions {
  uint32_t slots = 1;
  std::string name = "default";
  bool foreground = false;
  bool wait = false;
  std::optional<Duration> timeout;
  std::vector<std::string> argv;
};

constexpr Duration kPlaceLook = Duration::Millis(25);
constexpr Duration kTellAfter = Duration::Seconds(2);
constexpr size_t kShownCommand = 60;
constexpr std::string_view kOwner = "spate sem: ";  // then the command
constexpr std::string_view kGate = "gate";          // held by the one whose turn is next

// Polls `there` until it is true; false when the time is over. A long wait prints `why` once.
Result<bool> Await(const SemOptions& options, const std::function<Result<bool>()>& there,
                   const std::function<std::string()>& why) {
  auto loop = TRY(os::RealLoop::Create());
  os::RealLoop& clock = *loop;
  Instant begun = clock.Now();
  Result<bool> found = false;
  bool told = false;
  std::function<void()> look = [&] {
    found = there();
    const Duration waited = clock.Now() - begun;
    bool late = options.timeout && waited >= *options.timeout;
    if (!found || *found || late) return clock.Stop();
    if (waited >= kTellAfter && !std::exchange(told, true)) {
      fmt::print(stderr, "spate: semaphore '{}': {}; waiting\n", EscapeForScreen(options.name),
                 why());
    }
    clock.At(clock.Now() + kPlaceLook, look);
  };
  clock.Post(look);
  clock.Run();
  return found;
}

// A lock that nobody else has now; nothing when somebody has.
Result<std::optional<os::FileLock>> LockNow(const std::string& path, const SemOptions& options) {
  auto held = TRY(os::FileLock::IsHeld(path));
  if (held) return std::optional<os::FileLock>();
  std::string command;
  for (const std::string& word : options.argv) {
    if (command.size() > kShownCommand) break;
    command += (command.empty() ? "" : " ") + ShellQuote(word);
  }
  auto lock = os::FileLock::TryLock(path, fmt::format("{}{}", kOwner, command));
  if (lock) return std::optional<os::FileLock>(std::move(*lock));
  if (lock.error().kind == ErrorKind::kBusy) return std::optional<os::FileLock>();
  return std::unexpected(lock.error());
}

std::string PlaceFile(const std::string& folder, uint32_t number) {
  return os::JoinPath(folder, std::to_string(number));
}

// True if this process was started by a command that holds a place, and so has its lock, too.
bool IsInPlace(const std::string& path) {
  auto files = os::ListDir("/proc/self/fd");
  return files && std::ranges::any_of(*files, [&](const os::DirEntry& file) {
           auto target = os::ReadLink("/proc/self/fd/" + file.name);
           return target && *target == path;
         });
}

// Commands that have the places: "sort big, sleep 100".
std::string HoldersText(const SemOptions& options, const std::string& folder) {
  constexpr uint32_t kNamed = 3;
  std::vector<std::string> holders;
  for (uint32_t i = 1; i <= std::min(options.slots, kNamed); ++i) {
    std::string owner = os::FileLock::LastOwner(PlaceFile(folder, i));
    if (!owner.starts_with(kOwner)) continue;
    owner = EscapeForScreen(owner.substr(kOwner.size()));
    holders.push_back(present::Columns(owner) > kShownCommand ? present::CutTo(owner, kShownCommand)
                                                              : owner);
  }
  if (options.slots > kNamed) holders.emplace_back("...");
  return fmt::format("{}", fmt::join(holders, ", "));
}

// A command in the only place, or in the last of them, would wait for ever.
Status CheckOwnPlaces(const SemOptions& options, const std::string& folder) {
  for (uint32_t i = 1; i <= options.slots; ++i) {
    if (!IsInPlace(PlaceFile(folder, i))) return {};
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("semaphore '{}': this command runs in its last place itself, and would "
                          "wait for its own end; nothing was started. Use another --id, or -j",
                          EscapeForScreen(options.name)));
}

Result<int> RunCommand(const SemOptions& options, const std::string& folder) {
  TRY(CheckOwnPlaces(options, folder));
  std::optional<os::FileLock> gate;
  std::optional<os::FileLock> place;
  auto why = [&] {
    return fmt::format(
        "its {} taken ({})",
        options.slots == 1 ? std::string("place is") : fmt::format("{} places are", options.slots),
        HoldersText(options, folder));
  };
  auto there = [&]() -> Result<bool> {
    if (!gate) {
      auto turn = TRY(LockNow(os::JoinPath(folder, kGate), options));
      gate = std::move(turn);
      if (!gate) return false;
    }
    for (uint32_t i = 1; i <= options.slots && !place; ++i) {
      auto lock = TRY(LockNow(PlaceFile(folder, i), options));
      place = std::move(lock);
    }
    return place.has_value();
  };
  auto found = TRY(Await(options, there, why));
  if (!found) {
    fmt::print(stderr, "spate: semaphore '{}': no place was free in time; nothing was started\n",
               EscapeForScreen(options.name));
    return kExitTasksFailed;
  }
  gate.reset();
  // The program and what it starts hold the place.
  os::Spawn spawn{.argv = options.argv, .kept = place->fd(), .our_signals = true};
  if (options.foreground) return os::ExitStatusOf(os::WaitForExit(TRY(os::SpawnChild(spawn))));
  auto null = TRY(os::OpenRead("/dev/null"));
  spawn.in = null.get();
  (void)TRY(os::SpawnChild(spawn));
  return 0;
}

Result<int> WaitForAll(const SemOptions& options, const std::string& folder) {
  auto none_runs = [&]() -> Result<bool> {
    auto files = TRY(os::ListDir(folder));
    for (const os::DirEntry& file : files) {
      auto held = TRY(os::FileLock::IsHeld(os::JoinPath(folder, file.name)));
      if (held) return false;
    }
    return true;
  };
  auto over = TRY(Await(options, none_runs, [] { return std::string("its commands still run"); }));
  if (over) return kExitSuccess;
  fmt::print(stderr, "spate: semaphore '{}': commands still run\n", EscapeForScreen(options.name));
  return kExitTasksFailed;
}

// `state_dir` has the semaphores. The exit code.
Result<int> Semaphore(const SemOptions& options, const std::string& state_dir) {
  std::string folder = os::JoinPath(state_dir, "sem/" + options.name);
  TRY(os::MakeDirs(folder, 0700));
  return options.wait ? WaitForAll(options, folder) : RunCommand(options, folder);
}

Result<std::string> ParseSemaphore(std::string_view value) {
  bool plain = !value.empty() && value.find('/') == std::string_view::npos && value.front() != '.';
  if (plain) return std::string(value);
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a valid name; a name has no / and does not begin with a dot",
                          EscapeForScreen(value)));
}

Result<SemOptions> SemOptionsOf(const Words& words, uint32_t cores) {
  SemOptions options;
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
  options.argv = words.rest;
  if (words.rest.size() == 1) {
    const std::string bash = os::FindBash();
    const std::string& text = words.rest.front();
    options.argv = format::CommandArgv(text, {}, bash.empty() ? format::kSh : bash);
    if (bash.empty() && format::NeedsShell(text)) PrintMessage(run::kNoBash);
  }
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
  return Semaphore(options, client::StateDirOf(state, here));
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
