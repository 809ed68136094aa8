// Files and folders by path. What stands in other files: descriptors (fd.cc), removal of trees
// (remove_tree.cc), kinds of file systems (file_system.cc).
//
// NewFile: a temporary neighbour (".NAME.PID-NANOS.new"), fsync, rename, fsync of the
// folder; a crash leaves at worst the neighbour behind.
#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/units.h"
#include "os/clock.h"
#include "os/error.h"

namespace spate::os {
namespace {

constexpr std::string_view kUnfinished = ".new";

FileKind KindOfMode(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return FileKind::kDir;
    case S_IFLNK:
      return FileKind::kSymlink;
    case S_IFIFO:
      return FileKind::kPipe;
    case S_IFSOCK:
      return FileKind::kSocket;
    case S_IFCHR:
      return FileKind::kCharDevice;
    case S_IFBLK:
      return FileKind::kBlockDevice;
    default:
      return FileKind::kFile;
  }
}

FileInfo InfoOf(const struct stat& s) {
  return {.kind = KindOfMode(s.st_mode),
          .size = static_cast<uint64_t>(s.st_size),
          .on_disk = static_cast<uint64_t>(s.st_blocks) * 512,
          .modified = {static_cast<int64_t>(s.st_mtim.tv_sec) * 1000000000 + s.st_mtim.tv_nsec},
          .permissions = s.st_mode & 07777,
          .user = s.st_uid,
          .group = s.st_gid,
          .device = s.st_dev,
          .inode = s.st_ino};
}

Result<Fd> Open(const std::string& path, int flags, uint32_t permissions, const char* verb) {
  for (;;) {
    int fd = open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, permissions);
    if (fd >= 0) return Fd(fd);
    if (errno != EINTR) return FailErrno(verb, path);
  }
}

}  // namespace

Result<FileInfo> Stat(const std::string& path) {
  struct stat s{};
  if (stat(path.c_str(), &s) != 0) return FailErrno("look at", path);
  return InfoOf(s);
}

Result<FileInfo> StatLink(const std::string& path) {
  struct stat s{};
  if (lstat(path.c_str(), &s) != 0) return FailErrno("look at", path);
  return InfoOf(s);
}

Result<FileInfo> StatFd(int fd, std::string_view name) {
  struct stat s{};
  if (fstat(fd, &s) != 0) return FailErrno("look at", name);
  return InfoOf(s);
}

bool Exists(const std::string& path) {
  struct stat s{};
  return stat(path.c_str(), &s) == 0;
}

