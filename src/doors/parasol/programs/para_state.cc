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

#include <array>
#include <utility>

#include "base/time.h"
#include "os/account.h"

namespace spate::parasol {
namespace {

constexpr size_t kStateMost = 64 << 10;
constexpr std::string_view kUsualResults = "para.results";
constexpr Duration kKeepForgotten = Duration::Seconds(30 * 24 * 3600);
// Names that an older version gave its files, in the batch's folder.
struct OldName {
  std::string_view what, name;  // an empty name: that of the results, and `what`
};
constexpr std::array kOldNames = {OldName{"hub", ".para.hub"}, OldName{"place", ""},
                                  OldName{"write", ""}, OldName{"follow", ""},
                                  OldName{"lock", ".para.lock"}};
constexpr std::array<std::string_view, 2> kTakenOver = {"hub", "place"};

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
  if (state.OldProgramWorks()) {
    state.beside_ = true;
  } else if (os::Exists(os::JoinPath(state.dir_, "results"))) {
    std::string name = Small(os::JoinPath(state.dir_, "name"));
    if (!name.empty()) state.name_ = std::move(name);
  } else if (os::Exists(state.Beside("hub")) || os::Exists(state.Beside("place"))) {
    state.beside_ = true;
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
  if (beside_) return Beside(what);
  return os::JoinPath(moved_from_.empty() ? dir_ : moved_from_, what);
}

// Empty: an older version had no such file for these results.
std::string ParaState::Beside(std::string_view what) const {
  const std::string base = os::BaseName(results_);
  std::string name;
  for (const OldName& old : kOldNames) {
    if (old.what != what) continue;
    std::string_view word = what == "write" ? "lock" : what;
    if (old.name.empty()) name = fmt::format(".{}.{}", base, word);
    if (!old.name.empty() && base == kUsualResults) name = old.name;
  }
  if (name.empty()) return "";
  std::string path = os::JoinPath(os::DirName(results_), name);
  // Programs of this user leave neither links nor files of other users.
  auto info = os::StatLink(path);
  const bool is_own =
      !info || (info->kind == os::FileKind::kFile && info->user == os::EffectiveUser());
  return is_own ? path : "";
}

bool ParaState::OldProgramWorks() const {
  for (std::string_view what : {"follow", "lock"}) {
    std::string path = Beside(what);
    if (!path.empty() && IsHeld(path)) return true;
  }
  return false;
}

// An error leaves the older files as they are.
Status ParaState::TakeOver() {
  for (std::string_view what : kTakenOver) {
    std::string old = Beside(what);
    if (old.empty() || !os::Exists(old)) continue;
    auto written = os::WriteFileAtomically(os::JoinPath(dir_, what), Small(old), 0600);
    if (!written) return written;
  }
  return {};
}

Status ParaState::Make() {
  if (beside_ && OldProgramWorks()) return {};
  std::string own = os::JoinPath(dir_, "results");
  if (!os::Exists(own)) {
    TRY(os::MakeDirs(root_, 0700));
    // The loser of a race for it finds it in its new place.
    if (!moved_from_.empty()) (void)os::Rename(moved_from_, dir_);
    TRY(os::MakeDirs(dir_, 0700));
    TRY(TakeOver());
    if (name_ != results_) {
      auto named = os::WriteFileAtomically(os::JoinPath(dir_, "name"), name_, 0600);
      if (!named) return named;
    }
    TRY(os::WriteFileAtomically(own, results_, 0600));
    if (auto info = os::Stat(own)) RemoveForgotten(root_, info->modified);
  }
  beside_ = false;
  moved_from_.clear();
  for (const OldName& old : kOldNames) {
    // Those of a folder that cannot be written do no harm.
    if (std::string path = Beside(old.what); !path.empty()) (void)os::RemoveFile(path);
  }
  return {};
}

Status ParaState::Remember(const os::FileInfo& batch) {
  if (beside_) return {};
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
