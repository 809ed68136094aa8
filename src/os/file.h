// Files and folders by path. Errors name the path: "cannot open 'x': Permission denied".
// From any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "os/fd.h"

namespace spate::os {

enum class FileKind : uint8_t { kFile, kDir, kSymlink, kPipe, kSocket, kCharDevice, kBlockDevice };

struct FileInfo {
  FileKind kind = FileKind::kFile;
  uint64_t size = 0;
  uint64_t on_disk = 0;  // bytes of the blocks that it takes
  Instant modified;
  uint32_t permissions = 0;  // 07777
  uint32_t user = 0, group = 0;
  uint64_t device = 0, inode = 0;
};

// Follows symbolic links, or not.
Result<FileInfo> Stat(const std::string& path);
Result<FileInfo> StatLink(const std::string& path);
Result<FileInfo> StatFd(int fd, std::string_view name);
// False for whatever reason it cannot be seen.
bool Exists(const std::string& path);
// This process may read, write or execute it ("r", "rw", "x", ...), by its effective ids.
bool MayAccess(const std::string& path, std::string_view how);

Result<Fd> OpenRead(const std::string& path);
enum class OpenHow : uint8_t {
  kTruncate,   // made when missing, emptied when not
  kAppend,     // made when missing; every write goes to the end
  kEmptied,    // as both: after somebody else has cut it, writes go to its new end
  kCreateNew,  // kExists when it is there, also as a dangling link
  kReadWrite,  // made when missing, kept as it is
};
int FlagsOf(OpenHow how);  // flags of open(2)
Result<Fd> OpenWrite(const std::string& path, OpenHow how, uint32_t permissions = 0666);
// A folder itself, for the *At functions of the system and for FsyncDir.
Result<Fd> OpenDir(const std::string& path);

// kInvalid when it has more than `limit` bytes, or is a folder.
Result<std::string> ReadFile(const std::string& path, size_t limit);
// For what must be kept secret. kPermission when it belongs to another user than this process runs
// as, or when its group or others may do anything with it; looks at the file that it reads.
Result<std::string> ReadPrivateFile(const std::string& path, size_t limit);
// The first `limit` bytes of a regular file that belongs to this user, in a folder where others may
// write, too. kPermission: it is no such file.
Result<std::string> ReadFileOf(uint32_t user, const std::string& path, size_t limit);
Status WriteFile(const std::string& path, std::string_view bytes, uint32_t permissions = 0666);
// Readers see the old file or the whole new one, after a crash too. Costs two syncs.
Status WriteFileAtomically(const std::string& path, std::string_view bytes,
                           uint32_t permissions = 0666);
// The same for an existing regular file, which keeps its permissions, owner and group. `path` must
// not be a link: a link would be replaced. kPermission when this process may not give the new file
// to the owner; the file is then unchanged.
Status ReplaceFile(const std::string& path, std::string_view bytes);
// True if NewFile or WriteFileAtomically made this name, for a file that stays unfinished if its
// writer has gone.
bool IsUnfinishedName(std::string_view name);
// The same in pieces: what is not committed goes without a trace.
class NewFile {
 public:
  static Result<NewFile> Begin(std::string path, uint32_t permissions = 0666);
  NewFile(NewFile&& other) noexcept
      : path_(std::move(other.path_)),
        fresh_(std::exchange(other.fresh_, {})),
        fd_(std::move(other.fd_)) {}
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();
  Status Write(std::string_view bytes);
  // Gives it the permissions, owner and group of another file.
  Status Imitate(const FileInfo& other);
  Status Commit();

