#include "store/sqlite/state_folder.h"

#include <fmt/format.h>

#include "base/units.h"
#include "os/file.h"

namespace spate::store {
namespace {

constexpr uint64_t kLeastFreeBytes = 1 << 20;

}  // namespace

Result<std::string> NetworkFileSystemOf(const std::string& state_dir, const StateOptions& options) {
  auto facts = TRY(os::FileSystemOf(state_dir));
  if (facts.read_only) {
    return Fail(ErrorKind::kPermission,
                fmt::format("the state folder '{}' is on a read-only file system; choose another "
                            "with --state (or SPATE_STATE)",
                            EscapeForScreen(state_dir)));
  }
  if (!options.pretend_file_system.empty()) return options.pretend_file_system;
  return facts.is_network ? facts.name : "";
}

Status CheckOwnerAndSpace(const std::string& state_dir) {
  auto info = TRY(os::Stat(state_dir));
  auto self = os::Stat("/proc/self");
  if (self && self->user != info.user) {
    return Fail(ErrorKind::kPermission,
                fmt::format("the state folder '{}' belongs to another user (uid {}; this process "
                            "has {}); choose one of your own with --state (or SPATE_STATE)",
                            EscapeForScreen(state_dir), info.user, self->user));
  }
  auto space = os::SpaceOf(state_dir);
  if (space && (space->free < kLeastFreeBytes || space->free_files == 0)) {
    return Fail(ErrorKind::kExhausted,
                fmt::format("the state folder '{}' is full ({} left); free some space there, or "
                            "choose another with --state (or SPATE_STATE)",
                            EscapeForScreen(state_dir), FormatSize(space->free)));
  }
  return {};
}

Error WithStateHint(Error error) {
  if (error.kind == ErrorKind::kPermission) {
    error.message += "; choose another state folder with --state (or SPATE_STATE)";
  }
  return error;
}

Status EmptySpool(const std::string& spool) {
  TRY(os::RemoveTree(spool));
  return os::MakeDir(spool, 0700);
}

uint64_t FolderBytes(const std::string& folder) {
  uint64_t bytes = 0;
  auto entries = os::ListDir(folder);
  if (!entries) return 0;
  for (const os::DirEntry& entry : *entries) {
    auto info = os::StatLink(folder + '/' + entry.name);
    if (info && info->kind == os::FileKind::kFile) bytes += info->size;
  }
  return bytes;
}

}  // namespace spate::store
