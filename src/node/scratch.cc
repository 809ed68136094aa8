#include "node/scratch.h"

#include <fmt/format.h>

#include <algorithm>

#include "os/account.h"
#include "os/file.h"

namespace spate::node {
namespace {

bool IsScratch(std::string_view name) {
  for (std::string_view prefix : {kStderrScratch, kTaskScratch}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    return name.size() == kScratchWord && std::ranges::all_of(name, [](char c) {
             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
  }
  return false;
}

// Not a link, and not somebody else's.
bool IsOurs(const std::string& path, os::FileKind kind) {
  auto info = os::StatLink(path);
  return info && info->kind == kind && info->user == os::EffectiveUser();
}

}  // namespace

bool IsTaken(const std::string& folder) {
  return os::StatLink(folder).has_value() && !IsOurs(folder, os::FileKind::kDir);
}

Status MakeScratch(const std::string& folder, bool of_users) {
  TRY(os::MakeDirs(os::DirName(folder)));
  Status made = os::MakeDir(folder, 0700);
  if (!made && made.error().kind != ErrorKind::kExists) return made;
  if (IsTaken(folder)) {
    return Fail(ErrorKind::kPermission,
                fmt::format("'{}' is not a folder of this node: remove it, or start the node with "
                            "another --tmp",
                            folder));
  }
  TRY(os::SetPermissions(folder, of_users ? 0711 : 0700));
  return os::Exists(os::JoinPath(folder, kScratchMark)) ? Status() : MarkScratch(folder);
}

Status MarkScratch(const std::string& folder) {
  if (!IsOurs(folder, os::FileKind::kDir)) return {};
  return os::WriteFileAtomically(os::JoinPath(folder, kScratchMark), "", 0600);
}

void RemoveIfUnused(const std::string& folder) {
  if (!IsOurs(folder, os::FileKind::kDir)) return;
  auto entries = os::ListDir(folder);
  auto is_mark = [](const os::DirEntry& entry) { return entry.name == kScratchMark; };
  if (entries && std::ranges::all_of(*entries, is_mark)) (void)os::RemoveTree(folder);
}

void SweepScratch(const std::string& tmp, Instant before) {
  auto entries = os::ListDir(tmp);
  if (!entries) return;
  for (const os::DirEntry& entry : *entries) {
    std::string folder = os::JoinPath(tmp, entry.name);
    std::string mark = os::JoinPath(folder, kScratchMark);
    if (!IsScratch(entry.name) || !IsOurs(folder, os::FileKind::kDir)) continue;
    if (!IsOurs(mark, os::FileKind::kFile)) continue;
    auto info = os::StatLink(mark);
    if (info && info->modified < before) (void)os::RemoveTree(folder);
  }
}

}  // namespace spate::node