bool MayAccess(const std::string& path, std::string_view how) {
  int mode = F_OK;
  if (how.contains('r')) mode |= R_OK;
  if (how.contains('w')) mode |= W_OK;
  if (how.contains('x')) mode |= X_OK;
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

Result<Fd> OpenRead(const std::string& path) { return Open(path, O_RDONLY, 0, "open"); }

int FlagsOf(OpenHow how) {
  switch (how) {
    case OpenHow::kTruncate:
      return O_WRONLY | O_CREAT | O_TRUNC;
    case OpenHow::kAppend:
      return O_WRONLY | O_CREAT | O_APPEND;
    case OpenHow::kEmptied:
      return O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
    case OpenHow::kCreateNew:
      return O_RDWR | O_CREAT | O_EXCL;
    case OpenHow::kReadWrite:
      return O_RDWR | O_CREAT;
  }
  return 0;
}

Result<Fd> OpenWrite(const std::string& path, OpenHow how, uint32_t permissions) {
  return Open(path, FlagsOf(how), permissions, how == OpenHow::kCreateNew ? "create" : "open");
}

Result<Fd> OpenDir(const std::string& path) {
  return Open(path, O_RDONLY | O_DIRECTORY, 0, "open");
}

Result<std::string> ReadFile(const std::string& path, size_t limit) {
  auto fd = TRY(OpenRead(path));
  return ReadToEnd(fd.get(), limit, path);
}

Result<std::string> ReadPrivateFile(const std::string& path, size_t limit) {
  // Not to wait for the writer of a named pipe that stands there.
  auto fd = TRY(Open(path, O_RDONLY | O_NONBLOCK, 0, "open"));
  auto info = TRY(StatFd(fd.get(), path));
  std::string name = EscapeForScreen(path);
  if (info.kind != FileKind::kFile) {
    return Fail(ErrorKind::kInvalid, fmt::format("'{}' is not a regular file", name));
  }
  if (info.user != geteuid()) {
    return Fail(ErrorKind::kPermission,
                fmt::format("'{}' contains a secret and belongs to user {}, not to the user of "
                            "this process ({}); use a copy of your own",
                            name, info.user, geteuid()));
  }
  if ((info.permissions & 077) != 0) {
    return Fail(ErrorKind::kPermission,
                fmt::format("'{}' contains a secret that other users can access (mode {:04o}); if "
                            "nobody has read it yet: chmod 600 {}",
                            name, info.permissions, ShellQuote(name)));
  }
  return ReadToEnd(fd.get(), limit, path);
}

Result<std::string> ReadFileOf(uint32_t user, const std::string& path, size_t limit) {
  auto fd = TRY(Open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0, "open"));
  auto info = TRY(StatFd(fd.get(), path));
  if (info.kind != FileKind::kFile || info.user != user) {
    return Fail(ErrorKind::kPermission,
                fmt::format("'{}' is not a file of user {}", EscapeForScreen(path), user));
  }
  return ReadAt(fd.get(), 0, std::min<uint64_t>(limit, info.size), path);
}

Status WriteFile(const std::string& path, std::string_view bytes, uint32_t permissions) {
  auto fd = TRY(OpenWrite(path, OpenHow::kTruncate, permissions));
  TRY(WriteAll(fd.get(), bytes, path));
  if (auto closed = fd.Close(); !closed) return Within(path, std::move(closed.error()));
  return {};
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes, uint32_t permissions) {
  auto file = TRY(NewFile::Begin(path, permissions));
  Status written = file.Write(bytes);
  return written ? file.Commit() : written;
}

Status ReplaceFile(const std::string& path, std::string_view bytes) {
  auto old = TRY(StatLink(path));
  auto file = TRY(NewFile::Begin(path, 0600));
  TRY(file.Imitate(old));
  TRY(file.Write(bytes));
  return file.Commit();
}

bool IsUnfinishedName(std::string_view name) {
  return name.starts_with('.') && name.ends_with(kUnfinished);
}

Result<NewFile> NewFile::Begin(std::string path, uint32_t permissions) {
  std::string fresh = JoinPath(DirName(path), fmt::format(".{}.{}-{}{}", BaseName(path), getpid(),
                                                          MonotonicNanos(), kUnfinished));
  auto fd = TRY(OpenWrite(fresh, OpenHow::kCreateNew, permissions));
  return NewFile(std::move(path), std::move(fresh), std::move(fd));
}

NewFile::~NewFile() {
  if (!fresh_.empty()) unlink(fresh_.c_str());
}

Status NewFile::Write(std::string_view bytes) { return WriteAll(fd_.get(), bytes, fresh_); }

Status NewFile::Imitate(const FileInfo& other) {
  auto own = TRY(StatFd(fd_.get(), fresh_));
  const bool same_owner = own.user == other.user && own.group == other.group;
  if (!same_owner && fchown(fd_.get(), other.user, other.group) != 0) {
    return FailErrno("change the owner of", fresh_);
  }
  // A change of the owner may clear bits, so the permissions come last.
  if (fchmod(fd_.get(), other.permissions) != 0) {
    return FailErrno("change the permissions of", fresh_);
  }
  return {};
}

Status NewFile::Commit() {
  Status status = Fsync(fd_.get(), fresh_);
  if (status) status = fd_.Close();
  if (status) status = Rename(fresh_, path_);
  if (!status) return status;
  fresh_.clear();
  return FsyncDir(DirName(path_));
}

