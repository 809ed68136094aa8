#include "run/semaphore.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

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

namespace spate::run {
namespace {

constexpr Duration kPlaceLook = Duration::Millis(25);
constexpr std::string_view kGate = "gate";  // held by the one whose turn is next

// Looks again and again until `there` says yes; false when the time is over.
Result<bool> Await(const std::optional<Duration>& timeout,
                   const std::function<Result<bool>()>& there) {
  auto loop = TRY(os::RealLoop::Create());
  os::RealLoop& clock = *loop;
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
  auto held = TRY(os::FileLock::IsHeld(path));
  if (held) return std::optional<os::FileLock>();
  auto lock = os::FileLock::TryLock(path, fmt::format("spate sem, process {}", os::OwnPid()));
  if (lock) return std::optional<os::FileLock>(std::move(*lock));
  if (lock.error().kind == ErrorKind::kBusy) return std::optional<os::FileLock>();
  return std::unexpected(lock.error());
}

Result<int> RunCommand(const SemOptions& options, const std::string& folder) {
  std::optional<os::FileLock> gate;
  std::optional<os::FileLock> place;
  auto found = TRY(Await(options.timeout, [&]() -> Result<bool> {
    if (!gate) {
      auto turn = TRY(LockNow(os::JoinPath(folder, kGate)));
      gate = std::move(turn);
      if (!gate) return false;
    }
    for (uint32_t i = 1; i <= options.slots && !place; ++i) {
      auto lock = TRY(LockNow(os::JoinPath(folder, std::to_string(i))));
      place = std::move(lock);
    }
    return place.has_value();
  }));
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
  auto over = TRY(Await(options.timeout, [&]() -> Result<bool> {
    auto files = TRY(os::ListDir(folder));
    for (const os::DirEntry& file : files) {
      auto held = TRY(os::FileLock::IsHeld(os::JoinPath(folder, file.name)));
      if (held) return false;
    }
    return true;
  }));
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
