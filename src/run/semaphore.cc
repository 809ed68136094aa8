#include "run/semaphore.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "cli/options/values.h"
#include "cli/report.h"
#include "cli/run/shell_check.h"
#include "format/shell_words.h"
#include "os/file.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/run_with.h"
#include "present/text/end_text.h"

namespace spate::run {
namespace {

constexpr Duration kPlaceLook = Duration::Millis(25);
constexpr Duration kTellAfter = Duration::Seconds(2);
constexpr size_t kShownCommand = 60;
constexpr std::string_view kOwner = "spate sem: ";  // then the command
constexpr std::string_view kGate = "gate";          // held by the one whose turn is next

// Looks again and again until `there` says yes; false when the time is over. `why` tells what is
// waited for, once, when that takes long.
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

std::string PlaceOf(const std::string& folder, uint32_t number) {
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

// Holders of the places: "sort big, sleep 100".
std::string HoldersText(const SemOptions& options, const std::string& folder) {
  constexpr uint32_t kNamed = 3;
  std::vector<std::string> holders;
  for (uint32_t i = 1; i <= std::min(options.slots, kNamed); ++i) {
    std::string owner = os::FileLock::LastOwner(PlaceOf(folder, i));
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
    if (!IsInPlace(PlaceOf(folder, i))) return {};
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
      auto lock = TRY(LockNow(PlaceOf(folder, i), options));
      place = std::move(lock);
    }
    return place.has_value();
  };
  auto found = TRY(Await(options, there, why));
  if (!found) {
    fmt::print(stderr, "spate: semaphore '{}': no place was free in time; nothing was started\n",
               EscapeForScreen(options.name));
    return cli::kExitTasksFailed;
  }
  gate.reset();
  auto where = options.foreground ? os::RunWhere::kForeground : os::RunWhere::kBackground;
  return os::RunWith(options.argv, place->fd(), where);
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
  if (over) return cli::kExitSuccess;
  fmt::print(stderr, "spate: semaphore '{}': commands still run\n", EscapeForScreen(options.name));
  return cli::kExitTasksFailed;
}

}  // namespace

Result<int> Semaphore(const SemOptions& options, const std::string& state_dir) {
  std::string folder = os::JoinPath(state_dir, "sem/" + options.name);
  TRY(os::MakeDirs(folder, 0700));
  return options.wait ? WaitForAll(options, folder) : RunCommand(options, folder);
}

}  // namespace spate::run