 private:
  NewFile(std::string path, std::string fresh, Fd fd)
      : path_(std::move(path)), fresh_(std::move(fresh)), fd_(std::move(fd)) {}
  std::string path_;
  std::string fresh_;  // its name until then; empty when it is gone
  Fd fd_;
};

Status Fsync(int fd, std::string_view name);  // data and what is needed to find it again
Status FsyncDir(const std::string& path);
Status Truncate(int fd, uint64_t size, std::string_view name);
// Gives the file blocks for its first `bytes`, so that the disk has them when they are written.
Status Allocate(int fd, uint64_t bytes, std::string_view name);
Status Rename(const std::string& from, const std::string& to);
// The permissions that new files of this process lack. While it has one thread.
uint32_t CurrentUmask();
Status MakeSymlink(const std::string& target, const std::string& path);
// Makes `path` a second name of the file `target`, on the same file system. kExists: there is
// something of this name.
Status MakeHardLink(const std::string& target, const std::string& path);
Result<std::string> ReadLink(const std::string& path);

// kExists when it is there.
Status MakeDir(const std::string& path, uint32_t permissions = 0777);
// With its parents; fine when it is there.
Status MakeDirs(const std::string& path, uint32_t permissions = 0777);
// The umask: permissions that new files of this process do not get; of all threads.
void SetUmask(uint32_t mask);
Status SetPermissions(const std::string& path, uint32_t permissions);
// Fine when it is not there.
Status RemoveFile(const std::string& path);
Status RemoveEmptyDir(const std::string& path);
// The file or the folder with all that is below; links are removed, never followed. What is mounted
// below stays (kBusy), in another user's tree folders of third ones too. Fine when it is not there.
Status RemoveTree(const std::string& path);

struct DirEntry {
  std::string name;
  FileKind kind = FileKind::kFile;
};
// Sorted by name, without "." and "..".
Result<std::vector<DirEntry>> ListDir(const std::string& path);

std::string JoinPath(std::string_view dir, std::string_view name);  // an absolute name stays
std::string DirName(std::string_view path);   // "a" for "a/b", "." for "b", "/" for "/b"
std::string BaseName(std::string_view path);  // "b" for "a/b" and "a/b/"
Result<std::string> CurrentDir();
// By the current folder, without looking at links; "." and ".." and double slashes are resolved.
Result<std::string> AbsolutePath(std::string_view path);
// All links resolved; it must exist.
Result<std::string> RealPath(const std::string& path);

struct FileSystemFacts {
  std::string name;         // "ext4", "nfs", "fuse.sshfs"; "unknown (0x...)" otherwise
  bool is_network = false;  // shared with other machines, as far as one can tell
  bool read_only = false;
};
// Facts of the nearest existing folder upwards.
Result<FileSystemFacts> FileSystemOf(const std::string& path);

struct Space {
  uint64_t free = 0;  // bytes that this user may still write
  uint64_t total = 0;
  uint64_t free_files = 0;  // inodes; a file system without such a limit has a huge number
};
// Space of the nearest existing folder upwards.
Result<Space> SpaceOf(const std::string& path);
// A node starts no task when its disk has less free: 32 MiB, or 1/16 of a small disk.
inline uint64_t LeastRoom(const Space& space) {
  return std::min<uint64_t>(32 << 20, space.total / 16);
}

// A whole file as bytes in memory, without reading it first. Another process that cuts the file
// short meanwhile ends this one (SIGBUS): for files of ours only.
class MappedFile {
 public:
  static Result<MappedFile> Map(int fd, std::string_view name);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile(const char* data, size_t size) : data_(data), size_(size) {}
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// Locks an open file for this process alone, whatever it is open for; false: somebody else has it.
// It goes with the descriptor (flock(2)). An error where the file system cannot: NFS locks no file
// that is open for reading only.
Result<bool> TryLockWhole(int fd);

// An exclusive lock on a file, for as long as the object (or a descriptor that a child inherited)
// lives; the system drops it with the process, however that ends. It is an OFD lock, which network
// file systems know too. The file stays: removing it would let two owners hold two files.
class FileLock {
 public:
  // `owner` is one line that tells others who holds it; it becomes the file's content. kBusy, with
  // that line in the message, when somebody holds it (in this process too) for more than a moment.
  static Result<FileLock> TryLock(const std::string& path, std::string_view owner);
  // The line that the last owner wrote, whether it still holds the lock or not; empty when unknown.
  static std::string LastOwner(const std::string& path);
  // True if somebody holds it now. An own lock in this process counts too.
  static Result<bool> IsHeld(const std::string& path);
  int fd() const { return fd_.get(); }

 private:
  explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace spate::os
