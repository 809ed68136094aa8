#include "node/kept_streams.h"

#include <fmt/format.h>

#include "base/units.h"
#include "node/scratch.h"
#include "os/file.h"

namespace spate::node {

Status MakeKeptDir(const KeptStreams& kept) {
  if (!kept.makes_dir) return {};
  bool root = os::EffectiveUser() == 0;
  if (!os::Exists(kept.dir)) {
    TRY(os::MakeDirs(kept.dir, 0700));
    TRY(MarkScratch(kept.dir));
    return root ? os::SetPermissions(kept.dir, 01777) : Status();
  }
  auto info = TRY(os::Stat(kept.dir));
  if (info.user == os::EffectiveUser()) return {};
  return Fail(ErrorKind::kPermission,
              fmt::format("the folder of stderr, '{}', belongs to another user (uid {})",
                          EscapeForScreen(kept.dir), info.user));
}

std::string KeptPath(const KeptStreams& kept, JobId job, TaskIndex task) {
  return os::JoinPath(kept.dir, kept.name(job, task));
}

void MakeRoomForKept(const KeptStreams& kept, const std::string& user, JobId job, TaskIndex task) {
  if (os::EffectiveUser() != 0) return;
  std::string path = KeptPath(kept, job, task);
  auto info = os::StatLink(path);
  if (!info) return;
  auto account = kept.account(user);
  if (account && account->user != info->user) (void)os::RemoveFile(path);
}

Result<std::string> ReadKept(const KeptStreams& kept, const std::string& user, JobId job,
                             TaskIndex task, size_t limit) {
  auto account = TRY(kept.account(user));
  auto bytes = os::ReadFileOf(account.user, KeptPath(kept, job, task), limit);
  if (!bytes && bytes.error().kind == ErrorKind::kNotFound) return std::string();
  return bytes;
}

void RemoveOldKept(const KeptStreams& kept, Instant before, const std::set<std::string>& running) {
  auto entries = os::ListDir(kept.dir);
  if (!entries) return;
  for (const os::DirEntry& entry : *entries) {
    if (!kept.is_name(entry.name) || running.contains(entry.name)) continue;
    std::string path = os::JoinPath(kept.dir, entry.name);
    auto info = os::StatLink(path);
    if (!info || info->kind != os::FileKind::kFile || info->modified >= before) continue;
    (void)os::RemoveFile(path);
  }
}

}  // namespace spate::node
