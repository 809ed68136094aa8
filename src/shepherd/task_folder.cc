#include "shepherd/task_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/units.h"
#include "core/model/limits.h"
#include "core/model/task_files.h"
#include "os/error.h"
#include "os/file.h"
#include "os/remove_tree.h"

namespace spate::shepherd {
namespace {

constexpr size_t kPiece = 256 * 1024;
// The next attempt does not wait for more.
constexpr uint64_t kRemovedHere = 256;

std::string Why(std::string_view what, std::string_view name) {
  int error = errno;
  return fmt::format("cannot {} '{}': {}", what, EscapeForScreen(name), os::TextOfErrno(error));
}

}  // namespace

std::string TaskFolderName(const AttemptRef& ref) {
  return fmt::format("{}.{}-{}", ref.job.value, uint64_t{ref.index} + 1, ref.attempt.value);
}

void TaskFolder::Begin(const std::string& folders, const AttemptRef& ref) {
  folders_ = folders;
  path_ = folders.empty() ? "" : os::JoinPath(folders, TaskFolderName(ref));
  ref_ = ref;
  exists_ = false;
  lost_ = false;
  entered_ = false;
  puts_.clear();
  gets_.clear();
}

std::string TaskFolder::Make(const std::optional<TaskUser>& owner,
                             const std::vector<StartView::PutView>& puts) {
  if (exists_) return {};
  puts_.clear();
  for (const StartView::PutView& put : puts) {
    puts_.emplace_back(open(put.from, O_RDONLY | O_CLOEXEC));
    if (!puts_.back()) return Why("read what is to become", put.name);
  }
  constexpr int kHow = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  os::Fd parent(open(folders_.c_str(), kHow));
  struct stat info{};
  lost_ = true;
  if (!parent || fstat(parent.get(), &info) != 0) return Why("make the task's folder", path_);
  // Somebody may have made it anew after it was cleaned away.
  if (info.st_uid != geteuid() || (info.st_mode & 022) != 0) {
    return fmt::format("cannot make the task's folder '{}': others may write into '{}'",
                       EscapeForScreen(path_), EscapeForScreen(folders_));
  }
  lost_ = false;
  // A folder that is there already is nobody's: an attempt is started once.
  std::string name = TaskFolderName(ref_);
  if (mkdirat(parent.get(), name.c_str(), 0700) != 0) return Why("make the task's folder", path_);
  exists_ = true;
  os::Fd made(openat(parent.get(), name.c_str(), kHow));
  // Whatever our umask says.
  bool good = made && fchmod(made.get(), 0700) == 0 &&
              (!owner || fchown(made.get(), owner->user, owner->group) == 0);
  return good ? "" : Why("make the task's folder", path_);
}

std::string TaskFolder::CopyTo(int from, const StartView::PutView& put) const {
  constexpr int kHow = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  os::Fd to(open(put.name, kHow, 0600));
  if (!to && errno == ENOENT && os::MakeDirs(os::DirName(put.name))) {
    to.Reset(open(put.name, kHow, 0600));
  }
  if (!to) return Why("bring the file", put.name);
  std::string piece(kPiece, '\0');
  for (off_t at = 0;;) {
    ssize_t got = pread(from, piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Why("read what is to become", put.name);
    if (got == 0) break;
    auto bytes = std::string_view(piece).substr(0, static_cast<size_t>(got));
    if (auto put_all = os::WriteAll(to.get(), bytes, put.name); !put_all) {
      return put_all.error().message;
    }
    at += got;
    pulse_.Beat();
  }
  return fchmod(to.get(), put.mode) == 0 ? "" : Why("bring the file", put.name);
}

std::string TaskFolder::Enter(const std::vector<StartView::PutView>& puts) {
  if (entered_) return {};
  if (chdir(path_.c_str()) != 0) return Why("enter the task's folder", path_);
  entered_ = true;
  for (size_t i = 0; i < puts.size(); ++i) {
    std::string why = CopyTo(puts_[i].get(), puts[i]);
    if (!why.empty()) return why;
  }
  puts_.clear();
  return {};
}

std::string TaskFolder::OpenGets(const std::vector<const char*>& gets, UserFiles& files) {
  std::string missing;
  gets_.clear();
  uint64_t bytes = 0;
  auto miss = [&](const char* name, std::string_view why) {
    if (!missing.empty()) missing += "\n";
    missing += fmt::format("--get: '{}' {}", EscapeForScreen(name), why);
  };
  if (chdir(path_.c_str()) != 0) {
    if (!gets.empty()) miss(gets.front(), "was removed with the task's folder");
    return missing;
  }
  for (const char* name : gets) {
    Get get{.fd = files.OpenWhole(name, kLimits.file_bytes), .name = name};
    struct stat info{};
    if (!get.fd || fstat(get.fd.get(), &info) != 0) {
      miss(name, errno == ENOENT ? "does not exist" : os::TextOfErrno(errno));
      continue;
    }
    get.mode = info.st_mode & 0777;
    get.size = static_cast<uint64_t>(info.st_size);
    bytes += get.size;
    if (!S_ISREG(info.st_mode)) {
      miss(name, "is not a file");
    } else if (get.size > kLimits.file_bytes) {
      miss(name, fmt::format("has {}, more than the {} that are brought home", FormatSize(get.size),
                             FormatSize(kLimits.file_bytes)));
    } else if (bytes > kLimits.files_bytes) {
      miss(name, fmt::format("is more than the {} that are brought home of one task",
                             FormatSize(kLimits.files_bytes)));
    } else {
      gets_.push_back(std::move(get));
    }
  }
  return missing;
}

std::string TaskFolder::PutInto(Pack& pack) {
  std::string why;
  for (const Get& get : gets_) {
    why = pack.AddHead({.name = get.name, .mode = get.mode, .size = get.size});
    if (why.empty()) why = pack.AddFrom(get.fd.get(), get.size, get.name);
    if (!why.empty()) break;
  }
  gets_.clear();
  return why;
}

void TaskFolder::Remove() {
  if (!exists_) return;
  exists_ = false;
  // The node, or its next process, removes the rest.
  if (chdir("/") == 0) (void)os::RemoveSomeOfTree(path_, kRemovedHere);
}

}  // namespace spate::shepherd
