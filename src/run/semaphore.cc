#include "run/semaphore.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/option_reader.h"
#include "cli/options/values.h"
#include "cli/report.h"
#include "cli/run/shell_check.h"
#include "format/shell_words.h"
#include "os/file.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/run_with.h"
#include "run/local_job.h"

namespace spate::run {
namespace {

constexpr Duration kPlaceLook = Duration::Millis(25);
constexpr std::string_view kGate = "gate";  // held by the one whose turn is next

struct SemOptions {
  uint32_t slots = 1;
  std::string name = "default";
  bool foreground = false;
  bool wait = false;
  std::optional<Duration> timeout;
  std::vector<std::string> argv;
};

Result<std::string> ParseName(std::string_view value) {
  bool plain = !value.empty() && value.find('/') == std::string_view::npos && value.front() != '.';
  if (plain) return std::string(value);
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is no name: it has no / and does not begin with a dot",
                          EscapeForScreen(value)));
}

Result<SemOptions> OptionsOf(const cli::Words& words, uint32_t cores) {
  using cli::Opt;
  SemOptions options;
  cli::OptionReader in(words);
  cli::SlotRule rule{.form = cli::SlotRule::Form::kCount, .value = 1};
  in.Read(Opt::kSemSlots, rule, cli::ParseSlotRule);
  in.Read(Opt::kSemName, options.name, ParseName);
  options.foreground = in.Has(Opt::kSemForeground);
  options.wait = in.Has(Opt::kSemWait);
  Duration timeout;
  if (in.Read(Opt::kSemTimeout, timeout, ParseDuration)) options.timeout = timeout;
  if (auto ok = in.status(); !ok) return std::unexpected(ok.error());
  options.slots = cli::SlotCount(rule, cores);
  bool one = words.rest.size() == 1;
  cli::ShellCheck shell(JobSettings(), /*inherits=*/true, "write bash -c '...'");
  if (auto sound = shell.Check(words.rest); !sound) return std::unexpected(sound.error());
  options.argv = one ? format::CommandArgv(words.rest.front()) : words.rest;
  if (options.argv.empty() != options.wait) {
    return Fail(ErrorKind::kInvalid,
                options.wait ? "--wait waits for the commands that run; it takes no command"
                             : "there is no command: write spate sem -j 4 -- COMMAND, or --wait");
  }
  return options;
}

// Looks again and again until `there` says yes; false when the time is over.
Result<bool> Await(const std::optional<Duration>& timeout,
                   const std::function<Result<bool>()>& there) {
  auto loop = os::RealLoop::Create();
  if (!loop) return std::unexpected(loop.error());
  os::RealLoop& clock = **loop;
  Instant begun = clock.Now();
  Result<bool> found = false;
  std::function<void()> look = [&] {
    found = there();
    bool late = timeout && clock.Now() - begun >= *timeout;
    if (!found || *found || late) return clock.Stop();
    clock.At(clock.Now() + kPlaceLook, look);
  };
  clock.Post(look);
  clock.Run();
  return found;
}

// A lock that nobody else has now; nothing when somebody has.
Result<std::optional<os::FileLock>> LockNow(const std::string& path) {
  auto held = os::FileLock::IsHeld(path);
  if (!held) return std::unexpected(held.error());
  if (*held) return std::optional<os::FileLock>();
  auto lock = os::FileLock::TryLock(path, fmt::format("spate sem, process {}", os::OwnPid()));
  if (lock) return std::optional<os::FileLock>(std::move(*lock));
  if (lock.error().kind == ErrorKind::kBusy) return std::optional<os::FileLock>();
  return std::unexpected(lock.error());
}

Result<int> RunCommand(const SemOptions& options, const std::string& folder) {
  std::optional<os::FileLock> gate;
  std::optional<os::FileLock> place;
  auto found = Await(options.timeout, [&]() -> Result<bool> {
    if (!gate) {
      auto turn = LockNow(os::JoinPath(folder, kGate));
      if (!turn) return std::unexpected(turn.error());
      gate = std::move(*turn);
      if (!gate) return false;
    }
    for (uint32_t i = 1; i <= options.slots && !place; ++i) {
      auto lock = LockNow(os::JoinPath(folder, std::to_string(i)));
      if (!lock) return std::unexpected(lock.error());
      place = std::move(*lock);
    }
    return place.has_value();
  });
  if (!found) return std::unexpected(found.error());
  if (!*found) {
    fmt::print(stderr, "spate: semaphore '{}': no place was free in time; nothing was started\n",
               EscapeForScreen(options.name));
    return cli::kExitTasksFailed;
  }
  gate.reset();
  auto where = options.foreground ? os::RunWhere::kForeground : os::RunWhere::kBackground;
  return os::RunWith(options.argv, place->fd(), where);
}

Result<int> WaitForAll(const SemOptions& options, const std::string& folder) {
  auto over = Await(options.timeout, [&]() -> Result<bool> {
    auto files = os::ListDir(folder);
    if (!files) return std::unexpected(files.error());
    for (const os::DirEntry& file : *files) {
      auto held = os::FileLock::IsHeld(os::JoinPath(folder, file.name));
      if (!held) return std::unexpected(held.error());
      if (*held) return false;
    }
    return true;
  });
  if (!over) return std::unexpected(over.error());
  if (*over) return cli::kExitSuccess;
  fmt::print(stderr, "spate: semaphore '{}': commands still run\n", EscapeForScreen(options.name));
  return cli::kExitTasksFailed;
}

Result<int> Run(const cli::Invocation& invocation) {
  auto here = Surroundings::Find();
  if (!here) return std::unexpected(here.error());
  auto options = OptionsOf(invocation.words, here->machine.facts().cores);
  if (!options) return std::unexpected(options.error());
  std::string state(invocation.words.Last(cli::Opt::kState).value_or(""));
  std::string folder = os::JoinPath(StateDirOf(state, *here), "sem/" + options->name);
  if (auto made = os::MakeDirs(folder, 0700); !made) return std::unexpected(made.error());
  return options->wait ? WaitForAll(*options, folder) : RunCommand(*options, folder);
}

}  // namespace

int Semaphore(const cli::Invocation& invocation) {
  auto code = Run(invocation);
  return code ? *code : cli::ReportError(code.error());
}

}  // namespace spate::run
