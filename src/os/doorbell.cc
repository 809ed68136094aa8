#include "os/doorbell.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "os/error.h"
#include "os/process.h"

namespace spate::os {
namespace {

// A name that begins with NUL belongs to no file, and goes with the socket.
socklen_t AddressOf(std::string_view name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::copy_n(name.data(), length, address.sun_path + 1);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

}  // namespace

Result<Doorbell> Doorbell::Make() {
  uint64_t word = 0;
  if (getrandom(&word, sizeof(word), 0) != sizeof(word)) return FailErrno("draw a number");
  std::string name = fmt::format("spate-bell-{}-{:016x}", OwnPid(), word);
  Fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return FailErrno("make a socket");
  sockaddr_un address;
  socklen_t size = AddressOf(name, address);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    return FailErrno("name a socket");
  }
  return Doorbell(std::move(fd), std::move(name));
}

int Doorbell::Clear() const {
  char byte = 0;
  int rings = 0;
  while (recv(fd_.get(), &byte, sizeof(byte), 0) >= 0) ++rings;
  return rings;
}

bool Doorbell::Ring(std::string_view name) const {
  sockaddr_un address;
  socklen_t size = AddressOf(name, address);
  ssize_t sent =
      sendto(fd_.get(), "", 1, MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size);
  return sent == 1 || errno == EAGAIN;  // it has been rung often enough
}

}  // namespace spate::os
