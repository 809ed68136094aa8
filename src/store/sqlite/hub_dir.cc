#include "store/sqlite/hub_dir.h"

#include <fmt/format.h>

#include "base/units.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

Result<FolderLock> Lock(const std::string& path, const std::string& file_system,
                        const StateOptions& options) {
  auto lock = FolderLock::Acquire(path, file_system, options);
  if (lock || lock.error().kind != ErrorKind::kBusy) return lock;
  const JobOwner owner = LastOwner(path);
  std::string who = owner.pid == 0
                        ? "another process"
                        : fmt::format("process {} on {}", owner.pid, EscapeForScreen(owner.host));
  return Fail(ErrorKind::kBusy,
              fmt::format("a hub runs in '{}' already ({}): use it, or end it first, or start this "
                          "one elsewhere with --state (or SPATE_STATE)",
                          EscapeForScreen(path), who));
}

}  // namespace

namespace {

// Removes files of processes that were killed. One that writes now loses its file and begins again.
void RemoveUnfinishedReplays(const std::string& hub_dir) {
  const std::string folder = hub_dir + "/replay";
  auto files = os::ListDir(folder);
  if (!files) return;
  for (const os::DirEntry& file : *files) {
    if (file.name.ends_with(".new")) (void)os::RemoveFile(os::JoinPath(folder, file.name));
  }
}

}  // namespace

Result<HubDir> HubDir::Open(const std::string& hub_dir, const StateOptions& options) {
  auto file_system = TRY(NetworkFileSystemOf(hub_dir, options));
  // Commands may hold secrets, and credentials are some.
  for (const char* folder : {"/output", "/replay"}) {
    auto made = os::MakeDirs(hub_dir + folder, 0700);
    if (!made) return std::unexpected(WithStateHint(std::move(made.error())));
  }
  TRY(CheckOwnerAndSpace(hub_dir));
  auto lock = Lock(hub_dir, file_system, options);
  if (!lock) return std::unexpected(WithStateHint(std::move(lock.error())));
  HubDir dir(hub_dir, std::move(file_system), std::move(*lock));
  TRY(TakeOver(dir.place()));
  TRY(EmptySpool(dir.SpoolPath()));
  RemoveUnfinishedReplays(hub_dir);
  return dir;
}

Duration HubDir::SyncTime() const {
  return lock_.owner_file() ? lock_.owner_file()->sync_time() : Duration();
}

Status RemoveReplays(const std::string& hub_dir) {
  const std::string folder = hub_dir + "/replay";
  auto files = os::ListDir(folder);
  if (!files) return {};
  for (const os::DirEntry& file : *files) TRY(os::RemoveFile(os::JoinPath(folder, file.name)));
  return {};
}

}  // namespace spate::store
