#include "store/sqlite/hub_dir.h"

#include <fmt/format.h>

#include "base/units.h"

namespace spate::store {
namespace {

Result<os::FileLock> Lock(const std::string& path) {
  std::string lock_path = path + "/lock";
  auto lock = os::FileLock::TryLock(lock_path, JobOwner::ThisProcess().ToLine());
  if (lock || lock.error().kind != ErrorKind::kBusy) return lock;
  JobOwner owner = JobOwner::FromLine(os::FileLock::LastOwner(lock_path));
  std::string who = owner.pid == 0
                        ? "another process"
                        : fmt::format("process {} on {}", owner.pid, EscapeForScreen(owner.host));
  return Fail(ErrorKind::kBusy,
              fmt::format("a hub runs in '{}' already ({}): use it, or end it first, or start this "
                          "one elsewhere with --state (or SPATE_STATE)",
                          EscapeForScreen(path), who));
}

}  // namespace

Result<HubDir> HubDir::Open(const std::string& hub_dir, const StateOptions& options) {
  TRY(CheckFileSystem(hub_dir, options));
  // Commands may hold secrets, and credentials are some.
  if (auto made = os::MakeDirs(hub_dir + "/output", 0700); !made) {
    return std::unexpected(WithStateHint(std::move(made.error())));
  }
  TRY(CheckOwnerAndSpace(hub_dir));
  auto lock = Lock(hub_dir);
  if (!lock) return std::unexpected(WithStateHint(std::move(lock.error())));
  HubDir dir(hub_dir, std::move(*lock));
  TRY(EmptySpool(dir.SpoolPath()));
  return dir;
}

}  // namespace spate::store
