#include "store/sqlite/folder_lock.h"

#include <fmt/format.h>

#include <utility>

#include "base/units.h"

namespace spate::store {
namespace {

std::string LockIn(const std::string& folder) { return folder + "/lock"; }

// The answer of a file system that knows no locks (ENOLCK, ENOSYS, EOPNOTSUPP) needs an
// explanation.
Error WithoutLocks(const std::string& folder, const std::string& file_system, const Error& error) {
  return {ErrorKind::kUnavailable,
          fmt::format("file locks do not work in '{}' ({}: {}): ask for a mount with them (Lustre: "
                      "-o flock), or name a folder on a disk of this machine, such as --state "
                      "/var/tmp/$USER-spate (or set SPATE_STATE)",
                      EscapeForScreen(folder), file_system, error.message)};
}

bool SaysNothingOfLocks(ErrorKind kind) {
  return kind == ErrorKind::kBusy || kind == ErrorKind::kPermission ||
         kind == ErrorKind::kExhausted || kind == ErrorKind::kNotFound;
}

}  // namespace

Result<FolderLock> FolderLock::Acquire(const std::string& folder, const std::string& file_system,
                                       const StateOptions& options) {
  auto taken = os::FileLock::TryLock(LockIn(folder), JobOwner::ThisProcess().ToLine());
  if (!taken) {
    Error& error = taken.error();
    if (file_system.empty() || SaysNothingOfLocks(error.kind)) return std::unexpected(error);
    return std::unexpected(WithoutLocks(folder, file_system, error));
  }
  FolderLock lock(std::move(*taken));
  if (!file_system.empty()) {
    lock.owner_file_ =
        TRY(OwnerFile::Acquire(folder, {.patience = options.patience, .waiting = options.waiting}));
  }
  return lock;
}

Result<std::optional<JobOwner>> RunningOwner(const std::string& folder) {
  auto held = TRY(os::FileLock::IsHeld(LockIn(folder)));
  if (held) return LastOwner(folder);
  auto elsewhere = OwnerElsewhere(folder);
  if (elsewhere && !SeemsAlive(folder)) elsewhere.reset();
  return elsewhere;
}

JobOwner LastOwner(const std::string& folder) {
  if (auto elsewhere = OwnerElsewhere(folder)) return *elsewhere;
  return JobOwner::FromLine(os::FileLock::LastOwner(LockIn(folder)));
}

}  // namespace spate::store
