// RemoveTree: works with descriptors of folders and names in them (O_NOFOLLOW, unlinkat), so that
// nobody who swaps a folder for a symbolic link meanwhile can lead it elsewhere.
//
// It holds one descriptor for each level; what lies deeper than kDepth is moved up to the top
// first, so that no depth exhausts descriptors or the stack.
#include "os/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "os/error.h"
#include "os/file.h"

namespace spate::os {
namespace {

constexpr int kDepth = 64;

class TreeRemover {
 public:
  TreeRemover(const struct stat& top, std::string shown, uint64_t most)
      : device_(top.st_dev), owner_(top.st_uid), shown_(std::move(shown)), left_(most) {}

  // Empties the folder; true when nothing is left in it.
  bool Empty(int dir, int depth) {
    if (depth == 0) top_ = dir;
    for (;;) {
      std::vector<std::string> names = Names(dir);
      bool moved = false;
      for (const std::string& name : names) {
        if (!RemoveEntry(dir, name, depth)) return false;
        moved = moved || (depth == 0 && moved_since_list_);
      }
      // Deep folders that were moved up came after the list was read.
      if (!moved) return !failed_;
      moved_since_list_ = false;
    }
  }
  // True once as many were removed as may be.
  bool stopped() const { return left_ == 0; }
  Error TakeError() { return std::move(error_); }
  void FailWith(int error) {
    failed_ = true;
    error_ = SystemError(error, "remove", shown_);
  }

 private:
  std::vector<std::string> Names(int dir) {
    std::vector<std::string> names;
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = copy < 0 ? nullptr : fdopendir(copy);
    if (stream == nullptr) {
      FailWith(errno);
      return names;
    }
    while (dirent* entry = readdir(stream)) {
      std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    closedir(stream);
    return names;
  }

  bool RemoveEntry(int dir, const std::string& name, int depth) {
    if (left_ == 0) return false;
    --left_;
    if (unlinkat(dir, name.c_str(), 0) == 0 || errno == ENOENT) return true;
    int error = errno;
    if (error == EACCES || error == EPERM) {
      // A task may have taken the right to write from a folder of its own.
      fchmod(dir, 0700);
      if (unlinkat(dir, name.c_str(), 0) == 0) return true;
      error = errno;
    }
    if (error != EISDIR && error != EPERM) {
      FailWith(error);
      return false;
    }
    if (depth >= kDepth) return MoveUp(dir, name);
    return RemoveDir(dir, name, depth);
  }

  bool RemoveDir(int dir, const std::string& name, int depth) {
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Fd child(openat(dir, name.c_str(), flags));
    if (!child && errno == EACCES && Permit(dir, name)) {
      child.Reset(openat(dir, name.c_str(), flags));
    }
    struct stat info{};
    if (!child || fstat(child.get(), &info) != 0) {
      FailWith(errno == ENOTDIR ? EPERM : errno);
      return false;
    }
    if (info.st_dev != device_) {
      FailWith(EBUSY);
      return false;
    }
    // Somebody's own folders they could remove themselves. Others' folders may be here because the
    // owner moved a shared one in, for root to empty it.
    if (owner_ != geteuid() && info.st_uid != owner_) {
      FailWith(EACCES);
      return false;
    }
    if (!Empty(child.get(), depth + 1)) return false;
    if (unlinkat(dir, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    FailWith(errno);
    return false;
  }

  // chmod of a folder that may not be opened, without ever following a link.
  static bool Permit(int dir, const std::string& name) {
    Fd at(openat(dir, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return at && chmod(fmt::format("/proc/self/fd/{}", at.get()).c_str(), 0700) == 0;
  }

  bool MoveUp(int dir, const std::string& name) {
    std::string fresh = fmt::format(".deep-{}-{}", getpid(), ++moves_);
    if (renameat(dir, name.c_str(), top_, fresh.c_str()) != 0) {
      FailWith(errno);
      return false;
    }
    moved_since_list_ = true;
    return true;
  }

  dev_t device_;
  uid_t owner_;
  std::string shown_;
  uint64_t left_;
  int top_ = -1;
  int moves_ = 0;
  bool moved_since_list_ = false;
  bool failed_ = false;
  Error error_;
};

}  // namespace

Status RemoveTree(const std::string& path) {
  auto all = RemoveSomeOfTree(path, UINT64_MAX);
  return all ? Status() : std::unexpected(std::move(all.error()));
}

Result<bool> RemoveSomeOfTree(const std::string& path, uint64_t most) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return FailErrno("remove", path);
  Fd dir(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!dir || fstat(dir.get(), &info) != 0) return FailErrno("remove", path);
  TreeRemover remover(info, path, most);
  if (!remover.Empty(dir.get(), 0)) {
    if (remover.stopped()) return false;
    return std::unexpected(remover.TakeError());
  }
  if (rmdir(path.c_str()) != 0 && errno != ENOENT) return FailErrno("remove", path);
  return true;
}

}  // namespace spate::os