Status Fsync(int fd, std::string_view name) {
  while (fdatasync(fd) != 0) {
    if (errno != EINTR) return FailErrno("sync", name);
  }
  return {};
}

Status FsyncDir(const std::string& path) {
  auto fd = TRY(OpenDir(path));
  // Some file systems have nothing to sync for a folder and say EINVAL.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return FailErrno("sync", path);
  return {};
}

Status Allocate(int fd, uint64_t bytes, std::string_view name) {
  const int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  if (error == 0) return {};
  errno = error;
  return FailErrno("take room for", name);
}

Status Truncate(int fd, uint64_t size, std::string_view name) {
  while (ftruncate(fd, static_cast<off_t>(size)) != 0) {
    if (errno != EINTR) return FailErrno("cut to length", name);
  }
  return {};
}

Status Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) {
    return FailErrno(fmt::format("rename '{}' to", EscapeForScreen(from)), to);
  }
  return {};
}

uint32_t CurrentUmask() {
  mode_t mask = umask(0);
  umask(mask);
  return mask;
}

void SetUmask(uint32_t mask) { umask(static_cast<mode_t>(mask)); }

Status MakeSymlink(const std::string& target, const std::string& path) {
  if (symlink(target.c_str(), path.c_str()) != 0) return FailErrno("make the link", path);
  return {};
}

Status MakeHardLink(const std::string& target, const std::string& path) {
  if (link(target.c_str(), path.c_str()) != 0) return FailErrno("make the link", path);
  return {};
}

Result<std::string> ReadLink(const std::string& path) {
  char target[PATH_MAX];
  ssize_t n = readlink(path.c_str(), target, sizeof target);
  if (n < 0) return FailErrno("read the link", path);
  return std::string(target, static_cast<size_t>(n));
}

Status SetPermissions(const std::string& path, uint32_t permissions) {
  if (chmod(path.c_str(), permissions) != 0) return FailErrno("change the permissions of", path);
  return {};
}

Status MakeDir(const std::string& path, uint32_t permissions) {
  if (mkdir(path.c_str(), permissions) != 0) return FailErrno("make the folder", path);
  return {};
}

Status MakeDirs(const std::string& path, uint32_t permissions) {
  if (mkdir(path.c_str(), permissions) == 0) return {};
  if (errno == EEXIST) {
    auto info = Stat(path);
    if (info && info->kind == FileKind::kDir) return {};
    auto target = ReadLink(path);
    if (!info && target) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("cannot make the folder '{}': it is a symbolic link to '{}', which "
                              "is missing; make that folder, or remove the link",
                              EscapeForScreen(path), EscapeForScreen(*target)));
    }
    errno = info ? ENOTDIR : EEXIST;
    return FailErrno("make the folder", path);
  }
  std::string parent = DirName(path);
  if (errno != ENOENT || parent == path) return FailErrno("make the folder", path);
  TRY(MakeDirs(parent, permissions));
  // Somebody else may have been quicker.
  if (mkdir(path.c_str(), permissions) != 0 && errno != EEXIST) {
    return FailErrno("make the folder", path);
  }
  return {};
}

Status RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return FailErrno("remove", path);
  return {};
}

Status RemoveEmptyDir(const std::string& path) {
  if (rmdir(path.c_str()) != 0 && errno != ENOENT) return FailErrno("remove", path);
  return {};
}

