// Fd: a descriptor that is closed with its owner.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/time.h"

namespace spate::os {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }
  ~Fd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  explicit operator bool() const { return valid(); }
  // The descriptor becomes the caller's.
  int Release() { return std::exchange(fd_, -1); }
  // Closes what is held, without looking at the result, and takes `fd`.
  void Reset(int fd = -1);
  // Closes and tells: on network file systems a failed write may show only here.
  Status Close();

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read, write;
};
// All descriptors that os/ makes are close-on-exec.
Result<Pipe> MakePipe();
// A pipe that others open by its name, which is ours alone to use (0600). Reading does not block;
// both ends are open here, so it has no end before they are closed.
Result<Pipe> MakeNamedPipe(const std::string& path);
// Reads the bytes that are available, at most `size`; 0: none, or the end. kIo: broken.
Result<size_t> ReadNow(int fd, char* to, size_t size);
struct SocketPair {
  Fd a, b;
};
// Connected UNIX stream sockets.
Result<SocketPair> MakeSocketPair();

// How many descriptors this process may have at once (its soft limit). A part of a program that
// could take them all keeps to a share of it, so that others find some.
size_t MostDescriptors();

Status SetNonBlocking(int fd, bool on);
// Programs that this process starts have it, too.
Status KeepOverExec(int fd);
// Waits until `fd` (-1: none) is readable, for so long at most; false: it is not. For a process
// that has no loop, or none yet.
bool WaitReadable(int fd, Duration patience);

// Writes all bytes, waiting on a descriptor that does not block. `name` is for the message only.
Status WriteAll(int fd, std::string_view bytes, std::string_view name);
Status WriteAllAt(int fd, std::string_view bytes, uint64_t offset, std::string_view name);
// Up to `size` bytes into `to`; 0 at the end. A descriptor that would block: kBusy.
Result<size_t> ReadSome(int fd, char* to, size_t size, std::string_view name);
// Exactly `size` bytes from `offset`, fewer only at the end of the file.
Result<std::string> ReadAt(int fd, uint64_t offset, size_t size, std::string_view name);
// To the end; kInvalid when there are more than `limit` bytes.
Result<std::string> ReadToEnd(int fd, size_t limit, std::string_view name);

}  // namespace spate::os
