// A folder for each batch, named by the hash of the path of its results:
//
//   results  that path; the last that is written when the folder is made
//   name     the path by which the hub knows the batch, where that is another one
//   batch    size and time of `batch` as it was written last
//   hub, place, lock, write, follow   docs/formats/parasol.md
//
// A path, not an inode, is the key: the hub knows the batch by it, and numbers of inodes and
// devices are used again. Anything lost here is found out again from the hub and the results.

#include "doors/parasol/programs/para_state.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <utility>

#include "base/time.h"
#include "os/account.h"

namespace spate::parasol {
namespace {

constexpr size_t kStateMost = 64 << 10;
constexpr std::string_view kUsualResults = "para.results";
constexpr Duration kKeepForgotten = Duration::Seconds(30 * 24 * 3600);

std::string FolderName(std::string_view results) {
  XXH128_hash_t hash = XXH3_128bits(results.data(), results.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string Small(const std::string& path) {
  return os::ReadFileOf(os::EffectiveUser(), path, kStateMost).value_or("");
}

std::string StampOf(const os::FileInfo& batch) {
  return fmt::format("size {} modified {}\n", batch.size, batch.modified.ns);
}

std::string StampAt(const std::string& batch) {
  auto info = os::Stat(batch);
  return info ? StampOf(*info) : std::string();
}

std::string BatchBeside(std::string_view results) {
  return os::JoinPath(os::DirName(results), "batch");
}

bool IsHeld(const std::string& lock) { return os::FileLock::IsHeld(lock).value_or(false); }

// Folders of batches that are gone for long.
void RemoveForgotten(const std::string& root, Instant now) {
  auto entries = os::ListDir(root);
  if (!entries) return;
  for (const os::DirEntry& entry : *entries) {
    std::string dir = os::JoinPath(root, entry.name);
    std::string results = Small(os::JoinPath(dir, "results"));
    if (results.empty() || os::Exists(os::DirName(results))) continue;
    auto info = os::Stat(dir);
    bool old = info && now - info->modified > kKeepForgotten;
    if (old && !IsHeld(os::JoinPath(dir, "follow"))) (void)os::RemoveTree(dir);
  }
}

}  // namespace

ParaState ParaState::Find(std::string root, std::string results) {
  ParaState state(std::move(root), std::move(results));
  state.dir_ = os::JoinPath(state.root_, FolderName(state.results_));
  if (os::Exists(os::JoinPath(state.dir_, "results"))) {
    std::string name = Small(os::JoinPath(state.dir_, "name"));
    if (!name.empty()) state.name_ = std::move(name);
  } else if (state.moved_from_ = state.FindMoved(); !state.moved_from_.empty()) {
    std::string name = Small(os::JoinPath(state.moved_from_, "name"));
    state.name_ = name.empty() ? Small(os::JoinPath(state.moved_from_, "results")) : name;
  }
  return state;
}

// The folder of a batch with this very `batch`, which is where it was no more. A copy of it is
// another batch.
std::string ParaState::FindMoved() const {
  std::string stamp = StampAt(BatchBeside(results_));
  if (stamp.empty() || os::BaseName(results_) != kUsualResults) return "";
  auto entries = os::ListDir(root_);
  if (!entries) return "";
  for (const os::DirEntry& entry : *entries) {
    std::string dir = os::JoinPath(root_, entry.name);
    if (Small(os::JoinPath(dir, "batch")) != stamp) continue;
    std::string there = Small(os::JoinPath(dir, "results"));
    if (!there.empty() && StampAt(BatchBeside(there)) != stamp) return dir;
  }
  return "";
}

std::string ParaState::Path(std::string_view what) const {
  return os::JoinPath(moved_from_.empty() ? dir_ : moved_from_, what);
}

Status ParaState::Make() {
  std::string own = os::JoinPath(dir_, "results");
  if (!os::Exists(own)) {
    TRY(os::MakeDirs(root_, 0700));
    // The loser of a race for it finds it in its new place.
    if (!moved_from_.empty()) (void)os::Rename(moved_from_, dir_);
    TRY(os::MakeDirs(dir_, 0700));
    if (name_ != results_) {
      auto named = os::WriteFileAtomically(os::JoinPath(dir_, "name"), name_, 0600);
      if (!named) return named;
    }
    TRY(os::WriteFileAtomically(own, results_, 0600));
    if (auto info = os::Stat(own)) RemoveForgotten(root_, info->modified);
  }
  moved_from_.clear();
  return {};
}

Status ParaState::Remember(const os::FileInfo& batch) {
  return os::WriteFile(os::JoinPath(dir_, "batch"), StampOf(batch), 0600);
}

Status ParaState::Claim() {
  auto entries = os::ListDir(root_);
  if (!entries) return {};
  for (const os::DirEntry& entry : *entries) {
    std::string dir = os::JoinPath(root_, entry.name), name = os::JoinPath(dir, "name");
    if (dir == dir_ || Small(name) != name_) continue;
    TRY(os::RemoveFile(name));
  }
  return {};
}

}  // namespace spate::parasol