Result<std::vector<DirEntry>> ListDir(const std::string& path) {
  DIR* dir = opendir(path.c_str());
  if (dir == nullptr) return FailErrno("list", path);
  std::vector<DirEntry> entries;
  errno = 0;
  while (dirent* entry = readdir(dir)) {
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    FileKind kind = KindOfMode(DTTOIF(entry->d_type));
    struct stat s{};
    if (entry->d_type == DT_UNKNOWN &&
        fstatat(dirfd(dir), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0) {
      kind = KindOfMode(s.st_mode);
    }
    entries.push_back({std::string(name), kind});
    errno = 0;
  }
  int error = errno;
  closedir(dir);
  if (error != 0) return std::unexpected(SystemError(error, "list", path));
  std::ranges::sort(entries, {}, &DirEntry::name);
  return entries;
}

// ------------------------------------------------------------------------------- names of paths

std::string JoinPath(std::string_view dir, std::string_view name) {
  if (dir.empty() || name.starts_with('/')) return std::string(name);
  std::string path(dir);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

std::string DirName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  path = path.substr(0, slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.empty() ? "/" : std::string(path);
}

std::string BaseName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/") return "/";
  return std::string(path.substr(path.rfind('/') + 1));
}

Result<std::string> CurrentDir() {
  char* text = getcwd(nullptr, 0);
  if (text == nullptr) return FailErrno("tell the current folder");
  std::string path = text;
  free(text);
  return path;
}

Result<std::string> AbsolutePath(std::string_view path) {
  std::string whole(path);
  if (!path.starts_with('/')) {
    auto current = CurrentDir();
    if (!current) return current;
    whole = JoinPath(*current, path);
  }
  std::string out;
  for (size_t at = 0; at < whole.size();) {
    size_t end = std::min(whole.find('/', at), whole.size());
    std::string_view part(whole.data() + at, end - at);
    if (part == "..") {
      out.resize(out.empty() ? 0 : out.rfind('/'));
    } else if (!part.empty() && part != ".") {
      out.append("/").append(part);
    }
    at = end + 1;
  }
  return out.empty() ? "/" : out;
}

Result<std::string> RealPath(const std::string& path) {
  char* text = realpath(path.c_str(), nullptr);
  if (text == nullptr) return FailErrno("find", path);
  std::string real = text;
  free(text);
  return real;
}

// ------------------------------------------------------------------------------------ mapping

Result<MappedFile> MappedFile::Map(int fd, std::string_view name) {
  auto info = TRY(StatFd(fd, name));
  if (info.size == 0) return MappedFile(nullptr, 0);
  void* data = mmap(nullptr, info.size, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return FailErrno("map", name);
  return MappedFile(static_cast<const char*>(data), info.size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

// ------------------------------------------------------------------------------------- locking

namespace {

// So long a lock may outlive a process that was killed while it started another one, which has it
// until its own program begins.
constexpr int64_t kLockPatience = 300'000'000;  // nanoseconds
constexpr int kLockPause = 2;                   // milliseconds

bool LockWithPatience(int fd) {
  int64_t until = MonotonicNanos() + kLockPatience;
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  while (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
    bool held = errno == EAGAIN || errno == EACCES;
    if (!held || MonotonicNanos() > until) return false;
    poll(nullptr, 0, kLockPause);
  }
  return true;
}

}  // namespace

Result<bool> TryLockWhole(int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return FailErrno("lock a file");
}

Result<FileLock> FileLock::TryLock(const std::string& path, std::string_view owner) {
  auto fd = TRY(OpenWrite(path, OpenHow::kReadWrite));
  if (!LockWithPatience(fd.get())) {
    if (errno != EAGAIN && errno != EACCES) return FailErrno("lock", path);
    std::string holder = LastOwner(path);
    return Fail(ErrorKind::kBusy,
                fmt::format("'{}' is locked by {}", EscapeForScreen(path),
                            holder.empty() ? "another process" : EscapeForScreen(holder)));
  }
  TRY(Truncate(fd.get(), 0, path));
  TRY(WriteAllAt(fd.get(), std::string(owner) + "\n", 0, path));
  return FileLock(std::move(fd));
}

std::string FileLock::LastOwner(const std::string& path) {
  std::string text = ReadFile(path, 4096).value_or("");
  return text.substr(0, text.find('\n'));
}

Result<bool> FileLock::IsHeld(const std::string& path) {
  auto fd = OpenRead(path);
  if (!fd && fd.error().kind == ErrorKind::kNotFound) return false;
  if (!fd) return std::unexpected(std::move(fd.error()));
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(fd->get(), F_OFD_GETLK, &lock) != 0) return FailErrno("ask for the lock of", path);
  return lock.l_type != F_UNLCK;
}

}  // namespace spate::os
